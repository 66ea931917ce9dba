"""Running and waiting: what a thread was off the CPU is told apart from what it ran, whoever tells of it."""

import threading
import time

import pytest
from lab import SOURCES, WITH_C, start
from recorded import image

import seismo.model
from seismo import _core

pytestmark = pytest.mark.parametrize("told", ["as here", "preemption only", "not at all"])

WAIT = 0.05  # s: time.sleep takes no less


@pytest.fixture(autouse=True)
def _who_tells(told):
    """With rseq, as far as this machine has it; as on a kernel that is silent about system calls; and without it."""
    _core._limit_offcpu({"as here": 2, "preemption only": 1, "not at all": 0}[told])
    yield
    _core._limit_offcpu(2)


def spin(n):
    return sum(i % 7 for i in range(n))


def nodes():
    """The rows of the tree by their functions' names, and the recording."""
    recording = seismo.model.read(_core.snapshot())
    names = [row.qualname.rpartition(".")[2] for row in recording.functions]
    return {names[row.function]: row for row in recording.tree}, recording


@pytest.mark.parametrize("source", SOURCES)
def test_a_sleep_is_waiting_and_a_loop_is_running(source):
    def sleeps():
        time.sleep(WAIT)

    def loops():
        spin(300_000)

    start(source)
    sleeps()
    loops()
    _core.stop()
    found, _ = nodes()
    assert found["sleeps"].wait_ns >= WAIT * 0.9e9  # the rest is what CPU time it takes to fall asleep
    assert found["sleeps"].own_ns - found["sleeps"].wait_ns < found["sleeps"].wait_ns
    assert found["loops"].total_wait_ns == found["spin"].total_wait_ns + found["loops"].wait_ns


@pytest.mark.parametrize("source", WITH_C)
def test_the_wait_is_that_of_the_c_function_that_waits(source):
    def sleeps():
        for _ in range(5):
            time.sleep(WAIT / 5)

    start(source, c_functions="all")
    sleeps()
    _core.stop()
    found, _ = nodes()
    assert found["sleep"].wait_ns >= WAIT * 0.9e9
    assert found["sleeps"].total_wait_ns == found["sleeps"].wait_ns + found["sleep"].wait_ns


@pytest.mark.parametrize("source", SOURCES)
def test_running_and_waiting_are_all_of_a_threads_time(source):
    """Threads that take turns: what their functions waited is what their wall and CPU clocks differ by."""

    def burns():
        for _ in range(40):
            spin(20_000)

    threads = [threading.Thread(target=burns) for _ in range(3)]
    start(source)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _core.stop()
    recording = seismo.model.read(_core.snapshot())
    waits = {thread.id: 0 for thread in recording.threads}
    for row in recording.tree:
        waits[row.thread] += row.wait_ns
        assert row.ready_ns + row.lock_ns <= row.wait_ns
    burners = [thread for thread in recording.threads if not thread.main]
    assert len(burners) == 3
    for thread in burners:
        off = thread.wall_ns - thread.cpu_ns
        assert abs(waits[thread.id] - off) <= 0.25 * off + 2e7  # what comes between two readings of the clocks is lost
    assert any(row.lock_ns > 0 for row in recording.tree) or "lock" not in recording.processes[0].waits


@pytest.mark.parametrize("source", SOURCES)
def test_what_a_thread_still_waits_for_is_waiting(source):
    entered, go_on = threading.Event(), threading.Event()

    def waits():
        entered.set()
        go_on.wait()

    thread = threading.Thread(target=waits)
    start(source)
    thread.start()
    entered.wait()
    time.sleep(WAIT)
    _core.stop()
    go_on.set()
    thread.join()
    found, _ = nodes()
    waiting = found["waits"].total_wait_ns
    assert waiting >= WAIT * 0.8e9
    assert found["waits"].total_ns - waiting < waiting


def test_the_recording_says_who_told(told):
    start()
    spin(10)
    _core.stop()
    says = image().tables["processes"][0]["waits"]
    assert says.split(", ")[0] == ("rseq" if told == "as here" and _core._limit_offcpu(2) == 2 else "clock")
