"""Who refers to objects, as the search for holders asks it of a list of objects (native/module/referrers.c)."""

import gc
import sys
from functools import partial

import pytest
from allocations import can_fail, each_fails

from seismo import _core


class Thing:
    def __init__(self, part):
        self.part = part


def referrers(part, objects, of_a_type=4, most=24):
    found = {id(part): []}
    _core.objects_referrers(objects, found, of_a_type, most)
    return found[id(part)]


def test_who_refers():
    part = Thing(None)
    objects = [[part, part], (1, part), {"k": part}, {part: 1}, [[part]], [Thing], 3, "text", None]
    assert all(one is other for one, other in zip(referrers(part, objects), objects[:4], strict=True))
    assert referrers(Thing, objects) == [objects[5]]
    assert referrers(part, []) == []


def test_not_all_of_them():
    part = Thing(None)
    lists, tuples = [[part] for _ in range(9)], [(part,) for _ in range(9)]
    assert referrers(part, lists + tuples) == lists[:4] + tuples[:4]
    assert referrers(part, lists + tuples, most=6) == lists[:4] + tuples[:2]
    found = {id(part): []}
    for one in [*lists, *lists]:
        _core.objects_referrers([one], found, 100, 100)
    assert found[id(part)] == lists


def test_who_may_be_a_holder():
    """Who holds nothing but ends and what the collector ignores is none."""
    text = str(1.5) + "text"
    inner = (text, "b")
    outer = (inner, 1.5)
    holds = [outer], {"a": [1]}, [text], [Thing(None)]
    objects = [*holds, [], ["another text"], {1: 2.5}, [Thing, sys, compile("1", "", "eval")]]
    gc.collect()  # which forgets tuples of what can be in no cycle, from the inside
    gc.collect()
    assert not gc.is_tracked(outer)
    found = {id(text): [], id(objects[4]): [], 8: []}
    holders = _core.objects_holders([*objects, [end := {"k": []}]], {**found, id(end): None})
    expected = [*holds, outer, inner]  # not who holds the end
    assert len(holders) == len(expected)
    assert all(any(one is other for other in holders) for one in expected)
    assert list(found.values()) == [[text], [[]], []]


@pytest.mark.parametrize("wrong", [{"1": []}, {1 << 70: []}, [], None])
def test_wrong_arguments(wrong):
    for ask in (lambda: _core.objects_referrers([[]], wrong, 4, 24), lambda: _core.objects_holders([[]], wrong)):
        with pytest.raises((TypeError, OverflowError)):
            ask()
    with pytest.raises(TypeError):
        _core.objects_holders(([],), {})
    with pytest.raises(TypeError):
        _core.objects_referrers(([],), {}, 4, 24)


@can_fail
def test_each_allocation_fails():
    """Nothing is left behind, and the next attempt finds all."""
    things = [[object()] for _ in range(100)]
    texts = [(str(number), "text") for number in range(100)]
    heap = [*things, texts]
    gc.collect()
    references = sys.getrefcount(things[0]), sys.getrefcount(texts[0])
    found = {}

    def asks(ask, *more):
        found.clear()
        found.update({id(part): [] for thing in things for part in thing})
        ask([*heap], found, *more)

    made = 0
    for question in ((_core.objects_holders,), (_core.objects_referrers, 4, 24)):
        made += each_fails(partial(asks, *question))
        assert [len(parts) for parts in found.values()] == [1] * len(things)
        found.clear()
    assert made >= 5
    assert (sys.getrefcount(things[0]), sys.getrefcount(texts[0])) == references
