"""Allocations of the core that fail in the tests' own process; `failing` has those of whole recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from seismo import _core

if TYPE_CHECKING:
    from collections.abc import Callable

# The development build can make an allocation fail.
can_fail = pytest.mark.skipif(not hasattr(_core, "_fail_allocation"), reason="needs a build with SEISMO_TESTING=1")


def each_fails(work: Callable[[], object], forever: bool = False) -> int:
    """Call a function with its first, second ... allocation failing, until it makes fewer. Return how many it makes.

    With `forever`, all allocations after the failing one fail, too. The function may raise MemoryError.
    """
    for n in range(1, 1000):
        _core._fail_allocation(n, forever)
        try:
            work()
        except MemoryError:
            assert _core._fail_allocation(0) >= n
        else:
            if _core._fail_allocation(0) < n:
                return n - 1
        finally:
            _core._fail_allocation(0)
    raise AssertionError("no end of allocations")
