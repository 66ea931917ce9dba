"""Greenlets exchange a thread's whole stack: the path has to follow, in whatever order they switch."""

import itertools
import os

import pytest
from lab import SOURCES, leaf
from recorded import SEEDED, image, sources

from seismo import _core

greenlet = pytest.importorskip("greenlet")

pytestmark = pytest.mark.parametrize("source", SOURCES)


def run(source, main, c_functions="none"):
    if source == "evalframe" and "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("greenlet copies the C stack, which AddressSanitizer takes for an overrun of our frame there")
    _core.start(source=source, c_functions=c_functions, running=False, calibrate=False)
    try:
        main()
    finally:
        _core.stop()
    assert _core.check()
    return image()


def paths_of_leaf(recorded):
    """{the names that lead to leaf: its calls}."""
    paths = {}

    def follow(node, above):
        path = [*above, node.name.rpartition(".")[2]]
        if node.name == "leaf":
            paths[" ".join(path)] = node.calls
        assert not node.flags & SEEDED
        for child in node.children:
            follow(child, path)

    for root in recorded.forests()["MainThread"]:
        follow(root, [])
    return paths


@pytest.mark.parametrize("order", list(itertools.permutations("abc")), ids="".join)
def test_every_order(source, order):
    """Three greenlets at three depths, switched round in each order: each call is counted where it was made."""

    def descend(depth, back):
        if depth:
            descend(depth - 1, back)
        else:
            for _ in range(4):
                back.switch()
                leaf()

    def a(back):
        descend(1, back)

    def b(back):
        descend(2, back)

    def c(back):
        descend(30, back)

    def main():
        here = greenlet.getcurrent()
        lets = {name: greenlet.greenlet(function) for name, function in (("a", a), ("b", b), ("c", c))}
        for _ in range(5):
            for name in order:
                lets[name].switch(here)
        leaf()

    recorded = run(source, main)
    found = {path.removeprefix("main "): calls for path, calls in paths_of_leaf(recorded).items()}
    depths = {"a": 2, "b": 3, "c": 31}
    assert found == {"leaf": 1, **{f"{name}{' descend' * depth} leaf": 4 for name, depth in depths.items()}}
    calls = {name.rpartition(".")[2]: count for name, count in recorded.calls().items()}
    assert calls["descend"] == sum(depths.values())


def test_generators_in_greenlets(source):
    def numbers(back):
        for i in range(3):
            back.switch()
            yield i

    def drain(back):
        for _ in numbers(back):
            leaf()

    def main():
        here = greenlet.getcurrent()
        lets = [greenlet.greenlet(drain) for _ in range(3)]
        while not all(one.dead for one in lets):
            for one in lets:
                if not one.dead:
                    one.switch(here)

    calls = run(source, main).calls()
    names = {name.rpartition(".")[2]: count for name, count in calls.items()}
    assert names["numbers"] == 3
    assert names["leaf"] == 9


def test_killed(source):
    def forever(back):
        try:
            while True:
                back.switch()
        finally:
            leaf()

    def main():
        one = greenlet.greenlet(forever)
        one.switch(greenlet.getcurrent())
        one.throw()
        two = greenlet.greenlet(forever)
        two.switch(greenlet.getcurrent())
        del two
        leaf()

    assert run(source, main).calls()["leaf"] == 3


def test_thrown_into(source):
    def deep(back, n):
        if n:
            return deep(back, n - 1)
        try:
            back.switch()
        except KeyError:
            leaf()
            raise

    def main():
        one = greenlet.greenlet(deep)
        one.switch(greenlet.getcurrent(), 3)
        with pytest.raises(KeyError):
            one.throw(KeyError)
        leaf()

    recorded = run(source, main)
    assert recorded.calls()["leaf"] == 2
    nodes = [node for root in recorded.forests()["MainThread"] for node in root.walk()]
    assert sum(node.calls for node in nodes if node.name.endswith("deep")) == 4


def test_started_before_the_recording(source):
    def forever(back):
        while True:
            back.switch()
            inner()

    def inner():
        leaf()

    one = greenlet.greenlet(forever)
    here = greenlet.getcurrent()
    one.switch(here)

    def main():
        for _ in range(3):
            one.switch(here)
            leaf()

    calls = run(source, main).calls()
    names = {name.rpartition(".")[2]: count for name, count in calls.items()}
    assert names["inner"] == 3
    assert names["leaf"] == 6
    assert names.get("forever", 0) == 0


def below_c_functions(source, main):
    """As paths_of_leaf, with C functions."""
    if source not in sources("all"):
        pytest.skip(f"{source} sees Python functions only")
    return paths_of_leaf(run(source, main, "all"))


def test_below_a_c_function(source):
    """The C functions between the frames are in the path again when the stack comes back."""

    def other(back):
        while True:
            leaf()
            back.switch()

    def inner(one, here):
        leaf()
        for _ in range(3):
            one.switch(here)
            leaf()

    def main():
        exec("inner(one, here)", {"inner": inner, "one": greenlet.greenlet(other), "here": greenlet.getcurrent()})

    assert below_c_functions(source, main) == {"main exec <module> inner leaf": 4, "other leaf": 3}


def test_below_different_c_functions(source):
    """Stacks of the same Python functions, called by different C functions, at every switch."""

    def step(x):
        for _ in range(3):
            greenlet.getcurrent().parent.switch()
            leaf()
        return x

    def body(kind):
        if kind == "sorted":
            sorted([1], key=step)
        else:
            max([1], key=step)

    def main():
        lets = [greenlet.greenlet(body) for _ in range(4)]
        for _ in range(4):
            for i, one in enumerate(lets):
                one.switch(["sorted", "max"][i % 2])
        assert all(one.dead for one in lets)

    found = {}
    for path, calls in below_c_functions(source, main).items():
        by = next(name for name in path.split() if name in ("sorted", "max"))
        found[by] = found.get(by, 0) + calls
        assert path.endswith(f"body {by} step leaf")
    assert found == {"sorted": 6, "max": 6}


def test_more_stacks_than_are_remembered_at_first(source):
    def step(x):
        greenlet.getcurrent().parent.switch()
        leaf()
        return x

    def main():
        lets = [greenlet.greenlet(lambda: sorted([1], key=step)) for _ in range(100)]
        for _ in range(2):
            for one in lets:
                one.switch()

    found = below_c_functions(source, main)
    assert sum(found.values()) == 100
    assert all(path.endswith("<lambda> sorted step leaf") for path in found)
