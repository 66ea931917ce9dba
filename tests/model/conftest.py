"""Recordings that the model's tests share."""

import pytest

from seismo.model import Builder


def small(pid=1, start=1000, scale=1):
    """Two threads, recursion, a C function, a surrogate in a name."""
    b = Builder()
    p = b.process(pid=pid, host="host", argv=["a.py", "ü"], start_ns=start, end_ns=start + 100)
    main = b.thread(p, "MainThread", main=1, wall_ns=10_000 * scale, cpu_ns=9_000)
    other = b.thread(p, "Thread-1", wall_ns=5_000)
    f = b.function("app", "f", "/src/app.py", 3)
    g = b.function("app", "Café.g", "/src/app.py", 9, flags=1)
    c = b.function("builtins", "len", kind=1)
    odd = b.function("app", "bad\udcff\x1b[31m", "/src/app.py", 20)
    top = b.node(-1, main, f, calls=1, own_ns=100 * scale)
    below = b.node(top, main, g, calls=10, resumes=5, exceptions=2, own_ns=50 * scale, awaits=1, await_ns=7)
    b.node(below, main, f, calls=2, own_ns=30 * scale)
    b.node(below, main, c, calls=40, own_ns=4 * scale, flags=1)
    top = b.node(-1, other, g, calls=3, own_ns=500 * scale)
    b.node(top, other, odd, calls=1, own_ns=1)
    b.loss("repaired", 3, "generator close")
    return b.build({"seismo": "0.1.0", "pid": pid})


@pytest.fixture
def make():
    """small(pid, start, scale): a recording."""
    return small
