"""From the start of a recording of coverage to its end, however that comes: flush, kill, fork, threads, other tools."""

import gc
import os
import signal
import sys
import time
import zlib

import pytest
from children import ended
from covered import Covered, compiled, cover, covering, popen, run
from lab import needs_monitoring, taken_ids
from recorded import Image, filter_of, image

from seismo import _core

WORK = """
def work(n):
    total = 0
    for i in range(n):
        total += 1
    return total
"""


def program_file(tmp_path, text=WORK):
    path = tmp_path / "program.py"
    path.write_text(text)
    return path


def lines(path, program):
    return dict(Covered(path.read_bytes(), str(program)).lines)


# ---- what a killed process has written ----


def wait_for_lines(path, program, want, until):
    while time.monotonic() < until:
        try:
            if lines(path, program) == want:
                break
        except (ValueError, KeyError, FileNotFoundError):  # it has not written anything yet
            pass
        time.sleep(0.01)


def test_a_killed_process_has_written_what_it_had_seen(tmp_path):
    """Though nothing happens any more after the last news, and the main thread waits in C all the while."""
    program = program_file(tmp_path)
    child = popen(
        """
        _core.start(recorder="coverage", fd=file("out"), flush_ms=1, counts=True, branch=True)
        import program
        program.work(10)
        print("done", flush=True)
        for line in sys.stdin:
            program.work(10)
        """,
        cwd=tmp_path,
    )
    with child:
        assert child.stdout.readline() == "done\n"
        until = time.monotonic() + 60
        wait_for_lines(tmp_path / "out", program, {2: 1, 3: 1, 4: 11, 5: 10, 6: 1}, until)
        child.stdin.write("\n")  # so little that the process's CPU time does not show it
        child.stdin.flush()
        want = {2: 1, 3: 2, 4: 22, 5: 20, 6: 2}
        wait_for_lines(tmp_path / "out", program, want, until)
        size = -1
        while size != (size := (tmp_path / "out").stat().st_size):  # nothing new, nothing written
            assert time.monotonic() < until
            time.sleep(0.05)
        child.send_signal(signal.SIGKILL)
        ended(child)
    assert lines(tmp_path / "out", program) == want
    assert Covered((tmp_path / "out").read_bytes(), str(program)).steps_from(4).keys() == {(4, 5), (4, 6)}


def test_flush_by_hand(path):
    code = compiled(WORK + "work(2)\n")
    with path.open("wb") as file, covering(fd=file.fileno(), flush_ms=0):
        exec(code, {})
        before = path.read_bytes()
        assert before == b"" or Image(before).tables["lines"] == []
        _core.flush("coverage")
        size = path.stat().st_size
        for data in (path.read_bytes(), _core.snapshot("coverage")):
            assert sorted(Covered(data, code.co_filename).lines) == [1, 2, 3, 4, 5, 6]
        assert path.stat().st_size == size
        _core.stop("7", "coverage")
    whole = Image(path.read_bytes())
    assert whole.problems == []
    assert whole.tables["processes"][0]["exit"] == "7"
    assert len(whole.tables["processes"]) == 1


