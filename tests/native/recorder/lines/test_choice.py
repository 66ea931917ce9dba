"""What is left out: it costs nothing, and its time is the line's that called it."""

import sys

import pytest
from recorded import filter_of
from timing import recorded, start, tick

import seismo
from seismo import _core
from seismo.errors import UsageError
from seismo.process.engine import only_expression

M = __name__


def helper():
    tick(3)


def wanted():
    tick(1)
    helper()
    for _ in numbers():
        tick(10)


def numbers():
    yield 1
    tick(50)
    yield 2


def both():
    wanted()
    helper()


def narrowed(program, *only):
    return recorded(program, where=filter_of(only_expression(only)))


def test_time_of_what_is_left_out_is_the_calling_lines():
    lines = narrowed(both, "wanted")
    assert lines.own("wanted") == {1: 1, 2: 3, 3: 50, 4: 20}
    assert lines.of("wanted", "inner_ns") == {}
    assert lines.own("<elsewhere>") == {0: 3}
    assert {name for name, _ in lines.rows} == {"wanted", "<elsewhere>"}


@pytest.mark.parametrize(
    ("only", "names"),
    [
        ("wanted", {"wanted"}),
        (f"{M}.wanted", {"wanted"}),
        (M, {"wanted", "helper", "numbers"}),
        (f"{M}.*", {"wanted", "helper", "numbers"}),
        (f"{M[:-2]}*", {"wanted", "helper", "numbers"}),
        (f"{M}.[hn]*", {"helper", "numbers"}),
        ("lines/test_choice.py", {"wanted", "helper", "numbers"}),
        ("choice", set()),
        ("nothing.*", set()),
    ],
)
def test_only(only, names):
    assert {name for name, _ in narrowed(wanted, only).rows} - {"<elsewhere>", "narrowed"} == names


def test_what_only_cannot_be():
    with pytest.raises(UsageError):
        only_expression([""])
    with pytest.raises(UsageError):
        seismo.lines(where="duration > 5ms")


def test_both_only_and_where():
    lines = recorded(wanted, where=filter_of(only_expression([M], 'not function("helper")')))
    assert {name for name, _ in lines.rows} >= {"wanted", "numbers"}
    assert not lines.of("helper")


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="3.11 has no events of single code objects")
def test_events_are_asked_for_where_they_are_wanted_and_given_back():
    start(where=filter_of(only_expression(["wanted"])))
    tool = _core.status()["tool_id"]
    wanted()
    local = sys.monitoring.get_local_events
    line = sys.monitoring.events.LINE
    assert local(tool, wanted.__code__) & line
    assert local(tool, helper.__code__) == 0
    assert sys.monitoring.get_events(tool) & line == 0
    names = {}
    for n in range(3000):  # code objects that die while they are known
        exec(f"def wanted(): return {n}", names)
        names["wanted"]()
    _core.stop()
    assert sys.monitoring.get_tool(tool) is None
    sys.monitoring.use_tool_id(tool, "test")
    assert local(tool, wanted.__code__) == 0
    sys.monitoring.free_tool_id(tool)
