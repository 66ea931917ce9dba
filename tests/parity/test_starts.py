"""What a path from starts alone must not be misled by: dead frames' addresses, frames of which nothing was told, tools
and programs that change the stack behind its back."""

import gc
import sys

import extensions
import pytest
from lab import SOURCES, leaf
from recorded import LOWER_BOUND, image, merged, shown

import seismo
from seismo import _core
from seismo.errors import RecordingError
from seismo.expression import parse

pytestmark = pytest.mark.skipif("starts" not in SOURCES, reason="sys.monitoring was added in Python 3.12")
BOTH = pytest.mark.parametrize("c_functions", ["none", "all"])


def both(main, c_functions="none", **options):
    """The program's tree by starts alone, as text; it is the same as with every end, and needs as few repairs."""
    found = {}
    main()  # what is done the first time falls into no recording
    for source, timing in (("monitoring", "none"), ("starts", "sampled"), ("starts", "none")):
        if timing != "none" and ("where" in options or c_functions == "auto"):
            continue  # refused; and the places of trivial C functions are switched off
        gc.collect()
        gc.disable()
        _core.start(source=source, c_functions=c_functions, timing=timing, running=False, calibrate=False, **options)
        try:
            main()
        finally:
            _core.stop()
            gc.enable()
        assert _core.check()
        recorded = image()
        assert recorded.problems == []
        found[source, timing] = shown(merged(recorded.forests()["MainThread"])), recorded.losses.get("repaired", 0)
    trees, repaired = zip(*found.values(), strict=True)
    assert all(tree == trees[0] for tree in trees)
    assert set(repaired) == {0}
    return trees[0]


@BOTH
def test_a_dead_frame_s_address_is_not_its_successor_s(c_functions):
    """Functions that are left out take the place of frames that have ended, at the same address."""
    there = {"__name__": "hidden", "leaf": leaf}
    exec("def quiet():\n    leaf()\n\ndef deep(n):\n    return deep(n - 1) if n else leaf()\n", there)

    def seen():
        return 1

    def main():
        for n in range(5):
            seen()
            there["quiet"]()
            there["deep"](n)
            seen()
            leaf()

    where = _core.Filter(parse('not module("hidden")').program)
    text = both(main, c_functions, where=where)
    name = "test_a_dead_frame_s_address_is_not_its_successor_s.<locals>"
    assert text == f"{name}.main\n  leaf 15\n  {name}.seen 10\n"


@BOTH
def test_recursion_of_a_hundred_thousand(c_functions):
    """Up and down again, several times, which exchanges the chunks of the stack that its frames are in."""

    def down(n):
        return down(n - 1) if n else leaf()

    def main():
        for depth in (100_000, 10, 3000, 400, 50_000):
            down(depth)
            leaf()

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    try:
        _core.start(source="starts", c_functions=c_functions, timing="none", running=False, max_paths=200_000)
        main()
    finally:
        _core.stop()
        sys.setrecursionlimit(limit)
    recorded = image()
    calls = recorded.calls()
    path = "test_recursion_of_a_hundred_thousand.<locals>"
    assert calls[f"{path}.down"] == 100_001 + 11 + 3001 + 401 + 50_001
    assert calls["leaf"] == 10
    assert recorded.losses.get("repaired", 0) == 0


def test_many_suspended_generators():
    """A hundred thousand that wait, resumed in turn, from another caller each time, and dropped while they wait."""

    def numbers():
        yield 1
        leaf()
        yield 2

    def one(waiting):
        for generator in waiting:
            next(generator)

    def two(waiting):
        for generator in reversed(waiting):
            next(generator)

    def main():
        waiting = [numbers() for _ in range(100_000)]
        one(waiting)
        two(waiting)

    text = both(main)
    path = "test_many_suspended_generators.<locals>"
    assert f"{path}.one\n    {path}.numbers 100000\n" in text
    assert f"{path}.two\n    {path}.numbers 0 r100000" in text
    assert "leaf 100000" in text


@BOTH
def test_code_is_replaced_while_it_runs(c_functions):
    """Frames go on with the code that they began with; later calls of the function run the new one."""
    space = {"leaf": leaf}
    exec(
        "def first():\n    leaf()\n    first.__code__ = second.__code__\n    leaf()\n    first()\n"
        "def second():\n    leaf()\n    leaf()\n"
        "codes = first.__code__\n"
        "def main():\n    first.__code__ = codes\n    first()\n    first()\n    leaf()\n",
        space,
    )
    text = both(space["main"], c_functions)
    assert text == "main\n  first\n    leaf 2\n    second\n      leaf 2\n  leaf\n  second\n    leaf 2\n"


@BOTH
def test_a_debugger_jumps(c_functions):
    """A trace function sets f_lineno: lines are passed over and run again, and calls counted as they are made."""

    def jumped():
        leaf()
        leaf()
        leaf()
        return len("abc")

    first = jumped.__code__.co_firstlineno

    def main():
        skipped = []

        def trace(frame, event, arg):
            if frame.f_code is not jumped.__code__:
                return None
            if event == "line" and frame.f_lineno == first + 2 and not skipped:
                skipped.append(1)
                frame.f_lineno = first + 1
            return trace

        sys.settrace(trace)
        try:
            jumped()
        finally:
            sys.settrace(None)

    path = "test_a_debugger_jumps.<locals>"
    assert f"  {path}.jumped\n    leaf 4\n" in both(main, c_functions)


