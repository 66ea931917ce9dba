"""Times of recordings that were made while the processor was not equally fast, as at one pace.

A time is what the thread's CPU clock said: what it took, then. A core of which another hardware thread has the half
takes up to 1.9 times as long for the same work, and its clock says so. What a diff is asked is whether the program has
changed, so recordings that differ in their pace (base/pace.h) are held against each other as at the pace of the
fastest. Code in Python slows down as the piece of work does by which the pace is read, to within a fourth of the
change; what C functions do may slow down less or not at all, so that of their times the whole change is doubtful.
"""

from __future__ import annotations

import array
import itertools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seismo.model.recording import Columns, Recording

NOTABLE = 1.1  # times as slow as the fastest: below, the readings of the pace do not tell
DOUBT = 0.25  # of the change in pace: what other Python code is slowed down by less or more
C_FUNCTION = 1
_TIMES = ("own_ns", "inner_ns", "total_ns", "function_own_ns", "total_distortion", "function_distortion_ns")


def pace_ns(recording: Recording) -> float:
    """What the work by which the pace is read took, on average over its processes by their CPU time; 0: not known."""
    ran: dict[int, int] = {}
    threads = recording.threads
    for process, cpu in zip(threads["process"], threads["cpu_ns"], strict=True):
        ran[process] = ran.get(process, 0) + max(0, cpu)
    paces = [(row.pace_ns, ran.get(row.id, 0)) for row in recording.processes]
    known = [(pace, time) for pace, time in paces if pace > 0 and time > 0]
    whole = sum(time for _, time in paces)
    if 2 * sum(time for _, time in known) <= whole:
        return 0.0
    return sum(pace * time for pace, time in known) / sum(time for _, time in known)


def slowness(recordings: Sequence[Recording]) -> list[float]:
    """How many times as slow the processor was as in the fastest of these recordings, of each.

    Empty where none of them is notably slower, where they are from several machines, or where it is not known of all.
    """
    paces = [pace_ns(one) for one in recordings]
    hosts = {row.host for one in recordings for row in one.processes}
    running = all(one.times == "cpu" for one in recordings)
    if not running or len(hosts) != 1 or min(paces, default=0.0) <= 0 or max(paces) < NOTABLE * min(paces):
        return []
    return [pace / min(paces) for pace in paces]


def at_one_pace(old: Sequence[Recording], new: Sequence[Recording]) -> tuple[Sequence[Recording], Sequence[Recording]]:
    """Both sides with times as at the pace of the fastest; where `slowness` is empty, as they are."""
    slower = slowness([*old, *new])
    if not slower:
        return old, new
    found = [one.slowed(by) for one, by in zip((*old, *new), slower, strict=True)]
    return found[: len(old)], found[len(old) :]


def scaled(columns: Columns, slower: float, kinds: Mapping[str, Sequence[int]]) -> Columns:
    """Estimates of running times (ns) as on a processor that was not so many times slower.

    kinds: what kinds of functions the rows of own times are of, by the name of their column; of others, the doubt is
    that of Python code.
    """
    found = dict(columns)
    change = abs(1 - 1 / slower)
    for name, column in columns.items():
        if name in _TIMES:
            found[name] = _reals([value / slower for value in column])
        elif name == "total_square":
            found[name] = _reals([value / slower**2 for value in column])
        elif name.endswith("error_ns"):
            of = name.replace("_error_ns", "_ns")
            doubts = [change if kind == C_FUNCTION else DOUBT * change for kind in kinds.get(of, ())]
            rows = zip(column, columns[of], doubts or itertools.repeat(DOUBT * change), strict=False)
            found[name] = _reals([math.hypot(error / slower, doubt * time) for error, time, doubt in rows])
    return found


def _reals(values: list[float]) -> memoryview:
    return memoryview(array.array("d", values))
