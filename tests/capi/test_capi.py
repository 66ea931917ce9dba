"""seismo.h: profile, trace and reference hooks from C."""

import ctypes
import gc
import itertools
import re
import sys
import weakref

import pytest
from threads import in_threads

from seismo import _core
from seismo.errors import UsageError

PROFILE, TRACE = 0, 1
CALL, EXCEPTION, LINE, RETURN, C_CALL, C_EXCEPTION, C_RETURN, OPCODE = range(8)
NULL = ...
WHY_NOT = _core.ref_objection()
traces = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


def leaf(n):
    return n + 1


def fails():
    raise KeyError("k")


def outer():
    try:  # noqa: SIM105
        fails()
    except KeyError:
        pass
    return len("abc")


def numbers():
    yield 1


def of(log, *names):
    """The events in these functions: (what, function, arg)."""
    return [(what, name, arg) for what, name, _, arg in log if name in names]


def test_profile_events(probe):
    log = []
    hook = probe.set(PROFILE, log, False, None)
    assert probe.is_active(hook) == 1
    leaf(1)
    outer()
    list(numbers())
    assert probe.remove(hook) == 1
    assert of(log, "leaf") == [(CALL, "leaf", None), (RETURN, "leaf", 2)]
    assert of(log, "fails", "outer") == [
        (CALL, "outer", None),
        (CALL, "fails", None),
        (RETURN, "fails", NULL),  # 3.12's own hooks say None
        (C_CALL, "outer", len),
        (C_RETURN, "outer", len),
        (RETURN, "outer", 3),
    ]
    assert of(log, "numbers") == [
        (CALL, "numbers", None),
        (RETURN, "numbers", 1),
        (CALL, "numbers", None),
        (RETURN, "numbers", None),
    ]


def test_a_failing_c_function(probe):
    log = []
    hook = probe.set(PROFILE, log, False, None)
    with pytest.raises(TypeError):
        len(3)
    probe.remove(hook)
    events = [(what, arg) for what, _, _, arg in log if arg is len]
    assert events == [(C_CALL, len), (C_EXCEPTION, len)]


def test_trace_events(probe):
    log = []
    hook = probe.set(TRACE, log, False, None)
    outer()
    probe.remove(hook)
    first = outer.__code__.co_firstlineno
    events = [(what, line - first, arg) for what, name, line, arg in log if name == "outer"]
    kinds = [(what, line) for what, line, _ in events]
    assert kinds[:4] == [(CALL, 0), (LINE, 1), (LINE, 2), (EXCEPTION, 2)]
    assert (LINE, 5) in kinds
    assert events[-1] == (RETURN, 5, 3)
    kind, value, traceback = events[3][2]
    assert kind is KeyError
    assert value.args == ("k",)
    assert traceback.tb_frame.f_code is outer.__code__
    assert [(what, arg) for what, _, arg in of(log, "fails") if what in (CALL, RETURN)] == [
        (CALL, None),
        (RETURN, NULL),
    ]


def test_opcodes_where_asked_for(probe):
    log = []
    hook = probe.set(TRACE, log, False, None)
    probe.opcodes(hook, leaf.__code__, 1)
    leaf(1)
    probe.opcodes(hook, leaf.__code__, 0)
    heard = len(log)
    leaf(1)
    probe.remove(hook)
    assert {row[1] for row in log[:heard] if row[0] == OPCODE} == {"leaf"}
    assert not [row for row in log[heard:] if row[0] == OPCODE]
    with pytest.raises(ValueError, match="not a trace hook"):
        probe.opcodes(hook, leaf.__code__, 1)


@pytest.mark.parametrize("kind", [PROFILE, TRACE])
def test_where(probe, kind):
    log = []
    hook = probe.set(kind, log, False, 'call and function("leaf")')
    for n in range(3):
        leaf(n)
        outer()
    probe.remove(hook)
    assert [row[:2] for row in log] == [(CALL, "leaf")] * 3
    log.clear()
    hook = probe.set(kind, log, False, 'function("leaf") or exception("KeyError") and unwind')
    leaf(1)
    outer()
    probe.remove(hook)
    assert of(log, "leaf")[0] == (CALL, "leaf", None)
    assert of(log, "leaf")[-1] == (RETURN, "leaf", 2)


