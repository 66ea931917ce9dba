"""Condition coverage: of each decision, which of its operands were seen true, and which false.

A *decision* is what an if, while, assert, conditional expression, comprehension's if or case guard decides by, or an
and/or whose value is used. Its *operands* are what and, or, not and if-else put together; the links of a chained
comparison are operands, too. The interpreter compiles a conditional jump for each operand and reports which way it
went: the rows of table `branches`, found again by their position in the source. What is said of a jump, "jumps if
false", becomes "seen false" for its operand; tests for None jump by what they compare.

Not everything can be known:
- The last operand of an and/or whose value is used is not tested there: `x = a and b` passes b on. Its outcomes are
  None. An operand that is itself such an and/or is a decision of its own.
- A constant is decided by the compiler and has no jump.
- Of a test for None in a comprehension, 3.13 and later may put the jump at another place.
- 3.11 reports no branches. 3.12 and 3.13 report both ways of a jump by one event, and a row may say that one could be
  missing (flag 2): what was not seen then is not known, rather than missing.

MC/DC, modified condition/decision coverage, asks for a pair of evaluations for each operand in which it is once true
and once false, the decision comes out differently, and nothing else is the cause. Evaluations are not recorded, only
how each operand came out, so it is derived. An evaluation of a short-circuit decision is a path from operand to
operand; there are few, and `_Paths` lists them all. A path is *possible* if every outcome on it was seen. It *shows* an
outcome of an operand if no operand beside it has overruled it: in all that the operand is part of, what comes after it
in an `or` is false and in an `and` true, unless it ends the evaluation itself. Then:
- the outcome is shown if some last step of a path was seen that only possible paths that show it end with (an
  evaluation that was seen to end must have gone one of them);
- it is refuted if no possible path shows it;
- otherwise the branches alone cannot tell.
Both outcomes shown: independence shown. One refuted: refuted. The last step is what counts because an exception may end
an evaluation after any other. This is masking MC/DC; an operand that stands twice counts as two.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from seismo.model.enums import BranchFlags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from seismo.model.table import BranchRow

FALSE, TRUE, NONE, NOT_NONE = range(4)  # kinds of branches that decide by a value
MOST_PATHS = 2000  # of a decision, for its MC/DC; one of 17 operands has as many at worst

CHOOSES = "chooses which operand is asked: what the other would have been is not seen"
SHOWN, REFUTED, UNKNOWN = "shown", "refuted", "unknown"

Position: TypeAlias = tuple[int, int, int, int]  # line, column, end line, end column; columns in bytes, from 0


@dataclass
class Operand:
    """What is true or false for itself. `true`, `false`: how often it was; None: that cannot be told, `note` says why.

    Without exact counts they are 1 for "seen". `doubtful`: an outcome that was not seen may have been.
    `independence`: does it decide for itself (MC/DC): "shown", "refuted" or "unknown".
    """

    line: int
    column: int
    text: str
    true: int | None = 0
    false: int | None = 0
    note: str = ""
    constant: bool = False
    doubtful: bool = False
    independence: str = UNKNOWN

    @property
    def outcomes(self) -> int:
        """How many of the two outcomes were seen."""
        return bool(self.true) + bool(self.false)


@dataclass
class Decision:
    """A decision at `line`. `kind`: if, while, assert, ternary, comprehension, guard or value."""

    line: int
    kind: str
    text: str
    operands: list[Operand] = field(default_factory=list)
    exact: bool = True  # the numbers are counts
    note: str = ""

    @property
    def needed(self) -> int:
        """How many outcomes can be seen at all."""
        return sum(2 for operand in self.operands if operand.true is not None)

    @property
    def seen(self) -> int:
        """How many of them were."""
        return sum(operand.outcomes for operand in self.operands if operand.true is not None)


@dataclass(frozen=True)
class _Leaf:
    number: int


@dataclass(frozen=True)
class _Not:
    inner: Any


@dataclass(frozen=True)
class _Group:
    value: bool  # what ends it: True for or, False for and
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class _Choice:
    test: Any
    body: Any
    orelse: Any


_Step: TypeAlias = tuple[int, bool]  # operand, its outcome


class _Paths:
    """All evaluations of a decision: the steps, the outcome, and the steps that nothing has overruled."""

    def __init__(self, tree: Any) -> None:
        self.paths = list(self._walk(tree))

    def _walk(self, tree: Any) -> Iterator[tuple[tuple[_Step, ...], bool, frozenset[_Step]]]:
        if isinstance(tree, _Leaf):
            for value in (True, False):
                yield ((tree.number, value),), value, frozenset({(tree.number, value)})
        elif isinstance(tree, _Not):
            for steps, value, shows in self._walk(tree.inner):
                yield steps, not value, shows
        elif isinstance(tree, _Choice):  # which way another would have gone is not seen: its test is never shown
            for steps, value, _ in self._walk(tree.test):
                for more, result, shows in self._walk(tree.body if value else tree.orelse):
                    yield steps + more, result, shows
        else:
            yield from self._group(tree.value, tree.parts)

    def _group(self, ends: bool, parts: tuple[Any, ...]) -> Iterator[tuple[tuple[_Step, ...], bool, frozenset[_Step]]]:
        for steps, value, shows in self._walk(parts[0]):
            if value == ends or len(parts) == 1:
                yield steps, value, shows
                continue
            for more, result, others in self._group(ends, parts[1:]):
                # Ended by a later part: what came before did not decide. Not ended: each part had a say.
                yield steps + more, result, others if result == ends else shows | others


def _paths_number(tree: Any) -> tuple[int, int]:
    """How many evaluations come out true, and how many false."""
    if isinstance(tree, _Leaf):
        return 1, 1
    if isinstance(tree, _Not):
        true, false = _paths_number(tree.inner)
        return false, true
    if isinstance(tree, _Choice):
        numbers = [_paths_number(part) for part in (tree.test, tree.body, tree.orelse)]
        (yes, no), body, orelse = numbers
        return yes * body[0] + no * orelse[0], yes * body[1] + no * orelse[1]
    ended, on = 0, 1
    for part in tree.parts:
        true, false = _paths_number(part)
        end, go = (true, false) if tree.value else (false, true)
        ended, on = ended + on * end, on * go
    return (ended, on) if tree.value else (on, ended)


def _judge(tree: Any, operands: list[Operand]) -> None:
    """Sets each operand's independence."""
    if sum(_paths_number(tree)) > MOST_PATHS:
        for operand in operands:
            operand.note = operand.note or "too many operands to derive MC/DC"
        return

    def seen(step: _Step) -> bool:
        return bool(operands[step[0]].true if step[1] else operands[step[0]].false)

    def possible(step: _Step) -> bool:
        operand = operands[step[0]]
        if operand.constant:
            return step[1] == bool(operand.true)
        return operand.true is None or operand.doubtful or seen(step)

    paths = [path for path in _Paths(tree).paths if all(map(possible, path[0]))]
    endings: dict[_Step, list[tuple[bool, frozenset[_Step]]]] = defaultdict(list)
    for steps, outcome, shows in paths:
        endings[steps[-1]].append((outcome, shows))

    def verdict(step: _Step) -> str:
        if not any(step in shows for _, _, shows in paths):
            return REFUTED
        sure = any(seen(end) and all(step in shows for _, shows in ways) for end, ways in endings.items())
        return SHOWN if sure else UNKNOWN

    for number, operand in enumerate(operands):
        if operand.constant:
            continue
        verdicts = {verdict((number, True)), verdict((number, False))}
        if verdicts == {SHOWN}:
            operand.independence = SHOWN
        elif REFUTED in verdicts and operand.note != CHOOSES:
            operand.independence = REFUTED


