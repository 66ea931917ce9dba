"""Events of other tools' timelines, collected by track and made into a trace.

A reader hands over what its file says, in any order: whole calls (slice), their beginnings and ends (begin, end), and
what the program said (said). build() sorts the events of each track by time and plays them to a TraceBuilder.

Where a track has beginnings and ends only, their order says what nests in what; an end without a beginning is left out,
a beginning without an end is a call that still ran. Whole calls are nested by their times: of those that begin together
the longest is the outermost, unless the file is `ordered`, parents first. Calls that overlap without nesting (of tasks
that a tool put on one thread, say) cannot be on one stack: each goes to the first of the thread's lanes that it fits
in, and to the last one, cut to fit, if there are too many.

A track's events are columns: 22 bytes each, however long their names are.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.formats.base import MAX_NODES
from seismo.model.kinds import CallFlags
from seismo.model.timeline.write import RETURN, UNWIND, YIELD, TraceBuilder

if TYPE_CHECKING:
    from seismo.formats.text import Frame
    from seismo.model import Recording
    from seismo.model.timeline.write import Stream

MAX_EVENTS = 1 << 24
"""Events that a file may have."""

LATEST = 1 << 62
LANES = 8
_MANY_SAID = 1 << 20
_FOREVER = (1 << 63) - 1

_OPEN = CallFlags.OPEN | CallFlags.AFTER
_UNSEEN = CallFlags.BEFORE | CallFlags.BEGAN_UNSEEN


class Said(NamedTuple):
    """What the program said at a time: `kind` as TraceBuilder has it."""

    at: int
    kind: int
    name: str
    data: Any
    span: int


class Track:
    """What happened on a thread, or on another row of a timeline."""

    def __init__(self) -> None:
        self.name = ""
        self.starts, self.ends = array("q"), array("q")
        self.functions, self.flags = array("i"), array("H")
        self.times, self.codes, self.notes = array("q"), array("i"), array("H")  # code: function; -1: an end
        self.said: list[Said] = []

    def slice(self, start: int, end: int, function: int, flags: int = 0) -> None:
        """A whole call."""
        self.starts.append(start)
        self.ends.append(max(start, end))
        self.functions.append(function)
        self.flags.append(flags)

    def begin(self, at: int, function: int, flags: int = 0) -> None:
        """A call's beginning."""
        self.times.append(at)
        self.codes.append(function)
        self.notes.append(flags)

    def end(self, at: int) -> None:
        """The end of the innermost call."""
        self.times.append(at)
        self.codes.append(-1)
        self.notes.append(0)

    def first(self) -> int:
        """The earliest time; LATEST: nothing happened."""
        said = min((one.at for one in self.said), default=LATEST)
        return min(min(self.starts, default=LATEST), min(self.times, default=LATEST), said)

    def last(self) -> int:
        """The latest time; -LATEST: nothing happened."""
        ends = max((end for end in self.ends if end < LATEST), default=-LATEST)
        said = max((one.at for one in self.said), default=-LATEST)
        return max(ends, max(self.starts, default=-LATEST), max(self.times, default=-LATEST), said)


