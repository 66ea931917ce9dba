"""The orders of the table of functions: seismo's words for them, and those that cProfile and pstats know.

Times and counts are sorted the largest first, names and places from a to z.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

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

# What pstats.Stats.sort_stats and `python -m cProfile -s` call them.
OF_PSTATS = {
    "time": "own",
    "tottime": "own",
    "cumulative": "total",
    "cumtime": "total",
    "ncalls": "calls",
    "pcalls": "primitive",
    "nfl": "name",
    "filename": "file",
    "module": "file",
    "stdname": "file",
}


def order_of(word: str, orders: Sequence[str] = tuple(ORDERS)) -> str:
    """The order that a word of ours, or one of cProfile's, stands for. Raises UsageError for one that is none."""
    order = OF_PSTATS.get(word, word)
    if order not in orders:
        hint = did_you_mean(word, [*orders, *OF_PSTATS]) + f"it is one of {', '.join(orders)}"
        raise UsageError(f"functions cannot be sorted by {word!a}", "--sort", hint)
    return order


def in_order(functions: Table[FunctionRow], order: str, tree: Table[NodeRow] | None = None) -> list[int]:
    """The rows of the functions in one of ORDERS. tree: that of the functions; without it no recursion is known."""
    columns, _ = ORDERS[order]
    if not columns:
        calls = list(functions["calls"]) if tree is None else primitive_calls(tree, len(functions))
        return sorted(range(len(functions)), key=calls.__getitem__, reverse=True)
    if order not in ("name", "file", "line"):
        return functions.sort(columns[0])
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
