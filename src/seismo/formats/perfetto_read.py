"""Reads Perfetto's track events: what its SDK, Chrome, tg4perfetto, trace0 and seismo write.

A packet belongs to a sequence. Names and categories may be interned: a number that a packet of the sequence said
before, until the sequence's state is cleared. What a sequence's packets leave out is in its defaults. Times are of a
clock: the trace's own, or one of the sequence whose times are differences; clock snapshots relate clocks to each other
and to the time of the day.

Tracks form a tree: an event's track is one of a thread, of a process, or a child of such a one. Slices of a thread's
track are its calls; those of other tracks are calls on a row of their own, except for seismo's own spans (category
`program`). Packets of other data sources (scheduling, memory, samples) are left out and counted.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

from seismo.formats.base import MAX_BYTES, unzip
from seismo.formats.events import LATEST, MAX_EVENTS, Events, Track
from seismo.formats.protobuf import message, read_varint, signed
from seismo.formats.text import PYTHON, SYNTHETIC, C, parse, unescape
from seismo.formats.timeline import untold
from seismo.model.timeline.write import COUNTER, MARK, SPAN_BEGINS, SPAN_ENDS

if TYPE_CHECKING:
    from seismo.model import Recording

_KINDS = {"python": PYTHON, "c": C, "synthetic": SYNTHETIC}
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_REALTIME, _BOOTTIME = 1, 6
_INTERNED = {1: "category", 2: "name", 3: "annotation", 4: "place"}
_MANY_TRACKS = 1 << 18
_MANY_INTERNED = 1 << 20
_OF_EVENTS = {3, 8, 10, 11, 13, 58, 79}  # what packets of events have: most of all
_MESSAGES = {6, 12, 43, 44, 50, 59, 60}
_KNOWN = _OF_EVENTS | _MESSAGES | {36, 41, 42, 87, 88, 90, 98}  # these say nothing of what happened
_DATA = {1: "scheduling", 2: "process lists", 9: "process statistics", 37: "heap profiles", 66: "samples"}


class _Sequence:
    """What packets of a sequence may refer to."""

    def __init__(self) -> None:
        self.interned: dict[str, dict[int, Any]] = {kind: {} for kind in _INTERNED.values()}
        self.track = 0
        self.clock = 0
        self.thread: tuple[int, int] | None = None
        self.clocks: dict[int, int] = {}  # incremental ones: time so far
        self.units: dict[int, int] = {}

    def forget(self) -> None:
        """The sequence begins anew."""
        self.interned = {kind: {} for kind in _INTERNED.values()}
        self.track = self.clock = 0

    def defaults(self, packet: dict[int, Any]) -> None:
        """What packets of the sequence leave out."""
        self.clock = _number(packet, 58)
        if isinstance(packet.get(11), memoryview):
            self.track = _number(dict(message(packet[11])), 11)


class _Row:
    """A track as descriptors say it."""

    def __init__(self) -> None:
        self.name = ""
        self.parent = 0
        self.thread: tuple[int, int] | None = None
        self.process: int | None = None
        self.counter = False
        self.unit = 1


class _Reader:
    def __init__(self) -> None:
        self._events = Events()
        self._sequences: dict[int, _Sequence] = {}
        self._rows: dict[int, _Row] = {}
        self._offsets: dict[int, int] = {}  # of clocks: what makes the main clock of them
        self._tracks: dict[int, Track] = {}
        self._functions: dict[tuple[str, str, int, str], int] = {}
        self._describing = True
        self._main: dict[int, tuple[int, int]] = {}  # of processes: the first of their threads
        self._dropped = 0
        self._arguments = 0
        self._spans: set[int] = set()
        self._understood = 0

    def read(self, data: bytes) -> Recording:
        self._packets(memoryview(data), MAX_BYTES)  # tracks may be described after their events
        self._describing = False
        self._sequences.clear()
        cut = self._packets(memoryview(data), MAX_BYTES)
        if not self._understood:
            raise ValueError("it has no track events")
        builder = self._events.trace.builder
        if cut:
            builder.loss("truncated", 1, "")
        if self._dropped:
            builder.loss("packets-dropped", self._dropped)
        if self._arguments:
            builder.loss("arguments-dropped", self._arguments)
        self._events.ordered = True
        return self._events.build("perfetto")

    def _packets(self, data: memoryview, room: int, packed: bool = False) -> bool:
        """Reads packets; whether the last one is cut short. room: bytes that may be unpacked."""
        at = 0
        while at < len(data):
            try:
                tag, after = read_varint(data, at)
                length, after = read_varint(data, after)
            except ValueError:
                return True
            if tag != 0x0A:
                raise ValueError(f"byte {at}: no packet of a trace")
            if after + length > len(data):
                return True
            self._packet(data[after : after + length], room, packed)
            at = after + length
        return False

    def _packet(self, data: memoryview, room: int, packed: bool) -> None:
        packet: dict[int, Any] = dict(message(data))
        sequence = self._sequences.get(packet.get(10, 0))
        if sequence is None:
            sequence = self._sequences[_number(packet, 10)] = _Sequence()
            if len(self._sequences) > _MANY_TRACKS:
                raise ValueError("it has too many sequences")
        clears = bool(_number(packet, 13) & 1 or packet.get(41))
        if clears or not packet.keys() <= _OF_EVENTS:
            if clears:
                sequence.forget()
            self._state(packet, sequence, room, packed)
        if 11 in packet and not self._describing:
            self._read_event(packet, sequence)

    def _state(self, packet: dict[int, Any], sequence: _Sequence, room: int, packed: bool) -> None:
        """What a packet says of tracks, clocks and names."""
        messages = {field: _message(packet[field]) for field in packet.keys() & _MESSAGES}
        if 50 in packet:
            if packed:
                raise ValueError("packed packets hold packed packets")
            self._packets(memoryview(_inflated(bytes(messages[50]), room)), room, True)
        if self._describing:
            for field, describe in ((60, self._row), (43, self._process), (44, self._thread)):
                if field in messages:
                    describe(messages[field])
            return
        self._dropped += bool(packet.get(42))
        for field in packet.keys() - _KNOWN:
            self._events.skip(f"packets of {_DATA.get(field) or f'field {field}'}")
        if 59 in messages:
            sequence.defaults(dict(message(messages[59])))
        if 6 in messages:
            self._clocks(messages[6], sequence)
        if 12 in messages:
            self._intern(messages[12], sequence)
        for field, thread in ((60, _thread_of), (44, _ids)):
            if field in messages:
                sequence.thread = sequence.thread or thread(messages[field])

    def _read_event(self, packet: dict[int, Any], sequence: _Sequence) -> None:
        """An event, with what is interned put in its place."""
        event: dict[int, Any] = {}
        notes: list[Any] = []
        for field, value in message(_message(packet[11])):
            if field == 4 and isinstance(value, memoryview):
                notes.append(self._note(value, sequence))
            elif field in (3, 22):
                event.setdefault(field, value)
            else:
                event[field] = value
        interned = sequence.interned
        if 23 in event:
            event[23] = _text(event[23])
        elif 10 in event:
            event[23] = interned["name"].get(event[10], "")
        if 22 in event:
            event[22] = _text(event[22])
        elif 3 in event:
            event[22] = interned["category"].get(_first(event[3]), "")
        if isinstance(event.get(33), memoryview):
            event[33] = _place(event[33])
        elif 34 in event:
            event[33] = interned["place"].get(event[34])
        if 11 not in event:
            event[11] = sequence.track or (_own(sequence.thread) if sequence.thread else 0)
        self._event(self._time(packet, sequence), _number(event, 11), event, notes)

    def _time(self, packet: dict[int, Any], sequence: _Sequence) -> int:
        clock = _number(packet, 58) or sequence.clock
        at = _number(packet, 8) * sequence.units.get(clock, 1)
        if clock in sequence.clocks:
            at = sequence.clocks[clock] = sequence.clocks[clock] + at
        at += self._offsets.get(clock, 0)
        if not -LATEST < at < LATEST:
            raise ValueError("a time is too large")
        return at

    def _clocks(self, data: memoryview, sequence: _Sequence) -> None:
        """A snapshot: what several clocks showed at the same time."""
        shown: dict[int, int] = {}
        for field, value in message(data):
            if field != 1 or not isinstance(value, memoryview):
                continue
            clock = dict(message(value))
            number, time = _number(clock, 1), _number(clock, 2)
            unit = _number(clock, 4) or 1
            if unit > 1:
                sequence.units[number] = unit
            if clock.get(3) and 64 <= number < 128:
                sequence.clocks[number] = time * unit
            shown[number] = min(time * unit, LATEST)
        main = shown.get(_BOOTTIME)
        if main is None:
            return
        for number, time in shown.items():
            self._offsets.setdefault(number, main - time)
        if _REALTIME in shown and not self._events.epoch:
            self._events.epoch = shown[_REALTIME] - main

    def _intern(self, data: memoryview, sequence: _Sequence) -> None:
        for field, value in message(data):
            kind = _INTERNED.get(field)
            if kind is None or not isinstance(value, memoryview):
                continue
            entry: dict[int, Any] = dict(message(value))
            known = sequence.interned[kind]
            if len(known) >= _MANY_INTERNED:
                raise ValueError("it has too many names")
            known[_number(entry, 1)] = _place(value) if kind == "place" else _text(entry.get(2, b""))

    def _row(self, data: memoryview) -> None:
        """A TrackDescriptor."""
        entry: dict[int, Any] = dict(message(data))
        row = self._rows.setdefault(_number(entry, 1), _Row())
        if len(self._rows) > _MANY_TRACKS:
            raise ValueError("it has too many tracks")
        row.name = _text(entry.get(2) or entry.get(10) or b"") or row.name
        row.parent = _number(entry, 5) or row.parent
        if 8 in entry:
            row.counter = True
            row.unit = _number(dict(message(_message(entry[8]))), 4) or 1
        if 3 in entry:
            process = dict(message(_message(entry[3])))
            row.process = _number(process, 1)
            self._name_process(row.process, process.get(6))
        if 4 in entry:
            thread = dict(message(_message(entry[4])))
            row.thread = (_number(thread, 1), _number(thread, 2))
            row.name = row.name or _text(thread.get(5, b""))
            self._main.setdefault(row.thread[0], row.thread)

    def _name_process(self, pid: int, name: Any) -> None:
        if name:
            self._events.processes[pid] = _text(name)

    def _process(self, data: memoryview) -> None:
        process = dict(message(data))
        self._name_process(_number(process, 1), process.get(6))

    def _thread(self, data: memoryview) -> None:
        """A ThreadDescriptor, the older way to say whose a sequence is."""
        row = self._rows.setdefault(_own(_ids(data)), _Row())
        row.thread, row.name = _ids(data), row.name or _text(dict(message(data)).get(5, b""))

    def _note(self, data: memoryview, sequence: _Sequence) -> tuple[str, Any]:
        """A debug annotation: its name and its value."""
        entry: dict[int, Any] = dict(message(data))
        name = _text(entry[10]) if 10 in entry else sequence.interned["annotation"].get(_number(entry, 1), "")
        value: Any = None
        if 2 in entry:
            value = bool(_number(entry, 2))
        elif 3 in entry:
            value = _number(entry, 3)
        elif 4 in entry:
            value = signed(_number(entry, 4))
        elif 5 in entry:
            value = _double(entry[5])
        elif 6 in entry or 9 in entry:
            value = _text(entry.get(6, entry.get(9)))
        elif 17 in entry:
            value = sequence.interned["annotation"].get(_number(entry, 17), "")
        return name, value

    def _find(self, uuid: int) -> Track:
        """The row of the timeline that a track's events are of."""
        found = self._tracks.get(uuid)
        if found is None:
            row = above = self._rows.get(uuid)
            for _ in range(64):  # parents may go round in circles
                if above is None or above.thread is not None or above.process is not None:
                    break
                above = self._rows.get(above.parent)
            if above is None:
                found = self._events.track(0, ("track", uuid))
            elif above.thread is not None and above is row:
                found = self._events.track(*above.thread)
            elif row is not None and (row.counter or uuid in self._spans):  # said on a thread, if there is one
                process = above.process or 0
                found = self._events.track(*(above.thread or self._main.get(process, (process, 0))))
            else:
                found = self._events.track(above.thread[0] if above.thread else above.process, ("track", uuid))
            if row is not None and (row is above or not (found.name or row.counter)):
                found.name = unescape(row.name)
            self._tracks[uuid] = found
        return found

    def _event(self, at: int, uuid: int, event: dict[int, Any], notes: list[Any]) -> None:
        kind = _number(event, 9)
        name, category = str(event.get(23) or ""), str(event.get(22) or "")
        if kind in (_BEGIN, _END) and category == "program":
            self._spans.add(uuid)
        track = self._find(uuid)
        self._understood += 1
        if self._understood > MAX_EVENTS:
            raise ValueError(f"it has more than {MAX_EVENTS} events")
        said = dict(notes)
        if kind in (_BEGIN, _END) and uuid in self._spans:
            data = _json(said.get("data"))
            self._events.say(track, at, SPAN_BEGINS if kind == _BEGIN else SPAN_ENDS, name, data, uuid)
        elif kind == _BEGIN:
            note = said.get("note")
            self._arguments += bool(said.keys() - {"note", "bound_ns"})
            flags = untold(note) if isinstance(note, str) else 0
            track.begin(at, self._function(name, event.get(33), category), flags)
        elif kind == _END:
            track.end(at)
        elif kind == _COUNTER:
            self._counter(at, uuid, event, track)
        elif kind == _INSTANT:
            if category != "seismo":
                data = _json(said["data"]) if said.keys() == {"data"} else said or None
                self._events.say(track, at, MARK, name, data)
        else:
            self._events.skip("events of the older kind" if 6 in event else "events without a type")

    def _counter(self, at: int, uuid: int, event: dict[int, Any], track: Track) -> None:
        row = self._rows.get(uuid)
        value = _double(event[44]) if 44 in event else float(signed(_number(event, 30)))
        value *= row.unit if row is not None else 1
        name = row.name if row is not None else "counter"
        self._events.say(track, at, COUNTER, name, {"value": int(value) if value.is_integer() else value})

    def _function(self, name: str, place: Any, category: str) -> int:
        file, line = place or ("", 0)
        key = (name, file, line, category)
        number = self._functions.get(key)
        if number is None:
            frame = parse(name, file, line)
            if category in _KINDS:
                frame = frame._replace(kind=_KINDS[category])
            number = self._functions[key] = self._events.function(frame)
        return number


