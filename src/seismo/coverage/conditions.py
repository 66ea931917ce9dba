"""Condition coverage: for each decision, the outcomes (true and false) that were seen for its operands.

A *decision* is the test of an if, while, assert, conditional expression, comprehension's if or case guard, or an and/or
whose value is used. Its *operands* are the parts that and, or, not, if-else and chained comparisons combine. The
interpreter reports the directions of the conditional jump for each operand (table `branches`), and rows are matched to
operands by their position in the source.

Some outcomes cannot be known, for reasons that an operand's `note` gives: the last operand of an and/or whose value is
used is not tested, the compiler decides constants, and some versions report no branches, both directions of a jump by
one event, or another position.

MC/DC (modified condition/decision coverage) requires two evaluations for each operand, in which it is once true and
once false, the decision differs, and no other operand causes that. The recording has only the outcomes of each operand,
so MC/DC is derived from them. An evaluation of a short-circuit decision is a path from operand to operand, and `_paths`
lists them all.

A path is *possible* if every outcome on it was seen. It *shows* an outcome of an operand if no other operand has
overruled it: in each expression around the operand, the later parts are false in an `or` and true in an `and`, unless
the operand ends the evaluation itself. Then:
- the outcome is shown if some last step was seen, and all possible paths that end with it show the outcome (because the
  evaluation that ended there took one of them);
- it is refuted if no possible path shows it, and otherwise unknown.
Independence is shown if both outcomes are, and refuted if one is. Only last steps are used, because an exception may
end an evaluation after any other step. This is masking MC/DC; an operand that occurs twice counts as two.
"""

from __future__ import annotations

import ast
import io
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from seismo.model.enums import BranchFlags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from seismo.model.table import BranchRow

FALSE, TRUE, NONE, NOT_NONE = range(4)  # the kinds of branches that depend on a value
MOST_PATHS = 2000  # of a decision for its MC/DC; 17 operands have at most this many

CHOOSES = "chooses the next operand, so the outcome of the other is unknown"
SHOWN, REFUTED, UNKNOWN = "shown", "refuted", "unknown"

Position: TypeAlias = tuple[int, int, int, int]  # line, column, end line, end column; columns in bytes from 0


@dataclass
class Operand:
    """An operand of a decision."""

    line: int
    column: int
    text: str
    # Counts of its outcomes, or None if they are unknown, for the reason in `note`; 1 for "seen" without exact counts.
    true: int | None = 0
    false: int | None = 0
    note: str = ""
    constant: bool = False
    doubtful: bool = False  # True if an outcome that was not seen may have occurred
    independence: str = UNKNOWN  # SHOWN, REFUTED or UNKNOWN (MC/DC)

    @property
    def outcomes(self) -> int:
        """Return the number of outcomes that were seen, at most two."""
        return bool(self.true) + bool(self.false)

    def leave_out(self, note: str) -> None:
        """Note why its outcomes are unknown."""
        self.true = self.false = None
        self.note = note


@dataclass
class Decision:
    """A decision at `line`. kind: if, while, assert, ternary, comprehension, guard or value."""

    line: int
    kind: str
    text: str
    operands: list[Operand] = field(default_factory=list)
    exact: bool = True  # True if the numbers are counts

    @property
    def needed(self) -> int:
        """Return the number of outcomes that can be seen."""
        return sum(2 for operand in self.operands if operand.true is not None)

    @property
    def seen(self) -> int:
        """Return the number of outcomes that were seen."""
        return sum(operand.outcomes for operand in self.operands if operand.true is not None)


_Step: TypeAlias = tuple[int, bool]  # an operand and its outcome
_Path: TypeAlias = tuple[tuple[_Step, ...], bool, frozenset[_Step]]  # steps, outcome, those that no operand overruled


