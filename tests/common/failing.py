"""Failing allocations, for children with a development build (SEISMO_TESTING=1): each one of the core fails in turn."""

import os
from contextlib import suppress

from seismo import _core

# A varied program whose result shows if it was disturbed. It needs a function leaf().
EVERYTHING = """
import threading
def numbers(n):
    for i in range(n):
        yield len([i])
async def wait(n):
    return n
def fall(n):
    if n: return fall(n - 1)
    raise KeyError(n)
def drive(coroutine):
    try: coroutine.send(None)
    except StopIteration as stop: return stop.value
def program():
    total = sum(numbers(20)) + drive(wait(3)) + sorted([3, 1], key=lambda x: -x)[0]
    names = {}
    for i in range(12):
        exec(f"def made_{i}(): return leaf()", {"leaf": leaf}, names)
        names[f"made_{i}"]()
    for depth in (1, 30, 100):
        try: fall(depth)
        except KeyError: total += depth
    out = []
    thread = threading.Thread(target=lambda: out.append(sum(numbers(5))))
    thread.start(); thread.join()
    return total + out[0]
"""


def asked(*questions):
    """Return a function that calls these functions of the core, which may run out of memory. No program code runs."""

    def ask():
        for question in questions:
            with suppress(MemoryError):
                question()

    return ask


def fail_each(fresh, begin, *meanwhile, forever, recorder="calltree"):
    """Record a program repeatedly, until it makes fewer allocations than the number of the failing one.

    `fresh()` returns the program, whose result shows if it was disturbed; it runs twice, with the functions in
    `meanwhile` between. `begin(n)` starts the recording with this recorder. With `forever`, all allocations after the
    n-th fail, too. The first numbers are taken one by one, because they are those of the start.
    """
    truth = fresh()()
    n, started = 1, False
    while True:
        program = fresh()
        _core._fail_allocation(n, forever)
        try:
            begin(n)
        except (RuntimeError, MemoryError):
            _core._fail_allocation(0)
            assert program() == truth
            assert not _core.status(recorder)["running"]
        else:
            started = True
            assert program() == truth, n
            for step in meanwhile:
                step()
            assert program() == truth, n
            _core.stop(recorder=recorder)
            made = _core._fail_allocation(0)
            with suppress(MemoryError):
                _core.read(_core.snapshot(recorder))
            assert _core.check(), n
            if made < n:
                break
        n += 1 + n // (6 if forever else 10)
    assert started
    assert n > 20


def problems_of_files(path, begin, *meanwhile, after):
    """Record repeatedly into a file while allocations fail from the n-th on, for each n in `after`.

    `begin(fd)` starts the recording. The functions in `meanwhile` are called before allocations succeed again, and the
    last of them once more after that. Return the problems of all files, each with its n.
    """
    problems = []
    for n in after:
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC)
        _core._fail_allocation(n, True)
        try:
            begin(fd)
        except (RuntimeError, MemoryError):
            continue
        else:
            for step in meanwhile:
                step()
            _core._fail_allocation(0)
            meanwhile[-1]()
            _core.flush()
            _core.stop()
        finally:
            _core._fail_allocation(0)
            os.close(fd)
        with open(path, "rb") as file:
            problems += [(n, problem) for problem in _core.read(file.read())["problems"]]
    return problems
