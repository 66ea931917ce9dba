"""Reads trace events in JSON, as Chrome, VizTracer, torch.profiler, Ray and seismo write them.

Calls are complete events (X) or pairs of a beginning and an end (B, E); marks are instants (i, I, R), counts are
counters (C), spans are asynchronous events (b, e and the older S, F); M names processes and threads. Other phases
(flows, samples, memory) are left out and counted. Events may stand in any order. Times are µs; their text is read, so
that ns stay exact.

VizTracer names a Python function `fib (/src/app.py:2)` and a C function `builtins.len`.
"""

from __future__ import annotations

import builtins
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from seismo.formats.base import unzip
from seismo.formats.events import LATEST, Events, Track
from seismo.formats.json_stream import CUT, Real, members
from seismo.formats.text import PYTHON, SYNTHETIC, C, Frame, parse, unescape
from seismo.formats.timeline import untold
from seismo.model.timeline.write import COUNTER, MARK, SPAN_BEGINS, SPAN_ENDS

if TYPE_CHECKING:
    from seismo.model import Recording

_KINDS = {"python": PYTHON, "c": C, "synthetic": SYNTHETIC}
_SPANS = {"b": SPAN_BEGINS, "S": SPAN_BEGINS, "e": SPAN_ENDS, "F": SPAN_ENDS}
_PHASES = {
    "s": "flows",
    "t": "flows",
    "f": "flows",
    "P": "samples",
    "n": "steps of spans",
    "T": "steps of spans",
    "p": "steps of spans",
    "N": "objects",
    "O": "objects",
    "D": "objects",
    "v": "memory dumps",
    "V": "memory dumps",
    "c": "clock marks",
}


def read(data: bytes) -> Recording:
    """The recording of a file, which may be gzipped. ValueError: it holds no trace events."""
    if data.startswith(b"\x1f\x8b"):
        data = unzip(data)
    return _Reader().read(data.decode("utf-8-sig", "replace"))


def is_trace(start: str) -> bool:
    """Whether a JSON document is of trace events, by its first members."""
    try:
        for key, value in members(start, "traceEvents"):
            if key == "traceEvents":
                return isinstance(value, dict)
            if key == CUT or key not in (
                "otherData",
                "displayTimeUnit",
                "metadata",
                "schemaVersion",
                "deviceProperties",
            ):
                return False
    except ValueError:
        pass
    return False


