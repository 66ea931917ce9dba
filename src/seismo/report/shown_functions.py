"""The choice of the functions in a report: by module and by an expression (`seismo report --where`).

For the expression, a row stands for all calls of a function: `calls` is their number; `duration` and `own` are the sums
of total and own time that the table shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from seismo.expression import Expression, parse
from seismo.report.words import C

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seismo.model import FunctionRow, Table
    from seismo.report.options import Options


TERMS = ("module", "function", "qualname", "file", "line", "calls", "duration", "own")
KINDS = ("call", "c_call")
WHY = f"a report is about whole functions: it knows {', '.join(TERMS)}, call and c_call (threads: --thread)"


@dataclass
class Modules:
    """A filter of functions by globs of modules: those that match one of `only` (any if empty) and none of `but`.

    If there is an expression `where`, it must be true of them, too.
    """

    only: Sequence[str] = ()
    but: Sequence[str] = ()
    where: Expression | None = None

    def __bool__(self) -> bool:
        return bool(self.only or self.but or self.where)

    def left_out(self, functions: Table[FunctionRow]) -> set[int]:
        """Return the rows of the table that are not shown."""
        modules = functions["module"]
        shown = {module: self._shows(module) for module in set(modules)}
        rows = {row for row, module in enumerate(modules) if not shown[module]}
        if self.where is not None:
            rows.update(row for row, wanted in enumerate(_verdicts(functions, self.where)) if not wanted)
        return rows

    def _shows(self, module: str) -> bool:
        wanted = not self.only or any(fnmatchcase(module, glob) for glob in self.only)
        return wanted and not any(fnmatchcase(module, glob) for glob in self.but)

    def words(self) -> str:
        """Return the filter as a remark for a heading."""
        only = f"modules {', '.join(self.only)}" if self.only else ""
        but = f"without {', '.join(self.but)}" if self.but else ""
        where = f"where {self.where}" if self.where else ""
        return ", ".join(part for part in (only, but, where) if part)


def chosen_modules(options: Options) -> Modules:
    """Return the filter that --module, --exclude-module and --where choose. Raises UsageError."""
    where = about_functions(options.where) if options.where else None
    return Modules(tuple(options.module), tuple(options.exclude_module), where)


def about_functions(words: str) -> Expression:
    """Parse an expression. Raises UsageError if it is empty or if a row of functions cannot answer it."""
    return parse(words).only(TERMS, KINDS, WHY)


def _verdicts(functions: Table[FunctionRow], expression: Expression) -> Iterator[bool]:
    columns = {name: name for name in ("module", "qualname", "file", "line", "calls")}
    columns |= {"duration": "total_ns", "own": "own_ns"}
    for kind, *values in zip(functions["kind"], *(functions[name] for name in columns.values()), strict=True):
        facts: dict[str, Any] = dict(zip(columns, values, strict=True))
        facts |= {"kind": "c_call" if kind == C else "call", "callee": (facts["module"], facts["qualname"])}
        yield expression.evaluate(facts) is True
