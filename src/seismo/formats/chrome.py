"""The JSON of Chrome's about:tracing, which Perfetto's page and VizTracer's vizviewer open as well.

Each call is a complete event ("X") with its start and duration in µs, exact to the ns. A mark of the program is an
instant, a counter or an asynchronous span. `otherData` lists the file and line of each function by name.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TextIO

from seismo import progress
from seismo.formats.base import Format, separated
from seismo.formats.call_trees import frames, program
from seismo.formats.function_names import SYNTHETIC, C, distinct_names, escape, json_text
from seismo.formats.trace_tracks import TraceTracks, flag_words, trace_tracks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.model import Recording

MOST = 1_000_000  # calls that are written: about 130 MB, which a page in a browser can still open
_KINDS = {C: "c", SYNTHETIC: "synthetic"}  # others, also those of later versions, are "python"


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03}"


def _write(recording: Recording, out: TextIO) -> None:
    found, functions = trace_tracks(recording, MOST), frames(recording)
    shown = distinct_names(functions)
    about = {
        "exporter": "seismo",
        "program": program(recording),
        "start_ns": recording.calls.start_ns,
        "functions": [[text, frame.file, max(frame.line, 0)] for text, frame in zip(shown, functions, strict=True)],
    }
    if found.cut_ns is not None:
        about["cut"] = f"only the first {found.cut_ns / 1e9:.6f} s, because a viewer cannot open more calls"
    heads = [
        f'"cat":"{_KINDS.get(frame.kind, "python")}","name":{json_text(text)}'
        for text, frame in zip(shown, functions, strict=True)
    ]
    out.write(f'{{"otherData":{json_text(about)},\n"displayTimeUnit":"ns","traceEvents":[\n')
    out.writelines(separated(chain(_names(found), _calls(found, heads), _marks(found))))
    out.write("\n]}\n")


def _names(found: TraceTracks) -> Iterator[str]:
    for track in found.tracks:
        for what, value in (("process_name", track.process), ("thread_name", track.label)):
            arguments = json_text({"name": escape(value)})
            yield f'{{"ph":"M","pid":{track.pid},"tid":{track.tid},"name":"{what}","args":{arguments}}}'


def _calls(found: TraceTracks, heads: list[str]) -> Iterator[str]:
    """Yield the events of calls. heads: category and name of each function."""
    columns = ("start_ns", "end_ns", "start_bound_ns", "end_bound_ns", "function", "flags")
    starts, ends, before, after, functions, flags = (found.calls.numbers(column) for column in columns)
    for track in found.tracks:
        place = f'"pid":{track.pid},"tid":{track.tid}'
        for row in progress.over("writing calls", range(track.first, track.last), len(starts), track.first):
            start = starts[row]
            arguments: dict[str, Any] = {}
            bound = max(before[row], after[row])
            if bound > 0:
                arguments["bound_ns"] = bound
            if flags[row]:
                arguments["note"] = flag_words(flags[row])
            more = f',"args":{json_text(arguments)}' if arguments else ""
            length = _us(max(0, ends[row] - start))
            yield f'{{"ph":"X",{place},"ts":{_us(start)},"dur":{length},{heads[functions[row]]}{more}}}'


def _marks(found: TraceTracks) -> Iterator[str]:
    for mark in found.marks:
        track = found.tracks[mark.track]
        event: dict[str, Any] = {"pid": track.pid, "tid": track.tid, "name": mark.name, "cat": "program"}
        if mark.kind == "counter":
            event |= {"ph": "C", "args": {"value": mark.value}}
        elif mark.kind == "mark":
            event |= {"ph": "i", "s": "t"}
        else:
            event |= {"ph": mark.kind[0], "id2": {"local": hex(mark.span)}}
        if mark.data is not None:
            event.setdefault("args", {"data": mark.data})
        yield f'{{"ts":{_us(mark.time_ns)},{json_text(event)[1:]}'
    for place, gap in found.gaps:
        track = found.tracks[place]
        text = f"events missing for {_us(gap.end_ns - gap.start_ns)} us"
        where = f'"pid":{track.pid},"tid":{track.tid},"ts":{_us(gap.start_ns)}'
        yield f'{{"ph":"i","s":"t",{where},"cat":"seismo","name":"{text}"}}'


FORMAT = Format(
    name="chrome",
    description="Chrome's trace events in JSON, of a trace: for Perfetto's page, about:tracing, vizviewer",
    suffixes=(".chrome.json", ".trace.json", ".chrome.json.gz", ".trace.json.gz", ".json.gz"),
    writer=_write,
    lost="calls beyond a million; the call tree's counts and times, losses; how far the "
    "clocks of several systems may be apart; a pid that two of them use is replaced for one of them",
    of_traces=True,
    most_calls=MOST,
    mark=b'"exporter":"seismo"',
)
