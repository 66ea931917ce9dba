"""pprof: the gzipped protocol buffer of Google's profiler, for `pprof`, `go tool pprof`, Pyroscope and Parca.

A sample is a path (the last function first) with a value of each type: calls, resumes, exceptions, awaits, own time,
time awaited and time waiting. The default type is the time. A function has one location. Its `name` is the displayed
`module.qualname`, and `system_name` is the word of function_names.py, from which both parts can be read back. Labels on
each sample name the thread, the process and the host, or, of a dataset, the host and the task; `lower_bound` marks
calls that are a lower bound. Losses are comments of the profile.

As in collapsed stacks, paths are written whole, so levels beyond MAX_DEPTH are merged (bounded_paths).
"""

from __future__ import annotations

import gzip
import io
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO

from seismo.formats.base import MAX_DEPTH, UNITS, Format, number, unzip, whole
from seismo.formats.call_path_builder import ROOT, Paths
from seismo.formats.call_trees import DEEPER, CallTrees, bounded_paths, frames, pids, program
from seismo.formats.function_names import SYNTHETIC, Frame, clipped, escape, name, parse, unescape
from seismo.formats.protobuf import bytes_field, fields, number_field, numbers, packed_field, varint
from seismo.model import Builder, Recording
from seismo.model.columns import Texts
from seismo.model.enums import LOWER_BOUND
from seismo.pure.numbers import signed

if TYPE_CHECKING:
    from collections.abc import Iterator

# The fields of profile.proto in use.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING = 1, 2, 3, 4, 5, 6
_TIME_NANOS, _DURATION_NANOS, _COMMENT, _DEFAULT_TYPE = 9, 10, 13, 14
_SAMPLE_LOCATION, _SAMPLE_VALUE, _SAMPLE_LABEL = 1, 2, 3
_LABEL_KEY, _LABEL_STR, _LABEL_NUM = 1, 2, 3
_LINE = 4  # of a location

_WAITING = "waiting"
# The types of values with their units, and the columns of the tree that have them.
TYPES = {("calls", "count"): "calls", ("resumes", "count"): "resumes", ("exceptions", "count"): "exceptions"}
TYPES |= {("awaits", "count"): "awaits", ("time", "nanoseconds"): "own_ns", ("await", "nanoseconds"): "await_ns"}
TYPES |= {(_WAITING, "nanoseconds"): "wait_ns"}
_COLUMNS = {type_: column for (type_, _), column in TYPES.items()}


def _write(recording: Recording, out: BinaryIO) -> None:
    with gzip.GzipFile("", "wb", 6, out, 0) as packed, io.BufferedWriter(packed, 1 << 18) as buffer:
        _write_profile(recording, buffer)


def _write_profile(recording: Recording, out: BinaryIO) -> None:
    strings = Texts()
    forest = CallTrees(recording)
    out.writelines(
        bytes_field(_SAMPLE_TYPE, number_field(1, strings.add(type_)) + number_field(2, strings.add(unit)))
        for type_, unit in TYPES
    )
    labels = _thread_labels(recording, strings)
    at_least = _label(strings, "lower_bound", number_=1)
    known = [*frames(recording), DEEPER]
    for thread in forest.busy_threads():
        for path, row_values, is_lower_bound in samples(forest, thread):
            label = labels[thread] + at_least if is_lower_bound else labels[thread]
            sample = bytes_field(_SAMPLE_LOCATION, path) + packed_field(_SAMPLE_VALUE, row_values) + label
            out.write(bytes_field(_SAMPLE, sample))
    title = escape(program(recording))
    flags = b"".join(number_field(field, 1) for field in (7, 8, 9))  # functions, files and lines are known
    out.write(bytes_field(_MAPPING, number_field(1, 1) + number_field(5, strings.add(title)) + flags))
    for id_, frame in enumerate(known, 1):
        place = number_field(1, id_) + number_field(2, max(frame.line, 0))
        out.write(bytes_field(_LOCATION, number_field(1, id_) + number_field(2, 1) + bytes_field(_LINE, place)))
        out.write(_function(id_, frame, strings))
    lost = (escape(f"lost: {loss.kind} {loss.count} {loss.detail}") for loss in recording.losses)
    comments = list(map(strings.add, ("written by seismo", *lost)))
    out.writelines(bytes_field(_STRING, text.encode()) for text in strings.index)
    begin, end = span(recording)
    out.write(number_field(_TIME_NANOS, begin) + number_field(_DURATION_NANOS, end - begin))
    out.write(packed_field(_COMMENT, comments) + number_field(_DEFAULT_TYPE, strings.index["time"]))


