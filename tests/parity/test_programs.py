"""Every source counts the same: each program's tree, on each source, with all, none and the telling C functions."""

import sys

import pytest
from program import WAYS, accept_lower_bounds, compared, load, record
from recorded import LOWER_BOUND, shown

from seismo import _core

PROGRAMS = load()


@pytest.mark.parametrize(("source", "c_functions"), WAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name.replace(" ", "-"))
def test_tree(program, source, c_functions):
    recording = record(program, source, c_functions)
    assert recording.problems == []
    assert _core.check()
    assert sys.getprofile() is None
    forests = recording.forests()
    assert recording.doubled == []
    expected, recorded = compared(program.expected(source), c_functions), compared(forests["MainThread"], c_functions)
    if c_functions == "auto":
        accept_lower_bounds(expected, recorded)
    assert shown(recorded) == shown(expected)
    if not program.may_repair(source) and source != "evalframe":  # frames of other threads end without an event
        assert recording.losses.get("repaired", 0) == 0


@pytest.mark.parametrize(("source", "c_functions"), [way for way in WAYS if way[1] != "all"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name.replace(" ", "-"))
def test_tree_without_times(program, source, c_functions):
    """The same counts where no clock is read, of C functions all of them: nothing ever proves to be trivial."""
    recording = record(program, source, c_functions, timing="none")
    assert recording.problems == []
    assert _core.check()
    forests = recording.forests()
    counted = "none" if c_functions == "none" else "all"
    assert shown(compared(forests["MainThread"], counted)) == shown(compared(program.expected(source), counted))
    nodes = (node for root in forests["MainThread"] for node in root.walk())
    assert not any(node.flags & LOWER_BOUND for node in nodes)


def test_programs_have_names_of_their_own():
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names))
