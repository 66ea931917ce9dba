"""Threads by the thousand, and what runs while the interpreter clears a thread's state."""

import contextvars
import signal
import sys
import threading

import pytest
from lab import FIRST_SOURCE, SOURCES, leaf, load, recorded, run, start
from recorded import RUNNING, image
from threads import beside, in_threads

from seismo import _core

APART = 1000  # threads that have ended and keep a row of their own


def work():
    leaf()


def other():
    leaf()
    leaf()


def run_threads(count, target=work, **options):
    for _ in range(count):
        in_threads(target, **options)


@pytest.mark.parametrize("source", FIRST_SOURCE)
def test_finished_threads_are_folded(source):
    """Past the limit by name, numbers left out, and by what began them. Every call is counted.

    Threads of a group that run side by side share paths, and each is where it is: a look at them has what runs. What
    runs while a folded thread's state is cleared is counted, too. The next recording begins anew.
    """
    var = contextvars.ContextVar("var")
    inside, go_on = threading.Semaphore(0), threading.Event()

    class Last:
        def __del__(self):
            leaf()

    def last():
        var.set(Last())

    def wait():
        leaf()
        inside.release()
        go_on.wait()
        work()

    start(source)
    run_threads(APART + 150)
    run_threads(20, other)
    run_threads(30, other, name="worker 17 of 0badcafe12")
    run_threads(10, work, name="worker 18 of 0badcafe13")
    run_threads(20, last)
    with beside(*[wait] * 5):
        for _ in range(5):
            inside.acquire()
        before = image()
        go_on.set()
    _core.stop()
    assert _core.check()
    found = image()
    finalized = before.calls().get(Last.__del__.__qualname__, 0)
    assert finalized == 20 or source == "profilefunc"  # whose slot may be cleared before the context
    leaves = APART + 160 + 2 * 50 + finalized
    assert before.calls()["leaf"] == leaves + 5
    (waiting,) = (row for row in before.tables["threads"] if row["name"] == "Thread-* (wait)")
    assert waiting["folded"] == 5
    assert any(row["flags"] & RUNNING for row in before.tables["nodes"] if row["thread"] == waiting["id"])
    count = APART + 235
    assert {name: found.calls()[name] for name in ("work", "other", "leaf", "Thread._bootstrap")} == {
        "work": APART + 165,
        "other": 50,
        "leaf": leaves + 10,
        "Thread._bootstrap": count,
    }
    folded = {row["name"]: row for row in found.tables["threads"] if row["folded"]}
    assert {name: row["folded"] for name, row in folded.items()} == {
        "Thread-* (work)": 150,
        "Thread-* (other)": 20,
        "worker * of * (other)": 30,
        "worker * of * (work)": 10,
        "Thread-* (last)": 20,
        "Thread-* (wait)": 5,
    }
    ended = folded["Thread-* (wait)"]
    assert ended["id"] == waiting["id"]
    assert ended["wall_ns"] >= waiting["wall_ns"]
    assert not any(row["flags"] & RUNNING for row in found.tables["nodes"] if row["thread"] == ended["id"])
    assert len(found.tables["threads"]) == 1 + APART + len(folded)
    assert found.losses["threads-folded"] == 235
    if source != "evalframe":  # frames of other threads (a worker of pytest-xdist has one) end without an event
        assert found.losses.get("repaired", 0) == 0
    forests = found.forests()
    assert found.doubled == []
    assert sum(node.calls for root in forests["Thread-* (work)"] for node in root.walk() if node.name == "leaf") == 150
    for row in folded.values():
        assert row["start_ns"] < row["end_ns"]
        assert 0 < row["wall_ns"] <= row["end_ns"] - row["start_ns"] or row is ended
        assert row["cpu_ns"] > 0
        assert row["native_id"] == row["main"] == 0
    again = recorded(source, run_threads, 20)
    assert "threads-folded" not in again.losses
    assert len(again.tables["threads"]) == 1 + 20


