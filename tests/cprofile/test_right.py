"""Right where cProfile is not: threads, several at once, lost ends, greenlets, forks."""

from __future__ import annotations

import cProfile
import gc
import os
import sys
import threading
import weakref
from functools import partial

import pytest
from counted import by_name, callees, callees_by_name, counts
from threads import beside, in_threads

import seismo
from seismo import _core
from seismo.cprofile import Profile


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def calls(n):
    """How often fib is called by fib(n)."""
    return 1 if n < 2 else 1 + calls(n - 1) + calls(n - 2)


def meet(barrier):
    barrier.wait(30)


def test_threads_have_stacks_of_their_own():
    barrier = threading.Barrier(3)

    def outer(i):
        meet(barrier)
        middle(i)

    def middle(i):
        meet(barrier)  # all three are in it: nobody's recursion
        fib(i + 3)
        meet(barrier)

    with Profile() as profile:
        in_threads(*(partial(outer, i) for i in range(3)))
    found = by_name(profile)
    assert found["outer"] == (3, 0)
    assert found["middle"] == (3, 0)
    assert found["meet"] == (9, 0)
    assert found["fib"] == (sum(calls(i + 3) for i in range(3)), sum(calls(i + 3) for i in range(3)) - 3)
    under = callees_by_name(profile)
    assert [under[pair][0] for pair in (("outer", "middle"), ("middle", "fib"), ("middle", "meet"))] == [3, 3, 6]
    assert {caller for caller, callee in under if callee == "middle"} == {"outer"}
    rows = {row.code.co_name: row for row in profile.getstats() if not isinstance(row.code, str)}
    assert rows["outer"].totaltime >= rows["middle"].totaltime >= rows["middle"].inlinetime > 0


def test_recursion_in_threads_is_each_threads_own():
    turns = [threading.Semaphore(1), threading.Semaphore(0)]

    def down(n, i):
        turns[i].acquire(timeout=30)  # two threads go down step by step in turns
        turns[1 - i].release()
        if n:
            down(n - 1, i)

    with Profile() as profile:
        in_threads(partial(down, 5, 0), partial(down, 5, 1))
    assert by_name(profile)["down"] == (12, 10)


def test_one_thread_only():
    ready, done = threading.Event(), threading.Event()

    def elsewhere():
        ready.wait(30)
        fib(5)
        done.set()

    def here():
        ready.set()
        done.wait(30)

    profile = Profile(threads="current")
    with beside(elsewhere):
        profile.runcall(here)
    found = by_name(profile)
    assert found["here"] == (1, 0)
    assert "fib" not in found


def test_one_thread_only_and_it_ends():
    profile = Profile(threads="current")

    def work():
        profile.enable()
        fib(3)

    in_threads(work)
    fib(5)
    assert by_name(profile)["fib"][0] == calls(3)
    profile.disable()
    profile.runcall(fib, 4)
    assert by_name(profile)["fib"][0] == calls(3) + calls(4)


def test_two_at_once():
    first, second = Profile(), Profile()
    first.enable()
    fib(4)
    second.enable()
    fib(5)
    first.disable()
    fib(6)
    second.disable()
    assert by_name(first)["fib"][0] == calls(4) + calls(5)
    assert by_name(second)["fib"][0] == calls(5) + calls(6)


def test_beside_cprofile_and_the_recorder():
    theirs, ours = cProfile.Profile(), Profile()
    with seismo.profile() as recorded:
        theirs.enable()
        ours.enable()
        fib(7)
        ours.disable()
        theirs.disable()
    assert by_name(ours)["fib"] == by_name(theirs)["fib"] == (calls(7), calls(7) - 1)
    rows = {row.qualname: row.calls for row in recorded.recording.functions}
    assert rows["fib"] == calls(7)


def test_on_and_off_at_different_depths():
    profile = Profile()

    def turns_on():
        inner_on()
        fib(3)

    def inner_on():
        profile.enable()
        fib(2)

    def turns_off():
        inner_off()

    def inner_off():
        profile.disable()

    turns_on()
    turns_off()
    fib(9)
    profile.enable()
    fib(4)
    turns_off()
    found = by_name(profile)
    assert found["fib"][0] == calls(2) + calls(3) + calls(4)
    assert found["turns_off"] == found["inner_off"] == (2, 0)  # they end with disable()
    assert "turns_on" not in found


def test_enable_twice_and_disable_twice():
    profile = Profile()
    profile.disable()
    profile.enable(builtins=False)
    profile.enable()
    len("a")
    fib(3)
    profile.enable(subcalls=False, builtins=True)
    len("a")
    fib(3)
    profile.disable()
    profile.disable()
    found = counts(profile)
    assert found["<built-in method builtins.len>"] == (1, 0)
    assert by_name(profile)["fib"][0] == 2 * calls(3)


def test_builtins_false_is_remembered():
    profile = Profile(builtins=False, subcalls=False)
    profile.enable()
    len("a")
    fib(2)
    profile.disable()
    assert list(by_name(profile)) == ["fib"] == [name.partition(":")[0] for name in counts(profile)]
    assert callees(profile) == {}


def test_generators_that_are_closed_early():
    """Some interpreters report no end for them (gh-140373): what follows has the right caller all the same."""

    def numbers():
        yield 1
        yield 2

    def takes_one():
        generator = numbers()
        next(generator)
        generator.close()
        del generator
        next(numbers())

    def after():
        return fib(2)

    with Profile() as profile:
        for _ in range(5):
            takes_one()
            after()
    found = by_name(profile)
    assert found["takes_one"] == found["after"] == (5, 0)
    assert found["numbers"][0] >= 10
    under = callees_by_name(profile)
    assert ("after", "fib") in under
    assert {caller for caller, callee in under if callee == "after"} == set()


