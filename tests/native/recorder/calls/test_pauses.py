"""The cycle collector's pauses: long, rare, and known, on a clock that the program itself moves."""

import functools
import gc

import pytest
from lab import SOURCES, start
from recorded import image

import seismo.model
from seismo import _core

pytestmark = pytest.mark.parametrize("source", SOURCES)

tick = _core._advance_clock
LONG, SHORT = 5000, 20


class Garbage:
    """It takes long to be found: what advances the clock is not called by an event."""

    __del__ = staticmethod(functools.partial(tick, LONG))

    def __init__(self):
        self.itself = self


@pytest.fixture(autouse=True)
def _no_others():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def collecting(source, calls, every):
    """(estimate of a function that collects in every so many calls, of the one that it calls, pauses that counted)"""

    def busy(i):
        tick(SHORT)
        if i % every == 0:
            gc.collect(0)

    def other():
        tick(SHORT)

    start(source, clock="simulated")
    for i in range(calls):
        if i % every == 0:
            Garbage()
        busy(i)
        other()
    _core.stop()
    rows = {row.qualname.rpartition(".")[2]: row for row in seismo.model.read(_core.snapshot()).functions}
    names = {row["id"]: row["qualname"].rpartition(".")[2] for row in image().functions()}
    nodes = [row for row in image().tables["nodes"] if names[row["function"]] == "busy"]
    return rows["busy"], rows["other"], sum(row["ticked_ns"] for row in nodes)


def test_a_function_that_collects_now_and_then_is_known_to_some_per_cent(source):
    """One call in 250 takes as long as the 250 others. Of 20,000 some hundred are sampled: with one of those that
    collect more or less among them, the time would be up to twice what it was, or half."""
    for _ in range(5):
        busy, other, pauses = collecting(source, 20_000, 250)
        assert pauses == 80 * LONG
        true = 80 * LONG + 20_000 * SHORT
        assert busy.own_ns == pytest.approx(true, rel=0.03)
        assert busy.own_error_ns < 0.1 * true
        assert other.own_ns == pytest.approx(20_000 * SHORT, rel=0.03)


def test_what_finalizers_do_is_theirs(source):
    """A pause in which recorded functions run is no long segment of the one that it is in."""

    def finalize():
        tick(LONG)

    class Other(Garbage):
        __del__ = staticmethod(finalize)

    def busy():
        gc.collect(0)
        tick(SHORT)

    start(source, clock="simulated")
    for _ in range(300):
        Other()
        busy()
    _core.stop()
    rows = {row.qualname.rpartition(".")[2]: row for row in seismo.model.read(_core.snapshot()).functions}
    assert rows["finalize"].calls == 300
    assert rows["finalize"].own_ns == pytest.approx(300 * LONG, rel=0.03)
    assert rows["busy"].own_ns < 3 * 300 * SHORT, "a sample of its own, which it shares with no pause"


def test_the_programs_own_list_is_as_it_was(source):
    before = gc.callbacks, list(gc.callbacks)
    start(source)
    assert gc.callbacks is before[0]
    assert gc.callbacks == before[1]
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(phase))
    gc.collect(0)
    _core.stop()
    gc.collect(0)
    gc.callbacks.pop()
    assert seen == ["start", "stop"] * 2


def test_collections_as_they_come_are_found(source):
    """By the number of the program's objects, on a real clock."""
    keep, told, thresholds = [], [], gc.get_threshold()

    def busy():
        keep.append([None])
        keep.append([None])

    def program():
        for _ in range(10_000):
            busy()

    gc.callbacks.append(lambda phase, _info: told.append(phase))
    start(source)
    gc.set_threshold(50, 1000, 1000)
    gc.enable()
    program()
    gc.disable()
    _core.stop()
    gc.set_threshold(*thresholds)
    gc.callbacks.pop()
    nodes = image().tables["nodes"]
    assert len(told) > 100
    assert sum(row["ticked"] for row in nodes) > len(told) // 4, "half of them, but for those that were disturbed"
