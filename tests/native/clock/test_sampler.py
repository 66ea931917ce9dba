"""The sampler beside programs that make its work hard: idle ones, threads that end under its eyes, forks, stops."""

import platform
import time

import pytest
from lab import FIRST_SOURCE, recorded, run, start
from recorded import image
from threads import in_threads

from seismo import _core

pytestmark = pytest.mark.parametrize("source", FIRST_SOURCE)

SWITCHES = """
import time
def switches():
    "How often each thread but this one went to sleep."
    found = {}
    for task in os.listdir("/proc/self/task"):
        if int(task) != os.getpid():
            with open(f"/proc/self/task/{task}/status") as status:
                found[task] = next(int(line.split()[1]) for line in status if line.startswith("voluntary"))
    return found
"""


def called(name):
    """Return the calls of a local function of a test."""
    return sum(count for qualname, count in image().calls().items() if qualname.endswith(f"<locals>.{name}"))


def test_an_idle_program_is_left_alone(source):
    run(SWITCHES + """
start(source=sys.argv[1], timing="none")
work(2000)
assert not switches(), "without times there is no sampler"
_core.stop()
start(source=sys.argv[1])
work(2000)
time.sleep(0.3)
before = switches()
assert before, "there is a sampler"
time.sleep(0.5)
woken = sum(switches()[task] - count for task, count in before.items())
_core.stop()
assert woken <= 20, woken
""", source)  # fmt: skip


def test_a_program_that_goes_on_is_looked_at_again(source):
    run("""
import time
def idle():
    time.sleep(0.3)
def busy(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        leaf()
start(source=sys.argv[1])
busy(0.05)
for _ in range(2):
    idle()
    busy(0.1)
_core.stop()
times = {"idle": [0, 0], "busy": [0, 0]}
for row in image().named("nodes"):
    name = "busy" if row["function"] == "leaf" else row["function"]
    if name in times:
        times[name][0] += row["timed_ns"] + row["sampled_ns"]
        times[name][1] += row["wait_ns"]
assert times["idle"][1] > 0.55e9, times
assert 0.08e9 < times["busy"][0] < 0.3e9, times
assert times["idle"][0] < 0.05e9, times
""", source)  # fmt: skip


def test_a_rate_is_kept(source):
    def busy():
        until = time.thread_time() + 0.2
        while time.thread_time() < until:
            sum(range(100))

    start(source, rate=100)
    began = time.perf_counter()
    busy()
    _core.stop()
    passed = time.perf_counter() - began
    looks = sum(row["sampled"] for row in image().tables["nodes"])
    assert looks <= passed * 200 + 1, "the shortest distance is half of the mean"


def test_a_long_function_is_not_sampled_while_it_begins(source):
    """Its start asks the system for the CPU clock. The sampler may wake up just then, and finds it entered already."""

    def step(x):
        return (x * 7 + 3) % 1009

    def loop(x):
        for _ in range(200):
            x = step(x)
        return x

    def long(x):
        for i in range(400):
            x = (x + i * 3) % 1009
        return x

    def main(x=1):
        for i in range(2000):
            x = loop(x)
            if i % 4 == 0:
                x = long(x)

    found = recorded(source, main)
    (node,) = (row for row in found.named("nodes") if row["function"].endswith("<locals>.long"))
    assert node["timed"] == node["calls"] == 500
    assert node["sampled_ns"] < 0.2 * node["timed_ns"]


def recorded_in_threads(source, work, times, at_once):
    """Record threads that run side by side, again and again, and are looked at very often."""
    start(source, rate=20_000)
    for _ in range(times):
        in_threads(*[work] * at_once)
    _core.stop()
    assert _core.check()


def test_threads_that_end_while_they_are_looked_at(source):
    calls = []

    def leaf():
        calls.append(1)

    def work():
        for _ in range(5):
            leaf()

    recorded_in_threads(source, work, 100, 5)
    assert called("leaf") == len(calls) == 2500


def test_deep_stacks_that_come_and_go_while_they_are_looked_at(source):
    """The sampler reads the shadows of frames while they move to another place."""

    def fall(n):
        return fall(n - 1) if n else 0

    def work():
        for depth in (10, 100, 500, 20, 800, 5):
            fall(depth)

    recorded_in_threads(source, work, 10, 4)
    assert called("fall") == 10 * 4 * sum(depth + 1 for depth in (10, 100, 500, 20, 800, 5))


def test_a_storm_of_forks(source):
    run("""
from recorded import image  # once, and not in each child
start(source=sys.argv[1], rate=20_000)
for i in range(30):
    work(50)
    child = os.fork()
    if child == 0:
        _core.after_fork(-1, "{}")
        work(100)
        _core.stop()
        os._exit(0 if image().calls()["leaf"] == 100 and _core.check() else 1)
    status = os.waitpid(child, 0)[1]
    assert status == 0, (i, status)
_core.stop()
assert image().calls()["leaf"] == 30 * 50
""", source)  # fmt: skip


def test_a_program_on_one_processor_and_one_that_blocks_signals_and_is_in_no_hurry(source):
    """On one processor the sampler takes the thread's at each look: that is no waiting of the program's."""
    run("""
import ctypes, signal, time
def spin():
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        leaf()
processors = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(processors)})
start(source=sys.argv[1])
spin()
_core.stop()
recorded = image()
(thread,) = recorded.tables["threads"]
ran = sum(row["timed_ns"] + row["sampled_ns"] for row in recorded.tables["nodes"])
assert thread["rest_ns"] + sum(row["timed_ns"] for row in recorded.tables["nodes"]) > 0.27e9
assert ran > 0.2e9, ran
os.sched_setaffinity(0, processors)
signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
ctypes.CDLL(None).prctl(29, 500_000_000, 0, 0, 0)  # PR_SET_TIMERSLACK: 0.5 s
start(source=sys.argv[1])
spin()
_core.stop()
assert sum(row["sampled"] for row in image().tables["nodes"]) > 30
""", source)  # fmt: skip


@pytest.mark.skipif(platform.machine() != "x86_64", reason="written for the system calls of x86-64")
def test_a_program_that_may_make_no_threads(source):
    """seccomp refuses clone: counts are exact, and times are those of the first calls and of the clock."""
    run("""
import ctypes, struct
load, equal, give, refuse = 0x20, 0x15, 0x06, 0x00050001
code = [(load, 0, 0, 0), (equal, 1, 0, 56), (equal, 0, 1, 435), (give, 0, 0, refuse), (give, 0, 0, 0x7FFF0000)]
filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(filters)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0
start(source=sys.argv[1])
work(5000)
_core.stop()
assert image().calls()["leaf"] == 5000
""", source)  # fmt: skip
