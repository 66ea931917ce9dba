"""What became of the objects of a program: by type, by the line that made them, by call path.

    for group in by_type_and_line(recording):
        print(group.type, group.file, group.line, group.born, group.live)

A recorder keeps a row for each type, creating line and call path, and a group is a sum of such rows. Births, deaths and
what lives are plain sums. Three numbers are not:

The peak. How many were alive at once is kept for each row and, apart from it, for each type. Several rows need not have
had their peaks at the same time, so that the sum of their peaks is the most that there can have been, and the group
says so (`peak_at_most`). A group by type has the type's own peak.

Bytes. No size is asked while recording: `__sizeof__` may be anybody's code. Every object of a type has `size` bytes,
and how many items one of variable size has is certain only when it dies. So the bytes of the dead are known, those of
what lives are a lower bound where a type has items (`live_at_least`), and all are one for types that keep memory
elsewhere, as lists and dicts do (`at_least` as well).

How long they lived. Deaths are counted in buckets that grow by a factor of four, in objects born meanwhile and in
time. A median is therefore a range, of which the ends are known.

Objects of one type name are one group, whatever their classes were: a class that is made anew by each call of a
function is the same one to its reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.model.enums import (
    OBJECT_AT_MOST,
    OBJECT_ESTIMATED,
    TYPE_AT_MOST,
    TYPE_ESTIMATED,
    TYPE_OUTSIDE,
    TYPE_VARIABLE,
)
from seismo.model.lines.tables import rows_of
from seismo.model.objects.rows import (
    IN_BIRTHS,
    IN_NS,
    ObjectRow,
    TypeRow,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from seismo.model.recording import Recording

LAST_BUCKET = 32  # 2^62 to 2^64 - 1
SHORT_BIRTHS = 4  # the last bucket of a short life: fewer than 256 births were seen meanwhile
SHORT_NS = 10  # the same in time: under 1.05 ms


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long objects lived: for each bucket how many. Bucket 0 is 0, bucket b from 4^(b-1) to 4^b - 1."""

    buckets: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Of how many the time is known."""
        return sum(self.buckets)

    def percentile(self, percent: float) -> tuple[int, int] | None:
        """The least and the most that the life of the object at this place was; None: of none it is known."""
        wanted = self.count * percent / 100
        seen = 0
        for bucket, count in enumerate(self.buckets):
            seen += count
            if count and seen >= wanted:
                return bucket_range(bucket)
        return None

    @property
    def median(self) -> tuple[int, int] | None:
        """percentile(50)."""
        return self.percentile(50)

    def up_to(self, bucket: int) -> int:
        """How many lived no longer than the bucket says."""
        return sum(self.buckets[: bucket + 1])


NO_LIFETIMES = Lifetimes()


def bucket_range(bucket: int) -> tuple[int, int]:
    """The least and the most of a bucket."""
    return (4 ** (bucket - 1), 4**bucket - 1) if bucket else (0, 0)


@dataclass(slots=True)  # frozen, it would take twice as long to make, and there may be very many
class ObjectGroup:
    """Objects that have something in common, as the function says that made the group.

    Empty are the `type` of a group by line or of all, and `qualname`, `file` and `line` of a group by type; `function`
    (an id) is -1 then, and for objects that no Python function made. `path`: ids of functions, the root first; empty
    but in groups by path. `rows`: the ids in recording.objects. `short`: lived for fewer than 256 births or under
    about 1 ms. `approximate`: died, died_by_gc, live, peak and lifetimes are estimates (of a group by type: died_by_gc
    and lifetimes). span_born: born in a span; span_died: of those inside the same one; span_live: alive at the end.
    """

    type: str
    module: str
    qualname: str
    file: str
    line: int
    function: int
    path: tuple[int, ...]
    rows: tuple[int, ...]
    born: int
    died: int
    died_by_gc: int
    live: int
    peak: int
    peak_at_most: bool
    unseen: int
    bytes: int
    at_least: bool
    bytes_live: int
    live_at_least: bool
    short: int
    approximate: bool
    in_births: Lifetimes
    in_ns: Lifetimes
    span_born: int
    span_died: int
    span_live: int

    @property
    def short_share(self) -> float:
        """The share of those born that lived only shortly, 0 to 1."""
        return min(1.0, self.short / self.born) if self.born else 0.0


@dataclass(frozen=True, slots=True)
class ObjectTotals:
    """All objects of a recording. `before`: died, but were born before; `unseen`: died unseen."""

    types: int
    born: int
    died: int
    died_by_gc: int
    live: int
    before: int
    unseen: int
    resurrected: int
    bytes: int
    at_least: bool
    bytes_live: int
    live_at_least: bool
    approximate: bool


class Sizes(NamedTuple):
    """Bytes of objects that were born and of those alive. `at_least`: that is a lower bound, as `live_at_least`."""

    bytes: int
    at_least: bool
    bytes_live: int
    live_at_least: bool


def sizes(row: ObjectRow | TypeRow, of: TypeRow) -> Sizes:
    """The bytes of the objects of a row. of: the row's type, or the row itself."""
    vague = bool(of.flags & (TYPE_VARIABLE | TYPE_OUTSIDE))
    at_least = row.born > 0 and vague and (bool(of.flags & TYPE_OUTSIDE) or row.live + row.unseen > 0)
    return Sizes(row.born * of.size + row.item_bytes, at_least, row.live * of.size, vague and row.live > 0)


