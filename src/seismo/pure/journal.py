"""The calls of a trace, from the pieces in its file."""

from __future__ import annotations

import array
import contextlib
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from seismo.errors import RecordingError
from seismo.pure import tokens
from seismo.pure.columns import arrow_stream
from seismo.pure.numbers import LARGEST, clamped, ints
from seismo.pure.pieces import AFTER_GAP, noted_calls, streams_of
from seismo.pure.tokens import Call, Dictionary, Machine, Sink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from seismo.pure.pieces import Stream

_COLUMNS = (
    *("start_ns", "end_ns", "start_bound_ns", "end_bound_ns", "thread", "stream"),
    *("function", "node", "parent", "call", "depth", "flags"),
)
_OF_CALLS = ("start_ns", "end_ns", "start_bound_ns", "end_bound_ns", "node", "depth", "flags")
_COUNTS = ("calls", "resumes", "exceptions")
_LONGEST_DEPTH = 20  # bits of a number in a chunk of longest calls
_LONGEST_FLAGS = 1 | 4 | 8 | 64 | 512
_OWN = (32, 33)  # kinds of instants that are the journal's own


class Journal:
    """Reads a trace's journal. `columns` are those of the nodes, the file's data, and places of its chunks."""

    def __init__(self, columns: Mapping[str, Any], functions: int, sound_nodes: int, sound_threads: int) -> None:
        lists = {name: memoryview(column).tolist() for name, column in columns.items() if name != "data"}
        self._data = memoryview(columns["data"])
        self._functions, self._function = functions, lists["function"]
        self._origin, self._end = lists["origin"], lists["end"]
        threads = len(self._origin)
        self._tree = Dictionary(lists["parent"], lists["thread"], threads, sound_nodes)
        self._weights = _weights(lists)
        self._longest = lists["longest"]
        self._streams, self._dropped = streams_of(self._data, lists["places"], min(sound_threads, threads))

    def _decode(self, sink: Sink, to: int = 2**64, thread: int = -1) -> None:
        sink.wrong["dropped"] = self._dropped
        for stream in self._streams:
            if thread in (-1, stream.thread):
                self._run(stream, sink, to)

    def _run(self, stream: Stream, sink: Sink, to: int) -> None:
        machine = Machine(stream, self._tree, self._weights, self._origin[stream.thread], sink)
        machine.read(self._data, to, self._end[stream.thread])

    def read(self, start: int, end: int, thread: int, limit: int, _look_back: int, /) -> dict[str, Any]:
        """Return the calls, instants and gaps in [start, end) of one thread, or of all (-1)."""
        window = _Window(start, end, max(limit, 0))
        with contextlib.suppress(_FullError):
            self._decode(window, end, thread)
        order = {id(stream): number for number, stream in enumerate(self._streams)}
        window.calls.sort(key=lambda row: (order[id(row[0])], row[1].number))
        rows = {(id(stream), call.number): row for row, (stream, call) in enumerate(window.calls)}
        instants = [
            (time, bound, stream.thread, stream.number, kind, rows.get((id(stream), inside), -1), text)
            for stream, time, bound, (kind, inside, text) in window.instants
        ]
        calls = self._call_columns(window.calls, rows)
        return {"calls": calls, "instants": instants, "gaps": window.gaps, "wrong": window.wrong, "more": window.more}

    def _call_columns(
        self, calls: list[tuple[Stream, Call]], rows: Mapping[tuple[int, int], int]
    ) -> dict[str, memoryview]:
        found = {name: ints(getattr(call, name) for _, call in calls) for name in _OF_CALLS}
        found["thread"] = ints(stream.thread for stream, _ in calls)
        found["stream"] = ints(clamped(stream.number) for stream, _ in calls)
        found["function"] = ints(self._function[call.node] for _, call in calls)
        for name in ("parent", "call"):
            found[name] = ints(rows.get((id(stream), getattr(call, name)), -1) for stream, call in calls)
        return found

    def sums(self) -> dict[str, Any]:
        """Return the counts by node, the longest call of each function, and the gaps, of all of it."""
        found = _Sums(self._tree.nodes + len(self._origin), self._function)
        self._decode(found)
        counts = {name: ints(found.counts[name][: self._tree.nodes]) for name in _COUNTS}
        left = {f"left_{name}": ints(values) for name, values in zip(_COUNTS, found.left, strict=True)}
        longest = self._call_columns([found.longest[f] for f in sorted(found.longest)], {})
        return {**counts, **left, "steps": found.steps, "longest": longest, "gaps": found.gaps, "wrong": found.wrong}

    def longest(self) -> dict[str, Any]:
        """Return the longest call of each function, where the recorder noted it."""
        found: dict[int, tuple[Stream, Call]] = {}
        streams = {stream[:2]: stream for stream in self._streams}
        places = zip(self._longest[::2], self._longest[1::2], strict=True)
        inside = ((at, at + length) for at, length in places if at >= 12 and at + length <= len(self._data))
        noted = chain.from_iterable(noted_calls(self._data, at, end) for at, end in inside)
        for thread, number, rank, depth, start, took in noted:
            stream = streams.get((thread, number))
            node = -1 if stream is None or rank == 0 else self._tree.rank(thread, rank)
            if stream is not None and node >= 0:
                flags = depth >> _LONGEST_DEPTH & _LONGEST_FLAGS
                call = Call(-1, -1, node, depth & (1 << _LONGEST_DEPTH) - 1, flags)
                call.start_ns = start + self._origin[thread]
                call.end_ns, call.end_bound_ns = call.start_ns + took, -1
                _keep_longest(found, self._function[node], stream, call)
        return self._call_columns([found[function] for function in sorted(found)], {})

    def gaps(self) -> list[tuple[int, int, int, int]]:
        """Return the intervals of threads in which events are missing."""
        found: list[tuple[int, int, int, int]] = self.sums()["gaps"] if any(map(_has_gap, self._streams)) else []
        return found

    def blocks(self) -> list[tuple[int, int, int, int, bool]]:
        """Return thread, stream, time and bytes of each block, and whether events before it are missing."""
        found = []
        for thread, number, blocks in self._streams:
            for block in blocks:
                time, size = block[0].time + self._origin[thread], sum(piece.raw for piece in block)
                found.append((thread, number, time, size, bool(block[0].flags & AFTER_GAP)))
        return found

    def batches(
        self,
        start: int,
        end: int,
        look_back: int,
        report: Callable[[dict[str, int]], object],
        times: tuple[int, int, int, int],
        columns: bytes,
        _leaps: bool,
        /,
    ) -> object:
        """Return the calls with such times (least and most, of start and end) as an Arrow stream of these columns."""
        found = self.read(start, end, -1, LARGEST, look_back)
        calls = found["calls"]
        lists: list[Sequence[int] | memoryview] = [range(len(calls["start_ns"])), *(calls[name] for name in _COLUMNS)]
        least, most, end_least, end_most = times
        kept = [row for row in lists[0] if least <= lists[1][row] <= most and end_least <= lists[2][row] <= end_most]
        report(found["wrong"])
        names = ("id", *_COLUMNS)
        return arrow_stream([(names[number], "l", ints(map(lists[number].__getitem__, kept))) for number in columns])

    def build(self, _least: int, /) -> int:
        """Make no levels: they only make pictures faster, and a reader that needs them makes them."""
        return 0

    def made(self) -> list[bytes]:
        """Return the levels that `build` made."""
        return []

    def overview(self, *_: Any) -> dict[str, Any]:
        """Refuse to sum up calls for a picture."""
        raise _refused("show the timeline of a trace")

    def cut(
        self,
        start: int,
        end: int,
        choice: Mapping[str, Any] | None,
        counts: Mapping[str, Any] | None,
        tree: Mapping[str, Any] | None,
        _receiver: Any,
        /,
    ) -> dict[str, int]:
        """Count the calls from a time on, as the recovery of a trace without an end needs; refuse to write them."""
        if choice is not None or tree is not None or counts is None or end < LARGEST:
            raise _refused("cut a part out of a trace")
        for stream in self._streams:
            sink = _Counted(start, counts)
            self._run(stream, sink, end)
            sink.close()
        return {}


