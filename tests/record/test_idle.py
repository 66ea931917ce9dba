"""What a program did before it went idle is in its file, though no event comes any more, and is safe from SIGKILL.

Each program says on its standard output what it has done, and then waits in C until it is killed.
"""

import contextlib
import os
import resource
import signal
import sys
import time
from pathlib import Path

import children
import pytest

from seismo import _core
from seismo.errors import RecordingError
from seismo.model import read
from seismo.report.facts import losses
from seismo.report.words import Signs

WAYS = {
    "profile": ["profile"],
    "no times": ["profile", "--no-times"],
    "lines": ["lines"],
    "trace": ["trace"],
    "cover": ["cover"],
    "objects": ["objects"],
    "paths": ["objects", "--paths"],
}
if _core.ref_objection() is not None:
    WAYS = {name: words for name, words in WAYS.items() if words[0] != "objects"}
INTERVAL = 0.1  # seconds
PATIENCE = 30  # seconds: hundreds of intervals, on a busy machine

WORK = """
import os, subprocess, sys, threading, time
def leaf(i): return [i]
def burst(n):
    for i in range(n):
        leaf(i)
def done(): os.write(1, b"done\\n")
def for_ever(): os.read(0, 1)
"""


@pytest.fixture
def start(tmp_path):
    """start(words, program) -> the child, which records into r.seismo; it and all of its own are killed at the end."""
    running = []

    def start(words, program):
        (tmp_path / "app.py").write_text(WORK + program)
        options = [*words, "-q", "-o", "r.seismo", "--flush", str(INTERVAL), "app.py"]
        child = children.popen([sys.executable, "-m", "seismo", *options], cwd=tmp_path)
        running.append(child)
        return child

    yield start
    for child in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def leaves(recording):
    """How often `leaf` was called, as far as this kind of recording counts that."""
    if recording.kind == "lifetimes":
        functions, types = list(recording.functions["qualname"]), list(recording.types["name"])
        made = (row for row in recording.objects if row.function >= 0 and types[row.type] == "list")
        return sum(row.born for row in made if functions[row.function] == "leaf")
    if recording.kind == "linetimes":
        return max((row.hits for row in recording.lines if row.line == 3), default=0)
    return sum(row.calls for row in recording.functions if row.qualname == "leaf")


def ran(recording):
    return recording.kind == "coverage" and 3 in {row.line for row in recording.lines}


def until(path: Path, holds) -> None:
    """Waits for the recording, or one in this folder, to be as it should be; the program does nothing any more."""
    for _ in range(int(PATIENCE / INTERVAL)):
        for file in path.iterdir() if path.is_dir() else [path]:
            with contextlib.suppress(RecordingError):  # nothing was written yet
                if holds(read(file)):
                    return
        time.sleep(INTERVAL)
    pytest.fail(f"what was done is not in {path}")


def says_done(child):
    assert child.stdout.readline() == "done\n"


@pytest.mark.parametrize("way", WAYS)
def test_a_burst_is_in_the_file_and_then_nothing_is_written(start, tmp_path, way):
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], "burst(3000)\ndone()\nfor_ever()\n")
    says_done(child)
    until(path, lambda recording: ran(recording) or leaves(recording) == 3000)
    time.sleep(1.5 if way == "trace" else 5 * INTERVAL)  # the longest calls of a trace come a second later
    before = path.stat()
    time.sleep(10 * INTERVAL)
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size, before.st_ino) == (after.st_mtime_ns, after.st_size, after.st_ino)
    child.send_signal(signal.SIGKILL)
    child.wait()
    left = read(path)
    assert ran(left) or leaves(left) == 3000
    assert left.problems == []
    (process,) = left.processes
    assert process.end_ns <= after.st_mtime_ns + 100_000_000  # since when it may lack something


@pytest.mark.parametrize("way", [way for way in WAYS if way != "cover"])
def test_what_comes_after_a_rest_is_in_the_file_too(start, tmp_path, way):
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], "for n in (100, 1, 1):\n    burst(n)\n    done()\n    for_ever()\n")
    for count in (100, 101, 102):
        says_done(child)
        until(path, lambda recording, count=count: leaves(recording) == count)
        time.sleep(5 * INTERVAL)
        child.stdin.write("x")
        child.stdin.flush()


