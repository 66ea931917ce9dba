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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.model.columns import rows_of
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
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from seismo.model.recording import Recording

LAST_BUCKET = 32  # 2^62 to 2^64 - 1
SHORT_BIRTHS = 4  # the last bucket of a short life: fewer than 256 births in the meantime
SHORT_NS = 10  # the same in time: under 1.05 ms


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """A histogram of lifetimes. Bucket 0 holds 0, bucket b holds 4^(b-1) to 4^b - 1."""

    buckets: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of objects whose lifetime is known."""
        return sum(self.buckets)

    def up_to(self, bucket: int) -> int:
        """Return the number of objects with lifetimes up to and including the bucket."""
        return sum(self.buckets[: bucket + 1])


NO_LIFETIMES = Lifetimes()


def bucket_range(bucket: int) -> tuple[int, int]:
    """Return the least and the greatest value of a bucket."""
    return (4 ** (bucket - 1), 4**bucket - 1) if bucket else (0, 0)


@dataclass(slots=True)  # frozen would double the time to create one, and there may be very many
class ObjectGroup:
    """Objects with a common type, line or call path.

    `type` is empty in a group by line or of all; `qualname`, `file` and `line` are empty in a group by type. `function`
    (an id) is -1 in these cases, and for objects that no Python function created. `path` has ids of functions, the root
    first, in groups by path only. `rows` has ids in recording.objects. `short` counts objects that lived for fewer than
    256 births or less than about 1 ms. `approximate`: died, died_by_gc, live, peak and lifetimes are estimates (in a
    group by type, died_by_gc and lifetimes). `span_born` were born in a span; of those, `span_died` died inside the
    same one and `span_live` were alive at the end.
    """

    type: str = ""
    module: str = ""
    qualname: str = ""
    file: str = ""
    line: int = 0
    function: int = -1
    path: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
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
    short: int = 0
    approximate: bool = False
    in_births: Lifetimes = NO_LIFETIMES
    in_ns: Lifetimes = NO_LIFETIMES
    span_born: int = 0
    span_died: int = 0
    span_live: int = 0

    @property
    def short_share(self) -> float:
        """The share of short-lived objects among those born, 0 to 1."""
        return min(1.0, self.short / self.born) if self.born else 0.0


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


class _Sum:
    """A group under construction, with what is only known in full at the end."""

    __slots__ = ("group", "in_births", "in_ns", "rows", "summed")

    def __init__(self, **place: Any) -> None:
        self.group = ObjectGroup(**place)
        self.rows: list[int] = []
        self.in_births: dict[int, int] = {}
        self.in_ns: dict[int, int] = {}
        self.summed = 0

    def add(self, row: ObjectRow | TypeRow, of: TypeRow, estimated: int, at_most: int) -> None:
        """Add what rows of types and of objects have in common. `of`: the row's type. `estimated`, `at_most`: flags."""
        group, size = self.group, sizes(row, of)
        group.born += row.born
        group.died += row.died
        group.died_by_gc += row.died_by_gc
        group.live += row.live
        group.peak += row.peak
        group.unseen += row.unseen
        group.bytes += size.bytes
        group.at_least |= size.at_least
        group.bytes_live += size.bytes_live
        group.live_at_least |= size.live_at_least
        group.approximate |= bool(row.flags & estimated)
        group.peak_at_most |= bool(row.flags & at_most)
        self.summed += 1

    def add_details(self, row: ObjectRow) -> None:
        """Add the counts that only rows of objects have."""
        self.rows.append(row.id)
        self.group.span_born += row.span_born
        self.group.span_died += row.span_died
        self.group.span_live += row.span_live

    def finished(self) -> ObjectGroup:
        group = self.group
        group.rows = tuple(self.rows)
        if self.summed > 1:
            group.peak, group.peak_at_most = min(group.peak, group.born), True
        group.in_births, group.in_ns = _lifetimes(self.in_births), _lifetimes(self.in_ns)
        group.short = max(group.in_births.up_to(SHORT_BIRTHS), group.in_ns.up_to(SHORT_NS))
        return group


def _lifetimes(counts: dict[int, int]) -> Lifetimes:
    if not counts:
        return NO_LIFETIMES
    buckets = [0] * (max(counts) + 1)
    for bucket, count in counts.items():
        buckets[bucket] = count
    return Lifetimes(tuple(buckets))


