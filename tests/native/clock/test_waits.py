"""Running and waiting: what a thread was off the CPU is kept apart from what it ran."""

import os
import platform
import signal
import threading
import time
from pathlib import Path

import pytest
from lab import FIRST_SOURCE, WITH_C, popen, recorded, run, start
from threads import beside, in_threads

import seismo.model
from seismo import _core

WAIT = 0.05  # s: time.sleep takes no less


def spin(n):
    return sum(i % 7 for i in range(n))


def nodes():
    """The rows of the tree by their functions' names, and the recording."""
    recording = seismo.model.read(_core.snapshot())
    names = [row.qualname.rpartition(".")[2] for row in recording.functions]
    return {names[row.function]: row for row in recording.tree}, recording


def sound(recording):
    """No wait below zero, none above the wall's time, and its parts are parts of it. Returns the waits by thread."""
    waits = {thread.id: 0 for thread in recording.threads}
    for row in recording.tree:
        assert 0 <= row.ready_ns + row.lock_ns <= row.wait_ns <= row.own_ns + 1
        assert 0 <= row.wait_ns <= row.total_wait_ns <= row.total_ns + 1
        waits[row.thread] += row.wait_ns
    for thread in recording.threads:
        assert waits[thread.id] <= thread.wall_ns + thread.wall_ns // 1000  # two clocks, compared on a busy machine
    return waits


@pytest.mark.parametrize("source", FIRST_SOURCE)
def test_a_sleep_is_waiting_and_a_loop_is_running(source):
    def sleeps():
        time.sleep(WAIT)

    def loops():
        spin(300_000)

    start(source)
    sleeps()
    loops()
    _core.stop()
    found, recording = nodes()
    assert recording.processes[0].waits.split(", ")[0] == "clock"
    assert found["sleeps"].wait_ns >= WAIT * 0.9e9  # the rest is what CPU time it takes to fall asleep
    assert found["sleeps"].own_ns - found["sleeps"].wait_ns < found["sleeps"].wait_ns
    assert found["loops"].total_wait_ns == found["spin"].total_wait_ns + found["loops"].wait_ns


@pytest.mark.parametrize("source", WITH_C)
def test_the_wait_is_that_of_the_c_function_that_waits(source):
    def sleeps():
        for _ in range(5):
            time.sleep(WAIT / 5)

    recorded(source, sleeps, c_functions="all")
    found, _ = nodes()
    assert found["sleep"].wait_ns >= WAIT * 0.9e9
    assert found["sleeps"].total_wait_ns == found["sleeps"].wait_ns + found["sleep"].wait_ns


@pytest.mark.parametrize("source", FIRST_SOURCE)
def test_running_and_waiting_are_all_of_a_threads_time(source):
    """Threads that take turns: what their functions waited is what their wall and CPU clocks differ by."""

    def burns():
        for _ in range(40):
            spin(20_000)

    recorded(source, in_threads, *[burns] * 3)
    recording = seismo.model.read(_core.snapshot())
    waits = sound(recording)
    burners = [thread for thread in recording.threads if "burns" in thread.name]
    assert len(burners) == 3
    for thread in burners:
        off = thread.wall_ns - thread.cpu_ns
        assert abs(waits[thread.id] - off) <= 0.25 * off + 2e7  # what comes between two readings of the clocks is lost
    assert any(row.lock_ns > 0 for row in recording.tree) or "lock" not in recording.processes[0].waits


@pytest.mark.parametrize("source", FIRST_SOURCE)
def test_what_a_thread_still_waits_for_is_waiting(source):
    entered, go_on = threading.Event(), threading.Event()

    def waits():
        entered.set()
        go_on.wait()

    start(source)
    with beside(waits):
        entered.wait()
        time.sleep(WAIT)
        _core.stop()
        go_on.set()
    found, _ = nodes()
    waiting = found["waits"].total_wait_ns
    assert waiting >= WAIT * 0.8e9
    assert found["waits"].total_ns - waiting < waiting


