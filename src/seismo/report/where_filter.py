"""The filter of functions by an expression (`seismo report --where`).

A row stands for all calls of a function: `calls` is their number; `duration` and `own` are the sums of total and own
time that the table shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.expression import Expression, parse
from seismo.report.words import C

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.model import FunctionRow, Table

TERMS = ("module", "function", "qualname", "file", "line", "calls", "duration", "own")
KINDS = ("call", "c_call")
WHY = f"a report is about whole functions: it knows {', '.join(TERMS)}, call and c_call (threads: --thread)"


def about_functions(words: str) -> Expression:
    """Parse an expression. Raises UsageError if it is empty or if a row of functions cannot answer it."""
    return parse(words).only(TERMS, KINDS, WHY)


def verdicts(functions: Table[FunctionRow], expression: Expression) -> Iterator[bool]:
    """Yield for each row of the table whether the expression is true."""
    names = ("kind", "module", "qualname", "file", "line", "calls", "total_ns", "own_ns")
    for kind, module, qualname, file, line, calls, total, own in zip(*(functions[name] for name in names), strict=True):
        facts: dict[str, Any] = {
            "kind": "c_call" if kind == C else "call",
            "module": module,
            "qualname": qualname,
            "file": file,
            "line": line,
            "calls": calls,
            "duration": total,
            "own": own,
            "callee": (module, qualname),
        }
        yield expression.evaluate(facts) is True
