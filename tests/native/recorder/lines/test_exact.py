"""Times on a clock that the program itself moves: each line's own and inner time can be held against the truth."""

import contextlib
import threading
import types

import pytest
from recorded import Image
from threads import in_threads
from timing import Lines, recorded, tick

from seismo import _core


def test_own_and_inner_time():
    def outer(n):
        tick(10)
        for i in range(n):
            inner(i)
            tick(5)

    def inner(i):
        tick(i)
        if i % 3 == 0:
            deeper(); tick(1)  # fmt: skip  # noqa: E702

    def deeper():
        tick(1000)

    def program():
        for _ in range(3):
            outer(100)

    lines = recorded(program)
    assert lines.of("outer") == {1: 3, 2: 303, 3: 300, 4: 300}
    assert lines.own("outer") == {1: 30, 4: 1500}
    assert lines.of("outer", "inner_ns") == {3: 3 * (4950 + 34 + 34_000)}
    assert lines.own("inner") == {1: 3 * 4950, 3: 3 * 34}
    assert lines.of("inner", "inner_ns") == {3: 3 * 34_000}
    assert lines.of("deeper") == {1: 102}
    assert lines.own("deeper") == {1: 102_000}
    assert lines.of("program", "inner_ns") == {2: 3 * (10 + 500 + 4950 + 34 + 34_000)}


def test_c_functions_are_their_lines_own():
    def program():
        sorted([3, 1, 2], key=by)
        list(map(tick, [5, 6]))

    def by(value):
        tick(value)
        return value

    lines = recorded(program)
    assert lines.own("program") == {2: 11}
    assert lines.of("program", "inner_ns") == {1: 6}


def test_generators():
    def numbers(n):
        for i in range(n):
            tick(3)
            yield i; tick(20)  # fmt: skip  # noqa: E702
        tick(1)

    def program():
        for _ in numbers(50):
            tick(2)

    lines = recorded(program)
    assert lines.of("numbers") == {1: 51, 2: 50, 3: 50, 4: 1}
    assert lines.own("numbers") == {2: 150, 3: 1000, 4: 1}  # after the yield it is at the yield's line again
    assert lines.own("program") == {2: 100}
    assert lines.of("program", "inner_ns") == {1: 1151}


def test_delegating_generators():
    def inner():
        tick(1)
        got = yield 1
        tick(got)

    def middle():
        yield from inner()
        tick(7)

    def program():
        it = middle()
        next(it)
        tick(100)
        it.send(30)
        it.close()

    def run():
        with contextlib.suppress(StopIteration):
            program()

    lines = recorded(run)
    assert lines.own("inner") == {1: 1, 3: 30}
    assert lines.of("middle", "inner_ns") == {1: 31}
    assert lines.own("middle") == {2: 7}
    assert lines.of("program", "inner_ns") == {2: 1, 4: 37}


def test_exceptions():
    def fail(n):
        tick(11)
        if n:
            fail(n - 1)
        tick(1)
        raise KeyError

    def program():
        for _ in range(10):
            try:
                fail(2)
            except KeyError:
                tick(4)

    lines = recorded(program)
    assert lines.of("fail") == {1: 30, 2: 30, 3: 20, 4: 10, 5: 10}
    assert lines.own("fail") == {1: 330, 4: 10}
    assert lines.of("program", "inner_ns") == {3: 340}
    assert lines.own("program") == {5: 40}


def test_recursion_counts_the_outermost_activation():
    """A line's whole time is the time that it is on the stack, however often."""

    def fib(n):
        tick(1)
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)

    lines = recorded(lambda: fib(8))
    calls = 67
    assert lines.own("fib") == {1: calls}
    assert lines.of("fib", "inner_ns") == {4: calls - 1}


def test_mutual_recursion():
    def even(n):
        tick(2); odd(n - 1) if n else tick(100)  # fmt: skip  # noqa: E702

    def odd(n):
        tick(3)
        even(n - 1) if n else None

    lines = recorded(lambda: even(20))
    evens, odds = 11, 10
    assert lines.own("even") == {1: 2 * evens + 100}
    assert lines.own("odd") == {1: 3 * odds}
    assert lines.of("even", "inner_ns") == {1: 3 * odds}
    # All but the first even's tick passes below the first odd's second line.
    assert lines.of("odd", "inner_ns") == {2: 2 * (evens - 1) + 100 + 3 * (odds - 1)}


