"""Call sites: the callers of functions and their lines, from a recording of calls and counts of lines."""

from __future__ import annotations

import ast
import functools
import linecache
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seismo.model.enums import FunctionKind
from seismo.plugins.pytest.profile import PLACE
from seismo.report.words import function_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

    from seismo.model import Recording


@dataclass
class Made:
    """Calls, exceptions or objects that come from one line. `by` is the caller, or "" if `what` includes it."""

    count: int
    what: str
    file: str
    line: int
    by: str = ""

    def text(self, root: str) -> str:
        """Return a line of text that includes the source line."""
        file = self.file.removeprefix(root.rstrip("/") + "/")
        source = linecache.getline(self.file, self.line).strip() if self.line > 0 else ""
        place = f"{file}:{self.line}" if self.line > 0 else file
        by = f" by {self.by}" if self.by else ""
        return f"{self.what}{by}{f', {place}' if place else ''}{f': {source}' if source else ''}"


class CallSites:
    """The call sites of one recording of calls. `coverage` has line counts of the same run, or is None.

    `of` is the test function's code. On the test's thread, only the calls below that function count, if it ran. This
    excludes the work of plugins.
    """

    def __init__(self, calls: Recording, coverage: Recording | None, of: CodeType | None = None) -> None:
        self._calls, self._coverage = calls, coverage
        self._functions = list(calls.functions)
        names = ("parent", "function", "calls", "exceptions", "thread")
        self._tree: dict[str, list[int]] = {name: calls.tree[name].tolist() for name in names}
        self._parents = self._tree["parent"]
        self._kept = self._inside(of)

    def _inside(self, code: CodeType | None) -> list[bool]:
        """Return, for each node, True if it counts."""
        parents, functions, threads = (self._tree[name] for name in ("parent", "function", "thread"))
        ours = {threads[node] for node, function in enumerate(functions) if self._functions[function].file == PLACE}
        wanted = {
            number
            for number, row in enumerate(self._functions)
            if code is not None and (row.file, row.line) == (code.co_filename, code.co_firstlineno)
        }
        below: list[bool] = []
        for node, parent in enumerate(parents):
            below.append(functions[node] in wanted or (parent >= 0 and below[parent]))
        if not any(below):
            return [True] * len(below)
        return [inside or threads[node] not in ours for node, inside in enumerate(below)]

    def counts(self, quantity: str, functions: Sequence[int], single: bool = False) -> dict[int, int]:
        """Return {node: number of calls or exceptions} for the nodes of these functions that have any.

        `single` means that the functions are one operation. A wrapper and the wrapped function often share a name, so
        of nested calls of several functions with one name, only the outermost counts.
        """
        wanted = set(functions)
        rows = enumerate(zip(self._tree["function"], self._tree[quantity], self._kept, strict=True))
        found = {node: number for node, (function, number, kept) in rows if kept and number and function in wanted}
        if not single or quantity != "calls":
            return found
        return {node: number for node, number in found.items() if not self._wrapped(node, wanted)}

    def _wrapped(self, node: int, wanted: set[int]) -> bool:
        function = self._of(node)
        name = self._own_name(function)
        while (node := self._parents[node]) >= 0:
            above = self._of(node)
            if above in wanted and above != function and self._own_name(above) == name:
                return True
        return False

    def _own_name(self, function: int) -> str:
        name: str = self._functions[function].qualname.rpartition(".")[2]
        return name

    def makers(self, quantity: str, functions: Sequence[int], single: bool) -> list[Made]:
        """Return the callers of these functions; with `single`, the nearest callers that contain a loop."""
        found: Counter[tuple[int, int, int]] = Counter()
        for node, number in self.counts(quantity, functions, single).items():
            below = node
            parent = self._parents[node]
            while single and parent >= 0 and self._parents[parent] >= 0 and self._is_repeated(below, parent):
                below, parent = parent, self._parents[parent]
            found[self._tree["function"][node], self._tree["function"][below], self._of(parent)] += number
        return [self._made(number, *key) for key, number in found.items()]

    def _is_repeated(self, node: int, parent: int) -> bool:
        """Return True if the caller was called as often as its callee, and so cannot contain the loop."""
        calls = self._tree["calls"]
        return 1 < calls[node] <= calls[parent]

    def _of(self, node: int) -> int:
        return self._tree["function"][node] if node >= 0 else -1

    def _made(self, number: int, function: int, below: int, caller: int) -> Made:
        what = self._name(function)
        if below != function:
            what = f"{what} through {self._name(below)}"
        if (
            caller < 0
            or self._functions[caller].file == PLACE
            or self._functions[caller].kind == FunctionKind.SYNTHETIC
        ):
            row = self._functions[below]
            return Made(number, what, row.file, row.line)
        row = self._functions[caller]
        return Made(number, what, row.file, self._line(caller, below) or row.line, self._name(caller))

    def _name(self, function: int) -> str:
        row = self._functions[function]
        return function_name(row.kind, row.module, row.qualname)

    def _line(self, caller: int, called: int) -> int:
        """Return the caller's line that calls the other function most often, or 0 if its source does not show it."""
        row, name = self._functions[caller], self._own_name(called)
        if name == "__init__":  # source code calls __init__ by the name of the class
            name = self._functions[called].qualname.split(".")[-2]
        lines = _calling(row.file, row.qualname, row.line, name)
        if not lines:
            return 0
        hits = self._hits[row.file]
        return max(lines, key=lambda line: (lines[line], hits[line], -line))

    @functools.cached_property
    def _hits(self) -> defaultdict[str, Counter[int]]:
        found: defaultdict[str, Counter[int]] = defaultdict(Counter)
        if self._coverage is not None:
            files = {one.id: one.file for one in self._coverage.functions}
            for one in self._coverage.lines:
                found[files[one.function]][one.line] += one.hits
        return found


def _calling(file: str, qualname: str, first: int, name: str) -> dict[int, bool]:
    """Return the lines of a function that call this name; the value is False for calls in the iterable of a loop."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    own = qualname.rpartition(".")[2]
    found: dict[int, bool] = {}
    for node in ast.walk(tree):
        if _is_scope(node, own, first):
            found |= _named(node, name)
    return found


def _is_scope(node: ast.AST, own: str, first: int) -> bool:
    """Return True if this is the code with this name and first line."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name == own and min([node.lineno, *(one.lineno for one in node.decorator_list)]) == first
    if isinstance(node, ast.Module):
        return own == "<module>"
    made = {"<lambda>": ast.Lambda, "<genexpr>": ast.GeneratorExp, "<listcomp>": ast.ListComp}
    made |= {"<setcomp>": ast.SetComp, "<dictcomp>": ast.DictComp}
    return own in made and isinstance(node, made[own]) and getattr(node, "lineno", 0) == first


def _named(scope: ast.AST, name: str) -> dict[int, bool]:
    """Return the lines that call this name, or else use it. A loop's iterable runs once: False for lines of one."""
    once = {
        id(inner)
        for node in ast.walk(scope)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension))
        for inner in ast.walk(node.iter)
    }
    calls: dict[int, bool] = {}
    others: dict[int, bool] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and _last(node.func) == name:
            line = node.func.end_lineno or node.lineno
            calls[line] = calls.get(line, False) or id(node) not in once
        elif isinstance(node, (ast.Attribute, ast.Name)) and _last(node) == name:
            line = node.end_lineno or node.lineno
            others[line] = others.get(line, False) or id(node) not in once
    return calls or others


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
