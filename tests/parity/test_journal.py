"""A trace counts what a profile counts, and its journal says the same as its tree: every program on every source."""

import pytest
from journals import recorded, sums
from program import TRACING, WAYS, accept_lower_bounds, compared, load, record
from recorded import shown

PROGRAMS = load()


@pytest.mark.parametrize(("source", "c_functions"), [way for way in WAYS if way[0] in TRACING])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name.replace(" ", "-"))
def test_journal(program, source, c_functions, tmp_path):
    recording = record(program, source, c_functions, tmp_path / "trace.seismo", journal=True)
    expected, tree = (
        compared(nodes, c_functions) for nodes in (program.expected(source), recording.forests()["MainThread"])
    )
    if c_functions == "auto":
        accept_lower_bounds(expected, tree)
    assert shown(tree) == shown(expected)
    assert sums(recording.data) == recorded(recording.nodes)
