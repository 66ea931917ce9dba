"""Traced programs that are killed at any moment: what is in the file can be read, with the path of each event."""

import ctypes
import os
import random
import signal

import killing
import lab
import pytest
from journals import trace

import seismo


@pytest.mark.parametrize("begun", [True, pytest.param(False, marks=pytest.mark.matrix)])
@pytest.mark.parametrize("kind", killing.KINDS)
def test_what_a_killed_program_leaves_is_whole(kind, begun, tmp_path):
    """A program that is at work is killed soon: what takes long is to read millions of calls."""
    chance = random.Random(kind)
    running = begun * (4 if kind in ("threads", "forks") else 1)
    for _ in range(1 if begun else 3):
        after = chance.uniform(0.1, 0.25) if begun else chance.uniform(0.1, 0.7)
        found = killing.kill_one(kind, after, tmp_path, running)
        assert found.faults == []
        assert found.recorded <= found.counted


def test_the_first_moment_of_a_killed_program_is_a_recording(path):
    """It is killed from inside, before anything but its beginning can be in the file."""
    trace("import os\nos.kill(os.getpid(), 9)", path, status=-signal.SIGKILL)
    recording = seismo.open(path)
    assert [process.exit for process in recording.processes] == [""]
    assert [thread.main for thread in recording.threads] == [True]
    assert recording.calls.window().problems == []


LIBC = ctypes.CDLL(None, use_errno=True)
SEIZE, INTERRUPT, ALL = 0x4206, 0x4207, 0x40000000  # of ptrace, of waitpid


def hold_threads(pid):
    """Stops all threads of a process but its first, as a system does that has more to do than processors."""
    held = [int(tid) for tid in os.listdir(f"/proc/{pid}/task") if int(tid) != pid]
    for tid in held:
        for request in (SEIZE, INTERRUPT):
            if LIBC.ptrace(ctypes.c_long(request), ctypes.c_long(tid), None, None) != 0:
                pytest.skip(f"threads cannot be stopped here: {os.strerror(ctypes.get_errno())}")
        os.waitpid(tid, ALL)
    return held


LATE = """
import signal, time
start(fd=file(sys.argv[1]), flush_ms=1_000_000, journal=True)
leaf()
work(0)
_core.flush()
for _ in range(500):
    work(10)
    time.sleep(0.001)  # the thread that writes has begun
print("ready", flush=True)
sys.stdin.readline()
began = time.monotonic()
calls = 0
while calls < 100_000 or time.monotonic() - began < 0.4:
    work(1000)
    calls += 1000
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_is_killed_loses_little_also_where_the_writer_is_not_let_run(path):
    """On a machine with more to do than processors, the thread that writes may be late: others write for it."""
    with lab.popen(LATE, str(path)) as child:
        assert child.stdout.readline() == "ready\n"
        before = seismo.open(path).calls.sums.steps
        held = hold_threads(child.pid)
        assert held
        child.stdin.write("go\n")
        child.stdin.flush()
        for tid in held:
            os.waitpid(tid, ALL)
    assert child.returncode == -signal.SIGKILL
    assert seismo.open(path).calls.sums.steps > before + 10_000
