"""Estimates of times as wall, running or waiting times.

A recording keeps time off the CPU separate from its other sums (`wait_ns`, with the doubt about its owner in
`wait_sq`). The estimate (native/estimate/estimate.c) adds it to the running time. So running times are the estimate of
the same rows without waiting, and waiting times are the estimate of rows with nothing but waiting.
"""

from __future__ import annotations

import array
from typing import TYPE_CHECKING, Any

from seismo import _core
from seismo.model.columns import zeros

if TYPE_CHECKING:
    from seismo.model.columns import Columns, Tables

WAITS = ("wait_ns", "wait_sq")
PLACES = ("id", "parent", "thread", "function", "flags")


def estimated(tables: Tables | dict[str, Any], times: str, distorted: bool = True) -> Columns:
    """Return the result of _core.estimate for these times; total_wait_ns always holds waiting.

    `times` is as in Recording.timed(); with "calls", numbers of calls replace the times.
    """
    nodes = tables["nodes"]
    if times == "calls":
        return _counted(tables)
    if times == "wall" or not any(nodes["wait_ns"]):
        return _columns(_waiting(tables) if times == "wait" else tables, distorted)
    waiting = _waiting(tables)
    if times == "wait":
        return _columns(waiting, distorted)
    total_wait = _columns(waiting, distorted)["total_wait_ns"]
    return {**_columns({**tables, "nodes": _without(nodes, WAITS)}, distorted), "total_wait_ns": total_wait}


def _counted(tables: Any) -> Columns:
    """Return the result of `estimated` with calls instead of times. Calls are exact unless they are lower bounds."""
    nodes = tables["nodes"]
    parents, functions = nodes["parent"], nodes["function"]
    own = array.array("d", nodes["calls"])
    total = own[:]
    of_functions = array.array("d", bytes(8 * len(tables["functions"]["id"])))
    for node in range(len(own) - 1, -1, -1):  # parents precede their children
        of_functions[functions[node]] += own[node]
        if parents[node] >= 0:
            total[parents[node]] += total[node]
    found = {"own_ns": own, "total_ns": total, "function_own_ns": of_functions}
    columns = {name: memoryview(column) for name, column in found.items()}
    for name, like in _columns(tables, False).items():
        if name not in columns:
            columns[name] = zeros(len(like), like.format)
    return columns


def _columns(tables: Any, distorted: bool) -> Columns:
    return {name: memoryview(column) for name, column in _core.estimate(tables, distorted).items()}


def _waiting(tables: Any) -> dict[str, Any]:
    """Return the tables with everything but waiting removed from the nodes."""
    nodes = tables["nodes"]
    kept = (*PLACES, *WAITS) if any(nodes["wait_ns"]) else PLACES
    ran = tuple(name for name in nodes if name not in kept)
    return {**tables, "nodes": _without(nodes, ran), "threads": _without(tables["threads"], ("rest_ns",))}


def _without(table: Columns, names: tuple[str, ...]) -> Columns:
    """Return the table with zeros in these columns."""
    return {**table, **{name: zeros(len(table[name]), table[name].format) for name in names}}
