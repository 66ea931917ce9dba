"""Threads: those that run at the start, those that begin later, and those that threading knows nothing of."""

import _thread
import queue
import threading
import time
from contextlib import contextmanager
from functools import partial

import pytest
from lab import SOURCES, leaf, start
from recorded import SEEDED, image, shown
from threads import beside, in_threads

from seismo import _core

pytestmark = pytest.mark.parametrize("source", SOURCES)


def work(n):
    for _ in range(n):
        leaf()
    return n


def only(nodes, name):
    """The subtree of a function as text, wherever it is."""
    return [shown([node]) for root in nodes for node in root.walk() if node.name == name]


@contextmanager
def recorded(source, **options):
    start(source, **options)
    try:
        yield
    finally:
        _core.stop()


def test_new_threads(source):
    with recorded(source):
        for n in range(1, 5):
            in_threads(partial(work, n), name=f"worker {n}")
    forests = image().forests()
    for n in range(1, 5):
        assert only(forests[f"worker {n}"], "work") == [f"work\n  leaf{f' {n}' if n > 1 else ''}\n"]
        assert [root.name for root in forests[f"worker {n}"]] == ["Thread._bootstrap"]


def test_raw_threads(source):
    """The profile function may find a thread that threading does not know only at its next look: it says so then."""
    ready, go, done = _thread.allocate_lock(), _thread.allocate_lock(), _thread.allocate_lock()
    for lock in (ready, go, done):
        lock.acquire()

    def raw():
        ready.release()
        go.acquire()
        work(3)
        done.release()

    with recorded(source, flush_ms=1):
        _thread.start_new_thread(raw, ())
        ready.acquire()
        for _ in range(3):
            time.sleep(0.003)
            work(100)
        go.release()
        done.acquire()
    told = image()
    found = [text for roots in told.forests().values() for text in only(roots, "work")]
    assert "work\n  leaf 3\n" in found
    assert told.losses.get("late-thread", 0) <= (source == "profilefunc")


def test_threads_that_run_at_the_start(source):
    """Their frames are taken over: marked as running before, not counted as calls."""
    work_in, work_out = queue.SimpleQueue(), queue.SimpleQueue()

    def outer():
        inner()
        leaf()

    def inner():
        while work_in.get():
            work_out.put(work(2))

    with beside(outer, name="early") as (thread,):
        work_in.put(1)
        work_out.get()
        with recorded(source):
            work_in.put(1)
            work_out.get()
            work_in.put(0)
            thread.join()
    (root,) = image().forests()["early"]
    path = [root]
    while path[-1].name != "work" and path[-1].children:
        path.append(
            next(child for child in path[-1].children if child.name in ("work", "leaf") or child.flags & SEEDED)
        )
    names = [node.name.rpartition(".")[2] for node in path]
    assert names == ["_bootstrap", "_bootstrap_inner", "run", "outer", "inner", "work"]
    assert [node.calls for node in path] == [0, 0, 0, 0, 0, 1]
    assert [bool(node.flags & SEEDED) for node in path] == [True] * 5 + [False]
    assert shown([path[-1]]) == "work\n  leaf 2\n"
    assert shown([child for child in path[-3].children if child.name == "leaf"]) == "leaf\n"


def test_threads_that_run_at_the_end(source):
    go = threading.Event()
    start(source)
    with beside(go.wait, name="late"):
        work(2)
        _core.stop()
        go.set()
    work(5)
    assert image().calls()["work"] == 1
    assert {row["name"] for row in image().tables["threads"]} >= {"late"}


def test_a_thread_for_each_recording(source):
    """A thread that lives through several recordings belongs to each of them anew."""
    work_in, work_out = queue.SimpleQueue(), queue.SimpleQueue()

    def serve():
        while (n := work_in.get()) is not None:
            work_out.put(work(n))

    with beside(serve):
        for n in range(1, 6):
            with recorded(source):
                work_in.put(n)
                work_out.get()
            assert image().calls()["leaf"] == n
        work_in.put(None)


def test_start_in_another_thread(source):
    """Who starts and who stops need not be the same thread."""
    in_threads(partial(start, source))
    work(3)
    in_threads(_core.stop)
    work(3)
    assert image().calls()["leaf"] == 3


def test_many_threads_at_once(source):
    """Each has a stack of its own; those that wait are where they wait, whoever saves."""

    def down(n):
        if n:
            return down(n - 1)
        ready.release()
        go.wait()
        return work(2000)

    ready, go = threading.Semaphore(0), threading.Event()
    with recorded(source), beside(*(partial(down, n) for n in range(0, 80, 10))) as threads:
        for _ in threads:
            ready.acquire()
        assert _core.check()
        _core.snapshot()
        go.set()
    assert _core.check()
    calls = {name.rpartition(".")[2]: count for name, count in image().calls().items()}
    assert (calls["down"], calls["work"], calls["leaf"]) == (8 + sum(range(0, 80, 10)), 8, 16000)
    assert image().losses.get("repaired", 0) == 0 or source == "evalframe"  # other threads' frames


def test_times_of_threads(source):
    with recorded(source), beside(partial(work, 2000), name="timed") as (thread,):
        pass
    (row,) = [row for row in image().tables["threads"] if row["name"] == "timed"]
    assert 0 < row["cpu_ns"] <= row["wall_ns"] * 1.5 + 1e6
    assert row["start_ns"] <= row["end_ns"]
    assert row["main"] == 0
    assert row["native_id"] == thread.native_id