def _refused(what: str) -> RecordingError:
    return RecordingError(
        f"this seismo has no native core and cannot {what}", hint="do it on Linux, with a wheel of seismo"
    )


def _has_gap(stream: Stream) -> bool:
    heads = [block[0] for block in stream.blocks]
    return any(after.flags & AFTER_GAP or after.block != before.block + 1 for before, after in pairwise(heads))


def _keep_longest(found: dict[int, tuple[Stream, Call]], function: int, stream: Stream, call: Call) -> None:
    known = found.get(function)
    if known is None or call.end_ns - call.start_ns > known[1].end_ns - known[1].start_ns:
        found[function] = stream, call


def _weights(columns: Mapping[str, list[Any]]) -> list[float]:
    """Return each node's mean ns per segment."""
    segments = [0.0] * len(columns["parent"])
    for node, parent in enumerate(columns["parent"]):
        entered = float(columns["calls"][node]) + float(columns["resumes"][node])
        segments[node] += entered
        if parent >= 0:
            segments[parent] += entered
    means = [own / max(count, 1) for own, count in zip(columns["own_ns"], segments, strict=True)]
    return [mean if 0 <= mean < 1e15 else 0.0 for mean in means]


class _FullError(Exception):
    """The window has as many rows as it may have."""


class _Window(Sink):
    def __init__(self, start: int, end: int, limit: int) -> None:
        super().__init__(start, end)
        self.limit, self.more = limit, False
        self.calls: list[tuple[Stream, Call]] = []
        self.instants: list[tuple[Stream, int, int, tuple[int, int, bytes]]] = []

    def call(self, stream: Stream, call: Call) -> None:
        if self.limit and call.end_ns >= self.start and call.start_ns < self.end:
            self._add(self.calls, (stream, call))

    def event(self, stream: Stream, what: int, of: Any, times: tuple[int, int, int, int]) -> None:
        if what == tokens.INSTANT and self.start <= times[0] < self.end:
            self._add(self.instants, (stream, times[0], times[1], of))

    def _add(self, rows: list[Any], row: Any) -> None:
        if self.limit and len(rows) >= self.limit:
            self.more = True
            raise _FullError
        rows.append(row)


