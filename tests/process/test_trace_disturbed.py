"""Traced programs whose time is disturbed from outside: stopped for a while, clocks that are set, a system asleep."""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

import children
import extensions
import pytest

import seismo
from seismo.model import read

STOPPED = """
import os, signal
def leaf(n): return n + 1
def stopped():
    os.kill(os.getpid(), signal.SIGSTOP)
def main():
    n = 0
    for _ in range(2000): n = leaf(n)
    stopped()
    for _ in range(2000): n = leaf(n)
    print(n)
main()
"""


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def calls_of(path, name):
    """The calls of a function as (start, end), and the whole of what is said of the file."""
    recording = seismo.open(path)
    assert recording.problems == []
    assert recording.calls.gaps == []
    functions = recording.functions["qualname"]
    rows = recording.calls.window(limit=10**6).calls
    return [(row.start_ns, row.end_ns) for row in rows if functions[row.function] == name]


def verified(path):
    done = children.seismo("info", "--verify", path, status=None)
    assert "agrees with the tree" in done.stdout, done.stdout + done.stderr


def test_a_program_that_was_stopped_has_the_pause_in_the_call_it_was_in(tmp_path):
    path = tmp_path / "x.seismo"
    with children.popen([sys.executable, "-m", "seismo", "trace", "-q", "-o", path, "-c", STOPPED]) as child:
        until = time.monotonic() + children.SECONDS
        while state(child.pid) != "T":
            assert time.monotonic() < until
            assert child.poll() is None
            time.sleep(0.01)
        began = time.monotonic_ns()
        time.sleep(0.2)
        paused = time.monotonic_ns() - began
        os.kill(child.pid, signal.SIGCONT)
        assert children.ended(child) == ("4000\n", "")
    verified(path)
    ((start, end),) = calls_of(path, "stopped")
    assert end - start >= paused
    leaves = calls_of(path, "leaf")
    assert len(leaves) == 4000
    assert not [one for one in leaves if one[0] < end and one[1] > start]


# What happens to the file in the middle of work: the program closes all descriptors that it does not know, as daemons
# do, or the disk is full for a while.
TAKEN = {
    "closed": "os.closerange(3, 1024); fd = os.open(os.devnull, os.O_RDONLY); print(fd); os.close(fd)",
    "full for a while": "resource.setrlimit(resource.RLIMIT_FSIZE, (0, most)); work(); flush()\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))",
}


@pytest.mark.crossed
@pytest.mark.parametrize("end", ["returns", "os._exit"])
@pytest.mark.parametrize("what", TAKEN)
def test_the_timeline_is_whole_whatever_the_program_did_to_the_file(tmp_path, what, end):
    program = f"""
import os, resource
from seismo import _core
flush, most = _core.flush, resource.getrlimit(resource.RLIMIT_FSIZE)[1]
def leaf(n): return n + 1
def work():
    for n in range(1000): leaf(n)
work()
flush()
{TAKEN[what]}
work()
{"os._exit(0)" if end == "os._exit" else ""}
"""
    path = tmp_path / "x.seismo"
    children.seismo("trace", "-q", "-o", path, "-c", program)
    verified(path)
    assert len(calls_of(path, "leaf")) == {"closed": 2000, "full for a while": 3000}[what]
    assert {row.kind for row in read(path).losses} <= {"sites-off"}  # what could not be written was written later


WORK = "def leaf(): pass\nfor _ in range(1000): leaf()\n"


