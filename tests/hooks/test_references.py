"""Objects made and destroyed, told to any number of Python callbacks in batches."""

import ctypes
import gc
import re
import sys
import tracemalloc
import weakref
from pathlib import Path

import children
import extensions
import pytest
from allocations import can_fail, each_fails
from threads import in_threads

from seismo import _core
from seismo.errors import UsageError
from seismo.hooks.references import get_ref_tracer, set_ref_tracer

WHY_NOT = _core.ref_objection()
TELLS = sys.version_info >= (3, 15)  # a tracer that is replaced hears of it
traces = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


class Thing:
    pass


class Other:
    pass


class Log:
    """A callback that keeps what it gets."""

    def __init__(self):
        self.rows = []
        self.batches = 0

    def __call__(self, batch):
        assert type(batch) is list
        self.batches += 1
        self.rows += batch

    def of(self, *types):
        return [row for row in self.rows if row[0] in types]

    def count(self, kind, event):
        return sum(count for type_, count, _, what in self.rows if type_ is kind and what == event)


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    assert get_ref_tracer() is None
    if WHY_NOT is None:
        slot = ctypes.pythonapi.PyRefTracer_GetTracer
        slot.restype = ctypes.c_void_p
        assert slot(ctypes.byref(ctypes.c_void_p())) is None


def run(program):
    """What a program prints, which says nothing on stderr."""
    return children.printed(program, env=children.environment(PYTHONWARNINGS="error"))


def test_what_cannot_be_is_said():
    with pytest.raises(UsageError, match="must be callable, and this is 'NoneType'"):
        set_ref_tracer(None)
    with pytest.raises(UsageError, match="threads cannot be 'some'"):
        set_ref_tracer(print, threads="some")
    assert get_ref_tracer() is None


@pytest.mark.skipif(WHY_NOT is None, reason="this interpreter traces references")
def test_an_interpreter_without_it_gives_the_reason():
    with pytest.raises(UsageError, match=re.escape(str(WHY_NOT))) as caught:
        set_ref_tracer(print)
    assert sys.version.split()[0] in caught.value.hint
    assert ("gh-130382" in caught.value.what) == ((3, 13) <= sys.version_info < (3, 13, 3))


@traces
def test_each_object_is_told_with_its_type_and_address():
    log = Log()
    with set_ref_tracer(log) as tracer:
        assert tracer.active
        assert get_ref_tracer() is log
        things = [Thing() for _ in range(3)]
        addresses = [id(thing) for thing in things]
        other = id(Other())
        things.clear()
    assert not tracer.active
    assert [row for row in log.of(Thing) if row[3] == "create"] == [(Thing, 1, a, "create") for a in addresses]
    assert {row for row in log.of(Thing) if row[3] == "destroy"} == {(Thing, 1, a, "destroy") for a in addresses}
    assert log.of(Other) == [(Other, 1, other, "create"), (Other, 1, other, "destroy")]
    told = len(log.rows)
    things.append(Thing())
    tracer.flush()
    tracer.remove()
    assert len(log.rows) == told


@traces
def test_several_listen_at_once_and_none_hears_the_other_s_delivery():
    first, second = Log(), Log()
    one = set_ref_tracer(first)
    two = set_ref_tracer(second)
    assert get_ref_tracer() is second
    made = Thing()
    one.flush()
    two.remove()
    assert get_ref_tracer() is first
    del made
    one.remove()
    assert [row[3] for row in first.of(Thing)] == ["create", "destroy"]
    assert [row[3] for row in second.of(Thing)] == ["create"]
    deliveries = [row for log in (first, second) for row in log.rows if row[0] is list and row[1] > 1]
    assert deliveries == []


@traces
def test_a_callback_s_own_objects_are_not_told():
    log = Log()

    def busy(batch):
        log([row for row in batch if row[0] is Other])
        log([row for row in batch if row[0] is Thing])
        for _ in range(100):
            Other()

    with set_ref_tracer(busy) as tracer:
        Thing()
        for _ in range(3):
            tracer.flush()
    assert [row[3] for row in log.rows] == ["create", "destroy"]


@traces
def test_what_does_not_fit_is_counted_exactly():
    log = Log()
    with _core.RefTracer(log, size=64):
        numbers = list(range(10**6, 10**6 + 50_000))  # one C call: no batch can be taken inside it
        del numbers
    # A few more are made and destroyed by what runs around it.
    assert 50_000 <= log.count(int, "create") < 50_100
    assert 50_000 <= log.count(int, "destroy") < 50_100
    assert sum(row[1] == 1 and row[2] != 0 for row in log.rows) <= 64 * log.batches
    assert all(address == 0 for _, count, address, _ in log.rows if count > 1)
    assert not [row for row in log.rows if row[3] == "lost"]


