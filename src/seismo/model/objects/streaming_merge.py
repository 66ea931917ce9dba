"""Streaming merge of objects with their call paths, for many recordings.

A row of objects that refers to a node of the call tree belongs to one recording alone, as the node does. So do its
lifetimes, survivors and holders. Only the order involves other recordings: by type, function and line, which any
recording may have, and then by node. So a first pass counts the rows of each recording by type, function and line. The
recordings are then read again in the order of their nodes, and the counts determine the id of each row.

Rows without a node are the same in any recording and are summed (seismo.model.streaming_merge).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.model.columns import Texts, columns_of, empty, ints, names_of, rows_of, taken
from seismo.model.objects import merge as object_tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seismo.model.columns import Columns, Tables
    from seismo.model.recording import Recording

_Group = tuple[int, int, int]  # type, function, line
_OF_OBJECTS = ("objects", "lifetimes", "holders")
ELSEWHERE = -2  # marks a node that is written with another process


class Unsorted(Exception):  # noqa: N818  no error of the user's
    """Raised for a damaged recording whose row order depends on all its rows."""


def without_paths(tables: Tables) -> Tables:
    """Return the tables about objects with only the rows that do not refer to nodes."""
    ids = iter(range(len(tables["objects"]["id"])))
    nodes = tables["objects"]["node"].tolist()
    numbers = [-1 if node >= 0 else next(ids) for node in nodes]
    kept = [row for row, number in enumerate(numbers) if number >= 0]
    result = {kind: tables[kind] for kind in object_tables.KINDS}
    result |= object_tables.with_objects(tables, numbers)
    result["objects"] = taken(tables["objects"], kept)
    for kind in ("object_spans", "object_survivors", "marks"):
        result[kind] = empty(kind)
    return result


class Objects:
    """The rows of many recordings that are not summed. All are added, then placed, then read in the order of nodes."""

    def __init__(self) -> None:
        self._types: dict[tuple[Any, ...], int] = {}
        self._counts: dict[_Group, list[int]] = {}  # numbers of rows, by table of _OF_OBJECTS
        self._spans: dict[tuple[int, int], list[int]] = {}  # (recording, process) -> numbers of spans and survivors
        self._marks: list[list[Any]] = []
        self._given: dict[int, list[list[Any]]] = {}
        self._next: dict[_Group, list[int]] = {}  # the next free id of each table
        self._summed: dict[_Group, int] = {}
        self._next_span: dict[int, list[int]] = {}

    def add(self, number: int, part: Recording, functions: Sequence[int]) -> bool:
        """Count a recording's rows. Return True if `rows` would return any of them.

        `functions` has a number for each function. Raise Unsorted if the recording is damaged.
        """
        raw = part._raw
        processes = range(len(raw["processes"]["id"]))
        if any(
            process not in processes for kind in ("object_spans", "marks") for process in raw[kind]["process"].tolist()
        ):
            raise Unsorted
        maps = object_tables.Maps(functions, range(len(raw["nodes"]["id"])), {i: i for i in processes})
        tables = _of_one(part, maps)
        types = self._types_of(part)
        places = zip(*(tables["objects"][name].tolist() for name in ("type", "function", "line", "node")), strict=True)
        groups = [((types[type_], function, line), node) for type_, function, line, node in places]
        of_kinds = (range(len(groups)), *(tables[kind]["object"].tolist() for kind in ("lifetimes", "holders")))
        for place, rows in enumerate(of_kinds):
            for object_ in rows:
                group, node = groups[object_]
                if node >= 0:
                    self._counts.setdefault(group, [0, 0, 0])[place] += 1
        holders, above = (tables["holders"][name].tolist() for name in ("object", "parent"))
        if any(up >= 0 and holders[up] != object_ for object_, up in zip(holders, above, strict=True)):
            raise Unsorted
        spans = tables["object_spans"]["process"].tolist()
        for process in spans:
            self._spans.setdefault((number, process), [0, 0])[0] += 1
        of_threads = raw["threads"]["process"].tolist()
        threads = raw["nodes"]["thread"].tolist()
        survivors = zip(*(tables["object_survivors"][name].tolist() for name in ("span", "object")), strict=True)
        for span, object_ in survivors:
            node = groups[object_][1]
            if node >= 0 and of_threads[threads[node]] != spans[span]:
                raise Unsorted
            self._spans[number, spans[span]][1] += 1
        self._given[number] = [list(row) for row in rows_of(part, "marks")]
        return bool(spans) or any(node >= 0 for _, node in groups)

    def _types_of(self, part: Recording) -> list[int]:
        """Return a number for each type of a recording, in the order of its types after a merge."""
        return [self._types.setdefault(key, len(self._types)) for key in _type_keys(part)]

    def place(self, summed: Recording, order: Sequence[int], processes: Sequence[Mapping[int, int]]) -> None:
        """Assign ids to all rows, after all recordings were added.

        `summed` has the summed rows, `order` the final id of each function number, and `processes` the new process ids
        of each recording.
        """
        types = self._final_types(summed)
        counts = {
            (types[type_], order[function] if function >= 0 else -1, line): rows
            for (type_, function, line), rows in self._counts.items()
        }
        of_sums: dict[_Group, list[int]] = {}
        groups = _groups(summed._raw["objects"])
        for place, rows in enumerate((range(len(groups)), *(summed._raw[kind]["object"] for kind in _OF_OBJECTS[1:]))):
            for object_ in rows:
                of_sums.setdefault(groups[object_], [0, 0, 0])[place] += 1
        at = [0, 0, 0]
        for group in sorted(counts.keys() | of_sums.keys()):
            self._next[group] = at.copy()
            for its in (counts, of_sums):
                at = [a + more for a, more in zip(at, its.get(group, (0, 0, 0)), strict=True)]
        by_process = {processes[number][process]: sizes for (number, process), sizes in self._spans.items()}
        spans = survivors = 0
        for process in sorted(by_process):
            self._next_span[process] = [spans, survivors]
            spans, survivors = spans + by_process[process][0], survivors + by_process[process][1]
        for number, rows_of_part in self._given.items():
            for row in rows_of_part:
                row[-1] = processes[number][row[-1]]
                self._marks.append(row)
        self._given.clear()

    def _final_types(self, summed: Recording) -> list[int]:
        final = types_of(summed)
        return [final[key] for key in self._types]

    def summed_rows(self, summed: Recording) -> Tables:
        """Return the summed rows with their ids; they precede all other rows of the same type, function and line."""
        raw = summed._raw
        groups = _groups(raw["objects"])
        result: Tables = {}
        ids = [self._next[group][0] for group in groups]
        result["objects"] = {**raw["objects"], "id": ints(ids)}
        for place, kind in enumerate(_OF_OBJECTS[1:], 1):
            result[kind] = self._at_places(raw[kind], groups, ids, place)
        for group, number in zip(groups, ids, strict=True):
            self._summed[group] = number
            self._next[group][0] += 1
        return result

    def _at_places(self, table: Columns, groups: Sequence[_Group | None], ids: Sequence[int], place: int) -> Columns:
        """Return the rows whose objects have a group, with new ids and object ids."""
        of = table["object"].tolist()
        kept = [row for row, object_ in enumerate(of) if groups[object_] is not None]
        new: dict[int, int] = {-1: -1}
        for row in kept:
            group = groups[of[row]]
            assert group is not None
            following = self._next[group]
            new[row] = following[place]
            following[place] += 1
        result = taken(table, kept)
        result["id"] = ints(new[row] for row in kept)
        result["object"] = ints(ids[of[row]] for row in kept)
        if "parent" in result:
            result["parent"] = ints(map(new.__getitem__, result["parent"].tolist()))
        return result

    def rows(
        self,
        part: Recording,
        maps: object_tables.Maps,
        types: Mapping[tuple[Any, ...], int],
        texts: Texts,
        run: set[int],
    ) -> Tables:
        """Return a recording's rows that belong to the processes in `run` (new ids), with their ids.

        `maps` has the recording's new ids, with ELSEWHERE for nodes of other processes. `types` has the new ids of all
        types. `texts` collects the strings.
        """
        tables = _of_one(part, maps, texts)
        final = [types[key] for key in _type_keys(part)]
        groups: list[_Group | None] = []
        ids: list[int] = []
        objects = tables["objects"]
        for (type_, function, line), node in zip(_groups(objects), objects["node"].tolist(), strict=True):
            group = (final[type_], function, line)
            groups.append(group if node >= 0 else None)
            if node >= 0:
                ids.append(self._next[group][0])
                self._next[group][0] += 1
            else:
                ids.append(self._summed[group] if node == -1 else -1)
        kept = [row for row, group in enumerate(groups) if group is not None]
        result: Tables = {"objects": taken(objects, kept)}
        result["objects"]["id"] = ints(ids[row] for row in kept)
        result["objects"]["type"] = ints(final[objects["type"][row]] for row in kept)
        for place, kind in enumerate(_OF_OBJECTS[1:], 1):
            result[kind] = self._at_places(tables[kind], groups, ids, place)
        return result | self._calls(tables, ids, run)

    def _calls(self, tables: Tables, ids: Sequence[int], run: set[int]) -> Tables:
        """Return the calls of the run's processes and their survivors."""
        processes = tables["object_spans"]["process"].tolist()
        spans: dict[int, int] = {}
        for span, process in enumerate(processes):
            if process in run:
                spans[span] = self._next_span[process][0]
                self._next_span[process][0] += 1
        of = tables["object_survivors"]["span"].tolist()
        kept = [row for row, span in enumerate(of) if span in spans]
        survivors = taken(tables["object_survivors"], kept)
        places = []
        for row in kept:
            following = self._next_span[processes[of[row]]]
            places.append(following[1])
            following[1] += 1
        survivors["id"] = ints(places)
        survivors["span"] = ints(spans[of[row]] for row in kept)
        survivors["object"] = ints(map(ids.__getitem__, survivors["object"].tolist()))
        calls = taken(tables["object_spans"], list(spans))
        calls["id"] = ints(spans.values())
        return {"object_spans": calls, "object_survivors": survivors}

    def marks(self, texts: Texts) -> Columns:
        """Return the marks of all recordings, after `place`."""
        at = [names_of("marks").index(name) for name in ("time_ns", "process", "born", "name")]
        return columns_of("marks", sorted(self._marks, key=lambda row: [row[i] for i in at]), texts)


def types_of(summed: Recording) -> dict[tuple[Any, ...], int]:
    """Return the ids of types by their keys."""
    return {object_tables.type_key(row): number for number, row in enumerate(rows_of(summed, "types"))}


def _of_one(part: Recording, maps: object_tables.Maps, texts: Texts | None = None) -> Tables:
    """Return a recording's tables as a merge of it alone would return them."""
    return object_tables.merged([part], [maps], texts or Texts())


def _type_keys(part: Recording) -> list[tuple[Any, ...]]:
    """Return the distinct keys of a recording's types, in the order of its types after a merge."""
    return sorted({object_tables.type_key(row) for row in rows_of(part, "types")})


def _groups(objects: Columns) -> list[_Group]:
    return list(zip(*(objects[name].tolist() for name in ("type", "function", "line")), strict=True))
