"""What a program did before it went idle is in its file, though no event comes any more, and is safe from SIGKILL.

Each program says on its standard output what it has done, and then waits in C until it is killed.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import children
import pytest

from seismo import _core
from seismo.errors import RecordingError
from seismo.model import read

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
