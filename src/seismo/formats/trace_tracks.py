"""A trace's calls for writers of timelines: a track per stream, with ordered begin and end events.

Viewers hold a whole file in memory, so a file has at most as many calls as its viewer supports, from the start of the
trace. The end is estimated from the sizes of the journal's blocks.
"""

from __future__ import annotations

import json
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo import progress
from seismo.formats.base import cut_ns
from seismo.formats.call_trees import pids, process_names, thread_names
from seismo.formats.function_names import name
from seismo.model.enums import CallFlags
from seismo.model.trace.runtime_events import landmarks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.model import Recording, Table
    from seismo.model.trace.calls import CallRow, GapRow, InstantRow

FOREVER = 2**63 - 1
_MANY = 10_000_000  # base of invented thread numbers, for threads that share a row

_PAUSES = 1 << 40  # added to the numbers of collector pauses, to separate them from spans
_PAUSE_KINDS = {"collect": "begin", "collected": "end"}
_SHOWN = ("child", "import")  # kinds of landmarks; tracks already show the starts and ends of threads
_REMARKS = {
    CallFlags.UNWOUND: "left by an exception",
    CallFlags.YIELDED: "paused",
    CallFlags.RESUMED: "resumed",
    CallFlags.OPEN: "still running",
    CallFlags.BEFORE: "began before",
    CallFlags.AFTER: "ends later",
    CallFlags.BEGAN_UNSEEN: "beginning unseen",
    CallFlags.ENDED_UNSEEN: "end unseen",
    CallFlags.GAP: "events missing",
}


class Track(NamedTuple):
    """One stream: rows first to last (exclusive) of the table of calls, with times in ns from the trace's start."""

    thread: int
    stream: int
    name: str  # distinct from other tracks
    label: str  # the thread's own name, for viewers that show ids
    process: str
    pid: int
    tid: int
    first: int
    last: int


class Mark(NamedTuple):
    """An event on a track: "begin" or "end" of a span, "counter" with its value, or "mark"."""

    track: int
    kind: str
    time_ns: int
    name: str  # escaped
    span: int
    data: Any  # that JSON can hold, or None
    value: float | None


class TraceTracks(NamedTuple):
    """The part of a trace to write. Marks and gaps have the place of their track."""

    calls: Table[CallRow]
    tracks: list[Track]
    marks: list[Mark]
    gaps: list[tuple[int, GapRow]]
    cut_ns: int | None  # the time at which it was cut


def trace_tracks(recording: Recording, most: int) -> TraceTracks:
    """Return the beginning of a trace, with about `most` calls at most."""
    cut = cut_ns(recording, most)
    progress.begin("reading calls")
    window = recording.calls.window(0, FOREVER if cut is None else cut, limit=2 * most + 1_000_000)
    names, numbers, processes = thread_names(recording), pids(recording), process_names(recording)
    of = recording.threads["process"]
    natives = recording.threads.numbers("native_id").tolist()
    parts: dict[tuple[int, int], tuple[int, int]] = {}  # the rows of each stream of a thread
    last = 0
    streams = zip(*(window.calls.numbers(column).tolist() for column in ("thread", "stream")), strict=True)
    for place, rows in groupby(streams):
        first, last = last, last + len(list(rows))
        parts[place] = first, last
    events: list[InstantRow | GapRow] = [*window.instants, *window.gaps]
    for event in events:
        parts.setdefault((event.thread, event.stream), (0, 0))
    tracks: list[Track] = []
    seen: dict[int, int] = {}
    for (thread, stream), (first, last) in parts.items():
        number = seen[thread] = seen.get(thread, 0) + 1
        more = f" ({number})" if number > 1 else ""
        tid = (natives[thread] or thread + 1) if number == 1 else _MANY + len(tracks)
        label = recording.threads["name"][thread] or "thread"
        ids = (processes[of[thread]], numbers[thread], tid)
        tracks.append(Track(thread, stream, names[thread] + more, label + more, *ids, first, last))
    place_of = {place: number for number, place in enumerate(parts)}
    shown = [
        row._replace(name=f"{row.kind} {row.name}")
        for row in landmarks(recording, window.calls)
        if row.kind in _SHOWN and (cut is None or row.time_ns < cut) and (row.thread, row.stream) in place_of
    ]
    marks = [_mark(place_of[row.thread, row.stream], row) for row in (*window.instants, *shown)]
    gaps = [(place_of[gap.thread, gap.stream], gap) for gap in window.gaps]
    return TraceTracks(window.calls, tracks, marks, gaps, cut)


def _mark(track: int, row: InstantRow) -> Mark:
    """Return an event as writers show it. A pause of the collector is a span whose number no other span has."""
    kind, span, value = row.kind, row.span, _value(row.data)
    if kind in _PAUSE_KINDS:
        kind, span = _PAUSE_KINDS[kind], _PAUSES + span
    elif kind not in ("begin", "end") and (kind != "counter" or value is None):
        kind = "mark"
    return Mark(track, kind, row.time_ns, name("", row.name), span, _json_data(row.data), value)


def steps(calls: Table[CallRow], track: Track) -> Iterator[tuple[int, int]]:
    """Yield (time, row) at a call's start and (time, ~row) at its end, nested, with times that never decrease."""
    starts, ends, depths = (calls.numbers(column) for column in ("start_ns", "end_ns", "depth"))
    stack: list[int] = []
    now = 0
    base = depths[track.first] if track.first < track.last else 0
    rows = progress.over("writing calls", range(track.first, track.last), len(calls), track.first)
    for row in chain(rows, [None]):
        while stack and (row is None or len(stack) > depths[row] - base):
            done = stack.pop()
            now = max(now, ends[done])
            yield now, ~done
        if row is not None:
            now = max(now, starts[row])
            yield now, row
            stack.append(row)


def flag_words(flags: int) -> str:
    """Return the remarks about a call for its flags."""
    return ", ".join(text for flag, text in _REMARKS.items() if flags & flag)


def _json_data(data: Any) -> Any:
    """Return the data of a mark, or its text if JSON cannot hold it."""
    try:
        json.dumps(data, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return str(data)
    return data


def _value(data: Any) -> float | None:
    """Return the value of a counter, `{"value": 3}` or its only number, or None."""
    if isinstance(data, dict):
        data = data.get("value", next(iter(data.values()), None))
    return data if isinstance(data, int | float) and not isinstance(data, bool) and abs(data) < 1e18 else None