@pytest.mark.parametrize("source", FIRST_SOURCE)
def test_hundreds_of_threads_that_wait(source):
    go_on = threading.Event()
    start(source)
    with beside(*[go_on.wait] * 300):
        time.sleep(WAIT)
        go_on.set()
    _core.stop()
    recording = seismo.model.read(_core.snapshot())
    waits = sound(recording)
    assert len(waits) > 300
    for thread in recording.threads:
        if not thread.main and thread.wall_ns > 2 * WAIT * 1e9:
            assert waits[thread.id] > thread.wall_ns / 2


@pytest.mark.parametrize("source", FIRST_SOURCE)
def test_threads_that_live_for_microseconds(source):
    start(source)
    for _ in range(100):
        in_threads(int)
    _core.stop()
    sound(seismo.model.read(_core.snapshot()))


def test_the_line_that_waits():
    def sleeps():
        time.sleep(WAIT)
        spin(1000)

    recorded(None, sleeps, recorder="linetimes")
    recording = seismo.model.read(_core.snapshot())
    name = next(row.id for row in recording.functions if row.qualname.endswith("sleeps"))
    lines = sorted((row for row in recording.lines if row.function == name), key=lambda row: row.line)
    assert lines[0].wait_ns >= WAIT * 0.9e9
    assert all(0 <= row.ready_ns + row.lock_ns <= row.wait_ns <= row.own_ns + 1 for row in lines)


def test_where_proc_is_closed_waiting_stays_undivided():
    def waits():
        time.sleep(WAIT)

    cpus = os.sched_getaffinity(0)
    rival = popen("print(flush=True)\nwhile True: pass")  # With it, spin() has half of a processor.
    try:
        rival.stdout.readline()
        _core._limit_waits(False)
        start()
        for process in (0, rival.pid):
            os.sched_setaffinity(process, {min(cpus)})
        waits()
        spin(2_000_000)
        _core.stop()
        found, recording = nodes()
    finally:
        _core._limit_waits(True)
        os.sched_setaffinity(0, cpus)
        rival.kill()
        rival.communicate()
    assert found["waits"].wait_ns >= WAIT * 0.9e9
    assert all(row.ready_ns == row.lock_ns == 0 for row in recording.tree)
    assert "," not in recording.processes[0].waits


CHILD = """
import time
import seismo.model
def checked():
    recording = seismo.model.read(_core.snapshot())
    waits = 0
    for row in recording.tree:
        assert 0 <= row.ready_ns + row.lock_ns <= row.wait_ns <= row.own_ns + 1, row
        waits += row.wait_ns
    assert waits <= sum(thread.wall_ns for thread in recording.threads)
    return recording, waits
"""


def output_of(child):
    out, err = child.communicate(timeout=120)
    assert (child.returncode, err) == (0, "")
    return out


def stop_again_and_again(child, stopped, runs):
    while child.poll() is None:
        child.send_signal(signal.SIGSTOP)
        time.sleep(stopped)
        child.send_signal(signal.SIGCONT)
        time.sleep(runs)


THROTTLED = f"""{CHILD}
def spin(n):
    return sum(i % 7 for i in range(n))
def asks():
    print("works", flush=True)
    sys.stdin.readline()
def works():
    asks()
    began = time.thread_time() # what goes before takes as long as it takes, to begin a recording, too
    while time.thread_time() - began < 0.1: # kernels throttle where the clock is asked for, too
        spin(20_000)
start()
before = time.thread_time()
works()
used = time.thread_time() - before
_core.stop()
recording, waits = checked()
names = [row.qualname for row in recording.functions]
ran = sum(row.own_ns - row.wait_ns for row in recording.tree)
# Less than the processor was used for, as the cost of measuring is subtracted: much of it in a debug build.
assert 0.5 < ran / used / 1e9 < 1.1, (ran, used)
throttled = sum(row.wait_ns for row in recording.tree if names[row.function] not in ("asks", "readline"))
print(throttled)
"""