class _Sum:
    """A group being made."""

    __slots__ = (
        "approximate",
        "at_least",
        "at_most",
        "born",
        "bytes",
        "bytes_live",
        "died",
        "died_by_gc",
        "in_births",
        "in_ns",
        "live",
        "live_at_least",
        "peak",
        "place",
        "rows",
        "span_born",
        "span_died",
        "span_live",
        "summed",
        "unseen",
    )

    def __init__(self, place: dict[str, Any]) -> None:
        self.place = place
        self.rows: list[int] = []
        self.in_births: dict[int, int] = {}
        self.in_ns: dict[int, int] = {}
        self.born = self.died = self.died_by_gc = self.live = self.peak = self.unseen = self.summed = 0
        self.bytes = self.bytes_live = self.span_born = self.span_died = self.span_live = 0
        self.approximate = self.at_least = self.live_at_least = self.at_most = False

    def add(self, row: ObjectRow | TypeRow, of: TypeRow) -> None:
        """Adds the counts that rows of types and of objects have in common. of: the row's type."""
        self.born += row.born
        self.died += row.died
        self.died_by_gc += row.died_by_gc
        self.live += row.live
        self.peak += row.peak
        self.unseen += row.unseen
        self.summed += 1
        size = sizes(row, of)
        self.bytes += size.bytes
        self.at_least |= size.at_least
        self.bytes_live += size.bytes_live
        self.live_at_least |= size.live_at_least

    def add_object(self, row: ObjectRow, of: TypeRow) -> None:
        self.add(row, of)
        self.approximate |= bool(row.flags & OBJECT_ESTIMATED)
        self.at_most |= bool(row.flags & OBJECT_AT_MOST)
        self.add_details(row)

    def add_details(self, row: ObjectRow) -> None:
        """Adds what the row of a type does not know."""
        self.rows.append(row.id)
        self.span_born += row.span_born
        self.span_died += row.span_died
        self.span_live += row.span_live

    def group(self) -> ObjectGroup:
        in_births, in_ns = _lifetimes(self.in_births), _lifetimes(self.in_ns)
        return ObjectGroup(
            **self.place,
            rows=tuple(self.rows),
            born=self.born,
            died=self.died,
            died_by_gc=self.died_by_gc,
            live=self.live,
            peak=min(self.peak, self.born) if self.summed > 1 else self.peak,
            peak_at_most=self.at_most or self.summed > 1,
            unseen=self.unseen,
            bytes=self.bytes,
            at_least=self.at_least,
            bytes_live=self.bytes_live,
            live_at_least=self.live_at_least,
            short=max(in_births.up_to(SHORT_BIRTHS), in_ns.up_to(SHORT_NS)),
            approximate=self.approximate,
            in_births=in_births,
            in_ns=in_ns,
            span_born=self.span_born,
            span_died=self.span_died,
            span_live=self.span_live,
        )


def _lifetimes(counts: dict[int, int]) -> Lifetimes:
    if not counts:
        return NO_LIFETIMES
    buckets = [0] * (max(counts) + 1)
    for bucket, count in counts.items():
        buckets[bucket] = count
    return Lifetimes(tuple(buckets))


_NOWHERE: dict[str, Any] = {"module": "", "qualname": "", "file": "", "line": 0, "function": -1, "path": ()}


class _Places:
    """Where objects were made, in words."""

    def __init__(self, recording: Recording) -> None:
        names = ("module", "qualname", "file")
        self.functions = [
            {**_NOWHERE, **dict(zip(names, row[1:4], strict=True))} for row in rows_of(recording, "functions")
        ]
        self.types = list(recording.types)
        self.names = [row.full_name for row in self.types]

    def of(self, row: ObjectRow, with_type: bool, path: tuple[int, ...] = ()) -> dict[str, Any]:
        place = dict(self.functions[row.function] if row.function >= 0 else _NOWHERE)
        place["type"] = self.names[row.type] if with_type else ""
        place["line"] = row.line
        place["function"] = row.function
        place["path"] = path
        return place


