"""What the calls of a function left behind, call after call.

A recorder that was told to watch calls (`seismo objects --leaks`) says for each of them what was born inside, and at
the end of the recording which of that is still alive. One survivor says little: a program keeps what it needs. The
pattern over the calls says more, and it is judged for each type and creating line:

    steady      nearly every call leaves something: at least nine in ten of those in the middle. A leak.
    warm-up     only the first calls do: caches that fill, modules that are imported.
    last call   only the last call of a process, or calls that still ran: held until the next one comes.
    recent      only the latest calls do, without a gap: a cache of limited size, a queue; or a leak that began late.
    occasional  some calls do: a cache with new keys, an error path that leaks.
    few calls   there were fewer than four, too few to tell.

The middle are the calls without the first tenth (at least one) and without the last of each process. First, last and
middle are meant within a process, for each begins with empty caches; the tenths are of all calls in the order of their
numbers, so that processes that ran the same calls one after another look like one that ran them once. When there were
very many calls, a row of the recording is several that followed each other and is judged like one call; and where the
recorder drew a sample of the objects, a call without a survivor may have had one, so that tenths are judged instead.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from seismo.model.objects.groups import by_type_and_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model.objects.groups import ObjectGroup
    from seismo.model.objects.rows import ObjectSpanRow
    from seismo.model.recording import Recording

STEADY, WARM_UP, LAST, RECENT, OCCASIONAL, FEW = "steady", "warm-up", "last call", "recent", "occasional", "few calls"
VERDICTS = (STEADY, RECENT, OCCASIONAL, WARM_UP, LAST, FEW)  # the more alarming first
MOST = 0.9  # the share of the calls in the middle that leave something when all do
FEWEST = 4  # calls: a first, a last and two between
PARTS = 10


@dataclass(frozen=True, slots=True)
class Leak:
    """Objects of one type and creating line that outlived the calls they were born in.

    `group` has all objects of that type and line. `alive` of those born in `calls` calls are; `calls_with` of the calls
    left some (`at_most`: or fewer, for rows of several calls were counted as if all did). `parts`: alive by tenths of
    the calls, or by calls if there were fewer than ten.
    """

    group: ObjectGroup
    alive: int
    calls: int
    calls_with: int
    at_most: bool
    parts: tuple[int, ...]
    verdict: str

    @property
    def per_call(self) -> float:
        """How many a call leaves, in the mean of all calls."""
        return self.alive / self.calls if self.calls else 0.0

    @property
    def bytes(self) -> int:
        """Of those alive, without what their items and other memory take: a lower bound if group.live_at_least."""
        return self.group.bytes_live * self.alive // self.group.live if self.group.live else 0


@dataclass(frozen=True, slots=True)
class Spans:
    """All calls of a function that was asked for. `escaping`: born in a call and alive when it ended.

    `function` -1: unknown; `running`: calls that had not ended.
    """

    function: int
    calls: int
    running: int
    born: int
    died: int
    alive: int

    @property
    def escaping(self) -> int:
        """Born in a call and not dead at its end."""
        return self.born - self.died


def spans(recording: Recording) -> list[Spans]:
    """The calls that were asked for, by function, most calls first."""
    sums: dict[int, list[int]] = {}
    for row in recording.object_spans:
        total = sums.setdefault(row.function, [0] * 5)
        for i, value in enumerate((row.calls, int(not row.end_ns), row.born, row.died, row.live)):
            total[i] += value
    return sorted((Spans(function, *total) for function, total in sums.items()), key=lambda one: -one.calls)


def leaks(recording: Recording, groups: Sequence[ObjectGroup] | None = None) -> list[Leak]:
    """What the calls that were asked for left behind, by type and creating line: leaks first, then by how many.

    groups: by_type_and_line(recording), for callers that have it already.
    """
    calls = _Calls(list(recording.object_spans))
    groups = by_type_and_line(recording) if groups is None else groups
    group_of = {row: number for number, group in enumerate(groups) for row in group.rows}
    survivors: dict[int, dict[int, int]] = {}  # of a group: by row of spans
    for row in recording.object_survivors:
        of = survivors.setdefault(group_of[row.object], {})
        of[row.span] = of.get(row.span, 0) + row.count
    found = [calls.judged(groups[number], of) for number, of in survivors.items() if any(of.values())]
    return sorted(found, key=lambda leak: (VERDICTS.index(leak.verdict), -leak.alive, leak.group.type))


class _Calls:
    """The rows of spans and where in the recording they stand."""

    def __init__(self, rows: Sequence[ObjectSpanRow]) -> None:
        self.rows = rows
        self.total = sum(row.calls for row in rows)
        ordered = sorted(rows, key=lambda row: (row.first, row.start_ns, row.process))
        ends = list(accumulate(row.calls for row in ordered))
        parts = min(PARTS, self.total)
        self.parts = max(1, parts)
        # The tenth in which the middle of a row stands
        self.part_of = {
            row.id: min(self.parts - 1, (2 * end - row.calls) * self.parts // (2 * self.total)) if self.total else 0
            for row, end in zip(ordered, ends, strict=True)
        }
        self.first: set[int] = set()  # the first tenth of the calls of each process
        self.last: set[int] = set()  # the last call of each process, and those that still ran
        # Of a row that is none of the last: its process, and how many others of it come later
        self.later: dict[int, tuple[int, int]] = {}
        self._split()
        self.middle = {row.id for row in rows} - self.first - self.last

    def _split(self) -> None:
        processes: dict[int, list[ObjectSpanRow]] = {}
        for row in self.rows:
            processes.setdefault(row.process, []).append(row)
        for rows in processes.values():
            rows.sort(key=lambda row: row.first)
            starts = list(accumulate((row.calls for row in rows), initial=0))
            tenth = max(1, starts[-1] // PARTS)
            self.first.update(row.id for row in rows[: bisect_right(starts, tenth - 1)])
            self.last.update(row.id for row in rows if row is rows[-1] or not row.end_ns)
            others = (row for row in reversed(rows) if row.id not in self.last)
            self.later.update((row.id, (row.process, number)) for number, row in enumerate(others))

    def judged(self, group: ObjectGroup, survivors: dict[int, int]) -> Leak:
        parts = [0] * self.parts
        calls_with = 0
        left = {span for span, count in survivors.items() if count}
        for span, count in survivors.items():
            parts[self.part_of[span]] += count
            calls_with += min(count, self.rows[span].calls)
        return Leak(
            group=group,
            alive=sum(survivors.values()),
            calls=self.total,
            calls_with=calls_with,
            at_most=any(self.rows[span].calls > 1 for span in left),
            parts=tuple(parts),
            verdict=self._verdict(left, parts, group.approximate),
        )

    def _verdict(self, left: set[int], parts: Sequence[int], sampled: bool) -> str:
        if self.total < FEWEST:
            return FEW
        if left <= self.last:
            return LAST
        if left <= self.first | self.last:
            return WARM_UP
        if sampled and self.total >= PARTS:
            if sum(map(bool, parts[1:])) >= MOST * (PARTS - 1):
                return STEADY
        elif len(left & self.middle) >= MOST * len(self.middle):
            return STEADY
        return RECENT if self._is_recent(left) else OCCASIONAL

    def _is_recent(self, left: set[int]) -> bool:
        """Whether, in each process, the rows with survivors are the last ones without a gap, but for the very last."""
        count: dict[int, int] = {}
        earliest: dict[int, int] = {}
        for row in left - self.last:
            process, number = self.later[row]
            count[process] = count.get(process, 0) + 1
            earliest[process] = max(earliest.get(process, 0), number)
        return all(earliest[process] + 1 == rows for process, rows in count.items())