@pytest.mark.parametrize(
    ("kind", "where", "error"),
    [
        (PROFILE, "call and", "something is missing after"),
        (PROFILE, "line", "line cannot be used here"),
        (TRACE, "c_call", "c_call cannot be used here"),
        (TRACE, "duration > 5ms", "duration cannot be used here"),
    ],
)
def test_a_wrong_expression(probe, kind, where, error):
    log = []
    before = sys.getrefcount(log)
    with pytest.raises(UsageError, match=error):
        probe.set(kind, log, False, where)
    assert sys.getrefcount(log) == before


def test_no_function(probe):
    for kind in range(3):
        with pytest.raises(ValueError, match="a hook needs a function"):
            probe.set_nothing(kind)


def test_obj_is_held_while_the_hook_is_set(probe):
    class Log(list):
        pass

    log = Log()
    gone = weakref.ref(log)
    hook = probe.set(PROFILE, log, False, None)
    del log
    gc.collect()
    leaf(1)
    assert any(row[1] == "leaf" for row in gone())
    probe.remove(hook)
    assert gone() is None
    hook = probe.set(PROFILE, None, False, None)  # obj may be NULL
    leaf(1)
    assert probe.remove(hook) == 1


def test_removing_twice_and_what_never_was(probe):
    hook = probe.set(TRACE, [], True, None)
    assert probe.remove(hook) == 1
    assert probe.remove(hook) == 0
    assert probe.is_active(hook) == 0
    assert probe.remove(0) == probe.remove(2**63) == 0
    assert probe.set(TRACE, [], True, None) != hook
    assert probe.remove(hook + 1) == 1


@pytest.mark.parametrize("kind", [PROFILE, TRACE])
def test_removed_inside_the_callback(probe, kind):
    log, other = [], []

    def remove(row, frame):
        assert probe.remove(hook) == 1
        assert probe.remove(hook) == 0
        assert probe.remove(second) == 1

    second = probe.set(kind, other, False, 'function("fails")')
    hook = probe.set(kind, log, False, 'function("leaf")')
    probe.call_inside(remove)
    leaf(1)
    leaf(2)
    assert len(log) == 1
    assert other == []


@pytest.mark.parametrize("kind", [PROFILE, TRACE])
def test_a_callback_that_raises_is_unset_and_its_exception_comes_out(probe, kind):
    log = []

    def raises(row, frame):
        raise ZeroDivisionError("in the callback")

    probe.call_inside(raises)
    hook = probe.set(kind, log, False, 'function("leaf")')
    with pytest.raises(ZeroDivisionError, match="in the callback"):
        leaf(1)
    assert leaf(1) == 2
    assert len(log) == 1
    assert probe.remove(hook) == 0
    probe.call_inside(None)
    hook = probe.set(kind, log, False, 'function("leaf")')
    probe.fail_silently()
    with pytest.raises(SystemError, match="without an exception"):
        leaf(1)
    assert probe.is_active(hook) == 0


def test_what_is_set_can_be_asked(probe):
    names = [name for _, name in probe.facts()]
    assert names[0] == names[1] is not None
    assert names[2] == ("PyRefTracer" if WHY_NOT is None else None)
    hooks = [
        probe.set(PROFILE, None, True, None),
        probe.set(TRACE, None, True, None),
        probe.set(TRACE, None, True, None),
    ]
    assert [count for count, _ in probe.facts()] == [1, 2, 0]
    for hook in hooks:
        probe.remove(hook)


# ---- references ----


@pytest.mark.skipif(WHY_NOT is None, reason="this interpreter traces references")
def test_an_interpreter_without_references_gives_the_reason(probe):
    with pytest.raises(RuntimeError, match=re.escape(str(WHY_NOT))):
        probe.ref_set(True, 0, 0, 0)


@traces
def test_references(probe):
    hook = probe.ref_set(True, 0, 0, 0)
    kept = [object() for _ in range(1000)]
    created = probe.ref_facts()[0]
    kept.clear()
    assert probe.facts()[2][0] == 1
    assert probe.remove(hook) == 1
    assert probe.remove(hook) == 0
    made, destroyed, removed, released = probe.ref_facts()
    assert created >= 1000
    assert destroyed >= 1000
    assert (removed, released) == (1, 1)
    kept.append([object() for _ in range(1000)])
    assert probe.ref_facts() == (made, destroyed, 1, 1)


@traces
def test_references_of_one_thread(probe):
    hook = probe.ref_set(False, 0, 0, 0)
    before = probe.ref_facts()[0]
    in_threads(lambda: [object() for _ in range(10_000)])
    assert probe.ref_facts()[0] - before < 5_000
    probe.remove(hook)