class _Places:
    """The places where objects were created, as names."""

    def __init__(self, recording: Recording) -> None:
        names = ("module", "qualname", "file")
        self.functions = [dict(zip(names, row[1:4], strict=True)) for row in rows_of(recording, "functions")]
        self.names = [row.full_name for row in recording.types]

    def of(self, row: ObjectRow, with_type: bool, path: tuple[int, ...] = ()) -> dict[str, Any]:
        names = self.functions[row.function] if row.function >= 0 else {}
        type_ = self.names[row.type] if with_type else ""
        return {**names, "type": type_, "line": row.line, "function": row.function, "path": path}


def by_type(recording: Recording) -> list[ObjectGroup]:
    """Return the objects of each type, most births first. Unlike the other groups, it covers objects without a line."""
    sums: dict[str, _Sum] = {}
    types = list(recording.types)
    for row in types:
        name = row.full_name
        total = sums.get(name) or sums.setdefault(name, _Sum(type=name))
        total.add(row, row, TYPE_ESTIMATED, TYPE_AT_MOST)
    of = []
    for entry in recording.objects:
        total = sums[types[entry.type].full_name]
        total.add_details(entry)
        total.group.approximate |= bool(entry.flags & OBJECT_ESTIMATED)
        of.append(total)
    _add_lifetimes(recording, of)
    return _groups(sums)


def by_line(recording: Recording) -> list[ObjectGroup]:
    """Return the objects of all types by creating line, most births first. Empty if only types were recorded."""
    places = _Places(recording)
    return _grouped(recording, lambda row: (row.function, row.line), lambda row: places.of(row, with_type=False))


def by_type_and_line(recording: Recording) -> list[ObjectGroup]:
    """Return the objects by type and creating line, most births first. Empty if only types were recorded."""
    places = _Places(recording)
    names = places.names
    return _grouped(
        recording, lambda row: (names[row.type], row.function, row.line), lambda row: places.of(row, with_type=True)
    )


def by_path(recording: Recording) -> list[ObjectGroup]:
    """Return the objects by type, creating line and call path (or function) in any thread, most births first."""
    places, paths = _Places(recording), Paths(recording)
    names = places.names
    return _grouped(
        recording,
        lambda row: (names[row.type], paths.of(row), row.function, row.line),
        lambda row: places.of(row, True, paths.of(row)),
    )


def totals(recording: Recording) -> ObjectGroup:
    """Return all objects of the recording as one group; the lifetimes are left out."""
    total = _Sum()
    for row in recording.types:
        total.add(row, row, TYPE_ESTIMATED, TYPE_AT_MOST)
    return total.group


def types_in(recording: Recording) -> int:
    """Return the number of types; those of one name are one."""
    return len({row.full_name for row in recording.types})


def _grouped(
    recording: Recording, key_of: Callable[[ObjectRow], Hashable], place_of: Callable[[ObjectRow], dict[str, Any]]
) -> list[ObjectGroup]:
    types = list(recording.types)
    sums: dict[Hashable, _Sum] = {}
    of = []
    for row in recording.objects:
        key = key_of(row)
        total = sums.get(key)
        if total is None:
            total = sums[key] = _Sum(**place_of(row))
        total.add(row, types[row.type], OBJECT_ESTIMATED, OBJECT_AT_MOST)
        total.add_details(row)
        of.append(total)
    _add_lifetimes(recording, of)
    return _groups(sums)


def _add_lifetimes(recording: Recording, of: Sequence[_Sum]) -> None:
    """Add the recording's lifetimes to groups. `of` has the group of each row of recording.objects."""
    for row in recording.lifetimes:
        if row.unit <= IN_NS:
            counts = of[row.object].in_births if row.unit == IN_BIRTHS else of[row.object].in_ns
            bucket = min(row.bucket, LAST_BUCKET)
            counts[bucket] = counts.get(bucket, 0) + row.count


def _groups(sums: dict[Any, _Sum]) -> list[ObjectGroup]:
    groups = [total.finished() for total in sums.values()]
    return sorted(groups, key=lambda group: (-group.born, group.type, group.file, group.line, group.path))


class Paths:
    """The call paths of a recording's nodes, as ids of functions, the root first."""

    def __init__(self, recording: Recording) -> None:
        nodes = recording._raw["nodes"]
        self._parents: list[int] = nodes["parent"].tolist()
        self._functions: list[int] = nodes["function"].tolist()
        self._known: dict[int, tuple[int, ...]] = {}

    def of(self, row: ObjectRow) -> tuple[int, ...]:
        """Return the call path of a row's objects; without a recorded one, the creating function alone, if any."""
        if row.node < 0:
            return (row.function,) if row.function >= 0 else ()
        known = self._known.get(row.node)
        if known is None:
            known = self._known[row.node] = tuple(self._up(row.node))[::-1]
        return known

    def _up(self, node: int) -> Iterator[int]:
        while node >= 0:
            yield self._functions[node]
            node = self._parents[node]
