"""A program that dies of a signal that it does not handle: its recording has an end, and it dies as it would bare."""

import os
import shutil
import signal
import subprocess
import sys

import children
import pytest

from seismo.model import read

VERBS = ["profile", "lines", "cover", "objects"] if sys.version_info >= (3, 13, 3) else ["profile", "lines", "cover"]
WORK = "import os, signal, sys, threading, time\ndef work(): pass\n"

# Where the signal finds the program. READY is printed first; what comes after the signal must never be.
PLACES = {
    "python": "work()\nprint('READY', flush=True)\nwhile True: pass",
    "sleep": "work()\nprint('READY', flush=True)\ntime.sleep(60)\nprint('ALIVE')",
    "input": "work()\nprint('READY', flush=True)\nsys.stdin.read()\nprint('ALIVE')",
    "thread": "threading.Thread(target=lambda: time.sleep(60)).start()\nwork()\nprint('READY', flush=True)",
    "itself": "work()\nprint('READY', flush=True)\nos.kill(os.getpid(), signal.SIGTERM)\nprint('ALIVE')",
    "raised": "work()\nprint('READY', flush=True)\nsignal.raise_signal(signal.SIGTERM)\nprint('ALIVE')",
}


def popen(tmp_path, program, verb="profile"):
    (tmp_path / "app.py").write_text(WORK + program)
    options = [verb, "-q", "-o", "a.seismo", "--flush", "1000", "app.py"]
    return children.popen([sys.executable, "-m", "seismo", *options], cwd=tmp_path)


def ended(recording, name="SIGTERM"):
    """The recording has an end: what ran since the last flush is in it."""
    assert recording.problems == []
    assert "cut-short" not in list(recording.losses["kind"])
    assert [row.exit for row in recording.processes] == [name]
    if recording.kind in ("calltree", "linetimes", "coverage"):
        assert "work" in list(recording.functions["qualname"])


def killed(tmp_path, program, by=signal.SIGTERM, verb="profile"):
    """Return the recording of a program that dies of a signal when it is READY, and prints nothing afterwards.

    The signal is sent here unless the program sends it to itself.
    """
    with popen(tmp_path, program, verb) as child:
        assert child.stdout.readline() == "READY\n"
        if program not in (PLACES["itself"], PLACES["raised"]):
            child.send_signal(by)
        assert child.wait(60) == -by
        assert (child.stdout.read(), child.stderr.read()) == ("", "")
    return read(tmp_path / "a.seismo")


@pytest.mark.crossed
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("verb", VERBS)
def test_wherever_it_finds_the_program(tmp_path, verb, place):
    ended(killed(tmp_path, PLACES[place], verb=verb))


def test_a_terminal_that_hangs_up(tmp_path):
    ended(killed(tmp_path, PLACES["sleep"], signal.SIGHUP), "SIGHUP")


def test_while_c_code_holds_the_interpreter(tmp_path):
    """It dies all the same, soon; and if the end could not be had, the file says that it is missing."""
    recording = killed(tmp_path, "work()\nprint('READY', flush=True)\nsum(range(10**15))\nprint('ALIVE')")
    assert ("cut-short" in list(recording.losses["kind"])) == (recording.processes[0].exit == "")


