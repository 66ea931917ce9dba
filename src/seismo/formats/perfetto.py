"""Perfetto's protobuf: track events with interned names, for ui.perfetto.dev and its trace processor.

Each stream is a thread's track. A call is an event that begins a slice and one that ends it. The file has the order of
the events, so that calls of the same time nest correctly. Counts of the program are counter tracks.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO

from seismo.formats.base import Format
from seismo.formats.call_trees import frames, program
from seismo.formats.function_names import escape, json_text, name
from seismo.formats.protobuf import bytes_field, number_field, varint
from seismo.formats.trace_tracks import TraceTracks, Track, flag_words, steps, trace_tracks

if TYPE_CHECKING:
    from seismo.model import Recording

MOST = 4_000_000  # calls that are written: about 200 MB, which take two gigabytes in the page
CATEGORIES = ("python", "c", "synthetic", "program", "seismo")
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # TrackEvent.Type
_TYPES = {"begin": _BEGIN, "end": _END, "mark": _INSTANT, "counter": _COUNTER}
_REALTIME, _BOOTTIME = 1, 6  # BuiltinClock
_PROGRAM, _OURS = 4, 5  # indexes of CATEGORIES
_KNOWN = 1 << 16  # the most bounds that are cached as bytes
_TIME = varint(8 << 3)  # the tag of a packet's time
_SEQUENCE = number_field(10, 1)


def _packet(out: BinaryIO, *parts: bytes) -> None:
    """Write a TracePacket of these fields, in seismo's sequence."""
    out.write(bytes_field(1, b"".join((*parts, _SEQUENCE))))


def _at(ns: int) -> bytes:
    """Return a packet's time as a varint padded to a fixed length, which is faster than the loop of varint()."""
    if ns >> 49:
        return _TIME + varint(ns)
    low = ns & 127 | 128, ns >> 7 & 127 | 128, ns >> 14 & 127 | 128
    return bytes((64, *low, ns >> 21 & 127 | 128, ns >> 28 & 127 | 128, ns >> 35 & 127 | 128, ns >> 42))


def _text(field: int, text: str) -> bytes:
    return bytes_field(field, text.encode("utf-8", "replace"))


def _write(recording: Recording, out: BinaryIO) -> None:
    found = trace_tracks(recording, MOST)
    _write_clocks(out, recording.calls.start_ns)
    _write_tracks(out, recording, found)
    _write_names(out, recording)
    heads = _heads(recording)
    for number, track in enumerate(found.tracks, 1):
        _write_calls(out, heads, found, track, number)
    _write_marks(out, found)


def _write_clocks(out: BinaryIO, start_ns: int) -> None:
    """Write the clock snapshot: times count from the trace's start, for which the time of day is given."""
    clocks = ((_BOOTTIME, 0), (_REALTIME, start_ns))
    snapshot = b"".join(bytes_field(1, number_field(1, clock) + number_field(2, time)) for clock, time in clocks)
    _packet(out, bytes_field(6, snapshot + number_field(2, _BOOTTIME)))


def _process(pid: int) -> int:
    """Return the number of a process's track."""
    return 1 << 40 | pid


def _write_tracks(out: BinaryIO, recording: Recording, found: TraceTracks) -> None:
    of = recording.threads["process"]
    for track in {track.pid: track for track in reversed(found.tracks)}.values():
        shown = program(recording, of[track.thread]) + "".join(track.process.partition(" on ")[1:])
        about = number_field(1, track.pid) + _text(6, escape(shown))
        _packet(out, bytes_field(60, number_field(1, _process(track.pid)) + bytes_field(3, about)))
    for number, track in enumerate(found.tracks, 1):
        about = number_field(1, track.pid) + number_field(2, track.tid) + _text(5, escape(track.label))
        descriptor = number_field(1, number) + number_field(5, _process(track.pid)) + bytes_field(4, about)
        _packet(out, bytes_field(60, descriptor))


def _write_names(out: BinaryIO, recording: Recording) -> None:
    """Write the interned names of functions and annotations, whose numbers the events use."""
    interned = bytearray()
    for number, frame in enumerate(frames(recording), 1):
        interned += bytes_field(2, number_field(1, number) + _text(2, name(frame.module, frame.qualname)))
        if frame.file:
            place = number_field(1, number) + _text(2, name("", frame.file)) + number_field(4, max(frame.line, 0))
            interned += bytes_field(4, place)
    for number, word in enumerate(CATEGORIES, 1):
        interned += bytes_field(1, number_field(1, number) + _text(2, word))
    for number, word in enumerate(("note", "bound_ns", "data"), 1):
        interned += bytes_field(3, number_field(1, number) + _text(2, word))
    _packet(out, bytes_field(12, bytes(interned)), number_field(13, 1), number_field(87, 1))


