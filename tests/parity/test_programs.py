"""Every source counts the same: each program's tree, on each source, with all, none and the telling C functions.

A trace counts what a profile counts, and its journal says the same as its tree.
"""

import sys

import pytest
from journals import recorded, sums
from lab import SOURCES, TRACING, leaf
from program import WAYS, accept_lower_bounds, compared, load, record
from recorded import LOWER_BOUND, Image, shown

from seismo import _core

PROGRAMS = load()
KINDS = {  # the options of a recording, and the sources and C functions with which it can be made
    "times": ({}, WAYS),
    "counts": ({"timing": "none"}, [way for way in WAYS if way[1] != "all"]),
    "trace": ({"journal": True}, [way for way in WAYS if way[0] in TRACING]),
}


# Between the first and the last way of what is not the usual recording there are the same steps: left to the matrix.
IN_THE_MATRIX = {(kind, *way) for kind in ("counts", "trace") for way in KINDS[kind][1][1:-1]}
CASES = [
    pytest.param(kind, *way, marks=[pytest.mark.matrix] * ((kind, *way) in IN_THE_MATRIX))
    for kind, (_, ways) in KINDS.items()
    for way in ways
]


@pytest.mark.parametrize(("kind", "source", "c_functions"), CASES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name.replace(" ", "-"))
def test_tree(program, kind, source, c_functions, tmp_path):
    path = tmp_path / "trace.seismo" if kind == "trace" else None
    recording = record(program, source, c_functions, path, **KINDS[kind][0])
    assert recording.problems == []
    assert _core.check()
    assert sys.getprofile() is None
    forests = recording.forests()
    assert recording.doubled == []
    if kind == "counts" and c_functions == "auto":
        c_functions = "all"  # where no clock is read, no C function ever proves to be trivial
    expected, tree = compared(program.expected(source), c_functions), compared(forests["MainThread"], c_functions)
    if c_functions == "auto":
        accept_lower_bounds(expected, tree)
    assert shown(tree) == shown(expected)
    nodes = (node for root in forests["MainThread"] for node in root.walk())
    assert kind != "counts" or not any(node.flags & LOWER_BOUND for node in nodes)
    if not program.may_repair(source) and source != "evalframe":  # frames of other threads end without an event
        assert recording.losses.get("repaired", 0) == 0
    if kind == "trace":
        assert sums(recording.data) == recorded(recording.nodes)


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