class Events:
    """The events of a file. Times are ns on the file's own clock, `epoch` is the unix time of its 0."""

    def __init__(self) -> None:
        self.trace = TraceBuilder(most=MAX_NODES)
        self.ordered = False
        self.epoch = 0
        self.host = ""
        self.processes: dict[object, str] = {}  # their names
        self.unbalanced = self.overlapping = self.long = 0
        self._tracks: dict[tuple[object, object], Track] = {}
        self._functions: dict[Frame, int] = {}
        self._count = 0
        self._said = 0
        self._skipped: dict[str, int] = {}

    def function(self, frame: Frame) -> int:
        """The number of a function."""
        number = self._functions.get(frame)
        if number is None:
            number = self.trace.builder.function(frame.module, frame.qualname, frame.file, frame.line, kind=frame.kind)
            self._functions[frame] = number
        return number

    def track(self, process: object, thread: object) -> Track:
        """The row of a timeline that the file knows by these (hashable). ValueError: the file has too many events."""
        self._count += 1
        if self._count > MAX_EVENTS:
            raise ValueError(f"it has more than {MAX_EVENTS} events")
        found = self._tracks.get((process, thread))
        if found is None:
            found = self._tracks[process, thread] = Track()
            self.processes.setdefault(process, "")
        return found

    def say(self, track: Track, at: int, kind: int, name: str, data: object = None, span: int = 0) -> None:
        """What the program said: a mark, a counter's value, a span's begin or end."""
        self._said += 1
        if self._said > _MANY_SAID:
            self.skip("marks and counts beyond a million")
        else:
            track.said.append(Said(at, kind, name, data, span))

    def skip(self, what: str) -> None:
        """Notes an event that is not understood."""
        if what in self._skipped or len(self._skipped) < 100:
            self._skipped[what] = self._skipped.get(what, 0) + 1

    def build(self, source_format: str, **meta: Any) -> Recording:
        """The trace of all events."""
        builder = self.trace.builder
        tracks = {key: track for key, track in self._tracks.items() if track.first() < LATEST}
        begins: dict[object, int] = {}
        for (process, _), track in tracks.items():
            begins[process] = min(begins.get(process, LATEST), track.first())
        self.epoch = max(self.epoch, -min(begins.values(), default=0))
        rows = {}
        for process, begin in begins.items():
            last = max(track.last() for (of, _), track in tracks.items() if of == process)
            rows[process] = builder.process(
                pid=_id(process),
                host=self.host,
                argv=[self.processes[process]] if self.processes[process] else [],
                start_ns=_unix(self.epoch + begin),
                end_ns=_unix(self.epoch + last),
            )
        for (process, thread), track in tracks.items():
            row = builder.thread(
                rows[process],
                name=track.name,
                native_id=_id(thread),
                start_ns=_unix(self.epoch + track.first()),
                end_ns=_unix(self.epoch + track.last()),
                wall_ns=min(track.last() - track.first(), LATEST),
                main=int(thread == process),
            )
            self._play(track, row, begins[process])
        self._losses()
        return self.trace.build({"source_format": source_format, **meta})

    def _losses(self) -> None:
        losses = {
            "unbalanced": (self.unbalanced, ""),
            "overlapping": (self.overlapping, ""),
            "instants-long": (self.long, ""),
            "events-skipped": (
                sum(self._skipped.values()),
                ": " + ", ".join(f"{count} of {what}" for what, count in sorted(self._skipped.items())[:6]),
            ),
        }
        for kind, (count, detail) in losses.items():
            if count:
                self.trace.builder.loss(kind, count, detail)

    def _play(self, track: Track, thread: int, origin: int) -> None:
        player = _Player(self, track, thread, origin)
        if len(track.starts):
            self._matched(track)
            player.nest()
        else:
            player.follow()
        player.end()

    def _matched(self, track: Track) -> None:
        """Beginnings and ends as whole calls, for a track that has those, too."""
        stack: list[int] = []
        for place in _sorted(track.times):
            if track.codes[place] >= 0:
                stack.append(len(track.starts))
                track.slice(track.times[place], _FOREVER, track.codes[place], track.notes[place] | CallFlags.OPEN)
            elif stack:
                open_ = stack.pop()
                track.ends[open_] = track.times[place]
                track.flags[open_] &= ~CallFlags.OPEN
            else:
                self.unbalanced += 1