@pytest.mark.parametrize("what", ["os.unlink(path)", "os.rename(path, path + '.moved')"])
def test_the_timeline_is_kept_where_the_program_removed_or_moved_the_file(tmp_path, what):
    """The descriptor still leads to it, and so to what happened when, which nobody has in memory."""
    path = tmp_path / "x.seismo"
    program = f"import os; path = {str(path)!r}\n{WORK}{what}\n{WORK}"
    children.seismo("trace", "-q", "-o", path, "-c", program)
    for one in tmp_path.iterdir():
        verified(one)
        assert len(calls_of(one, "leaf")) == 2000
        assert "lost      nothing" in children.seismo("report", one).stdout
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_trace_without_its_journal_is_not_taken_for_a_profile(tmp_path):
    path = tmp_path / "x.seismo"
    children.seismo("trace", "-q", "-o", path, "-c", f"{WORK}import os; os.truncate({str(path)!r}, 0)")
    verify = partial(children.seismo, "info", "--verify", path, status=2)
    assert "the journal of this trace is missing" in verify().stderr
    for verb in ("report", "info"):
        assert "lost      the journal of this trace is missing" in children.seismo(verb, path).stdout
    children.seismo("profile", "-q", "-o", path, "-c", "pass")
    assert "seismo trace makes a recording that has one" in verify().stderr


# Answers clock_gettime in the system's place, for who is started with it: jump() sets clocks by so many ns.
CLOCKS = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long long off[16];
void jump(int clock, long long ns) { off[clock] += ns; }
int clock_gettime(clockid_t clock, struct timespec *to) {
    long result = syscall(SYS_clock_gettime, clock, to);
    if (result == 0 && clock >= 0 && clock < 16 && off[clock] != 0) {
        long long ns = to->tv_sec * 1000000000LL + to->tv_nsec + off[clock];
        to->tv_sec = ns / 1000000000LL;
        to->tv_nsec = ns % 1000000000LL;
    }
    return (int)result;
}
"""
JUMPS = """
import ctypes, os, sys, time
jump = ctypes.CDLL(None).jump
jump.argtypes = [ctypes.c_int, ctypes.c_longlong]
def leaf(n): return n + 1
def before():
    time.sleep(0.05)
def after():
    time.sleep(0.05)
def child():
    time.sleep(0.05)
def waits(pid):
    os.waitpid(pid, 0)
def main():
    n = 0
    for _ in range(500): n = leaf(n)
    before()
    for clock, ns in {jumps!r}: jump(clock, ns)
    after()
    for _ in range(500): n = leaf(n)
    pid = os.fork()
    if pid == 0:
        child()
        sys.exit(0)
    waits(pid)
    print(n)
main()
"""
HOUR = 3600 * 10**9
REALTIME, BOOTTIME = time.CLOCK_REALTIME, 7


@pytest.fixture(scope="module")
def clocks(tmp_path_factory):
    source = extensions.shared(tmp_path_factory, "clocks") / "clocks.c"
    source.write_text(CLOCKS)
    return extensions.library(source, source.parent)


@pytest.mark.parametrize(
    "jumps",
    [[(REALTIME, -HOUR)], [(REALTIME, HOUR)], [(REALTIME, HOUR), (BOOTTIME, HOUR)]],
    ids=["set back", "set forward", "the system slept"],
)
def test_clocks_that_are_set_change_no_length_and_keep_processes_together(jumps, clocks, tmp_path):
    """A system that sleeps goes on with all clocks but the monotonic one, by which a trace counts."""
    path = tmp_path / "x.seismo"
    words = ["trace", "-q", "--children", "-o", path, "-c", JUMPS.format(jumps=jumps)]
    preload = ":".join(filter(None, [os.environ.get("LD_PRELOAD"), str(clocks)]))
    done = children.seismo(*words, cwd=tmp_path, LD_PRELOAD=preload)
    assert (done.stdout, done.stderr) == ("1000\n", "")
    verified(path)
    lengths = {name: [end - start for start, end in calls_of(path, name)] for name in ("before", "after", "child")}
    for name, found in lengths.items():
        assert len(found) == 1, name
        assert 40_000_000 < found[0] < 60 * 10**9, name
    ((start, end),) = calls_of(path, "main")[:1]
    assert end - start < 600 * 10**9
    recording = seismo.open(path)
    assert all(row.end_ns >= row.start_ns for row in recording.processes)
    slept = sum(ns for clock, ns in jumps if clock == BOOTTIME)
    ((waits, waited),) = calls_of(path, "waits")
    ((child, ended),) = calls_of(path, "child")
    assert waits - 10**9 < child - slept < ended - slept < waited + 10**9
