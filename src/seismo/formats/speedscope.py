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
from itertools import chain
from typing import TYPE_CHECKING, TextIO

from seismo.formats.allocation_stacks import stacks
from seismo.formats.base import MAX_VALUE, UNITS, Format, checked, number, separated
from seismo.formats.call_path_builder import ROOT, Paths
from seismo.formats.call_trees import CallTrees, frames, program, thread_names
from seismo.formats.function_names import Frame, json_text, name, parse
from seismo.formats.trace_tracks import steps, trace_tracks
from seismo.model import Builder, Recording
from seismo.recording_kinds import CALLS, OBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


SCHEMA = "https://www.speedscope.app/file-format-schema.json"
MOST = 300_000  # calls of a trace that are written, which speedscope can still draw


def _write(recording: Recording, out: TextIO) -> None:
    profiles: list[tuple[str, int, Iterable[tuple[int, int]]]]
    functions: Sequence[int]
    if recording.calls:
        found = trace_tracks(recording, MOST)
        functions, ends = found.calls.numbers("function"), found.calls.numbers("end_ns")
        sizes = [track.last - track.first for track in found.tracks]
        profiles = [
            (track.name, max(ends[track.first : track.last], default=0), steps(found.calls, track))
            for track in found.tracks
        ]
    else:
        forest, names = CallTrees(recording), thread_names(recording)
        functions, own = forest.function, recording.tree["own_ns"]
        durations = [0] * forest.threads
        for thread, time in zip(forest.thread, own, strict=True):
            durations[thread] += number(time)
        threads = forest.busy_threads()
        sizes = [durations[thread] for thread in threads]
        profiles = [(names[thread], durations[thread], forest.steps(thread)) for thread in threads]
    _begin(out, recording, max(range(len(sizes)), key=sizes.__getitem__, default=0), frames(recording))
    # The viewer needs at least one profile.
    for place, (title, duration, events) in enumerate(profiles or [("nothing was recorded", 0, ())]):
        out.write(f'{"," if place else ""}\n{{"type":"evented","name":{json_text(title)},"unit":"nanoseconds",')
        out.write(f'"startValue":0,"endValue":{duration},"events":[')
        out.writelines(separated(_events(events, functions), ","))
        out.write("]}")
    out.write("]}\n")


def _events(steps: Iterable[tuple[int, int]], functions: Sequence[int]) -> Iterator[str]:
    for now, step in steps:
        kind, row = ("O", step) if step >= 0 else ("C", ~step)
        yield f'\n{{"type":"{kind}","at":{now},"frame":{functions[row]}}}'


_TITLES = {"births": "objects born", "bytes": "bytes of objects born", "survivors": "objects alive at the end"}


def _write_objects(recording: Recording, out: TextIO, weight: str) -> None:
    found = stacks(recording, weight)
    numbers = {frame: number for number, frame in enumerate(dict.fromkeys(chain.from_iterable(found)))}
    unit = "bytes" if weight == "bytes" else "none"
    _begin(out, recording, 0, list(numbers))
    out.write(f'\n{{"type":"sampled","name":{json_text(_TITLES[weight])},"unit":"{unit}",')
    out.write(f'"startValue":0,"endValue":{sum(found.values())},"samples":[')
    out.writelines(separated((f"\n[{','.join(str(numbers[frame]) for frame in stack)}]" for stack in found), ","))
    out.write('],\n"weights":[')
    out.writelines(separated(map(str, found.values()), ","))
    out.write("]}]}\n")


def _begin(out: TextIO, recording: Recording, active: int, shown: Sequence[Frame]) -> None:
    """Write everything before the first profile."""
    out.write(f'{{"$schema":"{SCHEMA}","exporter":"seismo","name":{json_text(program(recording))},\n')
    out.write(f'"activeProfileIndex":{active},\n"shared":{{"frames":[\n')
    places = ({"file": frame.file, "line": max(frame.line, 0)} for frame in shown)
    known = ({key: value for key, value in place.items() if value} for place in places)
    names = (name(frame.module, frame.qualname) for frame in shown)
    out.writelines(separated(json_text({"name": title} | place) for title, place in zip(names, known, strict=True)))
    out.write(']},\n"profiles":[')