class _Player:
    """Plays a track to streams of its thread: to one lane, or to several where calls overlap."""

    def __init__(self, events: Events, track: Track, thread: int, origin: int) -> None:
        self._events = events
        self._track = track
        self._thread = thread
        self._origin = origin
        self._lanes: list[tuple[Stream, list[tuple[int, int]]]] = []  # with the open calls: end, flags
        self._said = sorted(track.said, key=lambda one: one.at)
        self._told = 0
        self._lane()

    def _lane(self) -> tuple[Stream, list[tuple[int, int]]]:
        self._lanes.append((self._events.trace.stream(self._thread), []))
        return self._lanes[-1]

    def _tell(self, before: int) -> None:
        """What was said before a time, on the first lane."""
        stream = self._lanes[0][0]
        while self._told < len(self._said) and self._said[self._told].at < before:
            one = self._said[self._told]
            self._told += 1
            if not stream.instant(one.kind, one.name, one.at - self._origin, one.data, one.span):
                self._events.long += 1

    def _leave(self, stream: Stream, at: int, flags: int) -> None:
        if stream is self._lanes[0][0]:
            self._tell(at + 1)
        how = UNWIND if flags & CallFlags.UNWOUND else YIELD if flags & CallFlags.YIELDED else RETURN
        stream.leave(at - self._origin, how, seen=not flags & CallFlags.ENDED_UNSEEN)

    def _enter(self, stream: Stream, at: int, function: int, flags: int) -> None:
        if stream is self._lanes[0][0]:
            self._tell(at)
        resumed, seen = bool(flags & CallFlags.RESUMED), not flags & _UNSEEN
        stream.enter(function, at - self._origin, resumed=resumed, seen=seen)

    def follow(self) -> None:
        """Beginnings and ends, in the order of their times and, where these are equal, of the file."""
        track = self._track
        stream, _ = self._lanes[0]
        order = _sorted(track.times)
        last = next((place for place in range(len(order) - 1, -1, -1) if track.codes[order[place]] >= 0), -1)
        stack: list[int] = []
        ended = 0  # calls on the stack that end before the track does
        for place, row in enumerate(order):
            at, flags = track.times[row], track.notes[row]
            if track.codes[row] >= 0:
                self._enter(stream, at, track.codes[row], flags)
                stack.append(flags)
                ended += not flags & _OPEN
            elif not stack:
                self._events.unbalanced += 1
            elif not ended and place > last:
                break  # what is open ends with the stream
            else:
                flags = stack.pop()
                ended -= not flags & _OPEN
                self._leave(stream, at, flags)

    def nest(self) -> None:
        """Whole calls, nested by their times."""
        track = self._track
        starts, ends = track.starts, track.ends
        if self._events.ordered:
            order = _sorted(starts)
        else:
            order = sorted(range(len(starts)), key=lambda row: (starts[row], -ends[row]))
        for row in order:
            start, end = starts[row], ends[row]
            stream, open_ = self._fit(start, end)
            if open_ and open_[-1][0] < end:
                end = open_[-1][0]  # there were too many lanes
            open_.append((end, track.flags[row]))
            self._enter(stream, start, track.functions[row], track.flags[row])

    def _fit(self, start: int, end: int) -> tuple[Stream, list[tuple[int, int]]]:
        """The first lane whose innermost open call holds this one."""
        for lane in self._lanes:
            stream, open_ = lane
            while open_ and open_[-1][0] <= start:
                self._leave(stream, *open_.pop())
            if not open_ or open_[-1][0] >= end:
                return lane
        self._events.overlapping += 1
        return self._lane() if len(self._lanes) < LANES else self._lanes[-1]

    def end(self) -> None:
        """Ends all lanes."""
        last = self._track.last()
        for stream, open_ in self._lanes:
            while open_ and not open_[-1][1] & _OPEN:
                end, flags = open_.pop()
                self._leave(stream, min(end, last), flags)
        self._tell(_FOREVER)
        for stream, _ in self._lanes:
            stream.end(last - self._origin)


def _sorted(times: array[int]) -> list[int]:
    """Rows by time; those of the same time stay in order."""
    return sorted(range(len(times)), key=times.__getitem__)


def _id(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 62 else 0


def _unix(ns: int) -> int:
    return min(max(ns, 0), LATEST)
