"""A trace's calls as the writers of timelines need them: a track a stream, begun and ended in order.

Viewers keep all of a file in memory, so a file has no more calls than its viewer takes: of a longer trace, the
beginning. `cut_ns` says where, by the sizes of the journal's blocks: a call takes two bytes at least.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.formats.call_trees import pids, process_names, thread_names
from seismo.model.enums import CallFlags
from seismo.model.trace.runtime_events import landmarks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.model import Recording, Table
    from seismo.model.trace.calls import CallRow, GapRow, InstantRow

FOREVER = 2**63 - 1
_MANY = 10_000_000  # thread numbers of the threads that share a row, which has one for all

_PAUSES = 1 << 40  # what the numbers of the collector's pauses have on top: the program's spans are fewer

_SHOWN = ("child", "import")  # of landmarks: the beginnings and ends of threads are those of their tracks
_TOLD = {
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
    """One stream: its calls are rows first to last (not included) of the table; times are ns from the trace's start."""

    thread: int
    stream: int
    name: str  # tells it apart from others
    label: str  # the thread's own, for viewers that show ids
    process: str
    pid: int
    tid: int
    first: int
    last: int


class TraceTracks(NamedTuple):
    """What is written. cut_ns: where the trace was cut, None: nowhere."""

    calls: Table[CallRow]
    tracks: list[Track]
    instants: list[InstantRow]
    gaps: list[GapRow]
    cut_ns: int | None


def cut_ns(recording: Recording, most: int) -> int | None:
    """The time up to which a trace has no more calls than that, None: it has no more in all."""
    size = 0
    for block in sorted(recording.calls.blocks, key=lambda block: block.time_ns):
        size += block.size
        if size > 2 * most:
            return max(block.time_ns, 1)
    return None


def trace_tracks(recording: Recording, most: int) -> TraceTracks:
    """The trace's beginning, of about so many calls at most."""
    cut = cut_ns(recording, most)
    window = recording.calls.window(0, FOREVER if cut is None else cut, limit=2 * most + 1_000_000)
    names, numbers, processes = thread_names(recording), pids(recording), process_names(recording)
    of = recording.threads["process"]
    natives = recording.threads.numbers("native_id").tolist()
    threads, streams = window.calls.numbers("thread").tolist(), window.calls.numbers("stream").tolist()
    places: list[tuple[int, int, int, int]] = []
    first = 0
    for row in range(1, len(threads) + 1):
        if row == len(threads) or (threads[row], streams[row]) != (threads[first], streams[first]):
            places.append((threads[first], streams[first], first, row))
            first = row
    called = {place[:2] for place in places}
    others = dict.fromkeys((said.thread, said.stream) for said in window.instants)
    others |= dict.fromkeys((gap.thread, gap.stream) for gap in window.gaps)
    places += [(*place, 0, 0) for place in others if place not in called]
    tracks: list[Track] = []
    seen: dict[int, int] = {}
    for thread, stream, first, last in places:
        number = seen[thread] = seen.get(thread, 0) + 1
        more = f" ({number})" if number > 1 else ""
        tid = (natives[thread] or thread + 1) if number == 1 else _MANY + len(tracks)
        label = recording.threads["name"][thread] or "thread"
        place = (processes[of[thread]], numbers[thread], tid)
        tracks.append(Track(thread, stream, names[thread] + more, label + more, *place, first, last))
    marks = [mark._replace(name=f"{mark.kind} {mark.name}") for mark in landmarks(recording, window.calls)]
    marks = [mark for mark in marks if mark.kind in _SHOWN and (cut is None or mark.time_ns < cut)]
    instants = [_as_span(said) for said in window.instants]
    return TraceTracks(window.calls, tracks, instants + marks, window.gaps, cut)


def _as_span(said: InstantRow) -> InstantRow:
    """A pause of the collector as a span, which no viewer takes for one of the program's."""
    kind = {"collect": "begin", "collected": "end"}.get(said.kind)
    return said if kind is None else said._replace(kind=kind, span=_PAUSES + said.span)


def steps(calls: Table[CallRow], track: Track) -> Iterator[tuple[int, int]]:
    """(time, row) where a call begins, (time, ~row) where it ends, nested and never going back."""
    starts, ends, depths = (calls.numbers(name) for name in ("start_ns", "end_ns", "depth"))
    stack: list[int] = []
    now = 0
    base = depths[track.first] if track.first < track.last else 0
    for row in range(track.first, track.last):
        while stack and len(stack) > depths[row] - base:
            done = stack.pop()
            now = max(now, ends[done])
            yield now, ~done
        now = max(now, starts[row])
        yield now, row
        stack.append(row)
    while stack:
        done = stack.pop()
        now = max(now, ends[done])
        yield now, ~done


def flag_words(flags: int) -> str:
    """What is to be said of a call besides its name and its times."""
    return ", ".join(text for flag, text in _TOLD.items() if flags & flag)


def mark_data(data: Any) -> Any:
    """What the program said beside a name, as JSON can hold it."""
    try:
        json.dumps(data, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return str(data)
    return data


def value_of(data: Any) -> float | None:
    """The number of a counter: `{"value": 3}`, or the only number that there is."""
    if isinstance(data, dict):
        data = data.get("value", next(iter(data.values()), None))
    return data if isinstance(data, int | float) and not isinstance(data, bool) and abs(data) < 1e18 else None