def by_type(recording: Recording) -> list[ObjectGroup]:
    """The objects of each type, most born first: all of them, also those of which no line is known."""
    sums: dict[str, _Sum] = {}
    types = list(recording.types)
    for row in types:
        name = row.full_name
        total = sums.get(name) or sums.setdefault(name, _Sum({**_NOWHERE, "type": name}))
        total.add(row, row)
        total.approximate |= bool(row.flags & TYPE_ESTIMATED)
        total.at_most |= bool(row.flags & TYPE_AT_MOST)
    of = []
    for entry in recording.objects:
        total = sums[types[entry.type].full_name]
        total.add_details(entry)
        total.approximate |= bool(entry.flags & OBJECT_ESTIMATED)
        of.append(total)
    _add_lifetimes(recording, of)
    return _groups(sums)


def by_line(recording: Recording) -> list[ObjectGroup]:
    """The objects that each line made, of all types, most born first. Empty if only types were recorded."""
    places = _Places(recording)
    return _grouped(recording, lambda row: (row.function, row.line), lambda row: places.of(row, with_type=False))


def by_type_and_line(recording: Recording) -> list[ObjectGroup]:
    """The objects of each type that each line made, most born first. Empty if only types were recorded."""
    places = _Places(recording)
    names = places.names
    return _grouped(
        recording,
        lambda row: (names[row.type], row.function, row.line),
        lambda row: places.of(row, with_type=True),
    )


def by_path(recording: Recording) -> list[ObjectGroup]:
    """The objects of each type that each line made on each call path, on all threads; most born first.

    Where no call path was recorded it is the function alone.
    """
    places, paths = _Places(recording), Paths(recording)
    names = places.names
    return _grouped(
        recording,
        lambda row: (names[row.type], paths.of(row), row.function, row.line),
        lambda row: places.of(row, True, paths.of(row)),
    )


def cycles(recording: Recording) -> list[ObjectGroup]:
    """By type and line, the objects that only the cycle collector could free, most such first."""
    groups = by_type_and_line(recording) or by_type(recording)
    return sorted((group for group in groups if group.died_by_gc), key=lambda group: -group.died_by_gc)


def totals(recording: Recording) -> ObjectTotals:
    """All objects of the recording."""
    total = _Sum({})
    types = list(recording.types)
    for row in types:
        total.add(row, row)
    return ObjectTotals(
        types=len({row.full_name for row in types}),
        born=total.born,
        died=total.died,
        died_by_gc=total.died_by_gc,
        live=total.live,
        before=sum(row.before for row in types),
        unseen=total.unseen,
        resurrected=sum(row.resurrected for row in types),
        bytes=total.bytes,
        at_least=total.at_least,
        bytes_live=total.bytes_live,
        live_at_least=total.live_at_least,
        approximate=any(row.flags & TYPE_ESTIMATED for row in types),
    )


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
            total = sums[key] = _Sum(place_of(row))
        total.add_object(row, types[row.type])
        of.append(total)
    _add_lifetimes(recording, of)
    return _groups(sums)


def _add_lifetimes(recording: Recording, of: Sequence[_Sum]) -> None:
    """of: for each row of recording.objects the group that it is in."""
    for row in recording.lifetimes:
        if row.unit <= IN_NS:
            counts = of[row.object].in_births if row.unit == IN_BIRTHS else of[row.object].in_ns
            bucket = min(row.bucket, LAST_BUCKET)
            counts[bucket] = counts.get(bucket, 0) + row.count


def _groups(sums: dict[Any, _Sum]) -> list[ObjectGroup]:
    groups = [total.group() for total in sums.values()]
    return sorted(groups, key=lambda group: (-group.born, group.type, group.file, group.line, group.path))


class Paths:
    """The call paths of a recording's nodes, as ids of functions, the root first."""

    def __init__(self, recording: Recording) -> None:
        nodes = recording._raw["nodes"]
        self._parents: list[int] = nodes["parent"].tolist()
        self._functions: list[int] = nodes["function"].tolist()
        self._known: dict[int, tuple[int, ...]] = {}

    def of(self, row: ObjectRow) -> tuple[int, ...]:
        """The path on which the objects of a row were made; without one, the function alone, if there was one."""
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
