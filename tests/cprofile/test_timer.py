"""Timers of the program's own: exact sums, and whatever they do."""

from __future__ import annotations

import sys
import threading
import time
from functools import partial

import pytest
from counted import by_name
from threads import beside, in_threads

from seismo.cprofile import Profile


def leaf():
    pass


def branch():
    leaf()
    leaf()


class Ticking:
    """Gives 1, 2, 3 ..."""

    now = 0

    def __call__(self):
        self.now += 1
        return self.now


def times(profile):
    return {
        row.code.co_name: (row.totaltime, row.inlinetime) for row in profile.getstats() if not isinstance(row.code, str)
    }


@pytest.mark.parametrize(("unit", "second"), [(0.0, 1.0), (0.5, 0.5), (1e-3, 1e-3)])
def test_times_are_exact_sums(unit, second):
    profile = Profile(Ticking(), unit, builtins=False)
    profile.runcall(branch)
    # branch at 1, leaf 2 to 3, leaf 4 to 5, branch to 6
    assert times(profile) == {"branch": (5 * second, 3 * second), "leaf": (2 * second, 2 * second)}
    sub = next(row for row in profile.getstats() if row.code is branch.__code__).calls[0]
    assert (sub.callcount, sub.totaltime, sub.inlinetime) == (2, 2 * second, 2 * second)


def test_fractions_of_a_second():
    values = iter([0.25, 1.5])
    profile = Profile(lambda: next(values), builtins=False)
    profile.runcall(leaf)
    assert times(profile)["leaf"] == (1.25, 1.25)


def test_each_threads_own_clock_gives_what_it_ran():
    ran = {}

    def rest():
        time.sleep(0.3)

    def work():
        while time.thread_time() < 0.05:
            pass

    def runs(function):
        function()
        ran[function.__name__] = time.thread_time()

    with Profile(time.thread_time, builtins=False) as profile:
        in_threads(partial(runs, rest), partial(runs, work))
    found = times(profile)
    assert found["rest"][0] <= ran["rest"] < 0.15
    assert 0.02 < found["work"][0] <= ran["work"]


def test_none_is_the_default_clock():
    profile = Profile(None)
    profile.runcall(leaf)
    assert 0 < times(profile)["leaf"][0] < 10


def unraisable(monkeypatch):
    caught = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: caught.append(what.exc_type))
    return caught


@pytest.mark.parametrize(
    ("timer", "unit", "error"),
    [
        (7, 0.0, TypeError),
        (lambda: None, 0.0, TypeError),
        (lambda: 1.5, 1.0, TypeError),
        (lambda: float("nan"), 0.0, OverflowError),
        (lambda: 1e300, 0.0, OverflowError),
        (lambda: 1 << 70, 1.0, OverflowError),
        (lambda: 1 << 62, 0.0, OverflowError),
        (lambda: 1 / 0, 0.0, ZeroDivisionError),
    ],
    ids=["not callable", "None", "float in units", "nan", "inf", "large", "large seconds", "raises"],
)
def test_a_timer_that_fails(timer, unit, error, monkeypatch):
    """It is told once, not at every event, and the counts are right all the same."""
    caught = unraisable(monkeypatch)
    profile = Profile(timer, unit)
    profile.runcall(branch)
    assert caught == [error]
    assert by_name(profile) == {"branch": (1, 0), "leaf": (2, 0)}
    assert set(times(profile).values()) == {(0.0, 0.0)}


@pytest.mark.parametrize("what", ["disable", "clear", "enable", "__init__"])
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_timer_that_changes_its_profiler(what, turn, monkeypatch):
    caught = unraisable(monkeypatch)
    timer = Ticking()

    def meddling():
        if timer() == turn:
            getattr(profile, what)()
        return 0

    profile = Profile(meddling)
    profile.runcall(branch)
    assert caught == [RuntimeError]
    assert by_name(profile) == {"branch": (1, 0), "leaf": (2, 0)}
    profile.clear()


def test_it_cannot_be_set_up_anew_while_enabled():
    profile = Profile()
    profile.enable()
    with pytest.raises(RuntimeError, match="while it is enabled"):
        profile.__init__()
    profile.disable()
    profile.__init__(Ticking())
    assert profile.getstats() == []


def test_a_timer_is_not_counted():
    def timer():
        return leaf() or 0.0

    with Profile(timer) as profile:
        branch()
    assert by_name(profile)["leaf"] == (2, 0)
    assert "timer" not in by_name(profile)


@pytest.mark.parametrize("what", ["disable", "clear"])
def test_another_thread_changes_it_while_this_one_is_in_the_timer(what):
    begun, inside, leave = threading.Event(), threading.Event(), threading.Event()
    here = threading.get_ident()

    def work():
        begun.set()
        branch()

    def timer():
        if threading.get_ident() != here and begun.is_set() and not inside.is_set():
            inside.set()
            leave.wait(30)
        return 0.0

    profile = Profile(timer)
    profile.enable()
    with beside(work):
        inside.wait(30)
        getattr(profile, what)()
        profile.getstats()
        leave.set()
    profile.disable()
    assert by_name(profile).get("leaf", (2, 0)) in {(0, 0), (1, 0), (2, 0)}


def test_the_last_holder_lets_go_in_the_timer():
    held = []

    def timer():
        held.clear()
        return 0.0

    held.append(Profile(timer))
    held[0].enable()
    branch()
    assert held == []
    branch()
