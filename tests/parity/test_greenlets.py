"""Greenlets exchange a thread's whole stack: the path has to follow, in whatever order they switch."""

import itertools
import os

import pytest
from program import SOURCES
from recorded import image, shown

from seismo import _core

greenlet = pytest.importorskip("greenlet")

pytestmark = pytest.mark.parametrize("source", SOURCES)


def leaf():
    pass


def run(source, main):
    if source == "evalframe" and "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("greenlet copies the C stack, which AddressSanitizer takes for an overrun of our frame there")
    _core.start(source=source, c_functions="none", running=False, calibrate=False)
    try:
        main()
    finally:
        _core.stop()
    assert _core.check()
    return image()


def test_two_in_step(source):
    def one(other):
        for _ in range(3):
            leaf()
            step(other)

    def step(other):
        other[0].switch()
        leaf()

    def main():
        first, second = [], []
        first.append(greenlet.greenlet(lambda: one(second)))
        second.append(greenlet.greenlet(lambda: one(first)))
        first[0].switch()
        while not first[0].dead:
            first[0].switch()
        while not second[0].dead:
            second[0].switch()

    calls = run(source, main).calls()
    names = {name.rpartition(".")[2]: count for name, count in calls.items()}
    assert names["one"] == 2
    assert names["step"] == 6
    assert names["leaf"] == 12


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
    roots = {root.name.rpartition(".")[2]: root for root in recorded.forests()["MainThread"]}
    deepest = {}
    for name in ("a", "b", "c"):
        root = roots.get(name) or next(
            node for root in roots.values() for node in root.walk() if node.name.endswith(f".{name}")
        )
        depth, node = 0, root
        while any(child.name.endswith("descend") for child in node.children):
            (node,) = (child for child in node.children if child.name.endswith("descend"))
            assert node.calls == 1
            depth += 1
        deepest[name] = (depth, shown([child for child in node.children if child.name == "leaf"]))
    assert deepest == {"a": (2, "leaf 4\n"), "b": (3, "leaf 4\n"), "c": (31, "leaf 4\n")}
    assert recorded.calls()["leaf"] == 13


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
