"""3.11: seismo.hooks on the shared slots, beside tracers that others have put there."""

from __future__ import annotations

import ctypes
import sys

import pytest
from thread_state import TRACEFUNC, State
from threads import in_threads

from seismo import _core, hooks

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring does without slots from 3.12 on")


class Seen:
    """A trace function that notes what happens in this file's functions."""

    def __init__(self):
        self.events = []

    def __call__(self, frame, event, arg):
        if frame.f_code.co_filename != __file__ or frame.f_code.co_name.startswith("test_"):
            return None
        self.events.append((frame.f_code.co_name, event, frame.f_lineno - frame.f_code.co_firstlineno))
        return self

    def of(self, name):
        return [(event, line) for function, event, line in self.events if function == name]


def wanted(n):
    a = 1
    b = unwanted(n)
    return a + b


def unwanted(n):
    c = 1
    return wanted(n - 1) + c if n else c


def fails():
    raise KeyError("it")


def catches():
    try:
        fails()
    except KeyError:
        return 1


def generates():
    yield 1
    yield 2


WANTED = [("call", 0), ("line", 1), ("line", 2), ("line", 3), ("return", 3)]


@pytest.fixture(autouse=True)
def _clean():
    profile, trace = sys.getprofile(), sys.gettrace()
    sys.setprofile(None)
    sys.settrace(None)
    yield
    _core.stop()
    assert (State.get().profile, State.get().trace) == (None, None)
    sys.setprofile(profile)
    sys.settrace(trace)


@pytest.mark.parametrize("ours_raises", [False, True])
def test_a_tracer_that_raises_is_gone_and_the_other_goes_on(ours_raises):
    def raises(frame, event, arg):
        if frame.f_code is wanted.__code__:
            raise ValueError("the tool's own")

    other = Seen()
    sys.settrace(other if ours_raises else raises)
    with hooks.set_trace(raises if ours_raises else other) as handle:
        with pytest.raises(ValueError, match="the tool's own"):
            wanted(0)
        assert (handle.active, sys.gettrace()) == ((False, other) if ours_raises else (True, None))
        other.events.clear()
        wanted(0)
        sys.settrace(None)
    assert other.of("wanted") == WANTED


def test_c_code_takes_the_trace_slot_and_gives_it_back():
    heard, ours = [], Seen()

    @TRACEFUNC
    def tracer(obj, frame, what, arg):
        heard.append(what)
        return 0

    def run():
        with hooks.set_trace(ours):
            wanted(0)
            ctypes.pythonapi.PyEval_SetTrace(tracer, None)
            wanted(0)
            ctypes.pythonapi.PyEval_SetTrace(None, None)
            wanted(0)

    in_threads(run)
    run()
    assert ours.of("wanted") == WANTED * 6
    assert heard.count(0) >= 4  # calls of wanted and unwanted, on each thread


def test_lines_of_chosen_functions_only():
    ours, slots = Seen(), []
    real = globals()["unwanted"]

    def looks(n):
        slots.append(bool(State.get().trace))
        return real(n)

    globals()["unwanted"] = looks
    try:
        with hooks.set_trace(ours, where='function("wanted")'):
            wanted(2)
            slots.append(bool(State.get().trace))
    finally:
        globals()["unwanted"] = real
    assert {name for name, _, _ in ours.events} == {"wanted"}
    assert sorted(ours.of("wanted")) == sorted(WANTED * 3)
    assert slots == [False] * 4  # the trace slot costs nothing where nobody wants it


def test_chosen_functions_among_exceptions_and_generators():
    ours = Seen()
    with hooks.set_trace(ours, where='function("catches", "generates")'):
        catches()
        list(generates())
        catches()
    assert ours.of("catches") == [("call", 0), ("line", 1), ("line", 2), ("exception", 2), ("line", 3), ("line", 4),
                                  ("return", 4)] * 2  # fmt: skip
    assert ours.of("generates") == [("call", 0), ("line", 1), ("return", 1), ("call", 1), ("line", 2), ("return", 2),
                                    ("call", 2), ("return", 2)]  # fmt: skip
    assert {name for name, _, _ in ours.events} == {"catches", "generates"}


def test_a_recorder_a_hook_and_a_foreign_profiler():
    sys.path_importer_cache.clear()
    counts = {"ours": 0, "foreign": 0}

    def counter(key):
        def profile(frame, event, arg):
            counts[key] += event == "call" and frame.f_code is wanted.__code__

        return profile

    _core.start(source="profilefunc", c_functions="all", calibrate=False, running=False)
    with hooks.set_profile(counter("ours"), threads="all"):
        sys.setprofile(counter("foreign"))
        for _ in range(5):
            wanted(0)
        in_threads(lambda: wanted(0))
        sys.setprofile(None)
        wanted(0)
    wanted(0)
    _core.stop()
    from recorded import image

    assert (counts, image().calls()["wanted"]) == ({"ours": 7, "foreign": 5}, 8)


def test_lines_after_a_greenlet_switch():
    greenlet = pytest.importorskip("greenlet")
    main, seen = greenlet.getcurrent(), Seen()

    def switches():
        x = other.switch()
        del x
        return 3

    def elsewhere():
        main.switch(3)

    other = greenlet.greenlet(elsewhere)
    with hooks.set_trace(seen, where='function("switches")'):
        assert switches() == 3
    assert seen.of("switches") == [("call", 0), ("line", 1), ("line", 2), ("line", 3), ("return", 3)]
