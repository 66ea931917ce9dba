"""Sums of recordings: one tree with the distinct paths of all threads of many processes.

The file of a large merge (streaming_merge.py) has its sum as well, and a report reads only that (read_sum.py).
"""

from __future__ import annotations

import array
from typing import TYPE_CHECKING, Any

from seismo.model.columns import SCHEMA, empty, ints, translated, zeros
from seismo.model.combine import summed_nodes
from seismo.model.recording import Recording

if TYPE_CHECKING:
    from seismo.model.columns import Columns, Tables
    from seismo.model.table import Strings

SUMMED = {"summed": True}  # metadata of sums: see Recording.threads_are_summed
MOST_ROWS = 1 << 18  # nodes in memory before they are added up
MOST_PATHS = 1 << 19  # distinct ones; a sum of more would take a gigabyte


def without_costs(tables: Tables) -> Tables:
    """Return the processes and threads without the costs of recording, for times that are known without these."""
    processes, threads = tables["processes"], tables["threads"]
    costs = [name for name, code in SCHEMA["processes"] if code == "d" and name != "clock_ns"]
    return {
        "processes": {**processes, **dict.fromkeys(costs, zeros(len(processes["id"]), "d"))},
        "threads": {**threads, "rest_ns": zeros(len(threads["id"]))},
    }


class TreeSum:
    """Adds up the trees of all threads of a recording, in memory that does not grow with their number."""

    def __init__(self, tables: Tables, strings: Strings, meta: dict[str, Any]) -> None:
        """Initialize with the recording's tables, without nodes."""
        self._whole = Recording({kind: tables.get(kind) or empty(kind) for kind in SCHEMA}, strings, meta)
        # What was added up is on two more threads, a main one and another, of one more process, which has no costs.
        processes, threads = tables["processes"], tables["threads"]
        for main in (1, 0):
            threads = _with_row(threads, process=len(processes["id"]), main=main)
        self._tables = {**self._whole._raw, "processes": _with_row(processes), "threads": threads}
        self._mains = list(map(bool, threads["main"]))
        last = len(self._mains) - 1
        self._trees = {main: (last - main, bytes(one == main for one in self._mains)) for main in (True, False)}
        self._paths = 0
        self._start()

    def _start(self) -> None:
        self._rows = {name: array.array(code) for name, code in SCHEMA["nodes"]}

    def add(self, nodes: Columns) -> None:
        """Add nodes with the columns of the table, whose parents are numbered from 0 among them."""
        if self._paths <= MOST_PATHS:
            self._append(nodes)
            if len(self._rows["id"]) > 2 * self._paths + MOST_ROWS:
                self._reduce()

    def _append(self, nodes: Columns) -> None:
        base = len(self._rows["id"])
        for name, column in translated(nodes, parent=range(base, base + len(nodes["id"]))).items():
            self._rows[name].frombytes(column.cast("B"))

    def _reduce(self) -> None:
        nodes = {name: memoryview(column) for name, column in self._rows.items()}
        source = self._whole._with({**self._tables, "nodes": nodes})
        self._start()
        for thread, chosen in self._trees.values():
            tree, _ = summed_nodes(source, chosen)
            self._append({**tree, "thread": ints([thread] * len(tree["id"]))})
        self._paths = len(self._rows["id"])

    def total(self) -> Recording | None:
        """Return the sum, or None if it has more than MOST_PATHS paths."""
        self._reduce()
        if self._paths > MOST_PATHS:
            return None
        nodes = {name: memoryview(column) for name, column in self._rows.items()}
        threads = {thread: self._mains.index(main) for main, (thread, _) in self._trees.items()}
        nodes = {**translated(nodes, thread=threads), "id": ints(range(len(nodes["id"])))}
        tables = {**self._whole._raw, **without_costs(self._whole._raw), "nodes": nodes}
        return Recording(tables, self._whole._strings, {**self._whole.meta, **SUMMED})


def _with_row(table: Columns, **values: int) -> Columns:
    """Return the table with one more row, of these values and zeros."""
    return {
        name: memoryview(array.array(column.format, [*column.tolist(), values.get(name, 0)]))
        for name, column in table.items()
    }