def samples(forest: CallTrees, thread: int) -> Iterator[tuple[bytes, list[int], int]]:
    """Yield a thread's samples: the path's ids, the values of TYPES, and nonzero if calls are a lower bound.

    The id of a function is its row + 1. They are varints, the innermost function's first.
    """
    tree = forest.recording.tree
    columns, flags = [tree[column] for column in TYPES.values()], tree["flags"]
    id_of = lru_cache(None)(lambda row: varint(row + 1))

    def values(row: int) -> list[int]:
        return [*(number(column[row]) for column in columns), flags[row] & LOWER_BOUND]

    for path, (*found, bound) in bounded_paths(forest, thread, values):
        if any(found):
            yield b"".join(map(id_of, reversed(path))), found, bound


def _label(strings: Texts, key: str, text: str | None = None, number_: int = 0) -> bytes:
    value = number_field(_LABEL_NUM, number_) if text is None else number_field(_LABEL_STR, strings.add(text))
    return bytes_field(_SAMPLE_LABEL, number_field(_LABEL_KEY, strings.add(key)) + value)


def _thread_labels(recording: Recording, strings: Texts) -> list[bytes]:
    found = []
    for row, pid, more in zip(recording.threads, pids(recording), recording.thread_labels, strict=True):
        texts = {"thread": row.name, **more}
        numbers_ = {} if recording.threads_are_summed else {"thread_id": row.native_id, "pid": pid}
        found.append(
            b"".join(_label(strings, key, escape(text)) for key, text in texts.items())
            + b"".join(_label(strings, key, number_=value) for key, value in numbers_.items())
        )
    return found


def _function(id_: int, frame: Frame, strings: Texts) -> bytes:
    shown = f"{frame.module}.{frame.qualname}" if frame.module else frame.qualname
    return bytes_field(
        _FUNCTION,
        number_field(1, id_)
        + number_field(2, strings.add(escape(shown)))
        + number_field(3, strings.add(name(frame.module, frame.qualname)))
        + number_field(4, strings.add(escape(frame.file)))
        + number_field(5, max(frame.line, 0)),
    )


def span(recording: Recording) -> tuple[int, int]:
    """Return the start and end of the recording, in ns since the epoch, or 0 if unknown."""
    starts = [start for start in recording.processes["start_ns"] if start > 0]
    ends = [end for end in recording.processes["end_ns"] if end > 0]
    begin = min(starts, default=0)
    return begin, max(begin, max(ends, default=0))


def integers(message: memoryview) -> dict[int, int]:
    """Return the numbers in a message, by field."""
    return split(message)[0]


def split(message: memoryview) -> tuple[dict[int, int], defaultdict[int, list[memoryview]]]:
    """Return the numbers in a message, by field, and the texts and messages in it."""
    values: dict[int, int] = {}
    parts: defaultdict[int, list[memoryview]] = defaultdict(list)
    for field, value in fields(message):
        if isinstance(value, int):
            values[field] = value
        else:
            parts[field].append(value)
    return values, parts


