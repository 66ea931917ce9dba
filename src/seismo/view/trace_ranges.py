"""Sums over a part of a trace, and the search for the next call of a function.

A part with few calls is read call by call. A larger one is summed up from its overview. Each run of an overview names
only the function with the largest time in it, so these sums are estimates and are marked as such.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from seismo.model.enums import CallFlags

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from seismo.model import Recording, Table
    from seismo.model.trace.calls import CallRow, RunRow

MOST_ROWS = 150_000
COLUMNS = 2000  # columns of the overview of a part that is too large to read call by call
MOST_PATHS = 20_000
BUDGET_S = 0.4  # seconds that one request of a search may take
FIRST_NS = 1_000_000  # the range that a search reads first
NEAR_NS = 1_000_000  # the range around a time that is searched first
CALL_COLUMNS = 4096


class _Paths:
    """A call tree that grows as calls are added: parent, function, calls, total time and own time of each path."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], int] = {}  # by parent and function, in the order of the columns
        self.calls: list[float] = []
        self.total: list[float] = []
        self.own: list[float] = []
        self.left = 0

    def add(self, parent: int, function: int, calls: float, busy: float) -> int:
        """Add calls of a function below a path. Return their path, or -1 if there are too many.

        Their time is added to its own time and subtracted from its caller's.
        """
        path = self.known.get((parent, function), -1)
        if path < 0:
            if len(self.known) >= MOST_PATHS:
                self.left += 1
                return -1
            path = self.known[parent, function] = len(self.known)
            for column in (self.calls, self.total, self.own):
                column.append(0)
        self.calls[path] += calls
        self.total[path] += busy
        self.own[path] += busy
        if parent >= 0:
            self.own[parent] -= busy
        return path


def functions_of(recording: Recording, start_ns: int, end_ns: int, threads: Sequence[int]) -> dict[str, Any]:
    """Return the paths of a part with their calls and times, clipped to it. `estimated` marks sums from an overview."""
    paths = _Paths()
    estimated = False
    for thread in threads:
        window = recording.calls.window(start_ns, end_ns, thread=thread, limit=MOST_ROWS)
        if window.more:
            estimated = True
            _add_overview(paths, recording, start_ns, end_ns, thread)
        else:
            _add_rows(paths, window.calls, start_ns, end_ns)
    return {
        "from": start_ns,
        "to": end_ns,
        "estimated": estimated,
        "left": paths.left,
        "parent": [parent for parent, _ in paths.known],
        "function": [function for _, function in paths.known],
        "calls": paths.calls,
        "total": paths.total,
        "own": [max(0, own) for own in paths.own],
    }


def _add_rows(paths: _Paths, rows: Table[CallRow], start_ns: int, end_ns: int) -> None:
    of: dict[int, int] = {}
    for number, row in enumerate(rows):  # parents come first
        busy = min(row.end_ns, end_ns) - max(row.start_ns, start_ns)
        began = row.start_ns >= start_ns and row.call == number
        of[number] = paths.add(of.get(row.parent, -1), row.function, int(began), max(0, busy))


def _add_overview(paths: _Paths, recording: Recording, start_ns: int, end_ns: int, thread: int) -> None:
    """Add the runs of an overview, each below the run one level up that was running when it began."""
    rows = recording.calls.overview(start_ns, end_ns, COLUMNS, [thread]).runs
    above: list[list[tuple[float, float, int]]] = []
    names = ("depth", "start_ns", "end_ns", "busy_ns", "function", "calls")
    runs = zip(*(rows[name] for name in names), strict=True)
    for depth, first, last, busy, function, calls in sorted(runs, key=lambda run: run[:2]):
        while len(above) <= depth:
            above.append([])
        parent = _running(above[depth - 1], first) if depth else -1
        span = max(last - first, 1)
        inside = max(0.0, min(last, end_ns) - max(first, start_ns)) / span
        above[depth].append((first, last, paths.add(parent, function, calls * inside, busy * inside)))


def _running(runs: list[tuple[float, float, int]], when: float) -> int:
    at = bisect_right(runs, when, key=lambda run: run[0]) - 1
    return runs[at][2] if at >= 0 else -1


def next_call(recording: Recording, wanted: AbstractSet[int], start_ns: int, back: bool) -> dict[str, Any]:
    """Find the first call of one of the functions that begins after a time, or the last one before it.

    `row` is the call, or None; `to` is the time up to which the trace was searched; `done` is True at the trace's end.
    A request ends after BUDGET_S even without a result, so that the user can follow a search and cancel it.
    """
    calls = recording.calls
    last = calls.end_ns
    until, step = time.monotonic() + BUDGET_S, FIRST_NS
    at = start_ns
    while wanted and time.monotonic() < until and (at > 0 if back else at < last):
        first, end = (max(0, at - step), at) if back else (at, min(last + 1, at + step))
        window = calls.window(first, end, limit=MOST_ROWS)
        if window.more and step > 2000:
            step //= 4
            continue
        row = _nearest(window.calls, wanted, start_ns, back)
        if row is not None:
            bound = max(row.start_bound_ns, row.end_bound_ns)
            spot = _spot(row, bound, row.end_ns - row.start_ns, 1)
            return {"row": spot, "to": row.start_ns, "done": False}
        at = first if back else end
        step *= 2
    return {"row": None, "to": at, "done": not wanted or (at <= 0 if back else at >= last)}


def call_at(recording: Recording, thread: int, depth: int, when: int) -> dict[str, Any] | None:
    """Return the whole call that was open at a depth and time, or None if it cannot be separated from others."""
    calls = recording.calls
    last = calls.end_ns + 1
    reach = NEAR_NS
    while True:
        start, end = max(0, when - reach), min(last, when + reach)
        runs = calls.overview(start, end, CALL_COLUMNS, [thread], (depth, depth + 1)).runs
        found = [run for run in runs if run.calls == 1 and run.start_ns <= when <= run.end_ns]
        everything = start == 0 and end == last
        if found and (everything or not found[-1].flags & (CallFlags.BEFORE | CallFlags.AFTER)):
            run = found[-1]
            return _spot(run, max(0, run.bound_ns), run.busy_ns, run.calls)
        if everything:
            return None
        reach *= 16


def _nearest(rows: Table[CallRow], wanted: AbstractSet[int], after: int, back: bool) -> CallRow | None:
    found = (row for row in rows if row.function in wanted)
    if back:
        return max((row for row in found if row.start_ns < after), key=lambda row: row.start_ns, default=None)
    return min((row for row in found if row.start_ns > after), key=lambda row: row.start_ns, default=None)


def _spot(row: CallRow | RunRow, bound: int, busy: int, calls: int) -> dict[str, Any]:
    return {
        "thread": row.thread,
        "depth": row.depth,
        "start": row.start_ns,
        "end": row.end_ns,
        "bound": bound,
        "busy": busy,
        "fn": row.function,
        "node": row.node,
        "calls": calls,
        "flags": int(row.flags),
    }