@traces
def test_too_many_types_are_lost_and_told_so():
    types = [type(f"T{i}", (), {}) for i in range(1000)]
    log = Log()
    with _core.RefTracer(log, size=2):
        kept = [*map(object.__new__, types)]
    lost = sum(count for type_, count, _, event in log.rows if event == "lost" and type_ is None)
    told = sum(log.count(type_, "create") for type_ in types)
    assert told >= 100
    assert 1000 - told <= lost <= 1100 - told
    assert len(kept) == 1000


@traces
def test_batches_come_by_themselves():
    log = Log()
    with set_ref_tracer(log):
        for _ in range(2_000_000):
            Thing()
            if log.batches:
                break
        assert log.batches > 0
    assert log.of(Thing)


@traces
def test_a_type_lives_until_its_batch_and_no_longer():
    log = Log()
    with set_ref_tracer(log) as tracer:
        type_ = type("Short", (), {})
        gone = weakref.ref(type_)
        type_()
        del type_
        gc.collect()
        tracer.flush()
        assert [row[0].__name__ for row in log.rows if isinstance(row[0], type)].count("Short") >= 2
        log.rows.clear()
        gc.collect()
        assert gone() is None


@traces
def test_threads():
    everybody, mine = Log(), Log()
    with set_ref_tracer(everybody), set_ref_tracer(mine, threads="current"):
        in_threads(Other)
        Thing()
    assert [row[3] for row in everybody.of(Thing, Other)] == ["create", "destroy"] * 2
    assert [row[0] for row in mine.of(Thing, Other)] == [Thing, Thing]


@traces
def test_removed_from_another_thread_and_twice():
    log = Log()
    tracer = set_ref_tracer(log)
    Thing()
    in_threads(tracer.remove)
    tracer.remove()
    Other()
    assert [row[3] for row in log.of(Thing)] == ["create", "destroy"]
    assert not log.of(Other)


@traces
def test_a_callback_may_remove_itself_and_others_and_add_some():
    later = Log()
    calls = []
    tracers = []

    def once(batch):
        if len(tracers) < 2:
            return  # a batch that was due before this tracer was in the list
        calls.append(len(batch))
        tracers[1].flush()  # not again while it runs
        tracers[1].remove()
        tracers[0].remove()
        calls.append(set_ref_tracer(later))

    tracers.append(set_ref_tracer(Log()))
    tracers.append(set_ref_tracer(once))
    tracer = tracers[1]
    Thing()
    tracer.flush()
    assert len(calls) == 2
    Thing()
    tracer.flush()
    assert len(calls) == 2
    calls[1].remove()
    assert later.of(Thing)


@traces
def test_a_callback_that_raises_is_removed(monkeypatch):
    def fails(batch):
        raise KeyError("not today")

    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append((type(args.exc_value), args.object)))

    def flushed():
        tracer = set_ref_tracer(fails)
        try:
            tracer.flush()
        finally:
            assert not tracer.active

    def left():
        with set_ref_tracer(fails):
            pass

    for ends in (flushed, left):
        for _ in range(1000):
            try:
                ends()
            except KeyError:
                assert told == []  # an error is told once
                break
            assert told == [(KeyError, fails)]  # a delivery that was due came first
            told.clear()
        else:
            pytest.fail("the error never reached the caller")
    tracer = set_ref_tracer(fails)
    for _ in range(2_000_000):
        Thing()
        if not tracer.active:
            break
    assert told == [(KeyError, fails)]


@traces
def test_tracemalloc_takes_the_hook_and_it_is_taken_back():
    log = Log()
    with set_ref_tracer(log) as tracer:
        assert tracer.status()["taken"] == 0
        tracemalloc.start()
        status = tracer.status()
        assert (status["taken"], status["holding"], status["chained"]) == (1, True, True)
        assert status["blind_ns"] > 0
        thing = Thing()
        assert tracemalloc.get_object_traceback(thing) is not None
        tracemalloc.stop()
        status = tracer.status()
        assert (status["taken"], status["holding"], status["chained"]) == (2, True, False)
        del thing
    assert [row[3] for row in log.of(Thing)] == ["create", "destroy"]
    assert sum(row[1] for row in log.rows if row[::2] == (None, 0) and row[3] == "removed") == 2


