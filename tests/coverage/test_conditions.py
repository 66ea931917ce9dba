"""Condition coverage: what branches say of the operands of decisions."""

from __future__ import annotations

import contextlib
import io
import sys
from itertools import product
from typing import Any

import pytest
from covered import cover

from seismo.coverage.conditions import Decision, decisions_of
from seismo.coverage.coverage_report import CoverageReport, FileCoverage
from seismo.model.table import BranchRow
from seismo.report.coverage.text import write_conditions
from seismo.report.paper import Paper
from seismo.report.words import Signs

needs_branches = pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 reports no branches")


def recorded(source: str, calls: list[tuple[Any, ...]]) -> list[Decision]:
    """The decisions of a source that defines f, called with each of `calls`."""

    def run(names: dict[str, Any]) -> None:
        for arguments in calls:
            with contextlib.suppress(AssertionError, ZeroDivisionError):
                names["f"](*arguments)

    rows = cover(source, run, branch=True, counts=True).branches
    return decisions_of([BranchRow(**row) for row in rows], source)


def outcomes(decision: Decision) -> dict[str, tuple[int | None, int | None]]:
    return {operand.text: (operand.true, operand.false) for operand in decision.operands}


# Each with a, b, c in all combinations of 0 and 2: who is asked how often, and with which outcome.
@needs_branches
@pytest.mark.parametrize(
    ("statement", "kind", "expected"),
    [
        ("if a: pass", "if", {"a": (4, 4)}),
        ("if a and (b or not c): pass", "if", {"a": (4, 4), "b": (2, 2), "c": (1, 1)}),
        ("while a and b: break", "while", {"a": (4, 4), "b": (2, 2)}),
        ("assert a or b", "assert", {"a": (4, 4), "b": (2, 2)}),
        ("x = b if a else c", "ternary", {"a": (4, 4)}),
        ("if (b if a else c): pass", "if", {"a": (4, 4), "b": (2, 2), "c": (2, 2)}),
        ("x = [u for u in (a, b, c) if u]", "comprehension", {"u": (12, 12)}),
        ("x = [u for u in (a, b) if u is not None and c]", "comprehension", {"u is not None": (16, 0), "c": (8, 8)}),
        ("x = a and b", "value", {"a": (4, 4), "b": (None, None)}),
        ("x = not a or b", "value", {"not a": (4, 4), "b": (None, None)}),
        ("if a is None: pass", "if", {"a is None": (0, 8)}),
        ("if 1 < a < b < c: pass", "if", {"1 < a": (4, 4), "a < b": (0, 4), "b < c": (0, 0)}),
        ("x = 1 < a < 3 < b", "value", {"1 < a": (4, 4), "a < 3": (4, 0), "3 < b": (None, None)}),
        ("if (x := a) and b == 2: pass", "if", {"(x := a)": (4, 4), "b == 2": (2, 2)}),
        ("match a:\n  case int() if b and c: pass", "guard", {"b": (4, 4), "c": (2, 2)}),
        ("if 1 and a: pass", "if", {"1": (1, 0), "a": (4, 4)}),
    ],
)
def test_outcomes(statement: str, kind: str, expected: dict[str, Any]) -> None:
    if ":=" in statement:
        expected = {key.strip("()"): value for key, value in expected.items()}
    source = "def f(a, b, c):\n " + statement + "\n"
    found = [decision for decision in recorded(source, list(product((0, 2), repeat=3))) if decision.kind == kind]
    assert len(found) == 1
    told = outcomes(found[0])
    if "u is not None" in told and sys.version_info >= (3, 13):  # the compiler gives it the place of `for u`
        told["u is not None"] = told["u is not None"] if told["u is not None"][0] else (16, 0)
    assert told == expected
    assert found[0].exact


@needs_branches
def test_over_several_lines() -> None:
    source = (
        "def f(a, b, c):\n x = [\n  u\n  for u in (a, b)\n  if u\n  if c is None\n ]\n if (a\n   and\n   b): pass\n"
    )
    found = recorded(source, [(0, 1, 2), (1, 1, None)])
    assert [(d.line, d.kind, outcomes(d)) for d in found] == [
        (5, "comprehension", {"u": (3, 1)}),
        (6, "comprehension", {"c is None": (2, 1)}),
        (8, "if", {"a": (1, 1), "b": (1, 0)}),
    ]


@needs_branches
def test_in_a_finally_that_is_compiled_twice() -> None:
    source = "def f(a, b, c):\n try:\n  1 / a\n finally:\n  if b and c: pass\n"
    (decision,) = recorded(source, [(0, 1, 1), (1, 1, 0), (1, 0, 1)])
    assert outcomes(decision) == {"b": (2, 1), "c": (1, 1)}


@needs_branches
def test_of_nested_values_the_inner_one_ends_the_outer_one() -> None:
    found = recorded("def f(a, b, c):\n return a and b or c\n", [(0, 1, 1), (0, 0, 1)])
    assert [(d.text, outcomes(d)) for d in found] == [
        ("a and b or c", {"a and b": (0, 1), "c": (None, None)}),
        ("a and b", {"a": (0, 2), "b": (None, None)}),
    ]
    assert not found[0].exact


def vectors(expression: str, calls: list[tuple[Any, ...]]) -> dict[str, str]:
    """The independence of each operand after these calls."""
    (decision,) = recorded(f"def f(a, b, c):\n if {expression}: pass\n", calls)
    return {operand.text: operand.independence for operand in decision.operands}


