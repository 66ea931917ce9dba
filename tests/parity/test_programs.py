"""Every source counts the same: each program's tree, on each source, with all, none and the telling C functions."""

import sys

import pytest
from program import SOURCES, WAYS, accept_lower_bounds, compared, load, record
from recorded import LOWER_BOUND, Image, shown

from seismo import _core

PROGRAMS = load()


def leaf():
    pass


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


@pytest.mark.parametrize("source", SOURCES)
def test_counts_are_written_on_the_way(tmp_path, source):
    """Who is killed leaves what was counted until then: no event reads a clock, but now and then one looks."""
    path = tmp_path / "counts.seismo"
    written = 0
    with path.open("wb+") as file:
        _core.start(source=source, c_functions="none", timing="none", running=False, fd=file.fileno(), flush_ms=1)
        try:
            turns = 0
            while not written and turns < 2000:
                turns += 1
                for _ in range(1000):
                    leaf()
                data = path.read_bytes()
                written = Image(data).calls().get("leaf", 0) if data else 0
        finally:
            _core.stop()
    assert 0 < written <= turns * 1000
    assert Image(path.read_bytes()).calls()["leaf"] == turns * 1000


def test_programs_have_names_of_their_own():
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names))
