"""A program with every kind of event, and functions that write down what a profile or trace function hears of it."""

from __future__ import annotations

import asyncio
import contextlib


def leaf(x):
    return len([x])


def generator(n):
    try:
        i = 0
        while i < n:
            yield i
            i += 1
    finally:
        leaf(n)


def throws():
    try:
        raise KeyError("x")
    except KeyError:
        pass
    d = {}
    d.get(1), int("3"), leaf(1)


def escapes():
    throws()
    raise ValueError


async def coroutine():
    await asyncio.sleep(0)
    return leaf(2)


def drive(c):
    """Runs a coroutine to its end without a loop."""
    try:
        while True:
            c.send(None)
    except StopIteration as end:
        return end.value


def work():
    list(generator(2))
    half = generator(5)
    next(half)
    half.close()
    broken = generator(5)
    next(broken)
    with contextlib.suppress(OSError):
        broken.throw(OSError)
    with contextlib.suppress(ValueError):
        escapes()
    drive(coroutine())
    while leaf(0) == 2: pass  # fmt: skip  # noqa: E701
    for _ in (1, 2): leaf(3)  # fmt: skip  # noqa: E701


class Notes:
    """A profile or trace function that keeps (function, event, line, argument) of this file's functions."""

    def __init__(self):
        self.kept = []

    def note(self, frame, event, arg):
        if frame.f_code.co_filename != __file__:
            return False
        if event.startswith("c_"):
            arg = arg.__name__
        elif event == "call":
            arg = None  # 3.12's own functions give the exception of a throw
        elif event == "exception":
            arg = arg[0].__name__
        self.kept.append((frame.f_code.co_name, event, frame.f_lineno, arg if event != "return" else repr(arg)[:20]))
        return True

    def profile(self, frame, event, arg):
        self.note(frame, event, arg)

    def trace(self, frame, event, arg):
        return self.trace if self.note(frame, event, arg) else None

    def events(self, name):
        return [event for function, event, _, _ in self.kept if function == name]
