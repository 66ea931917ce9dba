"""Estimates of times as wall, running or waiting times.

A recording keeps time off the CPU separate from its other sums (`wait_ns`, with the doubt about its owner in
`wait_sq`). The estimate (native/estimate/estimate.c) adds it to the running time. So running times are the estimate of
the same rows without waiting, and waiting times are the estimate of rows with nothing but waiting.
"""

from __future__ import annotations

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
    if times == "calls":  # as exact times, and nothing else
        found = _only(tables, PLACES)
        return _columns({**found, "nodes": {**found["nodes"], "timed_ns": nodes["calls"]}}, False)
    has_waits = any(nodes["wait_ns"])
    if times == "wall" or (times == "cpu" and not has_waits):
        return _columns(tables, distorted)
    waiting = _columns(_only(tables, (*PLACES, *WAITS) if has_waits else PLACES), distorted)
    if times == "wait":
        return waiting
    running = _columns({**tables, "nodes": _without(nodes, WAITS)}, distorted)
    return {**running, "total_wait_ns": waiting["total_wait_ns"]}


def _columns(tables: Any, distorted: bool) -> Columns:
    return {name: memoryview(column) for name, column in _core.estimate(tables, distorted).items()}


def _only(tables: Any, kept: tuple[str, ...]) -> dict[str, Any]:
    """Return the tables with zeros in all other columns of the nodes, and without running times of threads."""
    others = tuple(name for name in tables["nodes"] if name not in kept)
    nodes, threads = _without(tables["nodes"], others), _without(tables["threads"], ("rest_ns",))
    return {**tables, "nodes": nodes, "threads": threads}


def _without(table: Columns, names: tuple[str, ...]) -> Columns:
    """Return the table with zeros in these columns."""
    return {**table, **{name: zeros(len(table[name]), table[name].format) for name in names}}