def _paths(tree: ast.expr) -> Iterator[_Path]:
    """Yield all evaluations of a decision. tree: its expression, with the numbers of operands as constants."""
    match tree:
        case ast.Constant(value=int(number)):
            for value in (True, False):
                yield ((number, value),), value, frozenset({(number, value)})
        case ast.UnaryOp():
            for steps, value, shows in _paths(tree.operand):
                yield steps, not value, shows
        case ast.IfExp():  # the result of the other part is not seen, so the test is never shown
            for steps, value, _ in _paths(tree.test):
                for more, result, shows in _paths(tree.body if value else tree.orelse):
                    yield steps + more, result, shows
        case ast.BoolOp():
            yield from _group_paths(isinstance(tree.op, ast.Or), tree.values)


def _group_paths(ends: bool, parts: list[ast.expr]) -> Iterator[_Path]:
    """Yield all evaluations of an and/or. ends: the value of a part that ends it."""
    for steps, value, shows in _paths(parts[0]):
        if value == ends or len(parts) == 1:
            yield steps, value, shows
            continue
        for more, result, others in _group_paths(ends, parts[1:]):
            # If a later part ended it, the earlier ones did not decide. Otherwise each part did.
            yield steps + more, result, others if result == ends else shows | others


def _judge(tree: ast.expr, operands: list[Operand]) -> None:
    too_many = len(operands) > MOST_PATHS  # each operand can end an evaluation
    every = [] if too_many else list(islice(_paths(tree), MOST_PATHS + 1))
    if too_many or len(every) > MOST_PATHS:
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

    paths = [path for path in every if all(map(possible, path[0]))]
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
    """A visitor that finds the decisions of a source and fills in the rows of branches."""

    def __init__(self, text: str, rows: Iterable[BranchRow]) -> None:
        self.lines = [line.encode() for line in io.StringIO(text, newline=None)]  # ast's lines end as these do
        self.rows: dict[Position, list[BranchRow]] = defaultdict(list)
        self.unplaced: set[int] = set()  # lines of branches without a column
        for row in sorted(rows, key=lambda row: (row.function, row.offset)):
            if row.kind > NOT_NONE:
                continue
            self.rows[row.line, row.column, row.end_line, row.end_column].append(row)
            if row.column < 0:
                self.unplaced.add(row.line)
        self.decisions: list[Decision] = []

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
        self._inside(node)

    def _inside(self, node: ast.AST) -> None:
        """Visit the children of a node, but of operands that were added only the expressions inside them."""
        for child in ast.iter_child_nodes(node):
            if getattr(child, "_decided", False):
                self._inside(child)
            else:
                self.visit(child)

    def _operand(self, decision: Decision, node: ast.expr) -> Operand:
        operand = Operand(node.lineno, node.col_offset, self._text(node))
        decision.operands.append(operand)
        return operand

    def _text(self, node: ast.expr) -> str:
        """Return the source of a node in one line; ast.get_source_segment would split the whole source each time."""
        line, column, end_line, end_column = _position(node)
        lines = self.lines[line - 1 : end_line]
        lines[-1] = lines[-1][:end_column]
        lines[0] = lines[0][column:]
        return " ".join(b"".join(lines).decode().split())

    def _decide(self, test: ast.expr, kind: str) -> None:
        decision = Decision(test.lineno, kind, self._text(test))
        self._finish(decision, self._build(decision, test))

    def _build(self, decision: Decision, node: ast.expr) -> ast.expr:
        """Return the tree of a decision that jumps, and add its operands to the decision."""
        node._decided = True  # type: ignore[attr-defined]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ast.UnaryOp(node.op, self._build(decision, node.operand))
        if isinstance(node, ast.BoolOp):
            return ast.BoolOp(node.op, [self._build(decision, value) for value in node.values])
        if isinstance(node, ast.IfExp):
            first = len(decision.operands)
            test = self._build(decision, node.test)
            for operand in decision.operands[first:]:
                operand.note = operand.note or CHOOSES
            return ast.IfExp(test, self._build(decision, node.body), self._build(decision, node.orelse))
        first = len(decision.operands)
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            return self._links(decision, node, len(node.ops))
        self._fill(self._operand(decision, node), node, self._at(node), decision)
        return ast.Constant(first)

    def _links(self, decision: Decision, node: ast.Compare, tested: int) -> ast.expr:
        """Return the tree of `a < b < c` with a link per operator. The last one is not tested if the value is used."""
        first, rows = len(decision.operands), self._at(node)
        sides = [node.left, *node.comparators]
        for i in range(len(node.ops)):
            left, right = (ast.Name(self._text(side)) for side in sides[i : i + 2])
            operand = self._operand(decision, sides[i])
            operand.text = ast.unparse(ast.Compare(left, [node.ops[i]], [right]))
            if i >= tested:
                operand.leave_out("its value is passed on, not tested")
            elif len(rows) % tested:
                operand.leave_out("its branches cannot be distinguished from those of the other comparisons")
            else:
                self._fill(operand, node, rows[i::tested], decision)
        return ast.BoolOp(ast.And(), [ast.Constant(first + i) for i in range(len(node.ops))])

    def _pass_on(self, node: ast.BoolOp | ast.Compare) -> None:
        """Add the decision of an and/or or chained comparison whose value is used; its last operand is not tested."""
        decision = Decision(node.lineno, "value", self._text(node))
        if isinstance(node, ast.Compare):
            self._finish(decision, self._links(decision, node, len(node.ops) - 1))
            return
        rows, tested = self._at(node), [v for v in node.values[:-1] if not isinstance(v, ast.Constant)]
        for value in node.values:
            operand = self._operand(decision, value)
            if value is node.values[-1]:
                operand.leave_out("its value is passed on, not tested")
            elif isinstance(value, ast.Constant):
                self._fill(operand, value, [], decision)
            elif len(rows) % len(tested):
                operand.leave_out("its branches cannot be distinguished from those of the other operands")
            else:
                self._fill(operand, None, rows[tested.index(value) :: len(tested)], decision)
                self._jumped_past(operand, value, decision)
        self._finish(decision, ast.BoolOp(node.op, [ast.Constant(i) for i in range(len(node.values))]))

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
            operand.leave_out("the code was compiled without positions (-X no_debug_ranges)")
            return
        if not rows and decision.kind == "comprehension" and self._tests_none(node):
            operand.leave_out("the compiler gave its branch another position")
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
            operand.note = "an outcome may be missing: this interpreter cannot distinguish its two directions"

    def _jumped_past(self, operand: Operand, value: ast.expr, decision: Decision) -> None:
        """Complete the outcomes of `a and b` in `a and b or c`: if a is false, 3.14 jumps past its test."""
        if not isinstance(value, ast.BoolOp) or operand.true is None or operand.false is None:
            return
        inner = Operand(value.lineno, value.col_offset, "")
        self._fill(inner, None, self._at(value), decision)
        if isinstance(value.op, ast.Or) and inner.true:
            operand.true, decision.exact = max(operand.true, inner.true), False
        elif isinstance(value.op, ast.And) and inner.false:
            operand.false, decision.exact = max(operand.false, inner.false), False

    def _finish(self, decision: Decision, tree: ast.expr) -> None:
        operands = [operand for operand in decision.operands if not operand.constant]
        if not operands:
            return
        if not decision.exact:
            for operand in operands:
                if operand.true is not None and operand.false is not None:
                    operand.true, operand.false = min(operand.true, 1), min(operand.false, 1)
        _judge(tree, decision.operands)
        self.decisions.append(decision)


def decisions_of(rows: Iterable[BranchRow], source: str) -> list[Decision]:
    """Return the decisions of a source by line, with the recorded branches of its functions.

    Raise SyntaxError or ValueError if the source cannot be parsed.
    """
    finder = _Finder(source, rows)
    try:
        finder.visit(ast.parse(source))
    except RecursionError as error:
        raise ValueError("it is nested too deeply to be parsed") from error
    return sorted(finder.decisions, key=lambda decision: (decision.line, decision.operands[0].column))
