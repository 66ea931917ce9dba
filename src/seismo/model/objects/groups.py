"""Objects of a program in groups: by type, by creating line, by call path.

    for group in by_type_and_line(recording):
        print(group.type, group.file, group.line, group.born, group.live)

A recorder keeps a row for each type, creating line and call path, and a group is a sum of such rows. Births, deaths and
survivors are plain sums. Three numbers are not:

Peak. Each row, and each type, has its largest number of simultaneously live objects. The rows of a group may have
peaked at different times, so the sum of their peaks is an upper bound, marked by `peak_at_most`. A group by type has
the type's own peak.

Bytes. The recorder never calls `__sizeof__`, which may run arbitrary code. Every object of a type has `size` bytes. The
number of items in an object of variable size is only certain when it dies. So the bytes of dead objects are known, and
those of live objects are a lower bound if the type has items (`live_at_least`). For types that keep memory elsewhere,
such as lists and dicts, all bytes are lower bounds (`at_least` as well).

Lifetimes. Deaths are counted in buckets that grow by a factor of four, measured in births in the meantime and in time.
A median is therefore a range.

Types of the same name form one group, even if they are different classes: a class that a function creates in each call
is one class to the reader.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from seismo.model.enums import (
    OBJECT_AT_MOST,
    OBJECT_ESTIMATED,
    TYPE_AT_MOST,
    TYPE_ESTIMATED,
    TYPE_OUTSIDE,
    TYPE_VARIABLE,
)
from seismo.model.objects.rows import IN_BIRTHS, IN_NS, ObjectRow, TypeRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from seismo.model.recording import Recording

LAST_BUCKET = 32  # 2^62 to 2^64 - 1
SHORT_BIRTHS = 4  # the last bucket of a short life: fewer than 256 births in the meantime
OF_SPANS = ("span_born", "span_died", "span_live")
SHORT_NS = 10  # the same in time: under 1.05 ms


def bucket_range(bucket: int) -> tuple[int, int]:
    """Return the least and the greatest lifetime in a bucket."""
    return (4 ** (bucket - 1), 4**bucket - 1) if bucket else (0, 0)


@dataclass(slots=True)
class ObjectGroup:
    """Objects with a common type, line or call path.

    `type` is empty in a group by line or of all; `qualname`, `file` and `line` are empty in a group by type. `function`
    (an id) is -1 in these cases, and for objects that no Python function created. `path` has ids of functions, the root
    first, in groups by path only. `rows` has ids in recording.objects, and `summed` is the number of rows that were
    added up. `approximate`: died, died_by_gc, live, peak and lifetimes are estimates (in a group by type, died_by_gc
    and lifetimes). `in_births` and `in_ns` count deaths by bucket (see `bucket_range`). `span_born` were born in a
    span; of those, `span_died` died inside the same one and `span_live` were alive at the end.
    """

    type: str = ""
    module: str = ""
    qualname: str = ""
    file: str = ""
    line: int = 0
    function: int = -1
    path: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    summed: int = 0
    born: int = 0
    died: int = 0
    died_by_gc: int = 0
    live: int = 0
    peak: int = 0
    peak_at_most: bool = False
    unseen: int = 0
    bytes: int = 0
    at_least: bool = False
    bytes_live: int = 0
    live_at_least: bool = False
    approximate: bool = False
    in_births: list[int] = field(default_factory=list)
    in_ns: list[int] = field(default_factory=list)
    span_born: int = 0
    span_died: int = 0
    span_live: int = 0

    @property
    def short(self) -> int:
        """The number of objects that lived for fewer than 256 births or less than about 1 ms."""
        return max(sum(self.in_births[: SHORT_BIRTHS + 1]), sum(self.in_ns[: SHORT_NS + 1]))

    @property
    def short_share(self) -> float:
        """The share of short-lived objects among those born, 0 to 1."""
        return min(1.0, self.short / self.born) if self.born else 0.0

    def add(self, row: ObjectRow | TypeRow, of: TypeRow, estimated: int, at_most: int) -> None:
        """Add what rows of types and of objects have in common. `of`: the row's type. `estimated`, `at_most`: flags."""
        size = sizes(row, of)
        self.add_counts(row, ("born", "died", "died_by_gc", "live", "peak", "unseen"))
        self.bytes += size.bytes
        self.at_least |= size.at_least
        self.bytes_live += size.bytes_live
        self.live_at_least |= size.live_at_least
        self.approximate |= bool(row.flags & estimated)
        self.peak_at_most |= bool(row.flags & at_most)
        self.summed += 1

    def add_counts(self, row: ObjectRow | TypeRow, names: Iterable[str]) -> None:
        """Add these columns of a row."""
        for name in names:
            setattr(self, name, getattr(self, name) + getattr(row, name))


class Sizes(NamedTuple):
    """Bytes of the objects born and of those alive; `at_least` and `live_at_least` mark lower bounds."""

    bytes: int
    at_least: bool
    bytes_live: int
    live_at_least: bool


