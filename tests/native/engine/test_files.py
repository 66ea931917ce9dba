"""The file: readable at any time, whole after a crash, and harmless when it cannot be written."""

import contextlib
import errno
import os
import signal
import subprocess
import time

import pytest
from lab import SOURCES, leaf, load, popen, run, start
from recorded import Image, image

from seismo import _core
from seismo.pure import reader


@pytest.mark.parametrize("source", SOURCES)
def test_file_equals_snapshot(source, path):
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    start(source, fd=fd, c_functions="all", flush_ms=0)
    for n in range(20):
        for _ in range(n):
            leaf()
        sorted([2, 1], key=lambda x: x)
        _core.flush()
    _core.stop("0")
    os.close(fd)
    written, held = load(path), image()
    assert written.problems == []
    (process,) = written.tables["processes"]
    assert (process["exit"], process["source"]) == ("0", source)
    assert 0 < process["start_ns"] <= process["end_ns"]
    assert written.calls() == held.calls()
    for row, other in zip(written.named("nodes"), held.named("nodes"), strict=True):
        for column in ("id", "parent", "function", "calls", "resumes", "exceptions", "timed", "sampled", "flags"):
            assert row[column] == other[column], column


@pytest.mark.parametrize("how", ["kill", "segv", "_exit", "abort"])
def test_killed_processes_leave_a_whole_file(path, how):
    """At each moment the file is readable up to the last flush."""
    program = """
start(fd=file(sys.argv[1]), flush_ms=2)
work(5)
_core.flush()
print("ready", flush=True)
n = 0
def path_of(n):
    if n: (path_of if n % 2 else other)(n - 1)
def other(n):
    if n: (other if n % 3 else path_of)(n - 1)
sys.stdin.readline() if sys.argv[2] != "kill" else None
if sys.argv[2] == "_exit": os._exit(3)
if sys.argv[2] == "segv": os.kill(os.getpid(), 11)
if sys.argv[2] == "abort": os.abort()
while True:
    n += 1
    work(100); path_of(n % 60)
"""
    child = popen(program, str(path), how, stdin=subprocess.PIPE)
    assert child.stdout.readline() == "ready\n"
    if how == "kill":
        for _ in range(5):
            time.sleep(0.02)
            assert Image(path.read_bytes()).calls()["leaf"] >= 5  # while it runs
        child.send_signal(signal.SIGKILL)
    child.communicate("\n")
    recorded = load(path)
    assert recorded.calls()["work"] >= 1
    assert recorded.calls()["leaf"] >= 5
    if how != "kill":
        assert recorded.problems == []
        assert recorded.calls()["leaf"] == 5


@pytest.mark.parametrize("taken", [False, True])
def test_a_descriptor_that_the_program_closed_is_left_alone(path, tmp_path, taken):
    """As daemons do that close all they find. Its number may be that of another file then."""
    theirs = tmp_path / "theirs"
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    start(fd=fd)
    leaf()
    _core.flush()
    theirs.write_bytes(b"precious")
    if taken:
        with theirs.open("ab") as file:
            os.dup2(file.fileno(), fd)
    else:
        os.close(fd)
    leaf()
    _core.flush()
    assert _core.status()["write_error"] == errno.EBADF
    _core.stop()
    if taken:
        os.close(fd)
    assert theirs.read_bytes() == b"precious"
    assert (image().calls()["leaf"], load(path).calls()["leaf"]) == (2, 1)


def test_the_position_of_the_descriptor_does_not_matter(path):
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    start(fd=fd)
    leaf()
    _core.flush()
    os.lseek(fd, 3, os.SEEK_SET)
    leaf()
    _core.stop()
    os.close(fd)
    recorded = Image(path.read_bytes(), reader.read)
    assert (recorded.problems, recorded.calls()) == ([], {"leaf": 2})


def test_a_pipe_gets_the_rest_later():
    """Its reader stops for a while."""
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    names = {}
    for i in range(10_000):
        exec(f"def f{i}(): pass", names)
    start(fd=ends[1])
    for i in range(10_000):
        names[f"f{i}"]()
    _core.flush()
    assert _core.status()["write_error"] == errno.EAGAIN
    data = b""
    for step in [*[_core.flush] * 50, _core.stop, lambda: None]:
        with contextlib.suppress(BlockingIOError):
            while True:
                data += os.read(ends[0], 1 << 16)
        step()
    for end in ends:
        os.close(end)
    recorded = Image(data, reader.read)
    assert recorded.problems == []
    calls = recorded.calls()
    assert {calls[f"f{i}"] for i in range(10_000)} == {1}


def test_big_trees_are_flushed_in_pieces(path):
    """Many flushes of a growing tree: later rows replace earlier ones, and the file is no multiple of the tree."""
    program = """
start(fd=file(sys.argv[1]), flush_ms=1)
def grow(n, bits):
    if n: (left if bits & 1 else right)(n - 1, bits >> 1)
def left(n, bits): grow(n, bits)
def right(n, bits): grow(n, bits)
for bits in range(512): grow(9, bits)
_core.stop()
print(_core.status()["paths"])
"""
    paths = int(run(program, str(path)))
    recorded = load(path)
    assert recorded.problems == []
    assert len(recorded.tables["nodes"]) == paths == 2 * (2**10 - 2) + 1
    assert recorded.calls() == {"grow": 512 * 10, "left": 512 * 9 // 2, "right": 512 * 9 // 2}