THREADS = """
def work():
    burst(500)
    ready.release()
    threading.Event().wait()
ready = threading.Semaphore(0)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
for _ in range(4):
    ready.acquire()
done()
threading.Event().wait()
"""


@pytest.mark.parametrize("way", [way for way in WAYS if way != "cover"])
def test_threads_that_all_wait_in_c(start, tmp_path, way):
    says_done(start(WAYS[way], THREADS))
    until(tmp_path / "r.seismo", lambda recording: leaves(recording) == 2000)


FORK = """
if os.fork() == 0:
    burst(700)
    done()
    for_ever()
burst(300)
os.waitpid(-1, 0)
"""
SPAWN = """
if len(sys.argv) > 1:
    burst(700)
    done()
    for_ever()
else:
    burst(300)
    subprocess.run([sys.executable, __file__, "child"])
"""


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("cover", "paths")])
@pytest.mark.parametrize("program", [FORK, SPAWN], ids=["forked", "spawned"])
def test_children_that_wait(start, tmp_path, program, way):
    says_done(start([*WAYS[way], "--children"], program))
    until(tmp_path / "r.seismo", lambda recording: leaves(recording) == 300)
    until(tmp_path / "r.seismo.parts", lambda recording: leaves(recording) == 700)


FORK_BESIDE = """
def work():
    global forked
    if os.fork() == 0:
        os._exit(0)
    os.waitpid(-1, 0)
    burst(400)
    done()
    for_ever()
threading.Thread(target=work, daemon=True).start()
threading.Event().wait()
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("way", [way for way in WAYS if way != "cover"])
def test_after_a_fork_of_a_thread_whose_main_thread_waits(start, tmp_path, way):
    says_done(start(WAYS[way], FORK_BESIDE))
    until(tmp_path / "r.seismo", lambda recording: leaves(recording) == 400)


FORKSERVER = """
import multiprocessing
def work():
    burst(700)
    done()
    for_ever()
if __name__ == "__main__":
    burst(300)
    child = multiprocessing.get_context("forkserver").Process(target=work)
    child.start()
    child.join()
"""


@pytest.mark.parametrize("way", ["profile", "lines"])
def test_a_child_of_a_fork_server_that_waits(start, tmp_path, way):
    says_done(start([*WAYS[way], "--children"], FORKSERVER))
    until(tmp_path / "r.seismo", lambda recording: leaves(recording) == 300)
    until(tmp_path / "r.seismo.parts", lambda recording: leaves(recording) == 700)


MILLION = """
names = {}
exec("".join(f"def f{i}(k):\\n for g in ALL if k else (): g(k - 1)\\n" for i in range(10)), names)
names["ALL"] = [names[f"f{i}"] for i in range(10)]
for function in names["ALL"]: function(5)
done()
os.read(0, 1)
burst(1)
done()
for_ever()
"""


@pytest.mark.parametrize("way", ["profile", "no times"])
def test_a_write_of_a_million_paths_costs_what_has_changed(start, tmp_path, way):
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], MILLION)
    says_done(child)
    until(path, lambda recording: sum(row.calls for row in recording.functions if row.qualname == "f9") == 111_111)
    assert len(read(path, running=True).tree) > 1_000_000
    before = path.stat().st_size
    child.stdin.write("x")
    child.stdin.flush()
    says_done(child)
    until(path, lambda recording: leaves(recording) == 1)
    assert path.stat().st_size < before + 100_000


# ---- what others do to the file ----

ROUNDS = """
def first():
    return 0
def second():
    return 0
