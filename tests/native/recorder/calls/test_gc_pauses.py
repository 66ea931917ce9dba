"""The cycle collector's pauses are instants of a trace; the program sees nothing of who is told of them."""

import gc

import pytest
from lab import TRACING, start

from seismo import _core

pytestmark = pytest.mark.parametrize("source", TRACING)


def test_the_programs_own_list_is_as_it_was(source):
    before = gc.callbacks, list(gc.callbacks)
    start(source, journal=True)
    assert gc.callbacks is before[0]
    assert gc.callbacks == before[1]
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(phase))
    gc.collect(0)
    _core.stop()
    gc.collect(0)
    gc.callbacks.pop()
    assert seen == ["start", "stop"] * 2
