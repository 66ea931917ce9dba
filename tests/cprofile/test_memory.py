"""Want of memory: calls go uncounted, disable() says so, and the program goes on."""

from __future__ import annotations

from functools import partial

import pytest
from allocations import can_fail
from counted import by_name
from threads import in_threads

from seismo import _core
from seismo.cprofile import Profile


def leaf():
    pass


def deep(n):
    leaf()
    return n and deep(n - 1)


def work():
    deep(150)
    in_threads(partial(deep, 3))


@can_fail
@pytest.mark.parametrize("forever", [False, True])
def test_every_allocation_may_fail(forever):
    said = 0
    for nth in range(1, 60):
        profile = None
        _core._fail_allocation(nth, forever)
        try:
            profile = Profile()
            profile.enable()
            work()
        except (MemoryError, RuntimeError):
            said += 1
        finally:
            _core._fail_allocation(0)
        if profile is None:
            continue
        try:
            profile.disable()
        except MemoryError:
            said += 1
            profile.disable()  # once
        found = by_name(profile)
        assert found.get("leaf", (0, 0))[0] <= 155
        assert found.get("deep", (0, 0))[0] <= 155
        profile.clear()
        profile.runcall(work)
        assert by_name(profile)["leaf"] == (155, 0)
        assert by_name(profile)["deep"] == (155, 153)
    assert said > 5
