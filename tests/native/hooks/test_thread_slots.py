"""3.11: the profile and trace slots are shared with whoever else uses them, and nobody loses an event."""

from __future__ import annotations

import contextlib
import cProfile
import ctypes
import gc
import os
import pstats
import sys
import threading

import pytest
from lab import leaf
from recorded import image
from thread_state import TRACEFUNC, State
from threads import in_threads

from seismo import _core

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring does without slots from 3.12 on")

getprofile, setprofile = sys.getprofile, sys.setprofile  # kept by the program from before we came


def work(n):
    for _ in range(n):
        leaf()


class Foreign:
    """A profile function of the program's own."""

    def __init__(self):
        self.calls = 0

    def __call__(self, frame, event, arg):
        self.calls += event == "call" and frame.f_code is leaf.__code__


@contextlib.contextmanager
def recording():
    _core.start(source="profilefunc", c_functions="all", calibrate=False, running=False)
    try:
        yield
    finally:
        _core.stop()


def leaves():
    return image().calls().get("leaf", 0)


@pytest.fixture(autouse=True)
def _clean():
    profile, trace = sys.getprofile(), sys.gettrace()
    sys.setprofile(None)
    yield
    _core.stop()
    sys.setprofile(profile)
    sys.settrace(trace)


def address(function):
    """What the interpreter runs for a built-in function."""
    get = ctypes.pythonapi.PyCFunction_GetFunction
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object]
    return get(function)


def test_one_that_was_there_goes_on_and_is_there_afterwards():
    foreign = Foreign()
    sys.setprofile(foreign)
    before = sys.getrefcount(foreign)
    work(1)
    with recording():
        assert sys.getprofile() is getprofile() is foreign
        work(2)
    assert sys.getprofile() is foreign
    work(4)
    sys.setprofile(None)
    assert (foreign.calls, leaves()) == (7, 2)
    assert sys.getrefcount(foreign) == before - 1


@pytest.mark.parametrize("function", [sys.setprofile, setprofile, lambda f: threading._sys.setprofile(f)])
def test_one_that_comes_later_and_goes(function):
    foreign, other = Foreign(), Foreign()
    with recording():
        assert sys.getprofile() is None
        work(1)
        function(foreign)
        assert sys.getprofile() is foreign
        work(2)
        function(other)
        assert sys.getprofile() is other
        work(4)
        function(None)
        assert sys.getprofile() is None
        work(8)
    assert sys.getprofile() is None
    assert (foreign.calls, other.calls, leaves()) == (2, 4, 15)
    assert sys.getrefcount(foreign) == sys.getrefcount(other) == 2


def settings_heard():
    """All that a function hears which is set in several ways, from within several C calls."""
    heard = []

    def hear(frame, event, arg):
        heard.append((frame.f_code.co_name, event, getattr(arg, "__name__", None) if event.startswith("c_") else None))

    def inner():
        sys.setprofile(hear)
        len("a")

    def key(x):
        inner()
        abs(1)
        return x

    def outer():
        sorted([1], key=key)
        len("b")

    def generated():
        yield setprofile(hear)
        len("c")

    outer()
    next(map(sys.setprofile, [None]))
    next(map(sys.setprofile, [hear]))
    len("d")
    sys.setprofile(hear)
    sys.setprofile(None)
    heard.append(None)
    sorted(generated(), key=str)
    len("e")
    sys.setprofile(None)
    return heard


def test_nobody_hears_the_end_of_the_calls_that_set_it():
    """Bare, the interpreter decides at a C call's beginning whether it tells its end."""
    bare = settings_heard()
    assert ("outer", "c_call", "len") in bare
    assert ("outer", "c_return", "sorted") not in bare
    for c_functions in ("all", "none"):
        _core.start(c_functions=c_functions, source="profilefunc", running=False, calibrate=False)
        recorded = settings_heard()
        again = settings_heard()
        _core.stop()
        assert recorded == again == bare


def test_one_that_saves_and_restores():
    with recording():
        before = sys.getprofile()
        sys.setprofile(Foreign())
        work(1)
        sys.setprofile(before)
        work(2)
        assert sys.getprofile() is None
    assert leaves() == 3