class _Reader:
    def __init__(self) -> None:
        self._events = Events()
        self._names: dict[tuple[str, str], int] = {}
        self._places: dict[str, tuple[str, int]] = {}
        self._spans: dict[tuple[object, ...], int] = {}
        self._arguments = 0
        self._program = ""
        self._viztracer = False

    def read(self, text: str) -> Recording:
        events = self._events
        cut, understood = False, 0
        for key, value in members(text, "traceEvents"):
            if key == CUT:
                cut = True
            elif key == "traceEvents":
                if not isinstance(value, dict) or not isinstance(value.get("ph"), str):
                    raise ValueError("an event is no object with a phase")
                understood += 1
                self._event(value)
            else:
                self._member(key, value)
        if not understood:
            raise ValueError("it has no trace events")
        builder = events.trace.builder
        if cut:
            builder.loss("truncated", 1, "")
        if self._arguments:
            builder.loss("arguments-dropped", self._arguments)
        for process in events.processes if self._program else ():
            events.processes[process] = self._program
        return events.build("viztracer" if self._viztracer else "chrome")

    def _member(self, key: str, value: Any) -> None:
        """What a file says beside its events."""
        if key == "otherData" and isinstance(value, dict):
            if value.get("exporter") == "seismo":
                self._events.ordered = True
                self._program = str(value.get("program") or "")
                for place in _list(value.get("functions")):
                    if isinstance(place, list) and len(place) == 3 and isinstance(place[2], int):
                        self._places[str(place[0])] = (str(place[1]), min(max(0, place[2]), 1 << 40))
            if isinstance(value.get("start_ns"), int):
                self._events.epoch = min(max(0, value["start_ns"]), LATEST)
            self._events.host = str(value.get("host") or "")
        elif key == "baseTimeNanoseconds" and isinstance(value, int):
            self._events.epoch = min(max(0, value), LATEST)
        elif key == "viztracer_metadata" and isinstance(value, dict):
            self._viztracer = True
            base = value.get("baseTimeNanoseconds")
            if isinstance(base, int):
                self._events.epoch = min(max(0, base), LATEST)

    def _event(self, event: dict[str, Any]) -> None:
        phase, name = event["ph"], event.get("name")
        name = name if isinstance(name, str) else ""
        arguments = event.get("args")
        arguments = arguments if isinstance(arguments, dict) else {}
        process, thread = _key(event.get("pid", 0)), _key(event.get("tid", 0))
        if phase == "M":
            self._named(name, process, thread, arguments)
            return
        if phase in _PHASES:
            self._events.skip(_PHASES[phase])
            return
        track = self._events.track(process, thread)
        at = _ns(event.get("ts"), "a time")
        if phase in ("X", "B"):
            function = self._function(name, event.get("cat"))
            flags = untold(arguments["note"]) if isinstance(arguments.get("note"), str) else 0
            self._arguments += bool(arguments.keys() - {"note", "bound_ns"})
            if phase == "B":
                track.begin(at, function, flags)
            else:
                track.slice(at, at + max(0, _ns(event.get("dur", 0), "a length")), function, flags)
        elif phase == "E":
            track.end(at)
        else:
            self._said(phase, track, at, name, arguments, event)

    def _said(
        self, phase: str, track: Track, at: int, name: str, arguments: dict[str, Any], event: dict[str, Any]
    ) -> None:
        events = self._events
        if phase in ("i", "I", "R"):
            if event.get("cat") != "seismo":
                events.say(track, at, MARK, name, _plain(arguments.get("data", arguments)) or None)
        elif phase == "C":
            values = {key: value for key, value in _plain(arguments).items() if isinstance(value, int | float)}
            for series, value in values.items():
                shown = name if len(values) == 1 else f"{name}.{series}"
                events.say(track, at, COUNTER, shown, {"value": value})
        elif phase in _SPANS:
            key = (_key(event.get("pid", 0)), str(event.get("cat")), str(event.get("id", event.get("id2"))), name)
            span = self._spans.setdefault(key, len(self._spans) + 1)
            events.say(track, at, _SPANS[phase], name, _plain(arguments.get("data", arguments)) or None, span)
        else:
            events.skip(f"phase {phase[:8]!r}")

    def _named(self, what: str, process: object, thread: object, arguments: dict[str, Any]) -> None:
        name = arguments.get("name")
        if isinstance(name, str):
            if what == "process_name":
                self._events.processes[process] = name
            elif what == "thread_name":
                self._events.track(process, thread).name = unescape(name)

    def _function(self, name: str, category: Any) -> int:
        category = category if isinstance(category, str) else ""
        number = self._names.get((name, category))
        if number is None:
            number = self._names[name, category] = self._events.function(self._frame(name, category))
        return number

    def _frame(self, name: str, category: str) -> Frame:
        frame = parse(name, *self._places.get(name, ("", 0)))
        if category in _KINDS and self._events.ordered:
            return frame._replace(kind=_KINDS[category])
        if category.lower() == "fee" and not frame.file and "." in frame.qualname:
            first, _, rest = frame.qualname.partition(".")
            if isinstance(getattr(builtins, first, None), type):
                return Frame(C, "builtins", frame.qualname, "", 0)
            return Frame(C, first, rest, "", 0)
        return frame


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _key(value: object) -> object:
    """A process's or thread's id: mostly a number, or a text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 18:
        return int(value)
    return value if isinstance(value, int | str) else str(value)[:100]


def _ns(value: object, what: str) -> int:
    """µs as ns. ValueError: it is no number, or none that a time can be."""
    if type(value) is int:
        ns = value * 1000
    elif isinstance(value, str):  # a Real, or text that is a number
        whole, point, part = value.partition(".")
        if point and part.isdigit() and whole.removeprefix("-").isdigit() and value.isascii():
            ns = int((whole + (part + "000")[:3]) if len(whole) < 20 else "9" * 20)
        else:
            try:
                near = float(value)
            except ValueError:
                raise ValueError(f"{what} is no number") from None
            ns = round(Decimal(value) * 1000) if 1e-9 < abs(near) < LATEST else 0 if abs(near) < 1 else LATEST
    else:
        raise ValueError(f"{what} is no number")
    if not -LATEST < ns < LATEST:
        raise ValueError(f"{what} is too large")
    return ns


def _plain(value: Any) -> Any:
    """A value with numbers as numbers, and shallow enough to be written again."""
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, dict):
        return {
            key: _plain(each) if not isinstance(each, dict | list) else str(each)[:200] for key, each in value.items()
        }
    return value if isinstance(value, int | float | str | None) else str(value)[:200]
