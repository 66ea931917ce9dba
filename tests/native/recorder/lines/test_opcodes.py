"""Instructions: counted exactly, named by dis."""

import dis
import sys
from collections import Counter

import pytest
from recorded import image
from timing import SOURCES, Lines, start

import seismo
from seismo import _core

pytestmark = pytest.mark.parametrize("source", SOURCES)


def counted(n):
    total = 0
    for i in range(n):
        if i % 2:
            total += i
    return total


def traced(program, code):
    """Opcode events of sys.settrace by offset."""
    seen = Counter()

    def trace(frame, event, _arg):
        if frame.f_code is not code:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            seen[frame.f_lasti] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        program()
    finally:
        sys.settrace(before)
    return seen


def test_counts_are_those_of_settrace(source):
    traced(lambda: counted(10), counted.__code__)  # 3.12 asks for instructions too late the first time
    expected = traced(lambda: counted(10), counted.__code__)
    start(source, opcodes=True)
    counted(10)
    _core.stop()
    ours = image()
    (id_,) = (row["id"] for row in ours.functions() if row["qualname"] == "counted")
    rows = [row for row in ours.tables["instructions"] if row["function"] == id_]
    assert {row["offset"]: row["hits"] for row in rows if row["hits"]} == expected
    instructions = list(dis.get_instructions(counted))
    assert [row["offset"] for row in rows] == [one.offset for one in instructions]
    assert [row["text"].split(" ")[0] for row in rows] == [one.opname for one in instructions]
    assert any(row["text"] == "LOAD_FAST n" or "n" in row["text"].split(" ") for row in rows)
    lines = {row["line"] for row in rows} - {0, counted.__code__.co_firstlineno}
    assert {line - counted.__code__.co_firstlineno for line in lines} == {1, 2, 3, 4, 5}


def test_lines_beside_instructions(source):
    start(source, opcodes=True)
    counted(10)
    _core.stop()
    assert Lines(image()).of("counted") == {1: 1, 2: 11, 3: 10, 4: 5, 5: 1}


def test_sessions_with_opcodes(source):
    with seismo.lines(opcodes=True, only=f"{__name__}.counted", source=source) as session:
        counted(3)
        assert max(session.recording.instructions["hits"]) > 0  # a snapshot of what runs
    recording = session.recording
    assert {recording.functions["qualname"][function] for function in recording.instructions["function"]} == {"counted"}
    assert all(recording.instructions["text"])
    assert recording.merge(recording).instructions["hits"][1] == 2 * recording.instructions["hits"][1]


def test_code_of_equal_content(source):
    """Made again and again, it is one function, and its counts are sums."""
    names = {}
    start(source, opcodes=True)
    for _ in range(5):
        exec(compile("def again(n):\n    return n + 1\n", "made.py", "exec"), names)
        names["again"](1)
    _core.stop()
    ours = image()
    (id_,) = (row["id"] for row in ours.functions() if row["qualname"] == "again")
    rows = [row for row in ours.tables["instructions"] if row["function"] == id_]
    assert {row["hits"] for row in rows if "RETURN" in row["text"]} == {5}
