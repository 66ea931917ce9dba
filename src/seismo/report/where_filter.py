"""Which functions of a recording an expression is about (`seismo report --where`).

A row stands for all calls of a function together: `calls` is how many there were, `duration` and `own` are its total
and its own time, summed, as the table shows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.expression import parse
from seismo.report.words import C

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.expression import Expression
    from seismo.model import FunctionRow, Table

TERMS = ("module", "function", "qualname", "file", "line", "calls", "duration", "own")
KINDS = ("call", "c_call")
WHY = f"a report is about whole functions: it knows {', '.join(TERMS)}, call and c_call (threads: --thread)"


def about_functions(words: str) -> Expression:
    """The expression of these words. Raises UsageError for none, and for one that no function's row can answer."""
    return parse(words).only(TERMS, KINDS, WHY)


def verdicts(functions: Table[FunctionRow], expression: Expression) -> Iterator[bool]:
    """Whether the expression is true, for each row of the table of functions."""
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
