"""`kind` and `flags` of rows: names for people, numbers for all that compares and stores them."""

import json
import pickle

import pytest

from seismo.model import Builder, FunctionFlags, FunctionKind, NodeFlags
from seismo.model.enums import BranchKind


@pytest.fixture
def recording():
    b = Builder()
    thread = b.thread(b.process())
    top = b.node(-1, thread, b.function("m", "f", flags=3), calls=1, flags=12)
    b.node(top, thread, b.function("builtins", "len", kind=1), calls=2, flags=1)
    b.node(top, thread, b.function("m", "later", kind=9, flags=1 << 20), calls=2)
    return b.build({})


def test_rows_have_names(recording):
    rows = list(recording.functions)
    assert [row.kind for row in rows[:2]] == [FunctionKind.PYTHON, FunctionKind.C]
    assert rows[0].flags == FunctionFlags.GENERATOR | FunctionFlags.COROUTINE
    assert recording.functions[0] == rows[0]
    assert type(recording.functions[1].kind) is FunctionKind
    assert NodeFlags.BEFORE_START in recording.tree[0].flags
    assert NodeFlags.LOWER_BOUND in list(recording.tree)[1].flags
    assert "FunctionKind.C" in repr(rows[1])


def test_they_are_the_numbers(recording):
    row = recording.functions[1]
    assert row.kind == 1
    assert f"{row.kind} {row.flags}" == "1 0"
    assert json.dumps([row.kind, row.flags]) == "[1, 0]"
    assert pickle.loads(pickle.dumps(row)) == row
    assert list(recording.functions["kind"]) == [0, 1, 9], "columns are numbers"
    assert type(recording.functions["kind"][1]) is int


def test_numbers_of_a_later_version_stay_what_they_are(recording):
    row = recording.functions[2]
    assert row.kind == 9
    assert row.kind.name == "UNKNOWN_9"
    assert row.flags == 1 << 20
    assert list(recording.functions)[2] == row
    with pytest.raises(ValueError, match="'x' is not a valid BranchKind"):
        BranchKind("x")
