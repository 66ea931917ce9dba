"""The branch table of a code object against what the interpreter reports."""

from __future__ import annotations

import ast
import dis
import sys
import sysconfig
from collections import defaultdict
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from codes import nested
from paths import TESTS

from seismo import _core

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 reports no branches")

PROGRAM = TESTS / "coverage" / "covered" / "branching.py"
ONE_EVENT = sys.version_info < (3, 14)
FELL, JUMPED = 0, 1
SPACE = {dis.opmap["CACHE"], dis.opmap["EXTENDED_ARG"]} if "CACHE" in dis.opmap else {0, dis.opmap["EXTENDED_ARG"]}
DECIDES = (
    {"TO_BOOL", "COMPARE_OP", "CONTAINS_OP", "IS_OP"} if "TO_BOOL" in dis.opmap else set()
)  # the value before a jump


def program() -> str:
    far = "; ".join(["x += len('abc') + x"] * 60)
    return PROGRAM.read_text().replace("  FAR\n", f"  {far}\n")


class Story:
    """What happened in each frame of the program, in order: (kind, *facts); frames by number."""

    def __init__(self, text: str, start: str = "run", disable: bool = False) -> None:
        self.code = compile(text, str(PROGRAM), "exec", dont_inherit=True)
        self.frames: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
        self.pairs: set[tuple[CodeType, int, int]] = set()
        self.answer: Any = sys.monitoring.DISABLE if disable else None
        self._tool = next(i for i in (4, 3, 2) if sys.monitoring.get_tool(i) is None)
        self._run(start)

    def _note(self, code: CodeType, *facts: Any) -> Any:
        frame = sys._getframe(2)
        if code.co_filename == str(PROGRAM) and frame.f_code is code:
            self.frames[frame].append(facts)
        return self.answer

    def _branch(self, way: int | None, code: CodeType, offset: int, destination: int) -> Any:
        if code.co_filename == str(PROGRAM):
            self.pairs.add((code, offset, destination))
            if not is_echo(code, offset, destination):
                self.frames[sys._getframe(2)].append(("branch", offset, destination, way))
        return self.answer

    def _run(self, start: str) -> None:
        mon, events = sys.monitoring, sys.monitoring.events
        callbacks: dict[int, Any] = {
            events.LINE: lambda code, line: self._note(code, "line", line, sys._getframe(1).f_lasti),
            events.PY_RETURN: lambda code, *_: self._note(code, "return"),
            events.PY_YIELD: lambda code, *_: self._note(code, "yield"),
        }
        if ONE_EVENT:
            callbacks[events.BRANCH] = lambda *facts: self._branch(None, *facts)
        else:
            callbacks[events.BRANCH_LEFT] = lambda *facts: self._branch(FELL, *facts)
            callbacks[events.BRANCH_RIGHT] = lambda *facts: self._branch(JUMPED, *facts)
        space: dict[str, Any] = {"__name__": "program"}
        exec(self.code, space)
        mon.use_tool_id(self._tool, "test")
        try:
            for event, callback in callbacks.items():
                mon.register_callback(self._tool, event, callback)
            mon.set_events(self._tool, sum(callbacks))
            mon.restart_events()
            space[start]()
        finally:
            mon.set_events(self._tool, 0)
            for event in callbacks:
                mon.register_callback(self._tool, event, None)
            mon.free_tool_id(self._tool)
            mon.restart_events()  # else what was disabled stays so for the next holder of the id


@pytest.fixture(scope="module")
def story() -> Story:
    return Story(program())


def tables(story: Story) -> dict[CodeType, dict[int, Any]]:
    found: dict[CodeType, dict[int, Any]] = {}
    for code in nested(story.code):
        rows = _core.code_branches(code)
        found[code] = {offset: row for row in rows for offset in row["also"]} | {row["offset"]: row for row in rows}
    return found


def is_echo(code: CodeType, offset: int, destination: int) -> bool:
    """Is it the second report of a jump out of any()? Where it leads is behind the POP_ITER that it jumped to."""
    name = dis.opname[code.co_code[destination - 2]]
    return not ONE_EVENT and name == "POP_ITER" and "POP_JUMP" in dis.opname[code.co_code[offset]]


def test_every_event_is_in_the_table(story: Story) -> None:
    known = tables(story)
    unknown = [
        (code, offset, to)
        for code, offset, to in story.pairs
        if offset not in known[code] or to not in known[code][offset]["to"]
    ]
    assert [facts for facts in unknown if not is_echo(*facts)] == []
    assert len(unknown) <= 1
    assert len(story.pairs) > 250


def test_ways_are_named_as_the_events_are(story: Story) -> None:
    known = tables(story)
    wrong = []
    for frame, facts in story.frames.items():
        for fact in facts:
            if fact[0] != "branch":
                continue
            row = known[frame.f_code][fact[1]]
            way = row["to"].index(fact[2])
            if row["silent"] >> way & 1 or (fact[3] is not None and fact[3] != way):
                wrong.append((frame.f_code.co_qualname, fact, row))
    assert wrong == []


def test_disabled_places_tell_the_same(story: Story) -> None:
    once = Story(program(), disable=True)

    def names(pairs: Any) -> set[tuple[str, int, int, int]]:
        return {(code.co_qualname, code.co_firstlineno, offset, to) for code, offset, to in pairs}

    seen = names(once.pairs)
    assert seen <= names(story.pairs)
    if not ONE_EVENT:  # one event serves both ways before
        assert seen == names(story.pairs)


