"""How objects die: by reference count or by the collector, twice, unseen; types and code objects among them."""

import gc
import threading
import weakref
from functools import partial

import pytest
from births import needs_tracer, recorded
from threads import beside

from seismo import _core

pytestmark = needs_tracer


class Node:
    def __init__(self):
        self.other = None


class Leaf:
    pass


def cycle():
    one, two = Node(), Node()
    one.other, two.other = two, one
    one.leaf = Leaf()
    return one


@pytest.mark.parametrize("objects", ["lines", "types"])
def test_cycles_die_by_the_collector_and_what_hangs_on_them_too(objects):
    with recorded(objects=objects) as births:
        kept = [cycle() for _ in range(30)]
        alone = [Node() for _ in range(20)]
        alone.clear()
        kept.clear()
        gc.collect()
        after = [Node() for _ in range(7)]
        after.clear()
    assert births.type("Node", "born", "died", "died_by_gc") == (87, 87, 60)
    assert births.type("Leaf", "born", "died", "died_by_gc") == (30, 30, 30)
    assert bool(births.type("Node", "flags")[0] & 32) == (objects == "types")
    if objects == "lines":
        assert births.total("Node", "died_by_gc", "cycle") == 60
        by_type = sum(row["died_by_gc"] for row in births.types().values())
        assert sum(row["died_by_gc"] for row in births.objects()) == by_type


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_every_collection_counts(generation):
    with recorded() as births:
        for _ in range(5):
            cycle()
            gc.collect(generation)
    if generation < 2:
        gc.collect()
    assert births.total("Node", "died_by_gc") == 10


def test_collections_that_come_by_themselves():
    was = gc.get_threshold()
    gc.collect()
    with recorded() as births:
        gc.set_threshold(100, 5, 5)
        gc.enable()
        try:
            for _ in range(3000):
                cycle()
        finally:
            gc.disable()
            gc.set_threshold(*was)
        gc.collect()
    assert births.type("Node", "born", "died", "died_by_gc") == (6000, 6000, 6000)


def test_what_a_finalizer_makes_and_drops_is_not_the_collector_s():
    class Final:
        def __init__(self):
            self.me = self

        def __del__(self):
            for _ in range(10):
                Leaf()

    with recorded() as births:
        for _ in range(4):
            Final()
        gc.collect()
    assert births.type("Leaf", "born", "died", "died_by_gc") == (40, 40, 0)
    assert births.type("Final", "died", "died_by_gc", "resurrected") == (4, 4, 0)


def test_what_another_thread_drops_meanwhile_is_not_the_collector_s():
    entered, go_on = threading.Event(), threading.Event()

    class Slow:
        def __init__(self):
            self.me = self

        def __del__(self):
            entered.set()
            go_on.wait(10)

    def drop(made):
        entered.wait(10)
        made.clear()
        go_on.set()

    with recorded() as births:
        made = [Leaf() for _ in range(50)]
        with beside(partial(drop, made)):
            Slow()
            gc.collect()
    assert births.type("Leaf", "died", "died_by_gc") == (50, 0)


def test_a_class_that_is_made_again_is_the_same_type_after_a_collection_of_its_objects():
    with recorded(objects="types") as births:
        for _ in range(2):
            space = {}
            exec("class Made:\n def __init__(self): self.me = self", space)
            for _ in range(5):
                space["Made"]()
            gc.collect()
    assert births.type("Made", "born", "died", "died_by_gc") == (10, 10, 10)


def test_callbacks_of_weak_references_may_make_objects():
    made = []

    def gone(_):
        made.append(Leaf())

    with recorded() as births:
        references = []
        for _ in range(10):
            node = cycle()
            references.append(weakref.ref(node, gone))
        del node
        gc.collect()
    assert len(made) == 10
    assert births.type("Leaf", "born", "live", "died_by_gc") == (20, 10, 10)


def test_resurrected_once_and_for_ever():
    kept = []

    class Phoenix:
        lives = 1

        def __del__(self):
            if self.lives > 0:
                self.lives -= 1
                kept.append(self)

    with recorded() as births:
        for _ in range(5):
            Phoenix()
        kept.clear()
    # the finalizer runs once for each (PEP 442), so the second death is the last
    assert births.type("Phoenix", "born", "died", "live", "resurrected") == (5, 5, 0, 5)


def test_addresses_are_used_again():
    class Final:
        def __del__(self):
            pass

    with recorded() as births:
        for _ in range(100):
            Final()
        for _ in range(100):
            Leaf()
    assert births.type("Final", "born", "died", "resurrected", "unseen") == (100, 100, 0, 0)
    assert births.type("Leaf", "born", "died", "unseen") == (100, 100, 0)


def test_types_that_die_take_their_names_along_to_the_recording():
    def program():
        for number in range(50):
            made = type(f"Made{number % 5}", (), {"__slots__": ()})
            for _ in range(3):
                made()
            del made
            gc.collect(0)

    with recorded() as births:
        program()
        gc.collect()
    made = {name: row for name, row in births.types().items() if name.startswith("Made")}
    assert sorted(made) == [f"Made{number}" for number in range(5)]
    assert {(row["born"], row["died"]) for row in made.values()} == {(30, 30)}
    assert births.types()["type"]["died"] == 50


def test_nothing_is_born_in_an_empty_recording():
    with recorded():
        pass
    for objects in ("lines", "types"):
        _core.start(recorder="lifetimes", calibrate=False, objects=objects)
        _core.objects_quiet(False)
        _core.stop()
        assert _core.status()["births"] == 0


def test_only_so_many_are_kept_track_of():
    def program():
        kept = [Leaf() for _ in range(20_000)]
        for _ in range(20_000):
            Node()
        del kept[::2]
        return kept

    with recorded(max_live=2000) as births:
        kept = program()
        status = _core.status()
    assert status["live_bytes"] <= 40 * 2100 + 64 * 48 * 16
    assert status["sampling"] >= 8
    assert births.type("Leaf", "born", "died", "live", "before") == (20_000, 10_000, 10_000, 0)
    assert births.type("Node", "born", "died") == (20_000, 20_000)
    rows = [row for row in births.objects() if row["type"] == "Leaf"]
    assert [row["flags"] & 1 for row in rows] == [1]
    assert rows[0]["born"] == 20_000
    # one object in k is followed: what is estimated has a standard deviation of sqrt(n * (k - 1)) at most
    weight = status["sampling"]
    spread = 6 * (20_000 * (weight - 1)) ** 0.5
    assert abs(rows[0]["live"] - 10_000) < spread
    assert abs(rows[0]["died"] - 10_000) < spread
    del kept


def test_sampling_is_not_drawn_to_either_kind():
    """Over many recordings the estimates' mean is the truth: objects that alternate are followed as often."""

    def program():
        return [Leaf() if index % 2 else Node() for index in range(3000)]

    live = {"Leaf": 0, "Node": 0}
    weights = 0
    for _ in range(20):
        with recorded(max_live=500) as births:
            kept = program()
            weights += _core.status()["sampling"]
        for name in live:
            live[name] += births.total(name, "live")
        del kept
    spread = 6 * (20 * 1500 * (weights / 20 - 1)) ** 0.5
    assert abs(live["Leaf"] - 20 * 1500) < spread
    assert abs(live["Node"] - 20 * 1500) < spread


def test_the_table_takes_at_most_forty_bytes_an_object():
    kept = []
    worst = 0.0
    with recorded():
        for _ in range(60):
            for _ in range(2000):
                kept.append([None])
            status = _core.status()
            if status["live"] > 10_000:
                worst = max(worst, status["live_bytes"] / status["live"])
    assert 16 < worst <= 40