class _Sums(Sink):
    def __init__(self, places: int, function: list[int]) -> None:
        super().__init__()
        self.counts = {name: array.array("q", bytes(8 * places)) for name in _COUNTS}
        self.left = [[0] * places for _ in _COUNTS]
        self.function, self.steps = function, 0
        self.longest: dict[int, tuple[Stream, Call]] = {}

    def left_out(self, place: int, counts: list[int]) -> None:
        for values, count in zip(self.left, counts, strict=True):
            values[place] = clamped(values[place] + count)

    def call(self, stream: Stream, call: Call) -> None:
        self.steps += 1
        if not call.flags & (tokens.BEFORE | tokens.BEGAN_UNSEEN):
            self.counts["resumes" if call.flags & tokens.RESUMED else "calls"][call.node] += 1
        if call.flags & tokens.UNWOUND:
            self.counts["exceptions"][call.node] += 1
        _keep_longest(self.longest, self.function[call.node], stream, call)


class _Counted(Sink):
    """Counts the segments of nodes from a time on, as native/trace/excerpt.c does."""

    def __init__(self, start: int, counts: Mapping[str, Any]) -> None:
        super().__init__(start)
        self.counts = counts
        self.stack: list[int] = []  # nodes
        self.last, self.doubt = 0, 0.0
        self.met = self.begun = self.astray = self.ended = False
        self.open = (0, 0, 0, 0)

    def _pass(self, times: tuple[int, int, int, int]) -> None:
        """Count the time up to an event for the innermost call."""
        time, bound, before, after = times
        around = 0.0 if bound == 0 else float(after - before) if after >= 0 else float(time - self.last)
        doubt = around * around / 12
        if self.stack and time >= self.last:
            node, ns = self.stack[-1], time - self.last
            self.counts["segments"][node] += 1
            self.counts["ns"][node] = clamped(self.counts["ns"][node] + ns)
            self.counts["ns_sq"][node] += float(ns) * float(ns)
            self.counts["ns_var"][node] += (doubt + self.doubt) / 2
        self.last, self.doubt, self.begun = max(self.last, time), doubt, True

    def event(self, _stream: Stream, what: int, of: Any, times: tuple[int, int, int, int]) -> None:
        if not self.met:
            self.met, self.last = True, max(times[2], self.start)
        is_inside = times[0] >= self.start
        if what == tokens.END and of.flags & (tokens.OPEN | tokens.AFTER):
            self.open = times
        elif what in (tokens.START, tokens.END):
            unseen = tokens.ENDED_UNSEEN if what == tokens.END else tokens.BEFORE | tokens.BEGAN_UNSEEN
            if is_inside and not of.flags & unseen:
                self._pass(times)
            else:
                self.astray = True
            if what == tokens.START:
                self.stack.append(of.node)
            elif self.stack:
                self.stack.pop()
        elif is_inside and what == tokens.LAST:
            self.ended = True
            if self.begun or self.stack:
                self._pass(times)
        elif is_inside and (self.astray and self.begun if what == tokens.OTHER else of[0] not in _OWN):
            self._pass(times)

    def gap(self, _stream: Stream, start: int, end: int) -> None:
        if end > self.start:
            if self.met and (self.begun or (self.stack and start > self.start)):
                self._pass((start, 0, 0, 0))
            self.last, self.doubt = end, 0.0

    def close(self) -> None:
        """Count up to the end of a stream that was cut off."""
        if self.met and not self.ended and self.open[0] >= self.start and (self.begun or self.stack):
            self._pass(self.open)