@traces
def test_a_reference_callback_that_removes_itself(probe):
    hook = probe.ref_set(True, 10, 0, 0)
    for _ in range(1000):
        object()
    assert probe.is_active(hook) == 0
    for _ in range(10_000_000):
        if probe.ref_facts()[3]:
            break
    created, destroyed, removed, released = probe.ref_facts()
    assert (created + destroyed, removed, released) == (10, 1, 1)


@traces
@pytest.mark.parametrize("raises", [0, 1])
def test_a_reference_callback_that_fails_is_removed(probe, monkeypatch, raises):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_type))
    hook = probe.ref_set(True, 0, 10, raises)
    kept = [object() for _ in range(100)]  # nothing raises here
    assert len(kept) == 100
    assert probe.is_active(hook) == 0
    for _ in range(10_000_000):
        if probe.ref_facts()[3]:
            break
    assert sum(probe.ref_facts()[:2]) == 10
    assert told == [KeyError] * raises


@traces
def test_objects_made_inside_a_reference_callback_are_not_told(probe):
    gc.disable()  # others' callbacks of the collector make objects
    try:
        hook = probe.ref_set(False, 0, 0, 2)
        kept = [object() for _ in itertools.repeat(None, 1000)]  # which makes no numbers
        probe.remove(hook)
    finally:
        gc.enable()
    assert len(kept) <= probe.ref_facts()[0] < 1200


@traces
def test_a_reference_hook_hears_that_the_slot_is_taken(probe):
    import tracemalloc

    hook = probe.ref_set(True, 0, 0, 0)
    tracemalloc.start()
    with_seismo = _core.RefTracer(len)  # looks
    with_seismo.remove()
    assert probe.ref_facts()[2] == 1
    kept = object()
    tracemalloc.stop()
    probe.remove(hook)
    assert kept is not None


# ---- versions, ends ----


def capsule(name=b"seismo._core._C_API", **changes):
    """A capsule like seismo's with another head."""

    class Head(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("major", ctypes.c_uint16), ("minor", ctypes.c_uint16)]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    size = Head.from_address(get(_core._C_API, b"seismo._core._C_API")).size
    memory = ctypes.create_string_buffer(ctypes.string_at(get(_core._C_API, b"seismo._core._C_API"), size), size + 64)
    head = Head.from_buffer(memory)
    for field, change in changes.items():
        setattr(head, field, getattr(head, field) + change)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    made = new(ctypes.addressof(memory), name, None)
    KEPT.append((memory, name))
    return made


KEPT = []  # what capsules point to


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        (
            {"major": 1},
            r"built for version 1 of seismo's C API, the installed seismo has version 2: build the extension",
        ),
        ({"major": -1}, r"the installed seismo has version 0: install a newer seismo"),
        ({"size": -8}, r"built for seismo's C API 1\.0, the installed seismo has 1\.0: install a newer seismo"),
        ({"name": b"seismo.other"}, r"seismo\._core\._C_API is not seismo's C API"),
    ],
)
def test_a_capsule_of_another_version(probe, monkeypatch, changes, error):
    monkeypatch.setattr(_core, "_C_API", capsule(**changes))
    with pytest.raises(ImportError, match=error):
        probe.import_again()


def test_a_later_minor_version_will_do(probe, monkeypatch):
    monkeypatch.setattr(_core, "_C_API", capsule(minor=3, size=24))
    probe.import_again()


def test_a_seismo_without_the_api(probe, monkeypatch):
    monkeypatch.delattr(_core, "_C_API")
    with pytest.raises(ImportError, match="has no C API"):
        probe.import_again()
    monkeypatch.setitem(sys.modules, "seismo._core", None)
    with pytest.raises(ImportError):
        probe.import_again()


def test_the_program_ends_with_hooks_set(run):
    program = """
import atexit, threading, capi_probe as probe
atexit.register(print, "last words")
log = []
probe.set(0, log, True, None)
probe.set(1, log, True, None)
probe.set(1, log, False, 'function("f")')
if probe.facts()[2][1]:
    probe.ref_set(True, 0, 0, 0)
class Ends:
    def __del__(self):
        [n for n in range(10)]
ends = Ends()
ends.me = ends
threading.Thread(target=threading.Event().wait, args=(0.01,), daemon=True).start()
def f(): pass
f()
"""
    assert run(program) == "last words\n"
