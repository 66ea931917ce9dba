"""Out of memory in the native part: the program goes on, and what was lost is counted."""

import io

import pytest
from allocations import can_fail

import seismo
from seismo import _core

pytestmark = can_fail


def work(n):
    return work(n - 1) if n else list(steps())


def steps():
    yield 1
    yield 2


@pytest.mark.parametrize("expression", ['call("work") or call("steps")', "call and own >= 0ns", 'line("*")'])
def test_a_failing_allocation_is_a_lost_match_at_worst(expression):
    struck = 0
    for n in range(1, 40):
        watch = seismo.watch(expression, "histogram", output=io.StringIO(), returns=True)
        _core._fail_allocation(n)
        try:
            with watch:
                assert work(3) == [1, 2]
        except (MemoryError, seismo.SeismoError):
            pass  # it could not begin, or end
        finally:
            struck += _core._fail_allocation(0) >= n
        assert watch.failed == ""
    assert struck > 10, "hardly any allocation was there to fail"
