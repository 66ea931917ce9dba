"""Leaks: objects that the calls of a function leave behind, call after call.

A recorder that watches calls (`seismo objects --leaks`) counts the objects born in each call and, at the end of the
recording, how many of those are still alive. One survivor means little, because a program keeps what it needs. The
pattern over the calls gives a verdict for each type and creating line:

    steady      a leak: at least nine in ten of the calls in the middle leave something.
    warm-up     only the first calls do: caches that fill, modules that are imported.
    last call   only the last call of a process, or calls still running: held until the next call.
    recent      only the latest calls do, without a gap: a bounded cache, a queue, or a leak that began late.
    occasional  some calls do: a cache with new keys, an error path that leaks.
    few calls   there were fewer than four calls, too few to judge.

The middle excludes the first tenth of the calls (at least one) and the last call of each process. First, last and
middle are relative to a process, because each process begins with empty caches. The tenths are of all calls in order of
their numbers, so several processes that ran the same calls one after another look like one. After very many calls, a
row of the recording stands for several consecutive calls and is judged like one. If the recorder sampled the objects, a
call without a survivor may have had one, so tenths are judged instead of calls.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from seismo.model.objects.groups import by_type_and_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model.objects.groups import ObjectGroup
    from seismo.model.objects.rows import ObjectSpanRow
    from seismo.model.recording import Recording

STEADY, WARM_UP, LAST, RECENT, OCCASIONAL, FEW = "steady", "warm-up", "last call", "recent", "occasional", "few calls"
VERDICTS = (STEADY, RECENT, OCCASIONAL, WARM_UP, LAST, FEW)  # the most alarming first
MOST = 0.9  # the share of calls in the middle with survivors that makes a leak steady
FEWEST = 4  # calls: a first, a last and two in between
PARTS = 10


@dataclass(frozen=True, slots=True)
class Leak:
    """Objects of one type and creating line that outlived the calls in which they were born.

    `group` has all objects of that type and line. `alive` of those born in the `calls` calls survive. `calls_with` of
    the calls left some; with `at_most` it is an upper bound, because each row of several calls counted as if all did.
    `parts` has the survivors by tenths of the calls, or by calls if there were fewer than ten.
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
        """The mean number of objects that a call leaves."""
        return self.alive / self.calls if self.calls else 0.0

    @property
    def bytes(self) -> int:
        """The bytes of those alive, excluding items and other memory; a lower bound if group.live_at_least."""
        return self.group.bytes_live * self.alive // self.group.live if self.group.live else 0


@dataclass(frozen=True, slots=True)
class Spans:
    """All watched calls of a function (-1 if unknown), of which `running` had not ended."""

    function: int
    calls: int
    running: int
    born: int
    died: int
    alive: int

    @property
    def escaping(self) -> int:
        """The objects born in a call and alive at its end."""
        return self.born - self.died


def spans(recording: Recording) -> list[Spans]:
    """Return the watched calls by function, most calls first."""
    sums: dict[int, list[int]] = {}
    for row in recording.object_spans:
        total = sums.setdefault(row.function, [0] * 5)
        for i, value in enumerate((row.calls, int(not row.end_ns), row.born, row.died, row.live)):
            total[i] += value
    return sorted((Spans(function, *total) for function, total in sums.items()), key=lambda one: -one.calls)


def leaks(recording: Recording, groups: Sequence[ObjectGroup] | None = None) -> list[Leak]:
    """Return the objects that the watched calls left behind, by type and creating line: leaks first, then by number.

    `groups` is by_type_and_line(recording), if the caller has it already.
    """
    calls = _Calls(list(recording.object_spans))
    groups = by_type_and_line(recording) if groups is None else groups
    group_of = {row: number for number, group in enumerate(groups) for row in group.rows}
    survivors: dict[int, dict[int, int]] = {}  # for each group, survivors by row of spans
    for row in recording.object_survivors:
        of = survivors.setdefault(group_of[row.object], {})
        of[row.span] = of.get(row.span, 0) + row.count
    found = [calls.judged(groups[number], of) for number, of in survivors.items() if any(of.values())]
    return sorted(found, key=lambda leak: (VERDICTS.index(leak.verdict), -leak.alive, leak.group.type))


class _Calls:
    """The rows of spans and their order in the recording."""

    def __init__(self, rows: Sequence[ObjectSpanRow]) -> None:
        self.rows = rows
        self.total = sum(row.calls for row in rows)
        ordered = sorted(rows, key=lambda row: (row.first, row.start_ns, row.process))
        ends = list(accumulate(row.calls for row in ordered))
        self.parts = max(1, min(PARTS, self.total))
        # The tenth that contains the middle of each row
        self.part_of = {
            row.id: min(self.parts - 1, (2 * end - row.calls) * self.parts // (2 * self.total)) if self.total else 0
            for row, end in zip(ordered, ends, strict=True)
        }
        self.first: set[int] = set()  # the first tenth of the calls of each process
        self.last: set[int] = set()  # the last call of each process, and those still running
        self.others: list[list[int]] = []  # of each process, the calls that are not in `last`, in order
        for _, of_process in groupby(sorted(rows, key=lambda row: (row.process, row.first)), lambda row: row.process):
            mine = list(of_process)
            starts = list(accumulate((row.calls for row in mine), initial=0))
            tenth = max(1, starts[-1] // PARTS)
            self.first.update(row.id for row in mine[: bisect_right(starts, tenth - 1)])
            self.last.update(row.id for row in mine if row is mine[-1] or not row.end_ns)
            self.others.append([row.id for row in mine if row.id not in self.last])
        self.middle = {row.id for row in rows} - self.first - self.last

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
        # In each process, the calls with survivors are the latest without a gap.
        is_recent = all(left.isdisjoint(calls[: len(calls) - len(left.intersection(calls))]) for calls in self.others)
        return RECENT if is_recent else OCCASIONAL