def _heads(recording: Recording) -> list[bytes]:
    """Return the common part of each function's begin events."""
    return [
        number_field(3, min(frame.kind, 2) + 1)
        + number_field(9, _BEGIN)
        + number_field(10, row)
        + (number_field(34, row) if frame.file else b"")
        for row, frame in enumerate(frames(recording), 1)
    ]


def _write_calls(out: BinaryIO, heads: list[bytes], found: TraceTracks, track: Track, number: int) -> None:
    columns = ("function", "flags", "start_bound_ns", "end_bound_ns")
    functions, flags, before, after = (found.calls.numbers(column) for column in columns)
    on_track = number_field(11, number)
    rest = number_field(13, 2) + _SEQUENCE  # of a packet with interned names
    end = bytes_field(11, number_field(9, _END) + on_track) + rest
    begin = lru_cache(None)(lambda function: heads[function] + on_track)
    bounded = lru_cache(_KNOWN)(lambda bound: bytes_field(4, number_field(1, 2) + varint(3 << 3) + varint(bound)))
    for now, step in steps(found.calls, track):
        if step < 0:
            out.write(bytes_field(1, _at(now) + end))
            continue
        event = begin(functions[step])
        if flags[step]:
            event += bytes_field(4, number_field(1, 1) + _text(6, flag_words(flags[step])))
        bound = max(before[step], after[step])
        if bound > 0:
            event += bounded(bound)
        out.write(bytes_field(1, _at(now) + bytes_field(11, event) + rest))


def _own_track(out: BinaryIO, known: dict[tuple[int, str | int], int], key: tuple[int, str | int], about: bytes) -> int:
    """Return the number of the track of a counter or of a span, which is described when it is new."""
    if key not in known:
        known[key] = len(known) + (1 << (41 if isinstance(key[1], str) else 42))
        _packet(out, bytes_field(60, number_field(1, known[key]) + about))
    return known[key]


def _write_marks(out: BinaryIO, found: TraceTracks) -> None:
    counters: dict[tuple[int, str | int], int] = {}  # by process and name
    spans: dict[tuple[int, str | int], int] = {}  # by process and number
    for mark in found.marks:
        track, pid, kind = mark.track + 1, found.tracks[mark.track].pid, _TYPES[mark.kind]
        time = _TIME + varint(max(0, mark.time_ns))
        if kind == _COUNTER:
            about = number_field(5, _process(pid)) + _text(2, mark.name) + bytes_field(8, b"")
            track = _own_track(out, counters, (pid, mark.name), about)
            counted = varint(44 << 3 | 1) + struct.pack("<d", mark.value)
            _packet(out, time, bytes_field(11, number_field(9, kind) + number_field(11, track) + counted))
            continue
        if kind != _INSTANT:  # a span may end on another thread, and overlaps calls
            track = _own_track(out, spans, (pid, mark.span), number_field(5, track) + _text(2, "spans"))
        event = number_field(3, _PROGRAM) + number_field(9, kind) + number_field(11, track)
        event += b"" if kind == _END else _text(23, mark.name)
        if mark.data is not None:
            event += bytes_field(4, number_field(1, 3) + _text(6, json_text(mark.data)))
        _packet(out, time, bytes_field(11, event), number_field(13, 2))
    for place, gap in found.gaps:
        text = f"events missing for {gap.end_ns - gap.start_ns} ns"
        event = number_field(3, _OURS) + number_field(9, _INSTANT) + number_field(11, place + 1) + _text(23, text)
        _packet(out, _TIME + varint(max(0, gap.start_ns)), bytes_field(11, event), number_field(13, 2))


FORMAT = Format(
    name="perfetto",
    description="Perfetto's protobuf of track events, of a trace: for ui.perfetto.dev and trace_processor",
    suffixes=(".pftrace", ".perfetto-trace", ".perfetto"),
    binary=True,
    writer=_write,
    lost="calls beyond four million; the call tree's counts and times, losses; how far "
    "the clocks of several systems may be apart; a pid that two of them use is replaced for one of them",
    of_traces=True,
    most_calls=MOST,
)