@BOTH
def test_depths_of_frames_that_are_no_function_s(c_functions):
    """Callers are found where the interpreter counts frames: it counts one more for calls of classes, none for C."""

    class Made:
        def __init__(self, n):
            leaf()
            if n:
                Made(n - 1)
                list(map(Made, [n - 1]))
            leaf()

    def main():
        for _ in range(30):  # until the interpreter has specialised the calls
            Made(2)
            leaf()
        list(map(Made, [0, 0]))

    made = "test_depths_of_frames_that_are_no_function_s.<locals>.Made.__init__"
    assert f"  {made} 3" in both(main, c_functions)


@BOTH
def test_the_limit_of_recursion_is_changed(c_functions):
    """The depth is how far the limit is from what is left of it, wherever the limit is."""

    def deeper(n):
        leaf()
        sys.setrecursionlimit(sys.getrecursionlimit() + 7)
        if n:
            deeper(n - 1)
        sys.setrecursionlimit(sys.getrecursionlimit() - 7)
        leaf()

    def main():
        deeper(200)
        deeper(3)

    assert both(main, c_functions).count(".deeper") == 201


@BOTH
def test_frames_kept_alive_by_tracebacks(c_functions):
    """Their addresses are not used again while the traceback lives; those of others are."""

    def fails(n):
        if n:
            fails(n - 1)
        raise ValueError

    def main():
        kept = []
        for n in range(4):
            try:
                fails(n)
            except ValueError as error:
                kept.append(error)
            leaf()
        kept.clear()
        leaf()

    assert "leaf 5" in both(main, c_functions)


@BOTH
def test_finalizers_while_arguments_are_dropped(c_functions):
    """A __del__ that runs when a C function has returned, at the same place, is not called by the C function."""

    class Thing:
        def __del__(self):
            leaf()

    def main():
        for _ in range(3):
            len([Thing()])
            repr(Thing)

    text = both(main, c_functions)
    path = "test_finalizers_while_arguments_are_dropped.<locals>"
    assert f"  {path}.Thing.__del__ 3\n    leaf 3\n" in text


HOOK = """
#include <Python.h>
typedef struct _PyInterpreterFrame frame;
typedef PyObject *(*evaluation)(PyThreadState *, frame *, int);
extern void _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState *, evaluation);
static PyObject *evaluate(PyThreadState *tstate, frame *f, int throwing) {
    return _PyEval_EvalFrameDefault(tstate, f, throwing);
}
static PyObject *hook(PyObject *module, PyObject *on) {
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), on == Py_True ? evaluate : _PyEval_EvalFrameDefault);
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"hook", hook, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "evaluating", NULL, -1, methods};
PyMODINIT_FUNC PyInit_evaluating(void) { return PyModule_Create(&module); }
"""


def evaluating(folder):
    """A function that puts another tool's function for the evaluation of frames in place, and takes it away."""
    (folder / "evaluating.c").write_text(HOOK)
    return extensions.module(folder / "evaluating.c", folder).hook


@BOTH
def test_others_evaluate_the_frames(c_functions, tmp_path):
    """With another tool's function for it (PEP 523), every Python call goes through C."""
    hook = evaluating(tmp_path)

    def step(n):
        leaf()
        yield n

    def some(n):
        leaf()
        return sorted(range(n), key=lambda x: list(step(x)))

    def main():
        some(2)
        hook(True)
        try:
            some(2)
            some(3)
        finally:
            hook(False)
        some(1)

    both(main, c_functions)
    assert image().calls()["leaf"] == 4 + 8


def test_every_count_is_exact_though_places_are_switched_off():
    """Places that call Python functions alone are switched off, and nothing that is counted is missing."""

    class Thing:
        def __init__(self):
            leaf()

    def main():
        for _ in range(3000):
            Thing()
            leaf()
            isinstance(1, int)

    both(main, "auto")
    recorded = image()
    assert recorded.calls()["leaf"] == 6000
    assert recorded.calls(kind=1)["isinstance"] == 3000
    assert not any(node.flags & LOWER_BOUND for root in recorded.forests()["MainThread"] for node in root.walk())


def test_traces_and_recordings_that_leave_functions_out_are_refused():
    """A trace needs the ends of calls; and of a frame that is left out nothing says that it runs."""
    with pytest.raises(RuntimeError, match="a trace needs the ends"):
        _core.start(source="starts", journal=True)
    with pytest.raises(RecordingError, match="where= leaves out"), seismo.profile(source="starts", where='call("f")'):
        pass
    assert not _core.status()["running"]


def test_it_is_chosen_where_it_can_be_used():
    def sources(**options):
        with seismo.profile(**options) as session:
            leaf()
        return {row.source for row in session.recording.processes}

    assert sources(timing="none") == sources() == sources(timing="every") == {"starts"}
    assert sources(where='call("leaf")') == {"monitoring"}