def test_a_forked_child(tmp_path):
    program = (
        "pid = os.fork()\nif not pid:\n    work()\n    print('READY', os.getpid(), flush=True)\n    time.sleep(60)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    with popen(tmp_path, program) as child:
        pid = int(child.stdout.readline().split()[1])
        os.kill(pid, signal.SIGTERM)
        assert child.stdout.read() == "-15\n"
        assert child.wait(60) == 0
    ended(read(tmp_path / f"a-{pid}.seismo"))


def test_after_a_fork(tmp_path):
    """The thread that does it is away while a program forks, so that os.fork does not warn, and comes back."""
    program = (
        "pid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)\nwork()\n"
        "for _ in range(1000): work()\nprint('READY', flush=True)\ntime.sleep(60)"
    )
    ended(killed(tmp_path, program))


def test_while_it_forks(tmp_path):
    """Which takes long with much memory: the signal waits until the fork is made, and the recording has its end."""
    program = (
        "import mmap\nmemory = mmap.mmap(-1, 100 << 20, flags=mmap.MAP_PRIVATE)\n"
        "memory.madvise(mmap.MADV_NOHUGEPAGE)\nfor at in range(0, len(memory), 4096): memory[at] = 1\n"
        "work()\nprint('READY', flush=True)\nwhile True:\n    pid = os.fork()\n    if not pid: os._exit(0)\n"
        "    os.waitpid(pid, 0)"
    )
    for _ in range(2):
        ended(killed(tmp_path, program))


def test_before_the_fork_has_returned(tmp_path):
    """Python code that runs in between, and a signal: the thread that ends recordings is not back yet."""
    program = (
        "os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
        "work()\nif not os.fork(): os._exit(0)\nprint('ALIVE', flush=True)\ntime.sleep(60)"
    )
    with popen(tmp_path, program) as child:
        assert child.stdout.read() == ""
        assert child.wait(60) == -signal.SIGTERM
    ended(read(tmp_path / "a.seismo"))


POOLS = """
import multiprocessing, time
def square(n): return n * n
if __name__ == "__main__":
    for _ in range(20):
        began = time.monotonic()
        with multiprocessing.get_context("fork").Pool(2) as pool: pool.map(square, range(40))
        print(time.monotonic() - began)
"""


def test_processes_that_end_and_are_told_to_at_the_same_time(tmp_path):
    """A pool's workers: of twenty pools, seven had a worker that waited for two seconds."""
    (tmp_path / "app.py").write_text(POOLS)
    done = children.seismo("profile", "-q", "--children", "-o", "a.seismo", "app.py", cwd=tmp_path)
    times = sorted(map(float, done.stdout.split()))
    assert len(times) == 20
    assert times[-6] < 1.9, times  # a busy machine may hold up some
    recording = read(tmp_path / "a.seismo")
    assert set(recording.losses["kind"]) <= {"sites-off"}
    assert sum(row.calls for row in recording.functions if row.qualname == "square") == 800


def test_what_the_program_sees(tmp_path):
    program = """
work()
print('READY', flush=True)
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
assert signal.signal(signal.SIGHUP, signal.SIG_IGN) is signal.SIG_DFL
os.kill(os.getpid(), signal.SIGHUP)
heard = []
assert signal.signal(signal.SIGTERM, lambda *_: heard.append(1)) is signal.SIG_DFL
os.kill(os.getpid(), signal.SIGTERM)
assert heard == [1]
import subprocess
caught = "next(line for line in open('/proc/self/status') if line.startswith('SigCgt'))"
told = subprocess.check_output([sys.executable, '-c', f"print(int({caught}.split()[1], 16) >> 14 & 1)"])
assert told == b"0\\n", told
import asyncio
async def main():
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, heard.append, 2)
    os.kill(os.getpid(), signal.SIGTERM)
    while len(heard) < 2: await asyncio.sleep(0)
    loop.remove_signal_handler(signal.SIGTERM)
asyncio.run(main())
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
print('READY', flush=True)
signal.raise_signal(signal.SIGTERM)
print('ALIVE')
"""
    with popen(tmp_path, program) as child:
        out, err = child.communicate()
        assert (out, err, child.returncode) == ("READY\nREADY\n", "", -signal.SIGTERM)
    ended(read(tmp_path / "a.seismo"))


def test_a_handler_of_c_code_stays(tmp_path):
    program = (
        "import faulthandler\nfaulthandler.register(signal.SIGTERM, file=sys.stdout)\nos.kill(os.getpid(), 15)\n"
        "work()\nprint('ALIVE')"
    )
    with popen(tmp_path, program) as child:
        out, _ = child.communicate()
        assert child.returncode == 0
        assert out.endswith("ALIVE\n")
        assert "most recent call first" in out
    assert read(tmp_path / "a.seismo").processes[0].exit == "0"


def test_a_session_in_a_program(tmp_path):
    """While it records into a file; before and after, the signal has the disposition that it has bare."""
    program = """
import signal, sys, time, seismo
def caught():  # without those of the system's own
    line = next(line for line in open('/proc/self/status') if line.startswith('SigCgt'))
    return int(line.split()[1], 16) & 2**31 - 1
def work(): pass
before = caught()
with seismo.profile(output=sys.argv[1]): work()
assert caught() == before
with seismo.profile(): assert caught() == before
with seismo.profile(output=sys.argv[1]):
    work()
    signal.raise_signal(signal.SIGTERM)
"""
    path = tmp_path / "a.seismo"
    assert children.python("-c", program, path, status=None).returncode == -signal.SIGTERM
    ended(read(path))


def can_unshare():
    words = ["unshare", "--pid", "--fork", "true"]
    return shutil.which("unshare") is not None and subprocess.run(words, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_unshare(), reason="no namespace of process numbers can be made here")
def test_process_1_ignores_it(tmp_path):
    program = "assert os.getpid() == 1\nos.kill(1, signal.SIGTERM)\nwork()\nprint('ALIVE')"
    (tmp_path / "app.py").write_text(WORK + program)
    words = ["unshare", "--pid", "--fork", sys.executable, "-m", "seismo", "profile", "-q", "-o", "a.seismo", "app.py"]
    done = children.run(words, cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("ALIVE\n", 0), done.stderr
    ended(read(tmp_path / "a.seismo"), "0")
