"""The control flow of a module: the steps from line to line that its syntax tree allows.

A step (an *arc*) leads from the first line of a statement to the first line of the next one executed. A line with
several steps is a branch, and branch coverage reports the steps that never happened. Entering a function is not a step,
but leaving it is: the end of that step is the negative of the line at which the code begins.

The successor of a statement depends on the statements after it, so suites are walked from last to first:

- a suite is walked with the successor of its end (a *way*); each statement's line is the way for the one before it;
- both suites of `if` get the same way, and the `if` has a step to the start of each;
- a loop is the way for its own suite; `break` takes the loop's way, and `continue` the loop itself;
- `return` takes the way out of the function, and `raise` the way to the first handler of the enclosing `try` in the
  function; other exceptions may occur anywhere and are not steps;
- the suites of `try` continue at `finally`, and `finally` at what follows. If none of them reaches its end (for example
  because all return), `finally` has no successor in the source. So it is walked last, when it is known if a step
  leads to it.

A statement without instructions (`global`, dead code) is skipped.

A `with` is visited twice: at its end the interpreter returns to its line to exit the context. Reports would show that
as a step to an earlier line, so a step out of the suite leads directly to what follows. Recorded steps still pass
through the `with`. `with_steps` maps them: (last line, with) becomes (last line, what follows), and (with, what
follows) is dropped. For this, a way has the lines of the `with` statements that it leaves.
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seismo.coverage.logical_lines import always_matches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from seismo.coverage.coverage_report import Arc

# The reasons for which a step did not happen, as clauses after "because".
NEVER_TRUE = "the condition on line {0} was never true"
ALWAYS_TRUE = "the condition on line {0} was always true"
NEVER_STARTED = "the loop on line {0} had nothing to go through"
NEVER_FINISHED = "the loop on line {0} was always left before its end"
NEVER_MATCHED = "the pattern on line {0} never matched"
ALWAYS_MATCHED = "the pattern on line {0} matched each time"
NOT_CAUGHT = "the exception that line {0} catches did not occur"
NOT_EXECUTED = "line {0} was not executed"


@dataclass(slots=True)
class _Way:
    """The successor of the end of a statement or suite."""

    line: int | None  # None if there is no successor
    does: str = ""  # such as "return from function 'f'", or "" for "jump to line ..."
    through: tuple[int, ...] = ()  # lines of the `with` statements that it leaves, innermost first
    used: bool = False


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_NOWHERE = _Way(None)


class Steps:
    """The steps of a module."""

    def __init__(self, tree: ast.Module, lines: frozenset[int], first: Mapping[int, int]) -> None:
        self._first = first
        self._live = {first.get(line, line) for line in lines}
        self._words: dict[Arc, list[tuple[str, str]]] = {}
        self._replaced: dict[Arc, Arc | None] = {}
        self._dropped: set[Arc] = set()
        self._exits: dict[int, set[int]] = {}  # of the code object that is being walked
        self._codes: list[tuple[int, str, dict[int, set[int]]]] = []
        self._pending: list[_Definition] = []  # whose suites are still to be walked
        self._jumps: dict[type[ast.AST], _Way] = {}  # the way of each kind of jump statement
        self._module(tree)
        while self._pending:
            self._definition_body(self._pending.pop())
        arcs = ((start, end) for _, _, exits in self._codes for start, ends in exits.items() for end in ends)
        self.arcs: frozenset[Arc] = frozenset(arc for arc in arcs if arc[0] != arc[1])
        # Maps recorded steps through a `with` to direct ones, or to None if they are dropped.
        self.with_steps: dict[Arc, Arc | None] = {**self._replaced, **dict.fromkeys(self._dropped)}
        self.shared = self._shared()

    def _shared(self) -> dict[int, list[tuple[int, str, frozenset[int]]]]:
        """Return first line, name and successors of each code object of a line that has several, by line.

        An example is `def f(): return 1`.
        """
        codes: dict[int, list[tuple[int, str, frozenset[int]]]] = {}
        for first, name, exits in self._codes:
            for line, ends in exits.items():
                others = frozenset(ends - {line})
                if others:
                    codes.setdefault(line, []).append((first, name, others))
        return {line: ways for line, ways in codes.items() if len(ways) > 1}

    # ---- words ----

    def does(self, arc: Arc) -> str:
        """Return the effect of a step: "jump to line 5", "return from function 'f'"."""
        words = self._words.get(arc)
        return (words and words[0][1]) or step_text(arc[1])

    def missing(self, arc: Arc) -> str:
        """Return the reason for which a step did not happen, as a sentence without a full stop."""
        sentences = []
        for why, does in self._words.get(arc, [("", "")]):
            sentence = f"line {arc[0]} didn't {does or step_text(arc[1])}"
            if why:
                sentence += f" because {why.format(arc[0])}"
            if sentence not in sentences:
                sentences.append(sentence)
        return " or ".join(sentences)

    # ---- code objects ----

    def _module(self, tree: ast.Module) -> None:
        start = self._first.get(1, 1)
        self._begin(1, "<module>")
        out = _Way(-start, "exit the module")
        if tree.body:
            self._suite(tree.body, out)
        else:
            self._step(start, out)

    def _begin(self, first: int, name: str) -> None:
        self._exits = {}
        self._codes.append((first, name, self._exits))
        self._jumps = dict.fromkeys((ast.Return, ast.Raise, ast.Break, ast.Continue), _NOWHERE)

    def _definition_body(self, node: _Definition) -> None:
        start = self._line(node)
        decorated = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        self._begin(decorated, node.name)
        if isinstance(node, ast.ClassDef):
            self._suite(node.body, _Way(-start, f"exit class {node.name!r}"))
            return
        out = self._jumps[ast.Return] = _Way(-start, f"return from function {node.name!r}")
        self._jumps[ast.Raise] = _Way(-start, f"except from function {node.name!r}")
        self._suite(node.body, out)

    # ---- steps ----

    def _step(self, line: int, way: _Way, why: str = "") -> None:
        way.used = True
        if way.line is None:
            return
        end = way.line
        self._exits.setdefault(line, set()).add(end)
        if way.through:
            self._replaced[line, way.through[0]] = (line, end)
        if why or way.does:
            self._words.setdefault((line, end), []).append((why, way.does))

    def _line(self, node: ast.stmt | ast.expr | ast.pattern | ast.excepthandler) -> int:
        """Return the first line of a part of a statement, or of a definition's first decorator."""
        decorators: list[ast.expr] | None = getattr(node, "decorator_list", None)
        line = decorators[0].lineno if decorators else node.lineno
        return self._first.get(line, line)

    def _suite(self, body: Sequence[ast.stmt], way: _Way) -> _Way:
        """Walk a suite from its end, at which `way` continues, and return the way to its start."""
        for node in reversed(body):
            kind, line = type(node), self._line(node)
            # A skipped statement may still contain definitions that have code.
            if line not in self._live:
                self._find_definitions([node])
                continue
            if kind in _WALKS:
                _WALKS[kind](self, node, line, way)
            elif kind in self._jumps:
                self._step(line, self._jumps[kind], NOT_EXECUTED)
            else:
                self._step(line, way)
            way = _Way(line)
        return way

    def _find_definitions(self, body: Sequence[ast.AST]) -> None:
        """Queue the definitions in statements that are not walked."""
        stack = [*body]
        while stack:
            current = stack.pop()
            if isinstance(current, _Definition):
                self._pending.append(current)
            elif isinstance(current, (ast.stmt, ast.excepthandler, ast.match_case)):
                stack += ast.iter_child_nodes(current)

    # ---- statements ----

    def _if(self, node: ast.If, line: int, way: _Way) -> None:
        # A loop, because a chain of elif is deeply nested in the tree.
        chain = [node]
        while constant(node.test) is not True:
            if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
                break
            node = node.orelse[0]
            if self._line(node) not in self._live:
                node = chain[-1]
                break
            chain.append(node)
        otherwise = way
        if constant(node.test) is True:
            self._find_definitions(node.orelse)
        else:
            otherwise = self._suite(node.orelse, way)
        for node in reversed(chain):
            line = self._line(node)
            value = constant(node.test)
            if value is False:
                self._find_definitions(node.body)
            else:
                self._step(line, self._suite(node.body, way), NEVER_TRUE)
            if value is not True:
                self._step(line, otherwise, ALWAYS_TRUE)
            otherwise = _Way(line)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, line: int, way: _Way) -> None:
        is_while = isinstance(node, ast.While)
        outer = dict(self._jumps)
        self._jumps[ast.Break] = way
        again = self._jumps[ast.Continue] = _Way(line)
        self._step(line, self._suite(node.body, again), NEVER_TRUE if is_while else NEVER_STARTED)
        self._jumps = outer
        if not isinstance(node, ast.While) or node.orelse or constant(node.test) is None:
            self._step(line, self._suite(node.orelse, way), ALWAYS_TRUE if is_while else NEVER_FINISHED)

    def _with(self, node: ast.With | ast.AsyncWith, line: int, way: _Way) -> None:
        if way.line is None:
            # There is no successor in the source, so the return to the `with` is the last step.
            self._step(line, self._suite(node.body, _Way(line)))
            return
        leaving = _Way(way.line, way.does, (line, *way.through))
        self._step(line, self._suite(node.body, leaving))
        if leaving.used:
            way.used = True
            onward = way.through[0] if way.through else way.line
            if (line, line) not in self._replaced:
                self._dropped.add((line, onward))
            elif way.through:
                # A suite on the line of the `with` does not return to it, so only the step onward shows the exit.
                self._replaced[line, onward] = (line, way.line)

    def _try(self, node: ast.Try | ast.TryStar, line: int, way: _Way) -> None:
        outer = self._jumps[ast.Raise]
        done = way
        if node.finalbody:
            entry = self._entry(node.finalbody)
            done = _Way(entry) if entry is not None else way
            self._jumps[ast.Raise] = _NOWHERE
        orelse = self._suite(node.orelse, done)
        for handler in reversed(node.handlers):
            self._step(self._line(handler), self._suite(handler.body, done), NOT_CAUGHT)
        self._jumps[ast.Raise] = _NOWHERE
        if node.handlers:
            self._jumps[ast.Raise] = _Way(self._line(node.handlers[0]))
        self._step(line, self._suite(node.body, orelse))
        self._jumps[ast.Raise] = outer
        if node.finalbody:
            self._suite(node.finalbody, way if done.used else _NOWHERE)

    def _entry(self, body: list[ast.stmt]) -> int | None:
        """Return the line at which a suite begins, or None if it has no code."""
        return next((line for line in map(self._line, body) if line in self._live), None)

    def _match(self, node: ast.Match, line: int, way: _Way) -> None:
        onward = way
        for case in reversed(node.cases):
            case_line = self._line(case.pattern)
            self._step(case_line, self._suite(case.body, way), NEVER_MATCHED)
            if case is not node.cases[-1] or not always_matches(case):
                self._step(case_line, onward, ALWAYS_MATCHED)
            onward = _Way(case_line)
        self._step(line, onward)

    def _define(self, node: _Definition, _: int, way: _Way) -> None:
        """Add the steps from decorator to decorator to the definition's line, and queue its suite."""
        self._pending.append(node)
        lines = [*map(self._line, node.decorator_list), node.lineno]
        for start, end in itertools.pairwise(lines):
            if start != end:
                self._step(start, _Way(end))
        self._step(node.lineno, way)


