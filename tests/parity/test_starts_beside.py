"""A path from starts alone, in programs whose libraries change the stack behind the interpreter's back."""

import importlib
import importlib.util
import sys
from pathlib import Path

import children
import extensions
import pytest
from lab import SOURCES, leaf
from paths import COMMON
from recorded import image

from seismo import _core
from seismo.expression import parse

pytestmark = pytest.mark.skipif("starts" not in SOURCES, reason="sys.monitoring was added in Python 3.12")
BOTH = pytest.mark.parametrize("c_functions", ["none", "all"])


def recorded(main, c_functions="none", **options):
    _core.start(source="starts", c_functions=c_functions, timing="none", running=False, calibrate=False, **options)
    try:
        main()
    finally:
        _core.stop()
    assert _core.check()
    found = image()
    assert found.problems == []
    return found


def paths(found, name):
    """{names of this file's functions that lead to `name`: its calls}."""
    counted = {}

    def follow(node, above):
        short = node.name.rpartition(".")[2]
        path = [*above, short] if node.name.startswith(("test_", "beside_")) or short == name else above
        if short == name:
            counted[" ".join(path)] = counted.get(" ".join(path), 0) + node.calls
        for child in node.children:
            follow(child, path)

    for root in found.forests()["MainThread"]:
        follow(root, [])
    return counted


@BOTH
def test_gevent(c_functions):
    """Each call is counted below the function of the greenlet that made it, at whatever point it was switched away."""
    gevent = pytest.importorskip("gevent")

    def step(n):
        leaf()
        gevent.sleep(0)
        leaf()
        return n

    def few(n):
        for i in range(n):
            step(i)

    def many(n):
        few(n)
        leaf()

    def main():
        gevent.joinall([gevent.spawn(few, 3), gevent.spawn(many, 5), gevent.spawn(few, 4)], raise_error=True)

    assert paths(recorded(main, c_functions), "leaf") == {"few step leaf": 14, "many few step leaf": 10, "many leaf": 1}


def beside_eventlet(c_functions):
    import eventlet

    def step(n):
        leaf()
        eventlet.sleep(0)
        leaf()
        return n

    def outer(n):
        return sum([step(i) for i in range(n)])

    def main():
        pool = eventlet.GreenPool(3)
        assert sorted(pool.imap(outer, [2, 3, 4])) == [1, 3, 6]

    main()  # it imports its hub
    assert paths(recorded(main, c_functions), "leaf") == {"outer step leaf": 18}


@BOTH
def test_eventlet(c_functions):
    """In a process of its own: once it is imported, eventlet warns of every fork."""
    if importlib.util.find_spec("eventlet") is None:
        pytest.skip("needs eventlet")
    program = f"import test_starts_beside\ntest_starts_beside.beside_eventlet({c_functions!r})\n"
    folders = [Path(__file__).parent, COMMON]
    children.python("-c", program, env=children.environment(*folders))


@BOTH
def test_coroutines_of_cython(c_functions, tmp_path_factory, monkeypatch):
    """They have no frames: what they call counts for whoever resumes them, and no call is lost."""
    monkeypatch.syspath_prepend(str(extensions.compiled(tmp_path_factory)))
    module = importlib.import_module("compiled_by_cython")

    async def other():
        leaf()

    def drive(coroutine):
        with pytest.raises(StopIteration):
            coroutine.send(None)

    def main():
        for _ in range(3):
            drive(module.awaits(leaf, other))
            assert list(module.yields(leaf, 4)) == [0, 1, 2, 3]

    found = paths(recorded(main, c_functions), "leaf")
    del sys.modules["compiled_by_cython"]
    assert sum(found.values()) == 3 * (2 + 1 + 4)
    assert sum(calls for path, calls in found.items() if path.endswith("other leaf")) == 3


@BOTH
def test_long_stretches_that_are_left_out(c_functions):
    """A function is found below hundreds of frames of which nothing is told, and called by them through C as well."""
    there = {"__name__": "hidden", "leaf": leaf}
    exec(
        "def deep(n):\n    return deep(n - 1) if n else [leaf(), list(map(lambda x: leaf(), [1, 2]))]\n"
        "def both(n):\n    deep(n)\n    leaf()\n",
        there,
    )

    def seen(n):
        there["both"](n)
        leaf()

    def main():
        for n in (0, 1, 300, 40):
            seen(n)
        there["both"](200)

    where = _core.Filter(parse('not module("hidden")').program)
    found = recorded(main, c_functions, where=where)
    assert paths(found, "leaf") == {"main seen leaf": 4 * 5, "main leaf": 4}
    assert found.losses.get("repaired", 0) == 0
