"""The orders of the table of functions: seismo's words for them, and those that cProfile and pstats know.

Times and counts are sorted the largest first, names and places from a to z. A time that is not known is ranked by what
it is at least; of equal ones, that with more calls comes first, then the names decide: so that two reports of one
recording, or of two equal runs, have the same order. The summary after a recording uses it: no import that it could not
afford.
"""

from __future__ import annotations

from itertools import groupby

from seismo.report.words import rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seismo.model import FunctionRow, NodeRow, Table

# What --sort takes: the columns to sort by, and the words for the order.
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

# The errors of times, by column.
ERRORS = {"own_ns": "own_error_ns", "total_ns": "total_error_ns"}


def ranked(functions: Table[FunctionRow], column: str) -> list[int]:
    """The rows of the functions by a column of times or counts, the largest first."""
    values = list(functions[column])
    if column in ERRORS:
        values = list(map(rank, values, functions[ERRORS[column]]))
    return list(_ranked(functions, values))


def _ranked(functions: Table[FunctionRow], values: Sequence[float]) -> Iterator[int]:
    calls = functions["calls"]
    order = sorted(range(len(values)), key=lambda row: (-values[row], -calls[row]))
    for _, equal in groupby(order, key=lambda row: (values[row], calls[row])):
        rows = list(equal)
        if len(rows) > 1:  # only then is a name looked up
            names = [functions[name] for name in ("qualname", "module", "file", "line")]
            rows.sort(key=lambda row: tuple(column[row] for column in names))
        yield from rows


def in_order(functions: Table[FunctionRow], order: str, tree: Table[NodeRow] | None = None) -> list[int]:
    """The rows of the functions in one of ORDERS. tree: that of the functions; without it no recursion is known."""
    columns, _ = ORDERS[order]
    if not columns:
        calls = list(functions["calls"]) if tree is None else primitive_calls(tree, len(functions))
        return list(_ranked(functions, calls))
    if order not in ("name", "file", "line"):
        return ranked(functions, columns[0])
    keys = list(zip(*(functions[name] for name in columns), strict=True))
    return sorted(range(len(functions)), key=keys.__getitem__)


def primitive_calls(tree: Table[NodeRow], count: int) -> list[int]:
    """For each function, by id, the calls that were made while no other call of it was open. count: of functions."""
    parents, functions, calls = list(tree["parent"]), list(tree["function"]), list(tree["calls"])
    nodes = len(parents)
    # Children as linked lists; the roots' list begins at the end.
    first, following = [-1] * (nodes + 1), [-1] * nodes
    for node in range(nodes - 1, -1, -1):
        following[node], first[parents[node]] = first[parents[node]], node
    primitive, open_ = [0] * count, [0] * count
    waiting: list[int] = []
    node = first[-1]
    while node >= 0 or waiting:
        if node < 0:  # all below is done
            node = waiting.pop()
            open_[functions[node]] -= 1
            node = following[node]
            continue
        function = functions[node]
        if not open_[function]:
            primitive[function] += calls[node]
        open_[function] += 1
        waiting.append(node)
        node = first[node]
    return primitive