@traces
def test_tracemalloc_that_was_there_goes_on():
    tracemalloc.start()
    try:
        log = Log()
        with set_ref_tracer(log):
            first = Thing()
        assert log.of(Thing)
        assert tracemalloc.get_object_traceback(first) is not None
        tracer = ctypes.pythonapi.PyRefTracer_GetTracer
        tracer.restype = ctypes.c_void_p
        assert tracer(ctypes.byref(ctypes.c_void_p())) is not None
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    source = Path(__file__).with_name("foreign_tracer.c")
    return ctypes.PyDLL(str(extensions.library(source, extensions.shared(tmp_path_factory, "foreign"))))


@traces
@pytest.mark.skipif(TELLS, reason="a tracer that was told of its removal may be gone: see the next test")
def test_a_tracer_that_was_there_is_called_and_put_back(foreign):
    foreign.foreign_install(0)
    log = Log()
    before = foreign.foreign_count(0)
    with set_ref_tracer(log) as tracer:
        assert not foreign.foreign_holds()
        assert tracer.status()["chained"]
        Thing()
    assert foreign.foreign_count(0) > before
    assert foreign.foreign_holds()
    assert log.of(Thing)
    foreign.foreign_uninstall(0)


@traces
@pytest.mark.skipif(not TELLS, reason="only where a tracer hears of its removal")
def test_a_tracer_that_would_take_harm_is_left_alone(foreign):
    foreign.foreign_install(0)
    with pytest.raises(UsageError, match="another tool holds the interpreter's only slot for a reference tracer"):
        set_ref_tracer(Log())
    assert foreign.foreign_holds()
    assert foreign.foreign_count(2) == 0
    foreign.foreign_uninstall(0)
    set_ref_tracer(Log()).remove()


@traces
def test_another_tool_that_takes_the_hook_is_waited_for(foreign):
    log = Log()
    with set_ref_tracer(log) as tracer:
        foreign.foreign_install(0)
        status = tracer.status()
        assert (status["taken"], status["holding"]) == (1, False)
        Thing()
        assert foreign.foreign_holds()
        longer = tracer.status()["blind_ns"]
        assert longer > status["blind_ns"]
        foreign.foreign_uninstall(0)
        assert tracer.status()["holding"]
        Other()
    assert not log.of(Thing)
    assert len(log.of(Other)) == 2


@traces
def test_another_tool_that_chains_us_does_no_harm(foreign):
    log = Log()
    tracer = set_ref_tracer(log)
    foreign.foreign_install(1)
    taken = tracer.status()["taken"]
    assert tracer.status()["holding"]
    assert taken == TELLS  # 3.15 says so at once, before it can be known that the new one calls the old one
    Thing()
    tracer.remove()
    assert len(log.of(Thing)) == 2
    with set_ref_tracer(log) as tracer:
        assert tracer.status()["holding"]
        Other()
        foreign.foreign_uninstall(1)
        assert tracer.status()["holding"]
        Other()
    assert len(log.of(Other)) == 4


@traces
def test_a_child_starts_anew_and_is_delivered_to():
    program = """
import os, threading
from seismo.hooks.references import set_ref_tracer
class Thing: pass
seen = []
def see(batch):
    seen.extend(row[3] for row in batch if row[0] is Thing)
tracer = set_ref_tracer(see)
before = Thing()
child = os.fork()
if child == 0:
    after = Thing()
    tracer.flush()
    print("child", seen, flush=True)
    seen.clear()
    for _ in range(2_000_000):
        Thing()
        if seen: break
    print("child", bool(seen), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
tracer.flush()
print("parent", seen)
seen.clear()
for _ in range(2_000_000):
    Thing()
    if seen: break
print("parent", bool(seen))
"""
    lines = run(program).splitlines()
    assert lines == ["child ['create']", "child True", "parent ['create']", "parent True"]


@traces
def test_the_end_of_the_program_is_a_last_batch():
    program = """
from seismo.hooks.references import set_ref_tracer
class Thing: pass
def see(batch):
    print([row[3] for row in batch if row[0] is Thing])
set_ref_tracer(see)
last = Thing()
"""
    assert run(program) == "['create']\n"


@traces
def test_a_subinterpreter_is_refused_and_not_heard():
    program = """
from seismo.hooks.references import set_ref_tracer
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
heard = []
with set_ref_tracer(heard.extend):
    other = interpreters.create()
    before = sum(row[1] for row in heard if row[0] is complex)
    failed = interpreters.run_string(other, '''
numbers = [complex(i, i) for i in range(1000)]
try:
    from seismo import _core
except ImportError:
    pass
else:
    assert "subinterpreter" in _core.ref_objection()
''')
    interpreters.destroy(other)
print(failed, sum(row[1] for row in heard if row[0] is complex))
"""
    assert run(program) == "None 0\n"


@traces
@can_fail
def test_memory_that_runs_out_is_an_error():
    assert each_fails(lambda: set_ref_tracer(len).remove()) == 4