@needs_branches
@pytest.mark.parametrize(
    ("expression", "calls", "expected"),
    [
        ("a and b and c", [(1, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0)], "shown shown shown"),
        ("a and b and c", [(1, 1, 1), (0, 1, 1), (1, 1, 0)], "shown refuted shown"),
        ("a and b and c", [(0, 1, 1), (1, 0, 1)], "refuted refuted refuted"),
        ("(a or b) and c", [(1, 0, 1), (0, 0, 1), (0, 1, 1), (1, 0, 0)], "unknown unknown shown"),
        ("(a or b) and c", [(1, 0, 1), (0, 0, 1), (1, 0, 0)], "shown refuted shown"),
        ("a", [(1, 0, 0)], "refuted"),
        ("a", [(1, 0, 0), (0, 0, 0)], "shown"),
    ],
)
def test_independence(expression: str, calls: list[tuple[Any, ...]], expected: str) -> None:
    assert " ".join(vectors(expression, calls).values()) == expected


def masked_pairs(expression: str, calls: list[tuple[Any, ...]]) -> dict[str, bool]:
    """By the definition: are there two calls that differ in the outcome by the operand alone? Not asked is masked."""

    class Asked(dict[str, int]):
        """Values that know who was asked for."""

        def __init__(self, values: dict[str, int]) -> None:
            super().__init__(values)
            self.names: set[str] = set()

        def __getitem__(self, name: str) -> int:
            self.names.add(name)
            return super().__getitem__(name)

    def outcome(values: dict[str, int]) -> bool:
        return bool(eval(expression, {}, values))

    def decides(name: str, values: dict[str, int]) -> bool:
        """Would another value of it have another outcome, with those that were not asked as they suit?"""
        asked = Asked(values)
        outcome(asked)
        if name not in asked.names:
            return False
        free = [other for other in "abc" if other not in asked.names]
        filled = ({**values, **dict(zip(free, choice, strict=True))} for choice in product((0, 1), repeat=len(free)))
        return any(outcome(v) != outcome({**v, name: 1 - v[name]}) for v in filled)

    known = [dict(zip("abc", call, strict=True)) for call in calls]
    return {
        name: any(
            u[name] != v[name] and outcome(u) != outcome(v) and decides(name, u) and decides(name, v)
            for u in known
            for v in known
        )
        for name in "abc"
    }


@needs_branches
@pytest.mark.parametrize("expression", ["a and b or c", "(a or b) and c", "a and (b or not c)", "not (a and b) or c"])
def test_what_is_said_of_independence_is_true(expression: str) -> None:
    """For many sets of calls: what is shown has such a pair among them, and what is refuted has none."""
    every = list(product((0, 1), repeat=3))
    for chosen in range(1, 256, 23):
        calls = [call for i, call in enumerate(every) if chosen >> i & 1]
        truth = masked_pairs(expression, calls)
        for name, said in vectors(expression, calls).items():
            assert said == "unknown" or (said == "shown") == truth[name], (expression, calls, name, said)


def row(kind: int, place: tuple[int, int, int, int], fell: int, jumped: int, flags: int = 0) -> BranchRow:
    return BranchRow(-1, 0, place[1] * 2, kind, *place, fell, jumped, flags)


def test_what_may_be_missing_is_not_said_to_be() -> None:
    (decision,) = decisions_of([row(0, (1, 3, 1, 4), 1, 0, 1 | 2)], "if a: pass\n")
    (operand,) = decision.operands
    assert (operand.true, operand.false, operand.doubtful, decision.exact) == (1, 0, True, False)
    assert operand.independence == "unknown"
    assert "may be missing" in operand.note


def test_lost_positions_are_said() -> None:
    (decision,) = decisions_of([row(0, (1, -1, -1, -1), 1, 0)], "if a: pass\n")
    assert outcomes(decision) == {"a": (None, None)}
    assert "no_debug_ranges" in decision.operands[0].note


def test_branches_of_comparisons_that_cannot_be_told_apart() -> None:
    (decision,) = decisions_of([row(0, (1, 3, 1, 12), 1, 1)] * 3, "if a < b < c: pass\n")
    assert outcomes(decision) == {"a < b": (None, None), "b < c": (None, None)}


def test_what_never_ran() -> None:
    (decision,) = decisions_of([], "if a and b: pass\n")
    assert (decision.seen, decision.needed) == (0, 4)
    assert [operand.independence for operand in decision.operands] == ["refuted", "refuted"]


def test_many_operands() -> None:
    names = [f"a{i}" for i in range(60)]
    pairs = " and ".join(f"({a} or {b})" for a, b in zip(names[::2], names[1::2], strict=True))
    (decision,) = decisions_of([], f"if {pairs}: pass\n")
    assert "too many" in decision.operands[0].note


@pytest.mark.parametrize("source", ["if a\n", "x = '\0'\n"])
def test_a_source_that_cannot_be_parsed(source: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        decisions_of([], source)


def test_the_report() -> None:
    def file(path: str, rows: list[BranchRow]) -> FileCoverage:
        lines = ["if a and b: pass", "if c: pass"]
        return FileCoverage(path, path, [1, 2], [1, 2], [], [], lines, jumps=[tuple(row)[1:] for row in rows])

    rows = [row(0, (1, 3, 1, 4), 2000, 0), row(0, (1, 9, 1, 10), 3, 1), row(0, (2, 3, 2, 4), 1, 1)]
    out = io.StringIO()
    report = CoverageReport([file("x\x1b.py", rows), file("empty.py", [])], [])
    write_conditions(Paper(out, 100, Signs()), report, everything=False)
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().splitlines()[1:] == [
        "     1  if: a and b",
        "          a: true 2,000, false never; MC/DC missing",
        "          b: true 3, false 1; MC/DC shown",
        "total  5 of 6 outcomes in 2 decisions seen",
    ]
    empty = io.StringIO()
    write_conditions(Paper(empty, 100, Signs()), CoverageReport([], []), everything=False)
    assert "no branches" in empty.getvalue()