def test_a_method_that_cannot_be_bound():
    with Profile() as profile, pytest.raises(TypeError):
        bytes.find("")
    assert counts(profile).get("<method 'find' of 'bytes' objects>", (1, 0)) == (1, 0)


def test_functions_that_look_alike_are_added_up():
    profile = Profile()
    for _ in range(3):
        profile.runctx("(lambda: None)()", {}, {})
    profile.create_stats()
    rows = {name[2]: row for name, row in profile.stats.items()}
    assert rows["<lambda>"][:2] == (3, 3)
    assert sum(row[0] for row in rows["<lambda>"][4].values()) == 3


def test_greenlets_have_stacks_of_their_own():
    greenlet = pytest.importorskip("greenlet")

    def down(n, other):
        if n == 0:
            other()
            return
        down(n - 1, other)

    main = greenlet.getcurrent()

    def one():
        down(3, lambda: (main.switch(), fib(3)))

    def two():
        down(5, lambda: (main.switch(), fib(4)))

    with Profile() as profile:
        first, second = greenlet.greenlet(one), greenlet.greenlet(two)
        for each in (first, second, first, second):
            each.switch()
    assert first.dead
    assert second.dead
    found = by_name(profile)
    assert found["down"] == (10, 8)
    assert found["one"] == found["two"] == (1, 0)
    assert found["fib"][0] == calls(3) + calls(4)
    under = callees_by_name(profile)
    assert under["one", "down"] == under["two", "down"] == (1, 0)
    assert under["down", "down"] == (8, 6)


def test_deep_recursion():
    def down(n):
        return n and down(n - 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20000)
    try:
        with Profile() as profile:
            down(5000)
            down(3)
    finally:
        sys.setrecursionlimit(limit)
    assert by_name(profile)["down"] == (5005, 5003)


def test_what_runs_counts_when_it_has_ended():
    profile = Profile()

    def looks():
        profile.snapshot_stats()
        return {name[2]: row[1] for name, row in profile.stats.items()}

    with profile:
        first = looks()
        fib(2)
        second = looks()
    assert "looks" not in first
    assert second["looks"] == 1
    assert second["fib"] == 3


def test_clear_in_the_middle():
    profile = Profile()

    def deep(n):
        if n == 0:
            profile.clear()
            fib(3)
            return
        deep(n - 1)

    profile.enable()
    for _ in range(50):
        deep(20)
    profile.disable()
    assert by_name(profile) == {"fib": (calls(3), calls(3) - 1)}
    profile.clear()
    assert profile.getstats() == []


def test_freed_while_enabled():
    names: dict = {}
    exec("def work(): pass", names)
    code = weakref.ref(names["work"].__code__)
    profile = Profile()
    profile.enable()
    names.pop("work")()
    assert code() is not None  # the statistics hold it
    del profile
    gc.collect()
    assert code() is None
    other = Profile()
    other.runcall(fib, 3)
    assert by_name(other)["fib"][0] == calls(3)


def test_freed_by_the_collector_while_enabled():
    class Timer:
        def __call__(self):
            return 0.0

    timer = Timer()
    timer.profile = Profile(timer)
    timer.profile.enable()
    fib(2)
    del timer
    gc.collect()
    assert not [one for one in gc.get_objects() if type(one) is Timer]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fork():
    reader, writer = os.pipe()
    inside, leave = threading.Event(), threading.Event()

    def waits():
        inside.set()
        leave.wait(30)

    thread = threading.Thread(target=waits)
    profile = Profile()
    profile.enable()
    thread.start()
    inside.wait(30)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            fib(5)
            profile.disable()
            found = by_name(profile)
            os.write(writer, repr((found["fib"], found.get("waits"))).encode())
            status = 0
        finally:
            os._exit(status)
    leave.set()
    thread.join(30)
    profile.disable()
    assert os.waitpid(child, 0)[1] == 0
    assert eval(os.read(reader, 1000)) == ((calls(5), calls(5) - 1), None)
    assert by_name(profile)["waits"] == (1, 0)
    assert "fib" not in by_name(profile)
    os.close(reader)
    os.close(writer)


def test_threads_that_end_and_threads_that_come():
    with Profile() as profile:
        for _ in range(20):
            in_threads(*[partial(fib, 3)] * 2)
    assert by_name(profile)["fib"] == (40 * calls(3), 40 * (calls(3) - 1))


def test_another_thread_turns_it_off():
    profile = Profile()
    inside, leave = threading.Event(), threading.Event()

    def waits():
        inside.set()
        leave.wait(30)
        fib(3)

    profile.enable()
    with beside(waits):
        inside.wait(30)
        profile.disable()
        leave.set()
    found = by_name(profile)
    assert found["waits"] == (1, 0)  # it ended with disable()
    assert "fib" not in found


def test_the_base_type_is_what_a_subclass_gets():
    class Mine(Profile):
        def __init__(self, name):
            super().__init__(subcalls=False)
            self.name = name

    with Mine("a") as profile:
        fib(3)
    assert profile.name == "a"
    assert isinstance(profile, _core.Profiler)
    entry = profile.getstats()[0]
    assert entry == tuple(entry)
    assert (entry.callcount, entry.reccallcount, entry.calls) == (calls(3), calls(3) - 1, None)


def test_wrong_arguments():
    for arguments in ((1, 2, 3, 4, 5), (None, "x")):
        with pytest.raises(TypeError):
            Profile(*arguments)
    with pytest.raises(ValueError, match="'all' or 'current'"):
        Profile(threads="some")
    with pytest.raises(TypeError):
        Profile().enable(1, 2, 3)
