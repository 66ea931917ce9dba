"""`seismo top`: what a program that is recorded is doing now."""

import io
import os
import pty
import re
import select
import subprocess
import sys
import threading
import time

import pytest
from children import SECONDS, environment, popen, run

from seismo import profile
from seismo.cli.top import LEAVE, keys, quiet
from seismo.model import Builder, read
from seismo.report.calls.top import (
    NARROWEST,
    Look,
    Room,
    divided,
    look,
    ordered,
    path_name,
    paths_since,
    since,
    write_look,
)
from seismo.report.paper import Paper
from seismo.report.words import Signs

SEISMO = [sys.executable, "-m", "seismo"]
BUSY = """
import sys
def leaf(number): return number + 1
def busy():
    for number in range(10000): leaf(number)
print("begun", flush=True)
while True: busy()
"""


def leaf(number):
    return number + 1


def test_what_was_done_since_the_last_look(tmp_path):
    """Calls since a look are exact; what did nothing is not shown."""
    with profile() as p:
        for number in range(1000):
            leaf(number)
        p.save(tmp_path / "before.seismo")
        for number in range(234):
            leaf(number)
        p.save(tmp_path / "after.seismo")
    before, after = (look(read(tmp_path / name)) for name in ("before.seismo", "after.seismo"))
    calls = {row.name.rpartition(":")[2]: row.calls for row in since(after, before)}
    assert calls["leaf"] == 234
    assert {row.name.rpartition(":")[2]: row.calls for row in since(after, None)}["leaf"] == 1234
    assert since(after, after) == []
    assert ordered(since(after, before), "calls")[0].calls == 234
    out = io.StringIO()
    write_look(Paper(out, 100), after, after, "own", Room(5, 0))
    assert out.getvalue().splitlines()[-1] == "nothing has been called"


def test_what_ran_nothing_is_left_out(tmp_path):
    """An estimate that is corrected by some nanoseconds is no sign that a function has run."""
    found = []
    for own_ns in (500_000, 500_300):
        b = Builder()
        thread = b.thread(b.process(pid=1, argv=["app.py"], start_ns=1, end_ns=10**9), name="MainThread")
        root = b.node(-1, thread, b.function("__main__", "serve", "app.py", 1), calls=1, own_ns=2000 * own_ns)
        b.node(root, thread, b.function("__main__", "setup", "app.py", 3), calls=1, own_ns=own_ns)
        b.build({}).save(tmp_path / "it.seismo")
        found.append(look(read(tmp_path / "it.seismo")))
    assert [row.name for row in since(found[1], found[0])] == ["__main__:serve"]
    assert len(paths_since(found[1], found[0])) == 1
    assert len(since(found[1], None)) == 2


def test_a_process_that_is_gone_is_said():
    """A killed program leaves a recording without an end: that nothing is written any more has a reason."""
    gone = Look("app.py", 1.0, -1.0, 1, 0, {}, {}, {}, pid=2**22 + 1)  # beyond the numbers of processes
    assert quiet(gone, 7.0) == f"not written for 7 s; there is no process {2**22 + 1} here"
    assert quiet(gone._replace(pid=os.getpid()), 7.0) == "not written for 7 s"
    assert quiet(gone._replace(ended=True), 7.0) == "ended"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("order", ["own", "total", "calls", "waiting"])
def test_no_line_is_wider_than_the_terminal(width, order):
    """A line that wraps would push the others off the screen. What gives way is never what the rows are sorted by."""
    with profile() as p:
        sorted(range(20_000), key=lambda number: -leaf(number))
    out = io.StringIO()
    write_look(
        Paper(out, width, least=NARROWEST),
        look(p.recording),
        None,
        order,
        Room(8, 8),
        "not written for 3 s",
        keys(False, "both"),
    )
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert set(lines[2].split("  ")[1:]) <= set(keys(False, "both")), "a key is told whole, or not at all"
    assert "q: quit" in lines[2]
    assert order in lines[3].split()
    assert any("leaf" in line for line in lines[4:])


def test_paths_tell_who_calls(tmp_path):
    """A function that two others call has a path for each, with its exact calls; recursion stands in one word."""

    def one():
        for _ in range(30):
            leaf(1)

    def two(depth=3):
        return leaf(2) if depth == 0 else two(depth - 1)

    with profile() as p:
        one()
        p.save(tmp_path / "before.seismo")
        one()
        two()
        p.save(tmp_path / "after.seismo")
    before, after = (look(read(tmp_path / name)) for name in ("before.seismo", "after.seismo"))
    signs = Signs()

    def paths(rows, found):
        names = {path_name(found, key, 200, signs): row.calls for key, row in rows.items()}
        steps = {tuple(name.split(" ← ")[:2]): calls for name, calls in names.items()}
        return {path[1].rpartition(".")[2]: calls for path, calls in steps.items() if path[0].endswith(":leaf")}

    assert paths(paths_since(after, before), after) == {"one": 30, "two ×4": 1}
    assert paths(paths_since(after, None), after) == {"one": 60, "two ×4": 1}
    assert paths_since(after, after) == {}
    out = io.StringIO()
    write_look(Paper(out, 200), after, None, "calls", Room(0, 2))
    assert re.search(r" 60  \S+:leaf ← \S*one ", out.getvalue())
    assert "function" not in out.getvalue()