_WALKS: dict[type[ast.AST], Callable[[Steps, Any, int, _Way], None]] = {ast.If: Steps._if, ast.Match: Steps._match}
_WALKS |= {ast.For: Steps._loop, ast.AsyncFor: Steps._loop, ast.While: Steps._loop}
_WALKS |= {ast.With: Steps._with, ast.AsyncWith: Steps._with}
_WALKS |= {ast.Try: Steps._try, ast.TryStar: Steps._try}
_WALKS |= {ast.FunctionDef: Steps._define, ast.AsyncFunctionDef: Steps._define, ast.ClassDef: Steps._define}


def step_text(end: int) -> str:
    """Return the effect of a step to this line, without words of its statement."""
    return f"jump to line {end}" if end > 0 else "jump to the function exit"


def constant(test: ast.expr) -> bool | None:
    """Return the value of a condition that the compiler treats as a constant, or None for other conditions."""
    match test:
        case ast.Constant():
            return bool(test.value)
        case ast.Name(id="True" | "__debug__"):
            return True if test.id == "True" else __debug__
        case ast.UnaryOp(op=ast.Not()):
            value = constant(test.operand)
            return None if value is None else not value
        case ast.BoolOp():
            values = [constant(part) for part in test.values]
            if any(value is None for value in values):
                return None
            return any(values) if isinstance(test.op, ast.Or) else all(values)
    return None
