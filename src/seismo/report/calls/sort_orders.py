"""The orders of the table of functions: seismo's words for them, and those of cProfile and pstats.

Times and counts are sorted the largest first, names and places from a to z. An unknown time is ranked by its lower
bound. Ties are broken by calls, then by names, so that reports of equal runs have the same order. The summary after a
recording uses it: no import that it could not afford.
"""

from __future__ import annotations

from seismo.report.words import rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import FunctionRow, NodeRow, Table

# The values of --sort: the columns to sort by, and the words for the order.
ORDERS: dict[str, tuple[tuple[str, ...], str]] = {
    "own": (("own_ns",), "own time"),
    "total": (("total_ns",), "total time"),
    "calls": (("calls",), "calls"),
    "primitive": ((), "calls from outside of a recursion"),
    "awaiting": (("await_ns",), "time awaiting"),
    "name": (("qualname", "file", "line"), "name"),
    "file": (("file", "line", "qualname"), "file"),
    "line": (("line", "file", "qualname"), "line"),
}

# The column of errors for each column of times.
ERRORS = {"own_ns": "own_error_ns", "total_ns": "total_error_ns"}


def ranked(functions: Table[FunctionRow], column: str) -> list[int]:
    """Return the rows of the functions by a column of times or counts, the largest first."""
    values = list(functions[column])
    if column in ERRORS:
        values = list(map(rank, values, functions[ERRORS[column]]))
    return _ranked(functions, values)


def _ranked(functions: Table[FunctionRow], values: Sequence[float]) -> list[int]:
    calls, *names = (functions[name] for name in ("calls", "qualname", "module", "file", "line"))
    return sorted(range(len(values)), key=lambda row: (-values[row], -calls[row], *(column[row] for column in names)))


def in_order(functions: Table[FunctionRow], order: str, tree: Table[NodeRow] | None = None) -> list[int]:
    """Return the rows of the functions in one of ORDERS. tree: without it, recursion is unknown."""
    columns, _ = ORDERS[order]
    if not columns:
        calls = list(functions["calls"]) if tree is None else primitive_calls(tree, len(functions))
        return _ranked(functions, calls)
    if order not in ("name", "file", "line"):
        return ranked(functions, columns[0])
    keys = list(zip(*(functions[name] for name in columns), strict=True))
    return sorted(range(len(functions)), key=keys.__getitem__)


def primitive_calls(tree: Table[NodeRow], count: int) -> list[int]:
    """Return for each function id the calls made while no other call of it was open. count: of functions."""
    functions, calls = list(tree["function"]), list(tree["calls"])
    below: dict[int, list[int]] = {}
    for node, parent in enumerate(tree["parent"]):
        below.setdefault(parent, []).append(node)
    primitive, open_ = [0] * count, [0] * count
    waiting = below.get(-1, [])
    while waiting:
        node = waiting.pop()
        if node < 0:  # all below ~node is done
            open_[functions[~node]] -= 1
            continue
        function = functions[node]
        if not open_[function]:
            primitive[function] += calls[node]
        open_[function] += 1
        waiting += [~node, *below.get(node, ())]
    return primitive
