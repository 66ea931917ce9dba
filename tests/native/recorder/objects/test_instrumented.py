"""What the interpreter makes to instrument code is nobody's: counts are the same whoever asked for events before."""

import sys
from contextlib import contextmanager
from functools import partial

import pytest
from births import calls_of, needs_tracer, recorded, run

import seismo

pytestmark = needs_tracer

PROGRAM = """
def leaf():
    return [1, 2]

def steps():
    for _ in range(3):
        yield [leaf()]

def program():
    kept = [leaf(), list(steps())]
    kept.append([leaf() for _ in range(4)])
    return kept
"""
LISTS = 2 + 1 + 3 * 2 + 1 + 4  # of them, leaf makes 8


@contextmanager
def events_of(code, events):
    """Events of a tool in the block, in this code object or in all code (None)."""
    monitoring = sys.monitoring
    tool = next(number for number in (3, 4) if monitoring.get_tool(number) is None)
    set_events = (
        partial(monitoring.set_events, tool) if code is None else partial(monitoring.set_local_events, tool, code)
    )
    monitoring.use_tool_id(tool, "test")
    try:
        set_events(events)
        yield tool
    finally:
        set_events(0)
        monitoring.free_tool_id(tool)


def change_events():
    """From here on, all code has to be instrumented anew before it goes on."""
    with events_of(None, sys.monitoring.events.PY_START | sys.monitoring.events.LINE):
        pass


def fresh(name="program"):
    """Functions that never ran."""
    names = {"__name__": __name__}
    exec(PROGRAM, names)
    return names[name]


@pytest.mark.parametrize("again", [False, True], ids=["first-run", "after-a-change"])
def test_lists_by_line(again):
    program = fresh()
    if again:
        program()
    change_events()
    with recorded() as births:
        kept = program()
    assert births.types()["list"]["born"] == births.total("list", "born") == LISTS
    assert births.total("list", "born", "leaf") == 8
    assert births.types()["list"]["died"] == births.total("list", "died") == 0
    del kept


def test_lists_by_type():
    program = fresh()
    change_events()
    with recorded(objects="types") as births:
        kept = program()
    assert births.type("list", "born", "died", "before", "peak") == (LISTS, 0, 0, LISTS)
    change_events()
    with recorded(objects="types") as after:
        kept.clear()
        again = program()
    assert after.type("list", "born", "died", "before") == (LISTS, 0, LISTS - 1)
    del again


def test_nothing_but_lists_is_left_out():
    for objects in ("lines", "types"):
        program = fresh("leaf")
        change_events()
        with seismo.objects(objects=objects) as r:
            program()
        assert (r.born, r.died) == (1, 1)


def test_a_generator_that_goes_on_after_a_change():
    steps = fresh("steps")()
    next(steps)
    change_events()
    with recorded() as births:
        kept = next(steps)
    assert births.total("list", "born") == births.types()["list"]["born"] == 2
    change_events()
    with recorded(objects="types") as births:
        more = next(steps)
    assert births.type("list", "born", "died") == (2, 0)
    del kept, more


def test_code_whose_instructions_are_told():
    """Another opcode covers the RESUME then."""
    program = fresh("leaf")
    with events_of(program.__code__, sys.monitoring.events.INSTRUCTION):
        program()
        change_events()
        with recorded() as births:
            program()
        assert births.total("list", "born") == 1
        change_events()
        with recorded(objects="types") as births:
            program()
        assert births.types()["list"]["born"] == 1


def test_code_that_makes_lists_while_it_is_behind():
    """What a callback runs is not instrumented, so it stays behind; its lists are its own."""
    program, told = fresh("leaf"), fresh("leaf")
    start = sys.monitoring.events.PY_START
    with events_of(told.__code__, start) as tool:
        sys.monitoring.register_callback(tool, start, lambda *_: program())
        with recorded() as births:
            told()
        sys.monitoring.register_callback(tool, start, None)
    assert births.total("list", "born", "leaf") == 2


@pytest.mark.parametrize("how", ["paths", "span", "both"])
def test_the_recorder_s_own_hooks(how):
    options = {"paths": how != "span", "span": None if how == "paths" else calls_of("leaf")}
    program = fresh()
    with recorded(**options) as births:
        kept = program()
    assert births.total("list", "born") == births.types()["list"]["born"] == LISTS
    if how != "paths":
        assert births.total("list", "span_born") == 8
        assert [row["born"] for row in births.spans()] == [1] * 8
    del kept


def test_a_process_that_never_asked_for_events():
    told = run("""
program = {}
exec(sys.argv[1], program)
for objects in "lines", "types":
    start(objects=objects)
    kept = program["program"]()
    _core.stop()
    print(image().types()["list"]["born"])
""", PROGRAM)  # fmt: skip
    assert told.split() == [str(LISTS)] * 2
