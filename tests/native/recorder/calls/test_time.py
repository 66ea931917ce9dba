"""Time, on a clock that the program itself moves. Each move is a look of the sampler, so that times are exact."""

import gc
import threading
import types
from collections import Counter

import pytest
from lab import SOURCES, recorded
from recorded import filter_of, image
from threads import in_threads

from seismo import _core

pytestmark = pytest.mark.parametrize("source", SOURCES)

tick = _core._advance_clock
YOUNG = 64  # entries of a function that are timed (native/recorder/calls/node_times.c)


def simulated(source, program, *arguments, **settings):
    """Return the recording of a call, on the clock that the program moves."""
    return recorded(source, program, *arguments, clock="simulated", **settings)


def rows(found):
    """Return the nodes of each function, by its name."""
    nodes = {}
    for row in found.named("nodes"):
        nodes.setdefault(row["function"].rpartition(".")[2], []).append(row)
    return nodes


def own(found):
    """Return the time of each function, timed and sampled, by its name; those without any are left out."""
    times = {name: sum(row["timed_ns"] + row["sampled_ns"] for row in nodes) for name, nodes in rows(found).items()}
    return {name: time for name, time in times.items() if time}


def sums(found, name, *columns):
    return [sum(node[column] for node in rows(found)[name]) for column in columns]


