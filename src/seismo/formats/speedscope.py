"""speedscope: the JSON file of speedscope.app, with one profile per thread.

The profiles are evented: a node is opened, its children follow one another, its own time passes, and it is closed. That
takes two events per node for any depth, whereas the size of stacks grows with the square of the depth. In a profile,
times are durations without an order of events. So "Left Heavy" is the useful view, and "Time Order" shows the order of
the tree. In a trace, calls are opened and closed at their real times.

A recording of objects becomes one sampled profile: the stacks of allocation_stacks.py, whose last frame is a type, with
the chosen weights.

The reader supports evented and sampled profiles in any unit of time. Weights without a unit are read as nanoseconds.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from seismo.formats.allocation_stacks import stacks
from seismo.formats.base import MAX_VALUE, Format, TextSink, number
from seismo.formats.call_path_builder import ROOT, Paths
from seismo.formats.call_trees import CallTrees, frames, program, thread_names
from seismo.formats.function_names import Frame, json_text, name, parse
from seismo.formats.trace_tracks import steps, trace_tracks
from seismo.recording_kinds import CALLS, OBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seismo.formats.base import ByteSink
    from seismo.model import Recording

SCHEMA = "https://www.speedscope.app/file-format-schema.json"

_UNITS = {"nanoseconds": 1, "microseconds": 1_000, "milliseconds": 1_000_000, "seconds": 1_000_000_000}


MOST = 300_000
"""Calls of a trace: what speedscope still draws."""


def _write(recording: Recording, file: ByteSink) -> None:
    if recording.calls:
        _write_trace(recording, file)
        return
    forest = CallTrees(recording)
    own = recording.tree["own_ns"]
    names = thread_names(recording)
    durations = [0] * forest.threads
    for row in range(forest.count):
        durations[forest.thread[row]] += number(own[row])
    threads = forest.busy_threads()
    longest = max(range(len(threads)), key=lambda place: durations[threads[place]], default=0)
    with TextSink(file) as out:
        _begin(out, recording, longest, frames(recording))
        for place, thread in enumerate(threads):
            out.write(",\n" if place else "\n")
            _head(out, names[thread], durations[thread])
            _events(out, forest, thread)
        if not threads:  # the viewer needs at least one profile
            _head(out, "nothing was recorded", 0)
            out.write("]}")
        out.write("]}\n")


def _write_trace(recording: Recording, file: ByteSink) -> None:
    found = trace_tracks(recording, MOST)
    calls = found.calls
    functions = calls.numbers("function")
    longest = max(range(len(found.tracks)), key=lambda at: found.tracks[at].last - found.tracks[at].first, default=0)
    with TextSink(file) as out:
        _begin(out, recording, longest, frames(recording))
        for place, track in enumerate(found.tracks):
            out.write(",\n" if place else "\n")
            last = max((calls.numbers("end_ns")[row] for row in range(track.first, track.last)), default=0)
            _head(out, track.name, last)
            comma = ""
            for now, step in steps(calls, track):
                kind, row = ("O", step) if step >= 0 else ("C", ~step)
                out.write(f'{comma}\n{{"type":"{kind}","at":{now},"frame":{functions[row]}}}')
                comma = ","
            out.write("]}")
        if not found.tracks:
            _head(out, "nothing was recorded", 0)
            out.write("]}")
        out.write("]}\n")


_TITLES = {"births": "objects born", "bytes": "bytes of objects born", "survivors": "objects alive at the end"}


def _write_objects(recording: Recording, file: ByteSink, weight: str) -> None:
    found = stacks(recording, weight)
    numbers: dict[Frame, int] = {}
    for stack in found:
        for frame in stack:
            numbers.setdefault(frame, len(numbers))
    unit = "bytes" if weight == "bytes" else "none"
    with TextSink(file) as out:
        _begin(out, recording, 0, list(numbers))
        out.write(f'\n{{"type":"sampled","name":{json_text(_TITLES[weight])},"unit":"{unit}",')
        out.write(f'"startValue":0,"endValue":{sum(found.values())},"samples":[')
        for place, stack in enumerate(found):
            out.write(f"{',' if place else ''}\n[{','.join(str(numbers[frame]) for frame in stack)}]")
        out.write('],\n"weights":[')
        for place, amount in enumerate(found.values()):
            out.write(f"{',' if place else ''}{amount}")
        out.write("]}]}\n")


def _begin(out: TextSink, recording: Recording, active: int, shown: Sequence[Frame]) -> None:
    """Write everything before the first profile."""
    out.write(f'{{"$schema":"{SCHEMA}","exporter":"seismo","name":{json_text(program(recording))},\n')
    out.write(f'"activeProfileIndex":{active},\n"shared":{{"frames":[\n')
    out.write(",\n".join(_frames(shown)))
    out.write(']},\n"profiles":[')


def _frames(of: Sequence[Frame]) -> Iterator[str]:
    for frame in of:
        shown: dict[str, object] = {"name": name(frame.module, frame.qualname)}
        if frame.file:
            shown["file"] = frame.file
        if frame.line > 0:
            shown["line"] = frame.line
        yield json_text(shown)


def _head(out: TextSink, title: str, duration: int) -> None:
    out.write(f'{{"type":"evented","name":{json_text(title)},"unit":"nanoseconds",')
    out.write(f'"startValue":0,"endValue":{duration},"events":[')


def _events(out: TextSink, forest: CallTrees, thread: int) -> None:
    own = forest.recording.tree["own_ns"]
    function = forest.function
    now = 0
    comma = ""
    for step in forest.walk(thread):
        if step >= 0:
            out.write(f'{comma}\n{{"type":"O","at":{now},"frame":{function[step]}}}')
        else:
            now += number(own[~step])
            out.write(f'{comma}\n{{"type":"C","at":{now},"frame":{function[~step]}}}')
        comma = ","
    out.write("]}")


def read_document(document: object) -> Recording:
    """Return the recording of a parsed speedscope file. Raise ValueError if it violates the schema."""
    from seismo.model import Builder

    top = _object(document, "the file")
    builder = Builder()
    paths = Paths(builder)
    functions = []
    for frame in _list(_object(top.get("shared"), "shared").get("frames"), "shared.frames"):
        entry = _object(frame, "a frame")
        file, line = entry.get("file"), entry.get("line")
        functions.append(
            paths.function(
                parse(
                    _text(entry.get("name"), "a frame's name"),
                    file if isinstance(file, str) else "",
                    line if type(line) is int and 0 <= line < 1 << 40 else 0,
                )
            )
        )
    assumed = False
    for place, value in enumerate(_list(top.get("profiles"), "profiles")):
        profile = _object(value, "a profile")
        title = profile.get("name")
        reader = _Reader(paths, functions, paths.thread(place, 0, title if isinstance(title, str) else ""))
        unit = profile.get("unit")
        assumed |= unit not in _UNITS
        reader.scale = _UNITS.get(unit, 1) if isinstance(unit, str) else 1
        if profile.get("type") == "evented":
            reader.evented(_list(profile.get("events"), "events"))
        elif profile.get("type") == "sampled":
            reader.sampled(_list(profile.get("samples"), "samples"), _list(profile.get("weights"), "weights"))
        else:
            raise ValueError("a profile is neither evented nor sampled")
    builder.loss("calls-unknown", 1, "speedscope files have times and no calls")
    if assumed:
        builder.loss("unit-assumed", 1, "weights without a unit of time were taken for ns")
    return paths.build("speedscope")


class _Reader:
    """A reader of one profile into the paths."""

    def __init__(self, paths: Paths, functions: list[int], thread: int) -> None:
        self._paths = paths
        self._functions = functions
        self._thread = thread
        self.scale = 1

    def _child(self, parent: int, frame: object) -> int:
        if type(frame) is not int or not 0 <= frame < len(self._functions):
            raise ValueError("an index of a frame leads nowhere")
        return self._paths.child(self._thread, parent, self._functions[frame])

    def _time(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError("a time is no number")  # noqa: TRY004 - the file is invalid
        if not (math.isfinite(value) and abs(value) * self.scale <= MAX_VALUE):
            raise ValueError("a time is too large")
        return round(value * self.scale)

    def sampled(self, samples: list[object], weights: list[object]) -> None:
        """Add samples: each is a stack, the root first, whose weight is own time of the last frame."""
        if len(samples) != len(weights):
            raise ValueError("there are not as many weights as samples")
        for sample, weight in zip(samples, weights, strict=True):
            node = ROOT
            for frame in _list(sample, "a sample"):
                node = self._child(node, frame)
            if node != ROOT:
                self._paths.own[node] += max(self._time(weight), 0)

    def evented(self, events: list[object]) -> None:
        """Add events: the time between two of them belongs to the innermost open node."""
        stack: list[tuple[int, object]] = []  # node, frame
        last = 0
        for place, value in enumerate(events):
            event = _object(value, "an event")
            at, frame = self._time(event.get("at")), event.get("frame")
            if stack:
                if at < last:
                    raise ValueError(f"event {place} is before the one before it")
                self._paths.own[stack[-1][0]] += at - last
            last = at
            if event.get("type") == "O":
                stack.append((self._child(stack[-1][0] if stack else ROOT, frame), frame))
            elif event.get("type") == "C" and stack and stack[-1][1] == frame:
                stack.pop()
            else:
                raise ValueError(f"event {place} opens no frame and closes none that is open")


def _object(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no object")  # noqa: TRY004 - the file is invalid
    return value


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is no list")  # noqa: TRY004
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what} is no text")  # noqa: TRY004
    return value


def _read(data: bytes) -> Recording:
    return read_document(json.loads(data))


FORMAT = Format(
    name="speedscope",
    description="speedscope.app, one profile a thread, own times in ns",
    suffixes=(".speedscope.json", ".speedscope"),
    binary=False,
    writer=_write,
    reader=_read,
    lost="calls, resumes, exceptions, awaits, errors, lower bounds, losses, ids of processes and threads",
    kept="threads, functions, paths and own times",
    of=(CALLS, OBJECTS),
    most_calls=MOST,
    weighed={OBJECTS: _write_objects},
    mark=b'"exporter":"seismo"',
)
