"""Merging of the tables about objects, and renumbering of their nodes.

A merge unites rows with equal keys: types of the same name and shape, objects of the same type, line and node, holders
with the same path. Their numbers are summed, with two exceptions. The sum of peaks is an upper bound of the peak, so
the row gets the flag AT_MOST. Births and deaths over time are a step function in each process; the merged one is their
sum at every time in any of them. Calls and marks remain separate rows, each under its process. The result depends on
contents alone, so any number of recordings may be merged in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from operator import add, sub
from typing import TYPE_CHECKING, Any

from seismo.model.columns import clamped, columns_of, ints, merged_rows, names_of, renumbered, rows_of, translated
from seismo.model.enums import OBJECT_AT_MOST, TYPE_AT_MOST, TYPE_ESTIMATED
from seismo.model.recording import Recording
from seismo.model.table import Strings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seismo.model.columns import Columns, Tables, Texts

KINDS = ("types", "objects", "lifetimes", "object_times", "object_spans", "object_survivors", "holders", "marks")
OF_FUNCTIONS = ("objects", "object_spans")  # tables with a column `function`, which is -1 for no function
# The key of an object, and the order; and of its lifetimes.
_OF_OBJECTS, _OF_LIFETIMES = ("node", "type", "function", "line"), ("object", "unit", "bucket")


# ---- merge ----


def merged(
    parts: Sequence[Recording],
    functions: Sequence[Sequence[int]],
    nodes: Sequence[Sequence[int]],
    processes: Sequence[Mapping[int, int]],
    texts: Texts,
) -> Tables:
    """Return the merged tables. Each part has new ids of functions, nodes and processes; `texts` collects strings."""
    tables: Tables = {}
    names = ("module", "name", "size", "item_size")
    tables["types"], types = merged_rows("types", names, parts, texts, flag=TYPE_AT_MOST, key_of=type_key)
    tables["objects"], objects = merged_rows(
        "objects", _OF_OBJECTS, parts, flag=OBJECT_AT_MOST, type=types, function=functions, node=nodes
    )
    tables["lifetimes"], _ = merged_rows("lifetimes", _OF_LIFETIMES, parts, object=objects)
    tables["object_times"] = _merged_times(parts)
    tables["object_spans"], spans = _sorted_rows(
        "object_spans", ("process", "first"), parts, texts, function=functions, process=processes
    )
    tables["object_survivors"], _ = merged_rows(
        "object_survivors", ("span", "object"), parts, span=spans, object=objects
    )
    tables["holders"] = _merged_holders(parts, objects, texts)
    tables["marks"], _ = _sorted_rows("marks", ("time_ns", "process", "born"), parts, texts, process=processes)
    return tables


def type_key(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the key of a type: its name and its shape."""
    module, name, flags, size, item_size = row[:5]
    return (module, name, flags & ~(TYPE_ESTIMATED | TYPE_AT_MOST), size, item_size)


def _merged_times(parts: Sequence[Recording]) -> Columns:
    """Return the sum of all step functions."""
    steps: dict[int, tuple[int, ...]] = {}  # time -> births and deaths since the previous time
    for part in parts:
        for (_, *before), (time, *now) in pairwise([(0, 0, 0), *sorted(rows_of(part, "object_times"))]):
            steps[time] = tuple(map(add, steps.get(time, (0, 0)), map(sub, now, before)))
    times = sorted(steps)
    sums = accumulate((steps[time] for time in times), lambda total, step: tuple(map(add, total, step)))
    return columns_of("object_times", [(time, *map(clamped, total)) for time, total in zip(times, sums, strict=True)])


def _sorted_rows(
    kind: str, by: Sequence[str], parts: Sequence[Recording], texts: Texts, **maps: Sequence[Any]
) -> tuple[Columns, list[list[int]]]:
    """Return all rows of all parts, sorted by these columns and then by the others, and the new id of each row.

    `maps` has for each part the new ids to which a column refers.
    """
    at = [names_of(kind).index(name) for name in by]
    rows: list[list[Any]] = []
    ends = [0]
    for number, part in enumerate(parts):
        ids = {name: of[number] for name, of in maps.items()}
        rows += renumbered(kind, rows_of(part, kind), **ids)
        ends.append(len(rows))
    order = sorted(range(len(rows)), key=lambda row: ([rows[row][i] for i in at], rows[row]))
    new = sorted(range(len(order)), key=order.__getitem__)  # the inverse permutation
    return columns_of(kind, [rows[row] for row in order], texts), [new[start:end] for start, end in pairwise(ends)]


@dataclass(slots=True)
class _Holder:
    """A holder in several recordings, and its own holders."""

    count: int = 0
    held_by: dict[tuple[Any, ...], _Holder] = field(default_factory=dict)  # by object, holder, by, flags


def _merged_holders(parts: Sequence[Recording], objects: Sequence[Sequence[int]], texts: Texts) -> Columns:
    """Return the union of all holder trees; each object's `asked` is the sum over recordings."""
    top = _Holder()
    asked: dict[int, int] = {}
    for part, of_objects in zip(parts, objects, strict=True):
        asked_here: dict[int, int] = {}
        placed: list[_Holder] = []
        for object_, parent, flags, count, asked_, holder, by in renumbered(
            "holders", rows_of(part, "holders"), object=of_objects
        ):
            above = placed[parent] if parent >= 0 else top
            mine = above.held_by.setdefault((object_, holder, by, flags), _Holder())
            mine.count = clamped(mine.count + count)
            asked_here[object_] = max(asked_, asked_here.get(object_, 0))
            placed.append(mine)
        for object_, count in asked_here.items():
            asked[object_] = clamped(asked.get(object_, 0) + count)
    rows: list[tuple[Any, ...]] = []
    waiting = [(-1, key, top.held_by[key]) for key in sorted(top.held_by, reverse=True)]
    while waiting:
        parent, (object_, holder, by, flags), mine = waiting.pop()
        number = len(rows)
        rows.append((object_, parent, flags, mine.count, asked[object_], holder, by))
        waiting.extend((number, key, mine.held_by[key]) for key in sorted(mine.held_by, reverse=True))
    return columns_of("holders", rows, texts)


# ---- the same objects on other nodes ----


def with_nodes(tables: Tables, nodes: Sequence[int]) -> Tables:
    """Return the tables about objects with other node ids; -1 stays. Objects whose keys become equal are united."""
    part = [Recording(tables, Strings.of([""]), {})]
    table, (objects,) = merged_rows("objects", _OF_OBJECTS, part, flag=OBJECT_AT_MOST, node=[nodes])
    lifetimes, _ = merged_rows("lifetimes", _OF_LIFETIMES, part, object=[objects])
    others = {kind: translated(tables[kind], object=objects) for kind in ("object_survivors", "holders")}
    return {"objects": table, "lifetimes": lifetimes, **others}


def of_one_process(tables: Tables) -> Tables:
    """Return the tables about objects with all rows in the first process."""
    result = {kind: tables[kind] for kind in KINDS}
    for kind in ("object_spans", "marks"):
        result[kind] = {**tables[kind], "process": ints([0] * len(tables[kind]["id"]))}
    return result