def _position(node: ast.expr) -> Position:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


class _Finder(ast.NodeVisitor):
    """Finds the decisions of a source and fills in what the rows of branches say."""

    def __init__(self, text: str, rows: Iterable[BranchRow]) -> None:
        self.text = text
        self.lines = text.encode().splitlines()
        self.rows: dict[Position, list[BranchRow]] = defaultdict(list)
        self.unplaced: set[int] = set()  # lines with branches that do not say where on them they stand
        for row in sorted(rows, key=lambda row: (row.function, row.offset)):
            if row.kind > NOT_NONE:
                continue
            self.rows[row.line, row.column, row.end_line, row.end_column].append(row)
            if row.column < 0:
                self.unplaced.add(row.line)
        self.decisions: list[Decision] = []

    # ---- the source ----

    def visit(self, node: ast.AST) -> None:
        tests = {ast.If: "if", ast.While: "while", ast.Assert: "assert", ast.IfExp: "ternary"}
        if type(node) in tests:
            self._decide(node.test, tests[type(node)])  # type: ignore[attr-defined]
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                self._decide(test, "comprehension")
        elif isinstance(node, ast.match_case) and node.guard is not None:
            self._decide(node.guard, "guard")
        elif isinstance(node, ast.BoolOp) or (isinstance(node, ast.Compare) and len(node.ops) > 1):
            self._pass_on(node)
        for child in ast.iter_child_nodes(node):
            if not getattr(child, "_decided", False):
                self.visit(child)
            else:  # its operands' insides are still to be seen
                self._inside(child)

    def _inside(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if getattr(child, "_decided", False):
                self._inside(child)
            else:
                self.visit(child)

    def _operand(self, decision: Decision, node: ast.expr) -> Operand:
        operand = Operand(node.lineno, node.col_offset, self._text(node))
        decision.operands.append(operand)
        return operand

    def _text(self, node: ast.AST) -> str:
        return " ".join((ast.get_source_segment(self.text, node) or "?").split())

    def _decide(self, test: ast.expr, kind: str) -> None:
        decision = Decision(test.lineno, kind, self._text(test))
        tree = self._build(decision, test)
        self._finish(decision, tree)

    def _build(self, decision: Decision, node: ast.expr) -> Any:
        """The tree of a decision that jumps; its operands become the decision's."""
        node._decided = True  # type: ignore[attr-defined]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _Not(self._build(decision, node.operand))
        if isinstance(node, ast.BoolOp):
            return _Group(isinstance(node.op, ast.Or), tuple(self._build(decision, value) for value in node.values))
        if isinstance(node, ast.IfExp):
            first = len(decision.operands)
            test = self._build(decision, node.test)
            for operand in decision.operands[first:]:
                operand.note = operand.note or CHOOSES
            return _Choice(test, self._build(decision, node.body), self._build(decision, node.orelse))
        first = len(decision.operands)
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            return self._links(decision, node, len(node.ops))
        self._fill(self._operand(decision, node), node, self._at(node), decision)
        return _Leaf(first)

    def _links(self, decision: Decision, node: ast.Compare, tested: int) -> Any:
        """Of `a < b < c` a link for each operator; the last is passed on where the value is used."""
        first, rows = len(decision.operands), self._at(node)
        sides = [node.left, *node.comparators]
        for i in range(len(node.ops)):
            left, right = self._text(sides[i]), self._text(sides[i + 1])
            operand = self._operand(decision, sides[i])
            operand.text = f"{left} {_SIGNS[type(node.ops[i])]} {right}"
            if i >= tested:
                operand.true = operand.false = None
                operand.note = "its value is passed on, not tested"
            elif len(rows) % tested:
                operand.true = operand.false = None
                operand.note = "its branches cannot be told from those of the other comparisons"
            else:
                self._fill(operand, node, rows[i::tested], decision)
        return _Group(False, tuple(_Leaf(first + i) for i in range(len(node.ops))))

    def _pass_on(self, node: ast.BoolOp | ast.Compare) -> None:
        """An and/or or a chained comparison whose value is used: all but the last operand are tested."""
        decision = Decision(node.lineno, "value", self._text(node))
        if isinstance(node, ast.Compare):
            self._finish(decision, self._links(decision, node, len(node.ops) - 1))
            return
        rows, tested = self._at(node), [v for v in node.values[:-1] if not isinstance(v, ast.Constant)]
        for value in node.values:
            operand = self._operand(decision, value)
            if value is node.values[-1]:
                operand.true = operand.false = None
                operand.note = "its value is passed on, not tested"
            elif isinstance(value, ast.Constant):
                self._fill(operand, value, [], decision)
            elif len(rows) % len(tested):
                operand.true = operand.false = None
                operand.note = "its branches cannot be told from those of the other operands"
            else:
                self._fill(operand, None, rows[tested.index(value) :: len(tested)], decision)
                self._jumped_past(operand, value, decision)
        parts = tuple(_Leaf(i) for i in range(len(node.values)))
        self._finish(decision, _Group(isinstance(node.op, ast.Or), parts))

    # ---- what was recorded ----

    def _at(self, node: ast.expr) -> list[BranchRow]:
        rows = self.rows.get(_position(node), [])
        if isinstance(node, ast.Compare) and self._tests_none(node):
            rows = rows + [row for row in self.rows.get(_position(node.left), []) if row.kind in (NONE, NOT_NONE)]
        return rows

    @staticmethod
    def _tests_none(node: ast.expr | None) -> bool:
        return isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot)

    def _fill(self, operand: Operand, node: ast.expr | None, rows: list[BranchRow], decision: Decision) -> None:
        if isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id == "__debug__"):
            truth = bool(node.value) if isinstance(node, ast.Constant) else True
            operand.true, operand.false, operand.constant = int(truth), int(not truth), True
            operand.note = "a constant: the compiler decides"
            return
        if not rows and operand.line in self.unplaced:
            operand.true = operand.false = None
            operand.note = "the code was compiled without positions (-X no_debug_ranges)"
            return
        if not rows and decision.kind == "comprehension" and self._tests_none(node):
            operand.true = operand.false = None
            operand.note = "the compiler gave its branch another place"
            return
        is_not = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.IsNot)
        true = false = 0
        for row in rows:
            jumped_is_true = (row.kind == NONE) != is_not if row.kind in (NONE, NOT_NONE) else row.kind == TRUE
            true += row.jumped if jumped_is_true else row.fell
            false += row.fell if jumped_is_true else row.jumped
            operand.doubtful = operand.doubtful or bool(row.flags & BranchFlags.TOO_FEW)
            decision.exact = decision.exact and not row.flags & BranchFlags.RAN_ONLY
        operand.true, operand.false = true, false
        if operand.doubtful and not (true and false):
            operand.note = "an outcome may be missing: this interpreter could not tell"

    def _jumped_past(self, operand: Operand, value: ast.expr, decision: Decision) -> None:
        """Of `a and b or c`: where a is false, 3.14 need not ask what `a and b` is. It was false all the same."""
        if not isinstance(value, ast.BoolOp) or operand.true is None or operand.false is None:
            return
        inner = Operand(value.lineno, value.col_offset, "")
        self._fill(inner, None, self._at(value), decision)
        if isinstance(value.op, ast.Or) and inner.true:
            operand.true, decision.exact = max(operand.true, inner.true), False
        elif isinstance(value.op, ast.And) and inner.false:
            operand.false, decision.exact = max(operand.false, inner.false), False

    def _finish(self, decision: Decision, tree: Any) -> None:
        operands = [operand for operand in decision.operands if not operand.constant]
        if not operands:
            return
        if not decision.exact:
            for operand in operands:
                if operand.true is not None and operand.false is not None:
                    operand.true, operand.false = min(operand.true, 1), min(operand.false, 1)
        _judge(tree, decision.operands)
        self.decisions.append(decision)


_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def decisions_of(rows: Iterable[BranchRow], source: str) -> list[Decision]:
    """The decisions of a source by line, with what the rows of branches of its functions say of them.

    SyntaxError, ValueError: it cannot be parsed.
    """
    finder = _Finder(source, rows)
    try:
        finder.visit(ast.parse(source))
    except RecursionError as error:
        raise ValueError("it is nested too deeply to be parsed") from error
    return sorted(finder.decisions, key=lambda decision: (decision.line, decision.operands[0].column))