def test_finished_threads_are_folded_earlier_where_their_paths_fill_the_memory():
    """A thread for each request, each on thousands of paths: what they all keep is bounded, not only how many."""
    made = {}
    exec(
        "\n".join(
            f"def f{i}(deep):\n    if deep:\n        for call in ({', '.join(f'f{k}' for k in range(8))}):\n"
            "            call(deep - 1)"
            for i in range(8)
        ),
        made,
    )

    def request():
        made["f0"](4)

    paths = sum(8**deep for deep in range(5))
    found = recorded(None, run_threads, 20, request)
    assert _core.check()
    folded = [row["folded"] for row in found.tables["threads"] if row["folded"]]
    apart = len(found.tables["threads"]) - 2
    assert folded == [20 - apart]
    assert 12 << 20 <= apart * (paths + 6) * 152 < (12 << 20) + 2 * paths * 152
    assert sum(found.calls()[f"f{i}"] for i in range(8)) == 20 * paths
    assert len(found.tables["nodes"]) < (apart + 2) * (paths + 10)
    assert "threads-folded" not in recorded(None, run_threads, 3, request).losses, "the next one begins anew"


def test_a_killed_process_leaves_the_groups(path):
    """Rows of groups in the file are brought up to date like all others, and count nothing twice."""
    run("""
from threads import in_threads
start(fd=file(sys.argv[1]))
for i in range(1100):
    in_threads(leaf)
    if i % 100 == 99:
        _core.flush()
os.kill(os.getpid(), 9)
""", str(path), status=-signal.SIGKILL)  # fmt: skip
    found = load(path)
    assert found.calls()["leaf"] == 1100
    assert [row["folded"] for row in found.tables["threads"] if row["folded"]] == [100]
    assert found.losses["threads-folded"] == 100


@pytest.mark.parametrize("recorder", ["calltree", pytest.param("linetimes", marks=pytest.mark.matrix)])
def test_memory_is_constant(recorder):
    """What a finished thread took is another's: as many again take no more than a page here and there."""
    program = f"""
import resource
from threads import in_threads
start(recorder={recorder!r})
def some(n):
    for _ in range(n): in_threads(lambda: work(3))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = some({APART} + 200)
after = some(600)
_core.stop()
print(after - before)
"""
    assert int(run(program)) < 1500  # kB; apart they took 12,000


@pytest.mark.parametrize("source", SOURCES)
def test_finalizers_of_a_thread_s_context_are_its_own(source):
    """They run while the interpreter clears the thread's state, at addresses that the next thread's may have."""
    var = contextvars.ContextVar("var")

    class Last:
        def __del__(self):
            work()

    def target():
        var.set(Last())

    names = [f"t{i}" for i in range(20)]
    start(source)
    for name in names:
        run_threads(1, target, name=name)
    _core.stop()
    assert _core.check()
    found = image()
    assert sorted(row["name"] for row in found.tables["threads"]) == sorted(["MainThread", *names])
    if source == "profilefunc":
        return  # its slot is cleared before the context
    assert found.calls()["work"] == 20
    if sys.version_info < (3, 14):  # from then on the Thread object holds the context
        for name in names:
            assert [root.name.rpartition(".")[2] for root in found.forests()[name]] == ["_bootstrap", "__del__"]


COLLECTING = """
import ctypes, functools, gc, os, sys, threading, time
sys.setswitchinterval(1e-4)
import seismo

# Lets go of the GIL within a collection, as closing a file does, and is no call that could be recorded.
poll = ctypes.CDLL(None).poll
poll.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int, ctypes.py_object, ctypes.py_object]
gc.callbacks.append(functools.partial(poll, None, 0, 2))
gc.disable()
gc.set_threshold(1)
read, write = os.pipe()

def inner(n):
    return n and inner(n - 1)

def once():
    os.read(read, 1)
    gc.enable()
    inner(5)
    gc.disable()

def wake():
    while True:
        once()

def poke():
    while True:
        os.write(write, b"x")
        time.sleep(0.0005)

for target in (wake, wake, poke):
    threading.Thread(target=target, daemon=True).start()
for _ in range(12):
    for timing in ("sampled", "every"):  # costs are measured anew, in recordings that begin and end
        with seismo.profile(source=sys.argv[1], c_functions="none", timing=timing) as p:
            inner(3)
print("ended")
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("source", SOURCES)
def test_recordings_begin_while_a_thread_collects_garbage(source):
    """Looking at a thread's frames makes objects, which up to 3.11 may collect then and there: a file that is closed
    lets another thread end the recording in the middle, whose tree is gone when the first goes on."""
    assert run(COLLECTING, source) == "ended\n"