def test_a_line_that_is_there_twice_by_another_way():
    """The same line twice on the stack, with another line of the same function between."""

    def f(n):
        if n == 2:
            f(1)
        elif n == 1:
            tick(1); f(3)  # fmt: skip  # noqa: E702
        elif n == 3:
            tick(10); f(0)  # fmt: skip  # noqa: E702
        else:
            tick(100)
        tick(1000)

    def program():
        f(2)
        f(1)

    lines = recorded(program)
    assert lines.own("f") == {4: 2, 6: 20, 8: 200, 9: 7000}
    assert lines.of("f", "inner_ns") == {2: 3111, 4: 2 * 2110, 6: 2 * 1100}


def test_awaiting_apart():
    @types.coroutine
    def pause():
        tick(1)
        yield

    async def task():
        tick(5)
        await pause()
        tick(6)

    def program():
        for _ in range(10):
            one = task()
            one.send(None)
            tick(100)
            with pytest.raises(StopIteration):
                one.send(None)

    lines = recorded(program)
    assert lines.own("task") == {1: 50, 3: 60}
    assert lines.of("task", "awaits") == {2: 10}
    assert lines.of("task", "await_ns") == {2: 1000}
    assert lines.of("task", "inner_ns") == {2: 10}
    assert lines.own("program")[4] == 1000


def test_comprehensions_and_lambdas():
    def program():
        made = [tick(1) for _ in range(20)]
        total = sum(tick(i) or i for i in range(5))
        (lambda: tick(50))()
        return made, total

    lines = recorded(program)
    own, inner = lines.own("program"), lines.of("program", "inner_ns")
    assert own.get(1, 0) + inner.get(1, 0) == 20  # a function of its own before 3.12
    assert sum(lines.own("<genexpr>").values()) == 10
    assert inner[2] == 10
    assert lines.own("<lambda>") == {0: 50}
    assert lines.of("<lambda>") == {0: 1}
    assert inner[3] == 50


def test_one_line_functions_are_hit_at_every_call():
    """gh-155992: their line is in the def line."""

    def program():
        def one(): return 1  # fmt: skip

        for _ in range(7):
            one()
            (lambda: 2)()
        return sum(i for i in range(3))

    lines = recorded(program)
    assert lines.of("one") == {0: 7}
    assert lines.of("<lambda>") == {0: 7}


def test_classes_and_modules():
    text = "tick(1)\nclass A:\n    tick(2)\n    def f(self):\n        tick(3)\nA().f()\n"

    def program():
        exec(compile(text, "made.py", "exec"), {"tick": tick, "__name__": "made"})

    lines = recorded(program)
    rows = {(name, line): row["sampled_ns"] for (name, line), row in lines.rows.items() if row["sampled_ns"]}
    assert rows == {("<module>", 0): 1, ("A", 1): 2, ("f", 1): 3}
    assert lines.of("<module>", "inner_ns") == {1: 2, 5: 3}


def test_threads():
    """Each thread has its own stack; a line that several are at is not recursion."""

    barrier = threading.Barrier(4)

    def work():
        barrier.wait()
        part()

    def part():
        tick(10)

    lines = recorded(lambda: in_threads(*[work] * 4))
    assert lines.of("work") == {1: 4, 2: 4}
    assert lines.of("part") == {1: 4}
    threads = [row["name"] for row in lines.image.tables["threads"]]  # pytest-xdist may have one of its own among them
    assert [name.endswith("(work)") for name in threads].count(True) == 4
    assert "MainThread" in threads


def test_snapshots_take_no_time_and_tell_what_still_runs():
    seen = []

    def inner():
        tick(10)
        seen.append(_core.snapshot())
        _core.flush()
        tick(10)

    def program():
        inner()

    lines = recorded(program)
    assert lines.own("inner") == {1: 10, 4: 10}
    then = Lines(Image(seen[0]))
    assert then.of("program", "inner_ns") == {1: 10}
    assert lines.of("program", "inner_ns") == {1: 20}
