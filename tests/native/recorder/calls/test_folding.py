"""Past max_paths no path is made any more; every call is still counted, and the recording says what happened."""

import inspect

import pytest
from lab import SOURCES, recorded, run, start
from recorded import image

from seismo import _core

pytestmark = pytest.mark.parametrize("source", SOURCES)


def leaf():
    pass


def grow(word, depth):
    """A different path for each word of two letters of this length."""
    leaf()
    if depth:
        a(word, depth - 1)
        b(word, depth - 1)


def a(word, depth):
    grow(word + "a", depth)


def b(word, depth):
    grow(word + "b", depth)


def test_every_call_is_counted(source):
    """In a process of its own, and nothing is repaired there: a frame of a thread of pytest-xdist's may be."""
    functions = "\n".join(inspect.getsource(function) for function in (leaf, grow, a, b))
    out = run(functions + """
from recorded import FOLDED
start(source=sys.argv[1], max_paths=50)
grow("", 9)
leaf()
grow("", 2)
_core.stop()
assert _core.check()
recorded = image()
assert recorded.calls() == {"grow": 1023 + 7, "leaf": 1023 + 8, "a": 511 + 3, "b": 511 + 3}
assert set(recorded.losses) == {"paths-folded"}, recorded.losses
buckets = 1 + 4
assert len(recorded.tables["nodes"]) <= 50 + buckets
folded = sum(row["calls"] for row in recorded.tables["nodes"] if row["flags"] & FOLDED)
print(folded > 0, folded == recorded.losses["paths-folded"])
""", source)  # fmt: skip
    assert out == "True True\n"


def test_known_paths_go_on(source):
    """What was known before the limit is still counted on its own path afterwards.

    In a process of its own: a thread of pytest-xdist's that takes an order meanwhile would take one of the three paths.
    """
    out = run("""
from recorded import FOLDED
def grow(depth):
    leaf()
    if depth:
        a(depth - 1)
        b(depth - 1)
def a(depth):
    grow(depth)
def b(depth):
    grow(depth)
start(source=sys.argv[1], max_paths=3)
for depth in (0, 4, 4, 4, 0):
    grow(depth)
_core.stop()
(root,) = (root for root in image().forests()["MainThread"] if root.name == "grow")
print(root.calls, {child.name: child.calls for child in root.children if not child.flags & FOLDED}["leaf"])
""", source)  # fmt: skip
    assert out == "5 5\n"


def test_exceptions_leave_the_fold(source):
    def fall(n):
        if n == 0:
            raise KeyError
        try:
            fall(n - 1)
        finally:
            leaf()

    start(source, max_paths=10)
    for _ in range(3):
        with pytest.raises(KeyError):
            fall(40)
    leaf()
    _core.stop()
    assert _core.check()
    calls = image().calls()
    assert calls["leaf"] == 121
    assert calls["test_exceptions_leave_the_fold.<locals>.fall"] == 123


def test_generators_in_the_fold(source):
    def numbers(n):
        if n:
            yield from numbers(n - 1)
        leaf()
        yield n

    start(source, max_paths=5)
    assert list(numbers(20)) == list(range(21))
    assert list(numbers(3)) == list(range(4))
    _core.stop()
    name = "test_generators_in_the_fold.<locals>.numbers"
    assert image().calls() == {"leaf": 25, name: 25}
    resumes = sum(row["resumes"] for row in image().named("nodes") if row["function"] == name)
    assert resumes == sum(range(2, 22)) + 1 + sum(range(2, 5)) + 1


@pytest.mark.parametrize("c_functions", ["all", "auto"])
def test_c_functions_in_the_fold(source, c_functions):
    def key(x):
        return len([x])

    def nest(n):
        sorted([1, 2], key=key)
        if n:
            nest(n - 1)

    found = recorded(source, nest, 10, c_functions=c_functions, max_paths=7)
    assert {name.rpartition(".")[2]: count for name, count in found.calls().items()} == {"nest": 11, "key": 22}
    assert found.calls(kind=1) == {"sorted": 11, "len": 22}


def test_no_path_at_all(source):
    assert recorded(source, grow, "", 2, max_paths=0).calls() == {"grow": 7, "leaf": 7, "a": 3, "b": 3}
