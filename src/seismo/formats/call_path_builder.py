"""Calls collected by path, for readers of formats with whole stacks.

A format may repeat a path in any order, with callers after callees. The model needs each node once, with parents first.
So a reader walks down with child(), which creates missing nodes, and adds to the node it reaches. Nodes are created
from the root down, which is the order that the model needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.formats.base import MAX_NODES

if TYPE_CHECKING:
    from seismo.formats.function_names import Frame
    from seismo.model import Builder, Recording

ROOT = -1
_COLUMNS = ("own_ns", "calls", "resumes", "exceptions", "awaits", "await_ns", "flags")


class Paths:
    """The paths of a file that is being read. Nodes, threads and functions are numbered from 0."""

    def __init__(self, builder: Builder) -> None:
        self.columns: dict[str, list[int]] = {name: [] for name in _COLUMNS}  # of the nodes, as the model names them
        self.own = self.columns["own_ns"]
        self._builder = builder
        self._where: list[tuple[int, int, int]] = []  # thread, parent, function
        self._known: dict[tuple[int, int, int], int] = {}
        self._processes: dict[int, int] = {}
        self._threads: dict[object, int] = {}

    def function(self, frame: Frame) -> int:
        """Return the number of a function."""
        return self._builder.function(frame.module, frame.qualname, frame.file, frame.line, kind=frame.kind)

    def thread(self, key: object, pid: int, name: str, native_id: int = 0) -> int:
        """Return the number of the thread that the file identifies by `key` (hashable)."""
        id_ = self._threads.get(key)
        if id_ is None:
            if pid not in self._processes:
                self._processes[pid] = self._builder.process(pid=pid)
            id_ = self._builder.thread(self._processes[pid], name=name, native_id=native_id)
            self._threads[key] = id_
        return id_

    def child(self, thread: int, parent: int, function: int) -> int:
        """Return the node of a function under a node, or under ROOT. Raise ValueError if there are too many."""
        place = (thread, parent, function)
        node = self._known.get(place)
        if node is None:
            if len(self._where) >= MAX_NODES:
                raise ValueError(f"it has more than {MAX_NODES} paths")
            node = self._known[place] = len(self._where)
            self._where.append(place)
            for column in self.columns.values():
                column.append(0)
        return node

    def build(self, source_format: str) -> Recording:
        """Return the recording of all collected paths."""
        ids: list[int] = []
        for node, (thread, parent, function) in enumerate(self._where):
            columns = {name: column[node] for name, column in self.columns.items()}
            ids.append(self._builder.node(-1 if parent == ROOT else ids[parent], thread, function, **columns))
        return self._builder.build({"source_format": source_format})
