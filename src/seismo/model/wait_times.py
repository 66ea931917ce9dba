"""Times as those of the wall, of running, or of waiting.

What a thread was off the CPU stands in the recording apart from all other sums (`wait_ns`; whose it was may be
doubtful: `wait_sq`), and the estimate (native/estimate/estimate.c) adds it to what was running. So times of running are
the estimate of the same rows as if nothing had been waited, and times of waiting that of rows of which nothing else is
known.
"""

from __future__ import annotations

import array
from typing import TYPE_CHECKING, Any

from seismo import _core

if TYPE_CHECKING:
    from seismo.model.recording import Columns, Tables

WAITS = ("wait_ns", "wait_sq")
PLACES = ("id", "parent", "thread", "function", "flags")


def estimated(tables: Tables | dict[str, Any], times: str, distorted: bool = True) -> Columns:
    """What _core.estimate gives, of the times that are asked for; total_wait_ns is what was waited, in any case.

    times: as Recording.timed() has them; with "calls" numbers of calls stand where times would.
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
    """What `estimated` gives with calls instead of times: exact, or lower bounds, which other columns say."""
    nodes = tables["nodes"]
    parents, functions = nodes["parent"], nodes["function"]
    own = array.array("d", nodes["calls"])
    total = own[:]
    of_functions = array.array("d", bytes(8 * len(tables["functions"]["id"])))
    for node in range(len(own) - 1, -1, -1):  # parents stand before their children
        of_functions[functions[node]] += own[node]
        if parents[node] >= 0:
            total[parents[node]] += total[node]
    found = {"own_ns": own, "total_ns": total, "function_own_ns": of_functions}
    columns = {name: memoryview(column) for name, column in found.items()}
    for name, like in _columns(tables, False).items():
        if name not in columns:
            columns[name] = memoryview(array.array(like.format, bytes(like.nbytes)))
    return columns


def _columns(tables: Any, distorted: bool) -> Columns:
    return {name: memoryview(column) for name, column in _core.estimate(tables, distorted).items()}


def _waiting(tables: Any) -> dict[str, Any]:
    """The tables with nothing known of any node but what was waited."""
    nodes = tables["nodes"]
    kept = (*PLACES, *WAITS) if any(nodes["wait_ns"]) else PLACES
    ran = tuple(name for name in nodes if name not in kept)
    return {**tables, "nodes": _without(nodes, ran), "threads": _not_timed(tables)}


def _without(table: Columns, names: tuple[str, ...]) -> Columns:
    """The table with noughts in these columns."""
    nothing = bytes(8 * len(table["wait_ns"]))
    return {**table, **{name: memoryview(array.array(table[name].format, nothing)) for name in names}}


def _not_timed(tables: Any) -> Columns:
    """The threads without the time that was sampled."""
    threads: Columns = tables["threads"]
    return {**threads, "rest_ns": memoryview(array.array("q", bytes(8 * len(threads["rest_ns"]))))}