first()
burst(100)
done()
os.read(0, 1)
second()
burst(100)
done()
for_ever()
"""
KEEPS = ["profile", "no times", "lines", "cover", "objects", "paths"]  # all that can be written anew


def goes_on(child):
    child.stdin.write("x")
    child.stdin.flush()
    says_done(child)


def has(rounds):
    """What holds for a recording of ROUNDS after one round, or two."""

    def holds(recording):
        if recording.kind == "coverage":
            return len({row.line for row in recording.lines} & {SECOND, SECOND - 2}) == rounds
        return leaves(recording) == 100 * rounds

    return holds


SECOND = WORK.count("\n") + 5  # the line of its body


def killed(child, path):
    """What it leaves, and what that says of itself."""
    child.kill()
    child.wait()
    recording = read(path)
    return recording, losses(recording, Signs())


@pytest.mark.parametrize("way", [way for way in KEEPS if way in WAYS])
@pytest.mark.parametrize("size", [0, 50, -1])
def test_a_file_that_is_cut_is_whole_with_the_next_write(start, tmp_path, way, size):
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], ROUNDS)
    says_done(child)
    until(path, has(1))
    os.truncate(path, size if size >= 0 else path.stat().st_size - 1)
    goes_on(child)
    until(path, has(2))
    left, said = killed(child, path)
    assert left.problems == []
    assert [sentence for sentence in said if not sentence.startswith("the end is missing")] == []


def test_a_trace_that_is_cut_says_so(start, tmp_path):
    path = tmp_path / "r.seismo"
    child = start(["trace"], ROUNDS)
    says_done(child)
    until(path, has(1))
    os.truncate(path, path.stat().st_size - 1)
    goes_on(child)
    time.sleep(3 * INTERVAL)
    left, said = killed(child, path)
    assert has(1)(left)
    assert any("cut off or damaged" in sentence for sentence in said), said


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["replaced", "removed", "moved"])
def test_a_file_that_is_no_longer_there_is_left_alone(start, tmp_path, way, what):
    path, other = tmp_path / "r.seismo", tmp_path / "other"
    child = start(WAYS[way], ROUNDS)
    says_done(child)
    until(path, has(1))
    if what == "removed":
        path.unlink()
    else:
        path.rename(other)
    if what == "replaced":
        path.write_bytes(b"precious")
    goes_on(child)
    if what == "removed":
        time.sleep(3 * INTERVAL)
    else:
        until(other, has(2))
    assert child.poll() is None
    assert not path.exists() if what != "replaced" else path.read_bytes() == b"precious"
    there = {"replaced": ["other", path.name], "removed": [], "moved": ["other"]}[what]
    assert sorted(os.listdir(tmp_path)) == ["app.py", *there]


def limit(child, size):
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.mark.parametrize("way", WAYS)
def test_a_disk_that_fills_between_two_writes(start, tmp_path, way):
    """What was there is there, and says that it is behind; what was to be written is, once there is room again."""
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], ROUNDS)
    says_done(child)
    until(path, has(1))
    time.sleep(3 * INTERVAL)
    limit(child, path.stat().st_size)
    goes_on(child)
    until(path, lambda recording: any("writes failed" in problem for problem in recording.problems))
    recording = read(path)
    assert has(1)(recording)
    limit(child, resource.RLIM_INFINITY)
    until(path, has(2))  # without an event of the program's
    left, _ = killed(child, path)
    assert left.problems == []


READ_ONLY = """
os.chmod(".", 0o555)
if os.getuid() == 0:
    os.setuid(65534)
for n in range(40):
    burst(1000)
    time.sleep(0.02)
done()
for_ever()
"""


@pytest.mark.parametrize("way", [way for way in KEEPS if way in WAYS and way != "cover"])
def test_a_folder_that_becomes_read_only(start, tmp_path, way):
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], READ_ONLY)
    says_done(child)
    until(path, lambda recording: leaves(recording) == 40_000)
    assert sorted(os.listdir(tmp_path)) == ["app.py", path.name]
    left, _ = killed(child, path)
    assert left.problems == []


@pytest.mark.parametrize("way", [way for way in WAYS if way != "cover"])
def test_a_process_that_is_stopped_and_then_killed(start, tmp_path, way):
    """It lost at most what it did after the last write before it was stopped, and says since when that is."""
    path = tmp_path / "r.seismo"
    child = start(WAYS[way], "done()\nwhile True: burst(100)\n")
    says_done(child)
    until(path, lambda recording: leaves(recording) > 1000)
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    stopped = time.time_ns()
    time.sleep(10 * INTERVAL)
    left, said = killed(child, path)
    assert left.problems == []
    (process,) = left.processes
    assert process.start_ns < process.end_ns < stopped
    assert any(sentence.startswith("the end is missing") and "did after" in sentence for sentence in said), said