def read_document(document: object) -> Recording:
    """Return the recording of a parsed speedscope file. Raise ValueError if it violates the schema."""
    top = checked(document, dict, "the file")
    builder = Builder()
    paths = Paths(builder)
    functions = []
    for frame in checked(checked(top.get("shared"), dict, "shared").get("frames"), list, "shared.frames"):
        entry = checked(frame, dict, "a frame")
        title, file, line = checked(entry.get("name"), str, "a frame's name"), entry.get("file"), entry.get("line")
        file = file if isinstance(file, str) else ""
        line = line if type(line) is int and 0 <= line < 1 << 40 else 0
        functions.append(paths.function(parse(title, file, line)))
    assumed = False
    for place, value in enumerate(checked(top.get("profiles"), list, "profiles")):
        profile = checked(value, dict, "a profile")
        title, unit = (text if isinstance(text, str) else "" for text in map(profile.get, ("name", "unit")))
        assumed |= unit not in UNITS
        reader = _Reader(paths, functions, paths.thread(place, 0, title), UNITS.get(unit, 1))
        if profile.get("type") == "evented":
            reader.evented(checked(profile.get("events"), list, "events"))
        elif profile.get("type") == "sampled":
            columns = (checked(profile.get(column), list, column) for column in ("samples", "weights"))
            reader.sampled(*columns)
        else:
            raise ValueError("a profile is neither evented nor sampled")
    builder.loss("calls-unknown", 1, "speedscope files have times and no calls")
    if assumed:
        builder.loss("unit-assumed", 1, "weights without a unit of time were taken for ns")
    return paths.build("speedscope")


class _Reader:
    """A reader of one profile into the paths."""

    def __init__(self, paths: Paths, functions: list[int], thread: int, scale: int) -> None:
        self._paths, self._functions, self._thread, self._scale = paths, functions, thread, scale

    def _child(self, parent: int, frame: object) -> int:
        if type(frame) is not int or not 0 <= frame < len(self._functions):
            raise ValueError("the index of a frame is out of range")
        return self._paths.child(self._thread, parent, self._functions[frame])

    def _time(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError("a time is not a number")  # noqa: TRY004 - the file is invalid
        if not (math.isfinite(value) and abs(value) * self._scale <= MAX_VALUE):
            raise ValueError("a time is too large")
        return round(value * self._scale)

    def sampled(self, samples: list[object], weights: list[object]) -> None:
        """Add samples: each is a stack, the root first, whose weight is own time of the last frame."""
        if len(samples) != len(weights):
            raise ValueError("the numbers of samples and weights differ")
        for sample, weight in zip(samples, weights, strict=True):
            node = ROOT
            for frame in checked(sample, list, "a sample"):
                node = self._child(node, frame)
            if node != ROOT:
                self._paths.own[node] += max(self._time(weight), 0)

    def evented(self, events: list[object]) -> None:
        """Add events: the time between two of them belongs to the innermost open node."""
        stack: list[tuple[int, object]] = []  # node, frame
        last = 0
        for place, value in enumerate(events):
            event = checked(value, dict, "an event")
            at, frame = self._time(event.get("at")), event.get("frame")
            if stack:
                if at < last:
                    raise ValueError(f"event {place} is earlier than the event before it")
                self._paths.own[stack[-1][0]] += at - last
            last = at
            if event.get("type") == "O":
                stack.append((self._child(stack[-1][0] if stack else ROOT, frame), frame))
            elif event.get("type") == "C" and stack and stack[-1][1] == frame:
                stack.pop()
            else:
                raise ValueError(f"event {place} neither opens a frame nor closes the innermost one")


FORMAT = Format(
    name="speedscope",
    description="speedscope.app, one profile a thread, own times in ns",
    suffixes=(".speedscope.json", ".speedscope"),
    writer=_write,
    reader=lambda data: read_document(json.loads(data)),
    lost="calls, resumes, exceptions, awaits, errors, lower bounds, losses, ids of processes and threads",
    kept="threads, functions, paths and own times",
    of=(CALLS, OBJECTS),
    most_calls=MOST,
    weighed={OBJECTS: _write_objects},
    mark=b'"exporter":"seismo"',
)