def _ids(data: memoryview) -> tuple[int, int]:
    """Process and thread of a ThreadDescriptor."""
    thread: dict[int, Any] = dict(message(data))
    return _number(thread, 1), _number(thread, 2)


def _thread_of(data: memoryview) -> tuple[int, int] | None:
    """The thread that a TrackDescriptor is of."""
    thread = dict(message(data)).get(4)
    return _ids(thread) if isinstance(thread, memoryview) else None


def _own(thread: tuple[int, int]) -> int:
    """A number for the track of a thread that no descriptor gives one: negative, as none of the file's is."""
    return -1 - (thread[0] << 32 | thread[1] & 0xFFFFFFFF)


def _message(value: Any) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a message is a number")  # noqa: TRY004 - what is wrong is the file
    found: memoryview = value
    return found


def _number(entry: dict[int, Any], field: int) -> int:
    value = entry.get(field, 0)
    if not isinstance(value, int):
        raise ValueError("a field is no number")  # noqa: TRY004 - what is wrong is the file
    return value


def _first(value: Any) -> int:
    """The first of a repeated field's numbers, which may be packed."""
    if isinstance(value, int):
        return value
    return read_varint(value, 0)[0] if len(value) else 0


def _text(value: Any) -> str:
    if isinstance(value, int):
        raise ValueError("a text is a number")  # noqa: TRY004
    return bytes(value).decode("utf-8", "replace")


def _double(value: Any) -> float:
    if isinstance(value, int):
        raise ValueError("a value is no double")  # noqa: TRY004
    found: float = struct.unpack("<d", value)[0] if len(value) == 8 else 0.0
    return found


def _place(data: memoryview) -> tuple[str, int]:
    """File and line of a SourceLocation."""
    entry: dict[int, Any] = dict(message(data))
    return _text(entry.get(2, b"")), min(_number(entry, 4), 1 << 40)


def _json(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _inflated(data: bytes, room: int) -> bytes:
    import zlib

    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, min(room, max(1 << 23, 100 * len(data))))
    except zlib.error as error:
        raise ValueError(f"packed packets are damaged ({error})") from error
    if stream.unconsumed_tail:
        raise ValueError("packed packets unpack to too much")
    return found


def read(data: bytes) -> Recording:
    """The recording of a file, which may be gzipped. ValueError: it holds no track events."""
    if data.startswith(b"\x1f\x8b"):
        data = unzip(data)
    if data[257:262] == b"ustar":
        raise ValueError(
            "it is an archive of several traces; unpack it (tar -xf), and put them together by seismo merge"
        )
    return _Reader().read(data)