def test_paths_of_threads_are_one(tmp_path):
    with profile() as p:
        threads = [threading.Thread(target=leaf, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = look(p.recording)
    leaves = [row for row in paths_since(found, None).values() if row.name.endswith(":leaf")]
    assert [row.calls for row in leaves] == [5]


@pytest.mark.parametrize("functions", [1, 5, 1000])
def test_a_screen_is_used_up_and_no_more(functions):
    for rows in range(1, 60):
        room = divided(rows, "both", functions)
        assert room.functions + room.paths + bool(room.paths) == rows
        assert room.paths >= 3 or room.paths == 0
        assert room.functions >= min(functions, rows // 2)
        assert divided(rows, "paths", functions) == (0, rows)
        assert divided(rows, "functions", functions) == (rows, 0)


def test_without_times_calls_are_shown_alone():
    with profile(timing="none") as p:
        for number in range(321):
            leaf(number)
    out = io.StringIO()
    write_look(Paper(out, 100), look(p.recording), None, "own", Room(5, 0))
    head, *rows = out.getvalue().splitlines()[3:]
    assert head.split() == ["calls", "function"]
    assert rows[0].split()[:1] == ["321"]
    assert "by calls" in out.getvalue()


@pytest.fixture
def running(tmp_path):
    (tmp_path / "busy.py").write_text(BUSY)
    with popen([*SEISMO, "profile", "-q", "-o", "it.seismo", "busy.py"], cwd=tmp_path) as child:
        assert child.stdout.readline() == "begun\n"
        path = tmp_path / "it.seismo"
        until = time.monotonic() + SECONDS
        while not (path.exists() and b"leaf" in path.read_bytes()) and time.monotonic() < until:
            time.sleep(0.05)
        yield child, path
        child.kill()


def test_a_process_is_found_by_its_number(running, tmp_path):
    child, path = running
    for words, folder in [([str(child.pid)], "/"), ([path], "/"), ([], tmp_path)]:
        done = run([*SEISMO, "top", *map(str, words)], cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "since the start, by own" in done.stdout
        assert "__main__:leaf" in done.stdout


def test_on_a_terminal_it_looks_again_and_takes_keys(running):
    _, path = running
    main, side = pty.openpty()
    env = environment(TERM="xterm-256color")
    with subprocess.Popen([*SEISMO, "top", path], stdin=side, stdout=side, stderr=side, env=env) as child:
        os.close(side)
        seen = ""

        def until(pattern):
            nonlocal seen
            end = time.monotonic() + SECONDS
            while not re.search(pattern, seen):
                if time.monotonic() > end:
                    child.kill()  # or Popen waits for it for ever
                    pytest.fail(seen)
                if select.select([main], [], [], 1)[0]:
                    seen += os.read(main, 65536).decode()
            seen = ""

        until("in the last .* by own")
        os.write(main, b"c")
        until("by calls")
        os.write(main, b"s")
        until("since the start, by calls")
        os.write(main, b"p")
        until("path . called by")
        running[0].terminate()  # the recording has its end then
        until(r"busy\.py\S*  ended")
        os.write(main, b"q")
        assert child.wait(SECONDS) == 0
        until(re.escape(LEAVE))
    os.close(main)


def test_what_top_cannot_show(tmp_path):
    (tmp_path / "none.seismo").write_bytes(b"")
    done = run([*SEISMO, "cover", "-q", "-o", "c.seismo", "-c", "pass"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words, sentence in [
        (["c.seismo"], "a recording of coverage; top shows recordings of calls"),
        (["none.seismo"], "the file is empty"),
        (["--interval", "0.01", "c.seismo"], "must be from 0.1"),
        ([str(os.getpid())], "no recording of process"),
        (["99999999"], "there is no process 99999999"),
        (["--interval", "often", "c.seismo"], "--interval cannot be 'often'"),
        (["--limit", "-1", "c.seismo"], "--limit cannot be '-1'"),
    ]:
        done = run([*SEISMO, "top", *words], cwd=tmp_path)
        assert done.returncode == 2, words
        assert sentence in done.stderr