EVERY = {"timing": "every"}
# Of each program: settings, the text, and the time of each function.
PROGRAMS = {
    "every call": (
        EVERY,
        """
def outer(n):
    tick(10)
    for i in range(n):
        inner(i)
        tick(5)
def inner(i):
    tick(i)
    if i % 3 == 0:
        deeper()
        tick(1)
def deeper():
    tick(1000)
def main():
    for _ in range(3):
        outer(100)
        tick(7)
""",
        {"outer": 3 * (10 + 500), "inner": 3 * (4950 + 34), "deeper": 3 * 34 * 1000, "main": 21},
    ),
    "generators and exceptions": (
        EVERY,
        """
def numbers():
    for i in range(50):
        tick(3)
        yield i
    tick(1)
def fail():
    tick(11)
    raise KeyError
def main():
    for _ in numbers():
        tick(2)
        try:
            fail()
        except KeyError:
            tick(4)
""",
        {"numbers": 151, "fail": 550, "main": 300},
    ),
    "snapshots take no time": (
        EVERY,
        """
def f():
    tick(10)
    core.snapshot()
    core.flush()
    tick(10)
def main():
    f()
    f()
""",
        {"f": 40},
    ),
    # A frame may stand where another one stood, of the same function or not.
    "turns at one depth": (
        {},
        """
def one():
    tick(1)
def two():
    tick(10)
def three():
    tick(100)
    one()
    tick(100)
def main():
    for _ in range(1000):
        one()
        two()
        three()
        one()
""",
        {"one": 3000, "two": 10_000, "three": 200_000},
    ),
    "generators that take turns": (
        {},
        """
def numbers(n):
    for i in range(n):
        tick(3)
        yield i
        tick(4)
def use():
    tick(1)
def main():
    for _ in zip(numbers(1000), numbers(1000), strict=True):
        tick(2)
        use()
""",
        {"numbers": 2 * 1000 * 7, "use": 1000, "main": 2000},
    ),
    "generators that delegate": (
        {},
        """
def inner(n):
    for i in range(n):
        tick(5)
        yield i
def outer(n):
    tick(1)
    yield from inner(n)
    tick(2)
def main():
    for _ in outer(1000):
        tick(1000)
""",
        {"inner": 5000, "outer": 3, "main": 1_000_000},
    ),
    "exceptions through mature functions": (
        {},
        """
def fail():
    tick(1)
    raise KeyError
def middle():
    tick(2)
    fail()
def outer():
    try:
        middle()
    except KeyError:
        tick(4)
def main():
    for _ in range(1000):
        outer()
""",
        {"fail": 1000, "middle": 2000, "outer": 4000},
    ),
    # The C functions themselves are not recorded, so what is left of their time is their callers'.
    "C functions that call back": (
        {},
        """
def key(x):
    tick(1)
    return -x
def main():
    for _ in range(200):
        sorted([3, 1, 2], key=key)
        tick(10)
""",
        {"key": 600, "main": 2000},
    ),
    "C functions": (
        {"c_functions": "all"},
        """
def key(x):
    tick(2)
    return x
def main():
    for _ in range(1000):
        max([3], key=tick)  # what C calls is no event
        max([3], key=key)
        tick(1)
""",
        {"max": 3000, "key": 2000, "main": 1000},
    ),
    "a function that is left out is its caller's time": (
        {"where": filter_of('call("wanted")')},
        """
def out():
    tick(5)
def wanted():
    tick(1)
    out()
def main():
    for _ in range(1000):
        wanted()
        tick(100)
""",
        {"wanted": 6000},
    ),
    "a trace": (
        {"journal": True},
        """
def leaf():
    tick(3)
def main():
    for _ in range(1000):
        leaf()
        tick(1)
""",
        {"leaf": 3000, "main": 1000},
    ),
    # What frees an object takes a part of the time of who collects, and is no event.
    "collections": (
        {},
        """
import functools, gc
class Garbage:
    __del__ = staticmethod(functools.partial(tick, 5000))
def busy(i):
    tick(20)
    if i % 50 == 0:
        gc.collect(0)
def main():
    for i in range(2000):
        if i % 50 == 0:
            garbage = Garbage()
            garbage.itself = garbage
            del garbage
        busy(i)
""",
        {"busy": 2000 * 20 + 40 * 5000},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_of_the_time_is_that_of_who_took_it(source, name):
    settings, text, expected = PROGRAMS[name]
    if source == "starts" and settings.keys() & {"where", "journal"}:
        pytest.skip("it is not used there")
    names = {"tick": tick, "core": _core, "__name__": "made"}
    exec(text, names)
    gc.collect()  # a young generation may be full, and what the collector frees here is not the program's
    assert own(simulated(source, names["main"], **settings)) == expected


def test_await_time(source):
    """Suspended time is kept apart from running time."""

    @types.coroutine
    def pause():
        yield

    async def task():
        tick(5)
        await pause()
        tick(6)

    def main():
        for _ in range(10):
            one = task()
            one.send(None)
            tick(100)
            with pytest.raises(StopIteration):
                one.send(None)

    found = simulated(source, main, timing="every")
    assert sums(found, "task", "awaits", "await_ns", "timed_ns") == [10, 1000, 110]


# ---- young functions, and what comes later ----


def test_pieces_and_looks_are_all_of_the_time(source):
    """Functions that are young, mature and long, in turn: nothing is counted twice, and nothing is missing."""

    def leaf():
        tick(3)

    def other(i):
        tick(2)
        leaf()
        tick(i % 5)

    def long():
        tick(6000)
        leaf()
        tick(1)

    def main():
        for i in range(2000):
            tick(1)
            leaf()
            other(i)
            if i % 10 == 0:
                long()
        tick(50)

    found = simulated(source, main)
    assert own(found) == {
        "leaf": 3 * (2000 + 2000 + 200),
        "other": 2 * 2000 + 2 * 2000,
        "long": 200 * 6001,
        "main": 2000 + 50,
    }
    assert sums(found, "leaf", "entered") == [YOUNG]
    assert sums(found, "long", "entered") == [200]
    assert sums(found, "leaf", "sampled_ns")[0] > 0
    (thread,) = (row for row in found.tables["threads"] if row["main"])
    assert thread["rest_ns"] == sum(row["sampled_ns"] for row in found.tables["nodes"])


def test_long_functions_stay_timed(source):
    def long():
        tick(6000)

    def main():
        for _ in range(3 * YOUNG):
            long()

    assert sums(simulated(source, main), "long", "entered", "timed_ns", "sampled") == [3 * YOUNG, 3 * YOUNG * 6000, 0]


def test_recursion(source):
    def fall(n):
        tick(1)
        if n:
            fall(n - 1)
            tick(2)

    def main():
        for _ in range(50):
            fall(100)

    found = simulated(source, main)
    assert own(found) == {"fall": 50 * (101 + 200)}
    assert sorted(node["timed_ns"] + node["sampled_ns"] for node in rows(found)["fall"]) == [50] + 100 * [150]


def test_two_threads(source):
    """The clock is everybody's: what one thread does, the other waits for. Both have all of it."""
    turns = [threading.Event(), threading.Event()]

    def work():
        tick(3)

    def run(mine, other):
        for _ in range(400):
            turns[mine].wait()
            turns[mine].clear()
            work()
            turns[other].set()

    # Both run when the first turn comes.
    found = simulated(source, in_threads, lambda: run(0, 1), lambda: run(1, 0), turns[0].set)
    times = Counter()
    for row in found.tables["nodes"]:
        times[row["thread"]] += row["timed_ns"] + row["sampled_ns"]
    less, more = sorted(times[row["id"]] for row in found.tables["threads"] if "lambda" in row["name"])
    assert more == 800 * 3
    assert less >= 799 * 3, "the last turn may come when it has ended"


def test_what_still_runs_is_known(source):
    def inner():
        tick(7)
        taken.append(image())
        tick(1)

    taken = []

    def outer():
        tick(5)
        inner()

    assert own(simulated(source, outer)) == {"outer": 5, "inner": 8}
    assert own(taken[0]) == {"outer": 5, "inner": 7}