@pytest.mark.skipif(not hasattr(CodeType, "co_branches"), reason="3.14 has co_branches()")
@pytest.mark.skipif(sysconfig.get_config_var("Py_DEBUG") == 1, reason="an assert of co_branches() itself fails")
def test_the_interpreter_lists_the_same_branches(story: Story) -> None:
    for code in nested(story.code):
        rows, theirs = _core.code_branches(code), list(code.co_branches())  # type: ignore[attr-defined]
        assert len(rows) == len(theirs)
        for row in rows:  # of an async for, it may line_event a body that the events do not have
            assert any(
                (offset, row["to"][JUMPED]) == (where, right) and (left == row["to"][FELL] or offset != row["offset"])
                for offset in (row["offset"], *row["also"])
                for where, left, right in theirs
            )


def test_positions_are_the_instructions(story: Story) -> None:
    for code in [*nested(story.code), *nested(compile(Path(ast.__file__).read_bytes(), "ast", "exec"))]:
        positions = list(code.co_positions())
        for row in _core.code_branches(code):
            assert row["from_line"] == (positions[row["offset"] // 2][0] or 0)
            before = [at for at in range(row["offset"]) if at % 2 == 0 and code.co_code[at] not in SPACE][-1]
            decides = dis.opname[code.co_code[before]] in DECIDES
            line, end_line, column, end_column = positions[(before if decides else row["offset"]) // 2]
            expected = (line or 0, *(-1 if n is None else n for n in (column, end_line, end_column)))
            assert (row["line"], row["column"], row["end_line"], row["end_column"]) == expected


def statements(text: str) -> dict[int, int]:
    """The first line of the statement's head, or of the case or handler, that each line belongs to."""
    first: dict[int, int] = {}
    parents = (ast.stmt, ast.match_case, ast.ExceptHandler)
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, parents):
            continue
        start = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
        body = [child for child in ast.iter_child_nodes(node) if isinstance(child, parents)]
        ends = [child.pattern.lineno if isinstance(child, ast.match_case) else child.lineno for child in body]
        for line in range(start, min(ends, default=getattr(node, "end_lineno", start) + 1)):
            first[line] = max(first.get(line, 0), start)
    return first


def reached(facts: list[tuple[Any, ...]], at: int, same: set[int], leaves: int, own: set[int]) -> int:
    """What came of the branch fact number `at`: a line of another statement, `leaves`, or 0: another branch.

    own: the offsets of the compiler's own branches, which decide nothing but whether except* goes on raising.
    """
    for fact in facts[at + 1 :]:
        if fact[0] == "line" and fact[1] not in same:
            return int(fact[1])
        if fact[0] == "branch" and fact[1] not in own:
            return 0
        if fact[0] == "return":
            return leaves
    return leaves  # by an exception


def test_each_way_leads_to_the_line_that_comes_next(story: Story) -> None:
    known, first = tables(story), statements(program())
    wrong, arcs = set(), set()
    for frame, facts in story.frames.items():
        code = frame.f_code
        for i, fact in enumerate(facts):
            if fact[0] != "branch":
                continue
            row = known[code][fact[1]]
            promised = row["to_line"][row["to"].index(fact[2])]
            if row["from_line"] == 0:  # the compiler's own
                assert promised == 0
                continue
            same = {line for line in first if first[line] == first[row["from_line"]]}
            own = {offset for offset, other in known[code].items() if other["from_line"] == 0}
            came = reached(facts, i, same, -code.co_firstlineno, own)
            arcs.add((row["from_line"], promised))
            if promised not in (0, came) and promised not in same:  # a reader drops the latter
                wrong.add((code.co_qualname, fact[1:3], row["from_line"], promised, came))
    assert sorted(wrong) == []
    assert len(arcs) > 150


@pytest.mark.skipif(not ONE_EVENT, reason="each way has an event of its own")
def test_line_tells(story: Story) -> None:
    """A told way is followed by the LINE event of its line_event, and nothing else is."""
    known = tables(story)
    told: set[tuple[Any, ...]] = set()
    for frame, facts in story.frames.items():
        rows = known[frame.f_code]
        line_events = {row["line_events"][way]: (row, way) for row in rows.values() for way in (FELL, JUMPED)}
        for before, fact in zip([None, *facts], [*facts, None], strict=True):
            if before is not None and before[0] == "branch":
                row = rows[before[1]]
                line_event = row["line_events"][row["to"].index(before[2])]
                assert line_event < 0 or (fact is not None and fact[0] == "line" and fact[2] == line_event), (
                    before,
                    fact,
                    row,
                )
            if fact is not None and fact[0] == "line" and fact[2] in line_events:
                row, way = line_events[fact[2]]
                assert before is not None
                assert before[:3] == ("branch", row["offset"], row["to"][way])
                told.add((frame.f_code, row["offset"], way))
    assert len(told) > 40


@pytest.mark.skipif(ONE_EVENT, reason="one event serves both ways")
def test_no_tells_where_each_way_has_its_event(story: Story) -> None:
    assert all(row["line_events"] == (-1, -1) for table in tables(story).values() for row in table.values())


def test_far_jumps_take_extended_arguments() -> None:
    far = next(code for code in nested(compile(program(), "far", "exec")) if code.co_name == "far")
    rows = _core.code_branches(far)
    assert max(abs(row["to"][JUMPED] - row["offset"]) for row in rows) > 2 * 256
    assert len(rows) >= 6


def test_kinds() -> None:
    text = "def f(a, b):\n if a: b()\n if not a: b()\n if a is None: b()\n if a is not None: b()\n for x in a: b()\n"
    code = next(code for code in nested(compile(text, "kinds", "exec")) if code.co_name == "f")
    assert [row["kind"] for row in _core.code_branches(code)] == [0, 1, 3, 2, 4]


def test_a_code_object_is_needed() -> None:
    with pytest.raises(TypeError, match="expected a code object, not str"):
        _core.code_branches("x")  # type: ignore[arg-type]
