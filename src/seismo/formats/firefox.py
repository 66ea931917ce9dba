"""The Firefox profiler's processed JSON, for profiler.firefox.com.

Python 3.15's `profiling.sampling --gecko` writes it, too. Each thread has samples: a stack, its start, and its duration
(`tracing-ms`). For a trace there is a sample at each change of the stack, so that the stack chart shows every call.
Marks, spans and gaps are markers, and counts are counters. A profile has no times of events: its paths follow one
another as in speedscope's files, each with its own time as its duration. `importedFrom` explains this at the top of the
page.

The version is that of Python's writer (57): each thread has its own tables, and only the texts are shared. The profiler
upgrades older versions.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from seismo.formats.base import Format, number, separated
from seismo.formats.call_trees import CallTrees, frames, pids, process_names, program
from seismo.formats.function_names import SYNTHETIC, C, Frame, json_text, name
from seismo.formats.trace_tracks import TraceTracks, steps, trace_tracks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from seismo.model import Recording

MOST = 1_000_000  # calls that are written: about 60 MB; the page parses the file as one text of at most 512 MiB
VERSION, GECKO_VERSION = 57, 32

CATEGORIES = [
    {"name": "Other", "color": "grey", "subcategories": ["Other"]},
    {"name": "Python", "color": "yellow", "subcategories": ["Other"]},
    {"name": "Native", "color": "blue", "subcategories": ["Other"]},
]
_OTHER, _PYTHON, _NATIVE = 0, 1, 2
_INSTANT, _INTERVAL, _BEGIN, _END = 0, 1, 2, 3  # phases of markers
_LIBRARY = 1  # ResourceTypeEnum
_NO_TIMES = "seismo (a profile: paths in sequence, each with the sum of its times)"

SCHEMA = [
    {
        "name": kind,
        "display": ["marker-chart", "marker-table", "timeline-overview"],
        "tooltipLabel": "{marker.name}",
        "tableLabel": "{marker.data.data}",
        "chartLabel": "{marker.name}",
        "fields": [{"key": "data", "label": "Data", "format": "string"}],
    }
    for kind in ("mark", "span", "gap")
]


class _Thread:
    """The functions, stacks, samples and markers of one thread."""

    def __init__(self, strings: defaultdict[str, int], shown: list[Frame]) -> None:
        self._strings, self._shown = strings, shown
        self._functions: dict[int, int] = {}
        self._stacks: dict[tuple[int, int], int] = {}  # by the stack above, or -1, and the function
        self._path = [-1]
        self._samples: list[str] = []
        self._times: list[int] = []
        self._markers: list[tuple[dict[str, Any], str, float | None, float | None, int]] = []

    def follow(self, steps: Iterable[tuple[int, int]], functions: Sequence[int], every: bool) -> None:
        """Add a sample after each step into or out of a function; unless `every`, after the last step of each time."""
        for now, step in steps:
            if step >= 0:
                place = (self._path[-1], self._functions.setdefault(functions[step], len(self._functions)))
                self._path.append(self._stacks.setdefault(place, len(self._stacks)))
            else:
                self._path.pop()
            if not every and self._times and self._times[-1] == now:
                del self._times[-1], self._samples[-1]
            self._samples.append(str(self._path[-1]) if len(self._path) > 1 else "null")
            self._times.append(now)

    def mark(self, shown: str, kind: str, start: int | None, end: int | None, data: Any) -> None:
        """Add a marker. A mark has only a start; a span lacks its start or end if that is not in the file."""
        phase = (_INTERVAL if end is not None else _BEGIN) if start is not None else _END
        if kind == "mark":
            phase = _INSTANT
        about = {"type": kind} if data is None else {"type": kind, "data": json_text(data)}
        start_ms, end_ms = (None if at is None else at / 1e6 for at in (start, end))
        self._markers.append((about, shown, start_ms, end_ms, phase))

    def write(self, out: TextIO, is_first: bool, label: str, is_main: bool, pid: int, tid: int, process: str) -> None:
        """Write the thread with these names and ids. The last sample has no duration."""
        facts = {
            "processType": "default",
            "processStartupTime": 0,
            "processShutdownTime": None,
            "unregisterTime": None,
            "pausedRanges": [],
            "registerTime": self._times[0] / 1e6 if self._times else 0,
            "name": name("", label),
            "isMainThread": is_main,
            "pid": str(pid),
            "tid": tid,
            "processName": name("", process),
        }
        out.write(f"{'' if is_first else ','}\n{json_text(facts)[:-1]},\n")
        out.write('"samples":{"stack":[')
        out.writelines(separated(self._samples, ","))
        out.write('],\n"time":[')
        out.writelines(separated(map(_ms, self._times), ","))
        out.write('],\n"weight":[')
        ends = [*self._times[1:], *self._times[-1:]]
        out.writelines(separated((_ms(end - at) for at, end in zip(self._times, ends, strict=True)), ","))
        out.write(f'],"weightType":"tracing-ms","length":{len(self._times)}}}')
        for key, columns in self._tables().items():
            length = len(next(iter(columns.values())))
            out.write(f',\n"{key}":{json_text(columns | {"length": length})}')
        out.write("}")

    def _tables(self) -> dict[str, dict[str, Any]]:
        """Return the tables. Each function has one frame, with its first line, because other lines are unknown."""
        shown = [self._shown[function] for function in self._functions]
        count = len(shown)
        python = [frame.kind not in (C, SYNTHETIC) for frame in shown]
        groups: dict[str, int] = {}  # on the page: modules, or files of functions without one
        titles = (name("", frame.module or frame.file.rpartition("/")[2] or "?") for frame in shown)
        resources = [groups.setdefault(title, len(groups)) for title in titles]
        lines = [frame.line if frame.line > 0 else None for frame in shown]
        zeros, nothing = [0] * count, [None] * count
        names = [self._strings[text] for text in groups]
        tables: dict[str, dict[str, Any]] = {
            "stackTable": {
                "frame": [function for _, function in self._stacks],
                "prefix": [above if above >= 0 else None for above, _ in self._stacks],
            },
            "frameTable": {
                "address": [-1] * count,
                "category": [_PYTHON if is_python else _NATIVE for is_python in python],
                "func": list(range(count)),
                "line": lines,
                **dict.fromkeys(("inlineDepth", "subcategory"), zeros),
                **dict.fromkeys(("nativeSymbol", "innerWindowID", "column"), nothing),
            },
            "funcTable": {
                "name": [self._strings[name(frame.module, frame.qualname)] for frame in shown],
                **dict.fromkeys(("isJS", "relevantForJS"), python),
                "resource": resources,
                "fileName": [self._strings[name("", frame.file)] if frame.file else None for frame in shown],
                "lineNumber": lines,
                "columnNumber": nothing,
            },
            "resourceTable": {
                "name": names,
                "type": [_LIBRARY] * len(names),
                **dict.fromkeys(("lib", "host"), [None] * len(names)),
            },
            "nativeSymbols": {column: [] for column in ("libIndex", "address", "name", "functionSize")},
        }
        columns = ("data", "name", "startTime", "endTime", "phase")
        markers: dict[str, Any] = {column: [row[at] for row in self._markers] for at, column in enumerate(columns)}
        markers["name"] = [self._strings[text] for text in markers["name"]]
        return tables | {"markers": markers | {"category": [_OTHER] * len(self._markers)}}


def _ms(ns: int) -> str:
    whole, part = divmod(ns, 1_000_000)
    return f"{whole}.{part:06}".rstrip("0").rstrip(".")


def _write(recording: Recording, out: TextIO) -> None:
    strings: defaultdict[str, int] = defaultdict(lambda: len(strings), {"(root)": 0})
    new = partial(_Thread, strings, frames(recording))
    counters = (_write_trace if recording.calls else _write_profile)(out, recording, new)
    out.write(f'],\n"counters":{json_text(counters)},"pages":[],')
    sources: dict[str, Any] = {"length": 0, "uuid": [], "filename": []}
    out.write(f'"shared":{{"stringArray":{json_text(list(strings))},"sources":{json_text(sources)}}}}}\n')


def _head(out: TextIO, recording: Recording, start_ns: int, interval: float, source: str) -> None:
    shown = name("", program(recording))
    meta = {
        "exporter": "seismo",
        "interval": interval,
        "startTime": start_ns / 1e6,
        **dict.fromkeys(("abi", "misc", "oscpu", "platform", "toolkit", "appBuildID", "CPUName"), ""),
        **dict.fromkeys(("processType", "stackwalk", "physicalCPUs", "logicalCPUs"), 0),
        "categories": CATEGORIES,
        "version": GECKO_VERSION,
        "preprocessedProfileVersion": VERSION,
        "product": shown or "Python",
        "symbolicated": True,
        "markerSchema": SCHEMA,
        "importedFrom": source,
        "extensions": {"id": [], "name": [], "baseURL": [], "length": 0},
        "arguments": shown,
    }
    out.write(f'{{"meta":{json_text(meta)},\n"libs":[],"threads":[')


def _write_profile(out: TextIO, recording: Recording, new: Callable[[], _Thread]) -> list[dict[str, Any]]:
    forest = CallTrees(recording)
    processes, names = pids(recording), process_names(recording)
    start_ns, total = min(recording.processes["start_ns"], default=0), sum(map(number, recording.tree["own_ns"]))
    _head(out, recording, start_ns, max(total / 1e6 / max(forest.count, 1), 1e-6), _NO_TIMES)
    for place, row in enumerate(forest.busy_threads()):
        thread = new()
        thread.follow(forest.steps(row), forest.function, every=False)
        about = recording.threads[row]
        ids = (processes[row], about.native_id, names[about.process])
        thread.write(out, not place, about.name, bool(about.main), *ids)
    return []


def _write_trace(out: TextIO, recording: Recording, new: Callable[[], _Thread]) -> list[dict[str, Any]]:
    found = trace_tracks(recording, MOST)
    last = max(found.calls.numbers("end_ns"), default=0)
    _head(out, recording, recording.calls.start_ns, max(last / 1e6 / max(2 * len(found.calls), 1), 1e-6), "seismo")
    functions = found.calls.numbers("function")
    mains = {track.pid: place for place, track in reversed(list(enumerate(found.tracks)))}
    threads = [new() for _ in found.tracks]
    counters = _mark(threads, found, mains)
    for place, (thread, track) in enumerate(zip(threads, found.tracks, strict=True)):
        thread.follow(steps(found.calls, track), functions, every=True)
        ids = (track.pid, track.tid, track.process)
        thread.write(out, not place, track.label, mains[track.pid] == place, *ids)
    return counters


def _mark(threads: list[_Thread], found: TraceTracks, mains: dict[int, int]) -> list[dict[str, Any]]:
    """Add the markers of the tracks, and return all counters. A span is on the track on which it began.

    mains: the place of each process's main thread
    """
    keyed = [((found.tracks[mark.track].pid, mark.span, mark.name), mark) for mark in found.marks]
    ends = {key: mark.time_ns for key, mark in keyed if mark.kind == "end"}
    begun = {key for key, mark in keyed if mark.kind == "begin"}
    values: dict[tuple[int, str], list[tuple[int, float]]] = {}
    for key, mark in keyed:
        add = threads[mark.track].mark
        if mark.kind == "counter":
            values.setdefault((key[0], mark.name), []).append((mark.time_ns, mark.value or 0))
        elif mark.kind == "begin":
            add(mark.name, "span", mark.time_ns, ends.get(key), mark.data)
        elif mark.kind == "mark":
            add(mark.name, "mark", mark.time_ns, None, mark.data)
        elif key not in begun:
            add(mark.name, "span", None, mark.time_ns, mark.data)
    for place, gap in found.gaps:
        threads[place].mark("events missing", "gap", gap.start_ns, gap.end_ns, None)
    return [_counter(pid, mains[pid], shown, sorted(points)) for (pid, shown), points in values.items()]


def _counter(pid: int, main: int, shown: str, points: list[tuple[int, float]]) -> dict[str, Any]:
    """Return a counter. The file has the changes of its value."""
    changes = [value - before for (_, value), (_, before) in zip(points, [(0, 0.0), *points], strict=False)]
    return {
        "name": shown,
        "category": "seismo",
        "description": "",
        "color": "blue",
        "pid": str(pid),
        "mainThreadIndex": main,
        "samples": {"time": [at / 1e6 for at, _ in points], "count": changes, "length": len(points)},
        "display": {
            "graphType": "line-accumulated",
            "unit": "",
            "color": "blue",
            "markerSchemaLocation": None,
            "sortWeight": 50,
            "label": shown,
        },
    }


FORMAT = Format(
    name="firefox",
    description="the Firefox profiler's processed JSON: profiler.firefox.com; of a trace, every call as it was",
    suffixes=(".firefox.json", ".gecko.json", ".firefox.json.gz"),
    writer=_write,
    lost="counts, resumes, exceptions, awaits, bounds and errors of times, losses; when a profile's calls were",
    most_calls=MOST,
    mark=b'{"meta":{"exporter":"seismo"',
)