def throttled(throttle):
    """What functions waited that never asked to, in ns: `throttle` slows the process down until it has ended."""
    child = popen(THROTTLED, stdin=-1)
    assert child.stdout.readline() == "works\n"
    throttle(child)
    return int(output_of(child))


def test_a_program_that_is_stopped_again_and_again_runs_as_long_as_ever():
    """As it is when its group of processes has used its share of the processor, too."""

    def throttle(child):
        child.stdin.write("\n")
        child.stdin.flush()
        stop_again_and_again(child, 0.02, 0.005)

    assert throttled(throttle) > 0.1e9


SELDOM_LONG = f"""{CHILD}
used = 0
def computes(i):
    global used
    if i % 50_000 == 25_000:
        began = time.thread_time_ns()
        while time.thread_time_ns() - began < 4_000_000:
            pass
        used += time.thread_time_ns() - began
def works():
    print("works", flush=True)
    for i in range(750_000):
        computes(i)
start()
works()
_core.stop()
recording, waits = checked()
names = [row.qualname for row in recording.functions]
row = next(row for row in recording.tree if names[row.function] == "computes")
print((row.own_ns - row.wait_ns) / used)
"""


def test_rare_long_calls_of_a_short_function_are_found_although_the_processor_is_taken_away():
    child = popen(SELDOM_LONG)
    assert child.stdout.readline() == "works\n"
    stop_again_and_again(child, 0.01, 0.004)
    assert float(output_of(child)) > 0.7, "all that it does besides takes far less"


def test_a_program_whose_group_may_use_a_fifth_of_a_processor():
    root = Path("/sys/fs/cgroup/cpu" if Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").exists() else "/sys/fs/cgroup")
    group = root / f"seismo-{os.getpid()}"
    limits = {"cpu.max": "20000 100000"} if root.name == "cgroup" else {"cpu.cfs_quota_us": "20000"}
    try:
        group.mkdir()
        for name, limit in limits.items():
            (group / name).write_text(limit)
        (group / "cgroup.procs").read_text()
    except OSError as error:
        pytest.skip(f"no group of processes can be made here: {error}")

    def throttle(child):
        (group / "cgroup.procs").write_text(str(child.pid))
        child.stdin.write("\n")
        child.stdin.flush()

    try:
        assert throttled(throttle) > 0.1e9
    finally:
        group.rmdir()


def test_a_forked_child_waits_for_itself_only():
    run(CHILD + """
def work(n):
    return sum(i % 7 for i in range(n))
start()
work(300_000)
if (pid := os.fork()) == 0:
    _core.after_fork(-1, "{}")
    work(100_000)
    _core.stop()
    recording, waits = checked()
    thread = recording.threads[0]
    os._exit(waits > thread.wall_ns - thread.cpu_ns + 20e6)
_, status = os.waitpid(pid, 0)
_core.stop()
checked()
sys.exit(os.waitstatus_to_exitcode(status))
""")  # fmt: skip


@pytest.mark.skipif(platform.machine() != "x86_64", reason="written for the system calls of x86-64")
@pytest.mark.parametrize("answer", [0x80000000, 0x00050001], ids=["death", "an error"])
def test_a_program_that_forbids_itself_to_open_files(answer):
    """seccomp: after this, opening a file is the program's end, or an error; it was not to open any."""
    if answer == 0x80000000 and "Seccomp:\t0" not in Path("/proc/self/status").read_text():
        answer = 0x00050001  # a program that has a filter from the start is not seen to get another
    run(CHILD + """
import ctypes, struct
def forbid(answer):
    load, equal, give = 0x20, 0x15, 0x06
    code = [(load, 0, 0, 0), (equal, 0, 1, 257), (give, 0, 0, answer), (give, 0, 0, 0x7FFF0000)]
    filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(filters)))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, program, 0, 0) == 0
def waits():
    time.sleep(0.05)
start()
_core.stop()
checked()  # imports what it needs
start()
waits()
forbid(int(sys.argv[1]))
waits()
_core.stop()
recording, waited = checked()
assert waited >= 0.09e9, waited
print(recording.processes[0].waits)
""", str(answer))  # fmt: skip
