"""Stacks that are exchanged, deep, lost or left behind: lines and times stay where they belong."""

import functools
import gc
import sys
import threading

import pytest
from recorded import filter_of, image
from timing import Lines, recorded, start, tick

from seismo import _core


def test_greenlets():
    """Two stacks that take turns: each line's own and inner time is that of its own stack."""
    greenlet = pytest.importorskip("greenlet")

    def one(other):
        for _ in range(3):
            tick(10)
            step(other)

    def two(other):
        for _ in range(3):
            tick(1000)
            deeper(other)

    def deeper(other):
        step(other)

    def step(other):
        tick(1)
        other[0].switch(); tick(5)  # fmt: skip  # noqa: E702

    def program():
        first, second = [], []
        first.append(greenlet.greenlet(functools.partial(one, second)))
        second.append(greenlet.greenlet(functools.partial(two, first)))
        first[0].switch()
        while not first[0].dead:
            first[0].switch()
        while not second[0].dead:
            second[0].switch()

    lines = recorded(program)
    assert lines.of("one") == {1: 4, 2: 3, 3: 3}
    assert lines.of("two") == {1: 4, 2: 3, 3: 3}
    assert lines.of("step") == {1: 6, 2: 6}
    assert lines.own("one") == {2: 30}
    assert lines.own("two") == {2: 3000}
    assert lines.own("step")[1] == 6
    # What runs after a switch and before that stack's first event is still the line's that switched.
    assert sum(lines.own(name).get(line, 0) for name, line in lines.rows) == 30 + 3000 + 6 + 30
    assert lines.of("program") == {1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 7: 2, 8: 1}


def test_deep_recursion():
    def down(n):
        tick(1)
        if n:
            down(n - 1)

    def program():
        down(700)
        down(0)

    lines = recorded(program)
    assert lines.own("down") == {1: 702}
    assert lines.of("down", "inner_ns") == {3: 700}


def test_generators_that_are_dropped():
    """gh-140373: close() of a suspended generator is not always told."""

    def numbers():
        tick(1)
        yield 1
        yield 2

    def guarded():
        try:
            yield 1
        finally:
            tick(7)

    def program():
        for make in (numbers, guarded):
            for _ in range(5):
                it = make()
                next(it)
                del it
                gc.collect(0)
                tick(2)
        numbers()
        with pytest.raises(KeyError):
            numbers().throw(KeyError)
        tick(3)

    lines = recorded(program)
    assert lines.of("numbers") == {1: 5, 2: 5}
    assert lines.own("numbers") == {1: 5}
    assert lines.own("guarded") == {4: 35}
    assert lines.own("program") == {7: 20, 11: 3}


def test_a_start_in_the_middle():
    """Frames that run already count from where they are."""

    def program():
        start(running=True)
        tick(5)
        inner()
        tick(7)
        _core.stop()

    def inner():
        tick(11)

    program()
    lines = Lines(image())
    assert lines.of("program") == {2: 1, 3: 1, 4: 1, 5: 1}
    assert {line: ns for line, ns in lines.own("program").items() if line in (2, 4)} == {2: 5, 4: 7}
    assert lines.of("program", "inner_ns") == {3: 11}


def test_a_narrow_recording_meets_frames_that_run():
    """Also those of other threads that never call anything."""
    go, done, end = threading.Event(), threading.Event(), [False]

    def worker():
        go.set()
        while not end[0]:
            pass
        done.set()

    thread = threading.Thread(target=worker)
    thread.start()
    go.wait()
    try:
        start(where=filter_of('qualname("*worker")'))
        while not any(name == "worker" for name, _ in Lines(image()).rows):
            pass
    finally:
        end[0] = True
        done.wait()
        thread.join()
        _core.stop()
    assert Lines(image()).of("worker").keys() >= {2, 4}


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="3.11 reads the frame that a trace function is given")
def test_frames_are_where_we_look_for_them():
    """Calls through functions that are left out find their caller by walking the interpreter's own frames."""

    def wanted_outer():
        between(20)
        tick(1)

    def between(n):
        if n:
            return max([1], key=lambda _: between(n - 1))  # through C and back
        wanted_inner()
        return 1

    def wanted_inner():
        tick(10)

    def program():
        for _ in range(3):
            wanted_outer()

    lines = recorded(program, where=filter_of('qualname("*wanted*")'))
    assert lines.of("wanted_outer", "inner_ns") == {1: 30}
    assert lines.own("wanted_inner") == {1: 30}