def test_sources(tmp_path, monkeypatch):
    """The files of what was recorded, as they are at the end; made-up names are no files."""
    text = "x = 1\nmatch = 2\n"
    (tmp_path / "here.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    os.utime("here.py", ns=(10**18, 10**18 + 123))
    with covering():
        for name in ("./here.py", "<made>", "/nowhere/archive.zip/gone.py"):
            exec(compile(text, name, "exec"), {})
        monkeypatch.chdir("/")
    image = Image(_core.snapshot("coverage"))
    rows = {row["file"]: row for row in image.tables["sources"]}
    here = rows["./here.py"]
    assert (here["path"], here["size"], here["mtime_ns"]) == (str(tmp_path / "here.py"), len(text), 10**18 + 123)
    assert here["crc"] == zlib.crc32(text.encode())
    assert (rows["<made>"]["path"], rows["<made>"]["size"], rows["<made>"]["crc"]) == ("", -1, -1)
    gone = rows["/nowhere/archive.zip/gone.py"]
    assert (gone["path"], gone["size"], gone["crc"]) == ("/nowhere/archive.zip/gone.py", -1, -1)


def test_where_and_hide(tmp_path):
    code = compiled(WORK + "work(2)\n")
    assert not cover(code, where=filter_of(f'not file("{code.co_filename}")')).lines
    found = cover(code, where=filter_of(f'file("{code.co_filename}")'))
    assert len(found.lines) == 6
    assert len(found.image.functions()) == 2
    hidden = compiled(WORK + "work(2)\n")
    assert not cover(hidden, hide=hidden.co_filename).lines


# ---- forks ----

FORK = """
import warnings
warnings.simplefilter("error")
how, kind = sys.argv[1:]
_core.start(recorder="coverage", fd=file("parent"), flush_ms=1, counts=kind == "counts", branch=True)
import program
program.work(3)
_core.cover_context("before")
program.work(3)
for round in range(2):
    child = os.fork()
    if child == 0:
        program.child_only()
        if how != "silent":
            fd = file("child") if how == "file" else {"memory": -1, "stop": -2}[how]
            _core.after_fork(fd, '{"child": 1}', "coverage")
        program.work(7)
        if how == "memory":
            with open("child", "wb") as out: out.write(_core.snapshot("coverage"))
        _core.stop(recorder="coverage")
        os._exit(0 if _core.check() else 9)
    assert os.waitpid(child, 0)[1] == 0
program.after()
_core.stop(recorder="coverage")
"""


@pytest.mark.crossed
@pytest.mark.parametrize("how", ["file", "memory", "stop", "silent"])
@pytest.mark.parametrize("kind", ["lines", "counts"])
def test_fork(tmp_path, how, kind):
    """A child writes nothing before it has said how it goes on; then it begins anew, in the context it was in."""
    program = program_file(tmp_path, WORK + "def child_only():\n    return 1\ndef after():\n    return 2\n")
    run(FORK, how, kind, cwd=tmp_path)
    parent = Covered((tmp_path / "parent").read_bytes(), str(program))
    assert parent.by_function().keys() == {"<module>", "work", "after"}
    assert parent.contexts() == {"before": {3, 4, 5, 6, 10}}
    counted = kind == "counts"
    assert parent.by_function()["work"] == ({3: 2, 4: 8, 5: 6, 6: 2} if counted else {3: 1, 4: 1, 5: 1, 6: 1})
    if how in ("file", "memory"):
        child = Covered((tmp_path / "child").read_bytes(), str(program))
        assert child.by_function() == {"work": {3: 1, 4: 8, 5: 7, 6: 1} if counted else {3: 1, 4: 1, 5: 1, 6: 1}}
        assert child.steps_from(4) == ({(4, 5): 7, (4, 6): 1} if counted else {(4, 5): 1, (4, 6): 1})
        assert child.contexts() == {"before": {3, 4, 5, 6}}
        assert '"child": 1' in str(child.image.meta)
    else:
        assert not (tmp_path / "child").exists()


@pytest.mark.parametrize("recorder", ["coverage", "calltree"])
def test_a_process_that_forks_all_the_time_is_written(path, recorder):
    """Its forks are closer together than the writes, and each stops the worker."""
    run(
        """
        import time
        path, recorder = sys.argv[1:]
        _core.start(recorder=recorder, calibrate=False, fd=file(path), flush_ms=1000)
        size, until = os.path.getsize(path), time.monotonic() + 60
        while os.path.getsize(path) == size:
            assert time.monotonic() < until
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        _core.stop(recorder=recorder)
        """,
        str(path),
        recorder,
    )


# ---- beside other tools ----


@needs_monitoring
def test_a_tool_id_of_its_own_and_nothing_left_behind():
    before = [sys.monitoring.get_tool(i) for i in range(6)]
    sys.monitoring.use_tool_id(5, "somebody")
    try:
        with covering():
            assert sys.monitoring.get_tool(4) == "seismo cover"
            assert _core.status("coverage")["tool_id"] == 4
            names: dict = {}
            exec(compiled(WORK), names)
            names["work"](3)
            assert sys.monitoring.get_local_events(4, names["work"].__code__)
        assert sys.monitoring.get_events(5) == 0
        sys.monitoring.use_tool_id(4, "another")
        assert sys.monitoring.get_local_events(4, names["work"].__code__) == 0
        assert sys.monitoring.get_events(4) == 0
        sys.monitoring.free_tool_id(4)
    finally:
        sys.monitoring.free_tool_id(5)
    assert [sys.monitoring.get_tool(i) for i in range(6)] == before


@needs_monitoring
def test_all_ids_taken():
    with taken_ids(), pytest.raises(RuntimeError, match="taken"):
        _core.start(recorder="coverage")
    assert cover(WORK).lines


@needs_monitoring
def test_the_hook_is_stolen():
    """Who takes the tool id by force keeps it, and the recording says that something may be missing."""
    _core.start(recorder="coverage")
    stolen = _core.status("coverage")["tool_id"]
    sys.monitoring.set_events(stolen, 0)
    sys.monitoring.free_tool_id(stolen)
    sys.monitoring.use_tool_id(stolen, "thief")
    try:
        cover_context_works = compiled(WORK)
        exec(cover_context_works, {})
        _core.cover_context("one")
        _core.cover_context("")
        _core.stop(recorder="coverage")
        assert sys.monitoring.get_tool(stolen) == "thief"
    finally:
        sys.monitoring.free_tool_id(stolen)
    assert Image(_core.snapshot("coverage")).losses["hook-lost"] == 1
    assert cover(WORK).losses == {}


@pytest.mark.parametrize("first", ["cover", "profile"])
def test_beside_a_profile(first):
    """Each records as if it were alone, whichever begins and whichever ends first."""
    code = compiled(WORK + "work(10)\nwork(20)\n")
    recorders = {"cover": "coverage", "profile": "calltree"}
    order = [first, "profile" if first == "cover" else "cover"]
    for name in order:
        _core.start(recorder=recorders[name], calibrate=False, running=False)
    exec(code, {"__name__": "program"})
    _core.stop(recorder=recorders[order[0]])
    exec(code, {"__name__": "program"})
    _core.stop(recorder=recorders[order[1]])
    assert sorted(Covered(_core.snapshot("coverage"), code.co_filename).lines) == [1, 2, 3, 4, 5, 6, 7]
    assert image().calls()["work"] == (2 if first == "profile" else 4)


def test_beside_a_hook_and_a_tracer():
    from seismo import hooks

    seen = []
    before = sys.gettrace()
    code = compiled(WORK + "work(3)\n")
    with hooks.set_trace(lambda frame, event, arg: seen.append(event), threads="all"):
        found = cover(code, counts=True)
    assert dict(found.lines) == {1: 1, 2: 1, 3: 4, 4: 3, 5: 1, 6: 1}
    assert seen
    lines_seen = []

    def trace(frame, event, arg):
        if event == "line" and frame.f_code.co_filename == code.co_filename:
            lines_seen.append(frame.f_lineno)
        return trace

    sys.settrace(trace)
    try:
        found = cover(code)
    finally:
        sys.settrace(before)
    assert sorted(found.lines) == [1, 2, 3, 4, 5, 6]
    assert len(lines_seen) == 11


# ---- ends ----


def test_the_interpreter_exits_without_a_stop(tmp_path):
    program = program_file(tmp_path, WORK + "import atexit\natexit.register(work, 3)\n")
    run(
        """
        _core.start(recorder="coverage", fd=file("out"), flush_ms=1)
        import program, threading
        class Late:
            def __del__(self):
                program.work(3)
        late = Late()
        threading.Thread(target=program.work, args=(10**9,), daemon=True).start()
        while os.path.getsize("out") == 0: pass
        """,
        cwd=tmp_path,
    )
    assert Image((tmp_path / "out").read_bytes()).problems == []
    assert program.exists()


def test_code_objects_die(tmp_path):
    """Their records go with them, while they are recorded and afterwards."""
    text = "def f_{0}(x):\n    if x:\n        return {0}\n    return lambda: {0}\nf_{0}({1})\n"
    with covering(branch=True):
        codes = _core.status("coverage")["codes"]
        for i in range(300):
            exec(compile(text.format(i, i % 2), "/nowhere/dying.py", "exec"), {})
            if i % 50 == 0:
                _core.cover_context(f"context {i}" if i % 100 else "")
        gc.collect()
        assert _core.check()
        assert _core.status("coverage")["codes"] < codes + 20
    found = Covered(_core.snapshot("coverage"), "/nowhere/dying.py")
    assert sum(1 for name in found.by_function() if name.startswith("f_")) == 300


@pytest.mark.parametrize("wrong", [{"fd": "x"}, {"where": 3}, {"unknown": 1}, {"meta": 3}])
def test_wrong_arguments(wrong):
    with pytest.raises(TypeError):
        _core.start(recorder="coverage", **wrong)
    with pytest.raises(TypeError):
        _core.cover_context(3)
    assert not _core.status("coverage")["running"]
