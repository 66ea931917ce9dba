"""Streaming merge of objects with their call paths, for many recordings.

A row of objects that refers to a node of the call tree belongs to one recording alone, as the node does. So do its
lifetimes, survivors and holders. A merge sorts objects by node first, so these rows follow one another in the order of
the nodes, and each recording is read once to write them.

Rows without a node come before all others. They are the same in any recording and are summed
(seismo.model.streaming_merge).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from seismo.model.columns import Texts, ints, rows_of, taken, translated, with_rows
from seismo.model.objects import merge as object_tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seismo.model.columns import Columns, Tables
    from seismo.model.recording import Recording

ELSEWHERE = -2  # marks a node that is written with another process


class Unsorted(Exception):  # noqa: N818  no error of the user's
    """Raised for a damaged recording whose row order depends on all its rows."""


def without_paths(tables: Tables) -> Tables:
    """Return the tables with only those rows about objects that do not refer to nodes, and without calls and marks."""
    kept = [row for row, node in enumerate(tables["objects"]["node"].tolist()) if node < 0]
    return with_rows(tables, {"objects": kept, "object_spans": (), "marks": ()})


class Objects:
    """The rows of many recordings that are not summed. All are added, then `begin`, then read in the order of nodes."""

    def __init__(self) -> None:
        self._marks: dict[int, list[list[Any]]] = {}  # by recording
        self._types: dict[tuple[Any, ...], int] = {}  # ids by key
        self._summed: dict[tuple[int, int, int], int] = {}  # ids of summed objects by type, function and line
        self._next: dict[str, int] = {}  # the next free id of each table

    def add(self, number: int, part: Recording) -> bool:
        """Add a recording. Return True if `rows` would return any of its rows. Raise Unsorted if it is damaged."""
        raw = part._raw
        processes = range(len(raw["processes"]["id"]))
        spans = raw["object_spans"]["process"].tolist()
        if any(process not in processes for process in (*spans, *raw["marks"]["process"].tolist())):
            raise Unsorted
        holders, above = (raw["holders"][name].tolist() for name in ("object", "parent"))
        if any(up >= 0 and holders[up] != object_ for object_, up in zip(holders, above, strict=True)):
            raise Unsorted
        nodes, threads = raw["objects"]["node"].tolist(), raw["nodes"]["thread"].tolist()
        of_threads = raw["threads"]["process"].tolist()
        survivors = (raw["object_survivors"][name].tolist() for name in ("span", "object"))
        for span, object_ in zip(*survivors, strict=True):
            if nodes[object_] >= 0 and of_threads[threads[nodes[object_]]] != spans[span]:
                raise Unsorted
        self._marks[number] = [list(row) for row in rows_of(part, "marks")]
        return bool(spans) or any(node >= 0 for node in nodes)

    def begin(self, summed: Recording) -> None:
        """Set the ids of the summed rows, which precede all others."""
        keys = map(object_tables.type_key, rows_of(summed, "types"))
        self._types = {key: number for number, key in enumerate(keys)}
        groups = _groups(summed._raw["objects"])
        self._summed = {group: number for number, group in enumerate(groups)}
        self._next = {kind: len(summed._raw[kind]["id"]) for kind in object_tables.KINDS}

    def rows(self, part: Recording, maps: object_tables.Maps, texts: Texts, run: set[int]) -> Tables:
        """Return a recording's rows that belong to the processes in `run` (new ids), with their ids.

        `maps` has the recording's new ids, with ELSEWHERE for nodes of other processes. `texts` collects the strings.
        """
        tables = object_tables.merged([part], [maps], texts)
        types = [self._types[key] for key in sorted({object_tables.type_key(row) for row in rows_of(part, "types")})]
        nodes = tables["objects"]["node"].tolist()
        first = bisect_left(nodes, 0)
        groups = [(types[type_], function, line) for type_, function, line in _groups(tables["objects"])[:first]]
        ids = [self._summed[group] if node == -1 else -1 for group, node in zip(groups, nodes, strict=False)]
        ids += range(self._next["objects"], self._next["objects"] + len(nodes) - first)
        result = {"objects": self._numbered("objects", tables, range(first, len(nodes)), type=types)}
        for kind in ("lifetimes", "holders"):
            kept = [row for row, object_ in enumerate(tables[kind]["object"].tolist()) if object_ >= first]
            moved = {row: number for number, row in enumerate(kept, self._next[kind])}
            parents = {"parent": moved} if kind == "holders" else {}
            result[kind] = self._numbered(kind, tables, kept, object=ids, **parents)
        kept = [span for span, process in enumerate(tables["object_spans"]["process"].tolist()) if process in run]
        spans = {span: number for number, span in enumerate(kept, self._next["object_spans"])}
        result["object_spans"] = self._numbered("object_spans", tables, kept)
        kept = [row for row, span in enumerate(tables["object_survivors"]["span"].tolist()) if span in spans]
        result["object_survivors"] = self._numbered("object_survivors", tables, kept, span=spans, object=ids)
        return result

    def _numbered(self, kind: str, tables: Tables, kept: Sequence[int], **maps: Any) -> Columns:
        """Return these rows of a table with the next ids, and with translated references."""
        begin = self._next[kind]
        self._next[kind] += len(kept)
        table = translated(taken(tables[kind], kept), **maps)
        return {**table, "id": ints(range(begin, self._next[kind]))}

    def marks(self, processes: Sequence[Mapping[int, int]], texts: Texts) -> Columns:
        """Return the marks of all recordings. `processes` has the new process ids of each recording."""
        marks = [[*row[:-1], processes[number][row[-1]]] for number, rows in self._marks.items() for row in rows]
        return object_tables.sorted_marks(marks, texts)


def _groups(objects: Columns) -> list[tuple[int, int, int]]:
    return list(zip(*(objects[name].tolist() for name in ("type", "function", "line")), strict=True))