def sizes(row: ObjectRow | TypeRow, of: TypeRow) -> Sizes:
    """Return the bytes of a row's objects. `of` is the row's type, or the row itself."""
    vague = bool(of.flags & (TYPE_VARIABLE | TYPE_OUTSIDE))
    at_least = row.born > 0 and vague and (bool(of.flags & TYPE_OUTSIDE) or row.live + row.unseen > 0)
    return Sizes(row.born * of.size + row.item_bytes, at_least, row.live * of.size, vague and row.live > 0)


def by_type(recording: Recording) -> list[ObjectGroup]:
    """Return the objects of each type, most births first. Unlike the other groups, it covers objects without a line."""
    groups: dict[str, ObjectGroup] = {}
    types = list(recording.types)
    for row in types:
        group = groups.setdefault(row.full_name, ObjectGroup(row.full_name))
        group.add(row, row, TYPE_ESTIMATED, TYPE_AT_MOST)
    of = []
    for entry in recording.objects:
        group = groups[types[entry.type].full_name]
        group.add_counts(entry, OF_SPANS)
        group.approximate |= bool(entry.flags & OBJECT_ESTIMATED)
        of.append(group)
    return _finished(recording, groups.values(), of)


def by_line(recording: Recording) -> list[ObjectGroup]:
    """Return the objects of all types by creating line, most births first. Empty if only types were recorded."""
    return _grouped(recording, with_type=False)


def by_type_and_line(recording: Recording) -> list[ObjectGroup]:
    """Return the objects by type and creating line, most births first. Empty if only types were recorded."""
    return _grouped(recording)


def by_path(recording: Recording) -> list[ObjectGroup]:
    """Return the objects by type, creating line and call path (or function) in any thread, most births first."""
    return _grouped(recording, path_of=_paths(recording))


def totals(recording: Recording) -> ObjectGroup:
    """Return all objects of the recording as one group; the lifetimes are left out."""
    total = ObjectGroup()
    for row in recording.types:
        total.add(row, row, TYPE_ESTIMATED, TYPE_AT_MOST)
    return total


def types_in(recording: Recording) -> int:
    """Return the number of types; those of one name are one."""
    return len({row.full_name for row in recording.types})


def _grouped(
    recording: Recording, with_type: bool = True, path_of: Callable[[ObjectRow], tuple[int, ...]] | None = None
) -> list[ObjectGroup]:
    types = list(recording.types)
    type_names = [row.full_name if with_type else "" for row in types]
    raw = recording._table("functions")
    places = list(zip(*(raw[name].strings() for name in ("module", "qualname", "file")), strict=True))
    groups: dict[tuple[str, int, int, tuple[int, ...]], ObjectGroup] = {}
    of = []
    for row in recording.objects:
        key = type_names[row.type], row.line, row.function, path_of(row) if path_of else ()
        group = groups.get(key)
        if group is None:
            module, qualname, file = places[row.function] if row.function >= 0 else ("", "", "")
            group = groups[key] = ObjectGroup(key[0], module, qualname, file, *key[1:])
        group.add(row, types[row.type], OBJECT_ESTIMATED, OBJECT_AT_MOST)
        group.add_counts(row, OF_SPANS)
        of.append(group)
    return _finished(recording, groups.values(), of)


def _finished(recording: Recording, groups: Iterable[ObjectGroup], of: Sequence[ObjectGroup]) -> list[ObjectGroup]:
    """Add the lifetimes and return the groups in order. `of` has the group of each row of recording.objects."""
    rows: dict[int, list[int]] = defaultdict(list)
    for number, group in enumerate(of):
        rows[id(group)].append(number)
    for row in recording.lifetimes:
        if row.unit <= IN_NS:
            counts = of[row.object].in_births if row.unit == IN_BIRTHS else of[row.object].in_ns
            bucket = min(row.bucket, LAST_BUCKET)
            counts.extend([0] * (bucket + 1 - len(counts)))
            counts[bucket] += row.count
    for group in groups:
        group.rows = tuple(rows.get(id(group), ()))
        if group.summed > 1:
            group.peak, group.peak_at_most = min(group.peak, group.born), True
    return sorted(groups, key=lambda group: (-group.born, group.type, group.file, group.line, group.path))


def _paths(recording: Recording) -> Callable[[ObjectRow], tuple[int, ...]]:
    """Return a function that returns the call path of a row's objects, as ids of functions, the root first.

    Without a recorded one, the path is the creating function alone, if any.
    """
    nodes = recording._raw["nodes"]
    parents, functions = nodes["parent"].tolist(), nodes["function"].tolist()

    @functools.cache
    def path_of(node: int) -> tuple[int, ...]:
        found = []
        while node >= 0:
            found.append(functions[node])
            node = parents[node]
        return tuple(reversed(found))

    return lambda row: path_of(row.node) if row.node >= 0 else (row.function,) if row.function >= 0 else ()
