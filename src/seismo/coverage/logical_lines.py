"""The logical lines, suites and definitions of a module, found in one walk over its syntax tree.

Coverage identifies a logical line by its first physical line, and `first` maps its other lines to it. A tokenizer would
find their ends, but takes longer than parsing and compiling together. The syntax tree has almost all of them:

- a simple statement has its position, from first to last token. Statements joined by `;` are on one logical line: the
  next one begins on the line where the previous one ends;
- the head of a clause (`if ...:`, `def f(...):`) ends at its colon, which is not in the tree. But the tree has the end
  of the last expression in the head. Only closing brackets, commas and comments are between that and the colon, so the
  first `:` outside of a comment is the colon;
- `else:` and `finally:` are not in the tree at all, but only comments and blank lines are between them and the first
  statement of their suite;
- a decorator's `@` and a `case` may be some lines above their expression if that is in brackets.

A backslash at the end of a line joins it with the next one, even if that is empty. Such lines are rare, and handled
where they occur.

Lines are numbered from 1. Columns of the tree count bytes of UTF-8; columns here count characters.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_BEFORE_COLON = re.compile("[^:#]*")
_KEYWORD = re.compile(r"[ \t\f]*(else|finally)\b")


class Clause(NamedTuple):
    """A head with its suite: `if x:`, `else:`, `def f():`."""

    first: int
    colon: int
    last: int  # last line of the suite


class Definition(NamedTuple):
    """A function or class."""

    kind: str  # "function" or "class"
    name: str
    parent: int  # index of the enclosing definition, or -1
    decorated: int  # first line, including decorators
    line: int  # of `def` or `class`
    body: int  # first line of the body's first statement, without its decorators
    last: int


class Case(NamedTuple):
    """A `case` that always matches."""

    pattern: int
    pattern_end: int
    body: int
    last: int


class Layout:
    """The layout of a module. The tree and the text are of the same source, so no parsing step can fail."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        self.lines = text.split("\n")
        self.first: dict[int, int] = {}  # maps each line of a longer logical line to its first line
        self.starts: list[int] = []  # the first lines of all logical lines, sorted
        self.docstrings: set[int] = set()  # their lines
        self.clauses: list[Clause] = []
        self.definitions: list[Definition] = []
        # Definitions and cases that are excluded as a whole if a part is, outer ones before inner ones.
        self.carriers: list[Definition | Case] = []
        self._around = -1  # index of the current definition
        self._docstring(tree.body)
        self._suite(tree.body)

    # ---- statements ----

    def _suite(self, body: list[ast.stmt], first: int = 0, last: int = 0) -> None:
        """Add the statements of a suite. first, last: the open logical line of its head, if they continue it."""
        lines = self.lines
        for statement in body:
            line = statement.lineno
            if handle := _HANDLERS.get(type(statement)):  # a compound statement
                self._close(first, last)
                first = last = 0
                handle(self, statement)
                continue
            if line > last or not first:
                self._close(first, last)
                first = line
            last = _last_line(statement)
            if lines[last - 1].endswith("\\"):
                last = self._joined(statement)
        self._close(first, last)

    def _close(self, first: int, last: int) -> None:
        if first:
            self.starts.append(first)
            if last > first:
                self.first.update(dict.fromkeys(range(first, last + 1), first))

    def _joined(self, node: ast.stmt) -> int:
        """Return the last line that backslashes join to a simple statement that ends its line."""
        line, column = self._end(node)
        rest = self.lines[line - 1][column:].lstrip(" \t\f;")
        while rest == "\\":
            line += 1
            rest = self.lines[line - 1].lstrip(" \t\f;") if line <= len(self.lines) else ""
        return line

    def _head(self, first: int, line: int, column: int, body: list[ast.stmt]) -> None:
        """Add a clause that begins at line `first`, with its suite.

        line, column: a position between the head's last expression and its colon
        """
        line, column = self._colon(line, column)
        self.clauses.append(Clause(first, line, _last_line(body[-1])))
        rest = self.lines[line - 1][column + 1 :].strip()
        if not rest or rest[0] == "#":
            self._close(first, line)
            self._suite(body)
        else:
            self._suite(body, first, max(line, body[0].lineno))

    def _colon(self, line: int, column: int) -> tuple[int, int]:
        """Return the line and column of the first colon from a position on that is not in a comment."""
        while True:
            found = _BEFORE_COLON.match(self.lines[line - 1], column)
            assert found is not None
            if self.lines[line - 1][found.end() : found.end() + 1] == ":":
                return line, found.end()
            line, column = line + 1, 0

    def _end(self, node: ast.AST) -> tuple[int, int]:
        """Return the line and column (in characters) of a node's end."""
        line: int = node.end_lineno  # type: ignore[attr-defined]
        return line, self._characters(line, node.end_col_offset)  # type: ignore[attr-defined]

    def _characters(self, line: int, column: int) -> int:
        text = self.lines[line - 1]
        return column if text.isascii() else len(text.encode(errors="surrogatepass")[:column].decode(errors="replace"))

    def _after(self, first: int, node: ast.AST, body: list[ast.stmt]) -> None:
        """Add a clause whose head ends with `node`."""
        self._head(first, *self._end(node), body)

    def _keyword(self, word: str, body: list[ast.stmt]) -> None:
        """Add a clause of one word, `else:` or `finally:`, found from its suite."""
        line = body[0].lineno
        decorators = getattr(body[0], "decorator_list", None)
        if decorators:
            line = self._line_of("@", decorators[0])
        while True:
            found = _KEYWORD.match(self.lines[line - 1])
            if found and found[1] == word:
                break
            line -= 1
        self._head(line, line, found.end(), body)

    # ---- compound statements ----

    def _if(self, node: ast.If) -> None:
        while True:  # a long chain of elif is deeply nested in the tree
            self._after(node.lineno, node.test, node.body)
            rest = node.orelse
            if len(rest) != 1 or not isinstance(rest[0], ast.If) or not self._is_elif(rest[0]):
                break
            node = rest[0]
        if rest:
            self._keyword("else", rest)

    def _is_elif(self, node: ast.If) -> bool:
        column = self._characters(node.lineno, node.col_offset)
        return self.lines[node.lineno - 1].startswith("elif", column)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        self._after(node.lineno, node.test if isinstance(node, ast.While) else node.iter, node.body)
        if node.orelse:
            self._keyword("else", node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        item = node.items[-1]
        self._after(node.lineno, item.optional_vars or item.context_expr, node.body)

    def _try(self, node: ast.Try | ast.TryStar) -> None:
        self._head(node.lineno, node.lineno, self._characters(node.lineno, node.col_offset), node.body)
        for handler in node.handlers:
            if handler.type is not None:
                self._after(handler.lineno, handler.type, handler.body)
            else:
                self._head(handler.lineno, handler.lineno, 0, handler.body)
        if node.orelse:
            self._keyword("else", node.orelse)
        if node.finalbody:
            self._keyword("finally", node.finalbody)

    def _match(self, node: ast.Match) -> None:
        # The suite of `match` consists of clauses instead of statements.
        start = len(self.clauses)
        line, column = self._end(node.subject)
        line, _ = self._colon(line, column)
        self.clauses.insert(start, Clause(node.lineno, line, _last_line(node)))
        self._close(node.lineno, line)
        for case in node.cases:
            self._case(case)

    def _case(self, case: ast.match_case) -> None:
        pattern = case.pattern
        if always_matches(case):
            body = case.body[0].lineno, _last_line(case.body[-1])
            self.carriers.append(Case(pattern.lineno, pattern.end_lineno, *body))
        self._after(self._line_of("case", pattern), case.guard or pattern, case.body)

    # ---- definitions ----

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = node.args
        parts: list[ast.AST] = [*getattr(node, "type_params", ())]
        parts += arguments.posonlyargs + arguments.args + arguments.kwonlyargs
        parts += arguments.defaults
        parts += [part for part in (arguments.vararg, arguments.kwarg, *arguments.kw_defaults) if part]
        if node.returns:
            parts = [node.returns]
        self._define("function", node, parts)

    def _class(self, node: ast.ClassDef) -> None:
        parts: list[ast.AST] = [*node.bases, *node.keywords]
        self._define("class", node, parts or [*getattr(node, "type_params", ())])

    def _define(
        self, kind: str, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, parts: list[ast.AST]
    ) -> None:
        self._docstring(node.body)
        starts = [*(self._line_of("@", decorator) for decorator in node.decorator_list), node.lineno]
        for decorator, (first, following) in zip(node.decorator_list, pairwise(starts), strict=True):
            # Only closing brackets, commas, comments and blank lines are between a decorator's expression and the next.
            line = following - 1
            while line > (decorator.end_lineno or 0) and self._is_between(line):
                line -= 1
            self._close(first, line)
        decorated = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        around, body = self._around, node.body[0].lineno
        definition = Definition(kind, node.name, around, decorated, node.lineno, body, _last_line(node))
        self.definitions.append(definition)
        self.carriers.append(definition)
        self._around = len(self.definitions) - 1
        if parts:
            line, column = max(map(self._end, parts))
        else:
            line, column = node.lineno, self._characters(node.lineno, node.col_offset)
        self._head(node.lineno, line, column, node.body)
        self._around = around

    def _line_of(self, word: str, node: ast.expr | ast.pattern) -> int:
        """Return the line of the word before an expression or pattern, which may begin in brackets further down."""
        line, column = node.lineno, self._characters(node.lineno, node.col_offset)
        while not self.lines[line - 1][:column].lstrip(" \t\f").startswith(word):
            line, column = line - 1, len(self.lines[line - 2])
        return line

    def _is_between(self, line: int) -> bool:
        """Return True for a line that is blank, a comment or a backslash, and that no backslash joins to one above."""
        above = line - 1
        while self.lines[above - 1].strip() == "\\":
            above -= 1
        return self.lines[line - 1].strip()[:1] in ("", "#", "\\") and not self.lines[above - 1].endswith("\\")

    def _docstring(self, body: list[ast.stmt]) -> None:
        if body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                self.docstrings.update(range(body[0].lineno, _last_line(body[0]) + 1))


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


_HANDLERS: dict[type[ast.AST], Callable[[Layout, Any], None]] = {ast.If: Layout._if, ast.Match: Layout._match}
_HANDLERS |= {ast.For: Layout._loop, ast.AsyncFor: Layout._loop, ast.While: Layout._loop}
_HANDLERS |= {ast.With: Layout._with, ast.AsyncWith: Layout._with}
_HANDLERS |= {ast.Try: Layout._try, ast.TryStar: Layout._try}
_HANDLERS |= {ast.FunctionDef: Layout._function, ast.AsyncFunctionDef: Layout._function}
_HANDLERS |= {ast.ClassDef: Layout._class}


def always_matches(case: ast.match_case) -> bool:
    """Return True if a case always matches: it has no guard, and its pattern is `_` or a name."""
    if case.guard is not None:
        return False
    pattern = case.pattern
    while isinstance(pattern, ast.MatchOr):
        pattern = pattern.patterns[-1]
    while isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        pattern = pattern.pattern
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None