class _Reader:
    """A reader of a file: the messages that others refer to by id, then the samples."""

    def __init__(self, data: bytes) -> None:
        self._builder = Builder()
        self._paths = Paths(self._builder)
        top, parts = split(memoryview(data))
        self._default_type = top.get(_DEFAULT_TYPE, 0)
        self._strings = [clipped(bytes(text).decode("utf-8", "replace")) for text in parts[_STRING]]
        self._types, self._samples = parts[_SAMPLE_TYPE], parts[_SAMPLE]
        self._functions = {entry.get(1, 0): entry for entry in map(integers, parts[_FUNCTION])}
        self._locations: dict[int, list[tuple[int, int]]] = {}  # functions and lines, the innermost first
        for entry, inner in map(split, parts[_LOCATION]):
            lines = map(integers, inner[_LINE])
            self._locations[entry.get(1, 0)] = [(line.get(1, 0), line.get(2, 0)) for line in lines]
        self._called = lru_cache(None)(self._functions_of)

    def recording(self) -> Recording:
        """Return the recording of all samples."""
        types = [(self._text(entry.get(1, 0)), self._text(entry.get(2, 0))) for entry in map(integers, self._types)]
        if not types:
            raise ValueError("it has no sample types")
        found = {type_: place for place, type_ in enumerate(types)}
        places = {known: found[known, unit] for known, unit in TYPES if (known, unit) in found and known != _WAITING}
        scale = 1  # ns per unit of time, or 0 if that is unknown
        if "time" not in places:
            timed = [place for place, (_, unit) in enumerate(types) if unit in UNITS]
            chosen = next((place for place in timed if types[place][0] == self._text(self._default_type)), None)
            if chosen is None:
                chosen = timed[-1] if timed else len(types) - 1  # pprof shows the last one by default
            places["time"] = chosen
            scale = UNITS.get(types[chosen][1], 0)
        for message in self._samples:
            self._sample(message, places, scale or 1)
        if not scale:
            detail = f"values of the type {types[places['time']][0]!r} were taken for ns"
            self._builder.loss("unit-assumed", 1, detail)
        if "calls" not in places:
            self._builder.loss("calls-unknown", 1, "the profile has samples and no calls")
        return self._paths.build("pprof")

    def _text(self, index: int) -> str:
        if index >= len(self._strings):
            raise ValueError("the index of a string is out of range")
        return self._strings[index]

    def _functions_of(self, location: int) -> list[int]:
        """Return the functions of a location, outermost first; there are several if some were inlined."""
        found = [self._numbered(*line) for line in reversed(self._locations.get(location, []))]
        # If there are none, it is an address without a name.
        return found or [self._paths.function(Frame(SYNTHETIC, "", f"<location {location}>", "", 0))]

    def _numbered(self, function: int, line: int) -> int:
        entry = self._functions.get(function, {})
        word = self._text(entry.get(3, 0)) or self._text(entry.get(2, 0))
        start = entry.get(5, 0) or line
        return self._paths.function(parse(word, unescape(self._text(entry.get(4, 0))), start if start < 1 << 40 else 0))

    def _sample(self, message: memoryview, places: dict[str, int], scale: int) -> None:
        paths = self._paths
        locations: list[int] = []
        values: list[int] = []
        labels: dict[str, str | int] = {}
        for field, value in fields(message):
            if field == _SAMPLE_LOCATION:
                locations += numbers(value)
            elif field == _SAMPLE_VALUE:
                values += map(signed, numbers(value))
            elif field == _SAMPLE_LABEL and not isinstance(value, int):
                entry = integers(value)
                number_ = entry.get(_LABEL_NUM)
                labels[self._text(entry.get(_LABEL_KEY, 0))] = (
                    self._text(entry.get(_LABEL_STR, 0)) if number_ is None else signed(number_)
                )
        if len(values) != len(self._types):
            raise ValueError("a sample has a wrong number of values")
        pid, thread_id, name_ = (labels.get(key, 0) for key in ("pid", "thread_id", "thread"))
        pid, thread_id = (value if isinstance(value, int) and 0 <= value < 1 << 62 else 0 for value in (pid, thread_id))
        title = unescape(name_) if isinstance(name_, str) else ""
        thread = paths.thread((pid, thread_id, title), pid, title, thread_id)
        node = ROOT
        for location in reversed(locations):
            for function in self._called(location):
                node = paths.child(thread, node, function)
        if node == ROOT:
            return
        for known, place in places.items():
            amount = values[place] * (scale if known == "time" else 1)
            paths.columns[_COLUMNS[known]][node] += whole(max(amount, 0), f"a value of {known}")
        if labels.get("lower_bound"):
            paths.columns["flags"][node] |= LOWER_BOUND


FORMAT = Format(
    name="pprof",
    description="Google's profile.proto, gzipped: pprof, go tool pprof, Pyroscope, Parca",
    suffixes=(".pb.gz", ".pprof", ".pb"),
    binary=True,
    counts=True,
    labels=True,
    writer=_write,
    reader=lambda data: _Reader(unzip(data) if data[:2] == b"\x1f\x8b" else data).recording(),
    lost=f"errors, kinds of functions, the order of frames beyond {MAX_DEPTH} levels; losses become comments",
    kept="processes and threads, functions, paths, counts, own and awaited time, lower bounds",
    lists_losses=True,
)