def test_one_that_raises_is_gone_and_we_go_on():
    def raises(frame, event, arg):
        if event == "call" and frame.f_code is leaf.__code__:
            raise ValueError("the tool's own")

    with recording():
        sys.setprofile(raises)
        with pytest.raises(ValueError, match="the tool's own"):
            leaf()
        assert sys.getprofile() is None
        work(2)
    assert leaves() >= 2


def test_one_that_takes_itself_out():
    def once(frame, event, arg):
        sys.setprofile(None)

    with recording():
        sys.setprofile(once)
        work(3)
        assert sys.getprofile() is None
    assert leaves() == 3


@pytest.mark.parametrize("on", [lambda run: run(), in_threads], ids=["this thread", "another thread"])
def test_c_code_takes_the_slot(on):
    """While the main thread waits in C for another one, only that thread itself can put things right."""
    profile = cProfile.Profile()

    def run():
        work(1)
        profile.enable()
        work(2)
        profile.disable()
        work(4)

    with recording():
        on(run)
    calls = {name: row[0] for (_, _, name), row in pstats.Stats(profile).stats.items()}
    assert (calls["leaf"], leaves()) == (2, 7)
    assert sys.getprofile() is None
    assert image().losses["hook-lost"] == 2  # once when it came, once when it went: C calls may be missing


def test_c_code_clears_the_slot():
    with recording():
        work(1)
        ctypes.pythonapi.PyEval_SetProfile(None, None)
        work(2)
    assert leaves() == 3


def test_new_threads_whoever_starts_them():
    import _thread

    foreign, done = Foreign(), threading.Semaphore(0)

    def run():
        work(2)
        done.release()

    with recording():
        threading.setprofile(foreign)
        try:
            in_threads(run)
        finally:
            threading.setprofile(None)
        _thread.start_new_thread(run, ())
        for _ in range(2):
            done.acquire()
    assert (foreign.calls, leaves()) == (2, 4)
    assert "late-thread" not in image().losses


def test_threads_come_and_go_and_leave_nothing():
    def growth(n):
        gc.collect()
        before = sys.getallocatedblocks()
        some(n)
        gc.collect()
        return sys.getallocatedblocks() - before

    def some(n):
        for _ in range(n):
            in_threads(leaf)

    with recording():
        assert min(growth(150) for _ in range(4)) < 100  # what is made once needs a while to be complete
    assert leaves() == 600


def test_a_forked_child_goes_on():
    foreign = Foreign()
    sys.setprofile(foreign)
    with recording():
        pid = os.fork()
        if pid == 0:
            status = 1
            with contextlib.suppress(BaseException):
                _core.after_fork(-1, "{}")
                before = foreign.calls
                work(3)
                _core.stop()
                status = 0 if (foreign.calls - before, leaves(), sys.getprofile() is foreign) == (3, 3, True) else 2
            os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        work(1)
    assert (foreign.calls, leaves()) == (1, 1)


def test_the_interpreters_functions_are_its_own_again():
    functions = [sys.setprofile, sys.getprofile, sys.settrace, sys.gettrace, threading._start_new_thread]
    before = [address(function) for function in functions]
    with recording():
        assert all(address(function) != old for function, old in zip(functions, before, strict=True))
        assert sys.setprofile is setprofile
    assert [address(function) for function in functions] == before


def test_a_tool_that_hands_events_on_to_what_it_found():
    """It takes the slot and calls us itself: nothing is counted twice, and nothing recurses."""
    state = State.get()
    calls = []
    with recording():
        below, its_object = TRACEFUNC(state.profile), state.profile_object
        ctypes.pythonapi.Py_IncRef(ctypes.c_void_p(its_object))

        @TRACEFUNC
        def hand_on(obj, frame, what, arg):
            calls.append(what)
            return below(its_object, frame, what, arg)

        ctypes.pythonapi.PyEval_SetProfile(hand_on, None)
        work(3)
        ctypes.pythonapi.PyEval_SetProfile(None, None)
        ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(its_object))
    assert leaves() == 3
    assert calls.count(0) >= 4
