"""The JSON of Chrome's about:tracing, which Perfetto's page and VizTracer's vizviewer open as well.

Each call is a complete event ("X") with its start and duration in µs, exact to the ns. A mark of the program is an
instant, a counter or an asynchronous span. `otherData` lists the file and line of each function by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo import progress
from seismo.formats.base import ByteSink, Format, TextSink
from seismo.formats.call_trees import frames, program
from seismo.formats.function_names import distinct_names, escape, json_text, name
from seismo.formats.trace_tracks import TraceTracks, flag_words, mark_data, trace_tracks, value_of

if TYPE_CHECKING:
    from seismo.model import Recording

MOST = 1_000_000
"""The most calls that are written: about 130 MB, which a page in a browser can still open."""


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03}"


def _write(recording: Recording, file: ByteSink) -> None:
    found = trace_tracks(recording, MOST)
    with TextSink(file) as out:
        about: dict[str, Any] = {"exporter": "seismo", "program": program(recording)}
        about["start_ns"] = recording.calls.start_ns
        functions = frames(recording)
        shown = distinct_names(functions)
        about["functions"] = [
            [text, frame.file, max(frame.line, 0)] for text, frame in zip(shown, functions, strict=True)
        ]
        if found.cut_ns is not None:
            about["cut"] = f"only the first {found.cut_ns / 1e9:.6f} s, because a viewer cannot open more calls"
        out.write(f'{{"otherData":{json_text(about)},\n"displayTimeUnit":"ns","traceEvents":[\n')
        comma = _write_names(out, found)
        comma = _write_calls(out, recording, found, shown, comma)
        _write_marks(out, found, comma)
        out.write("\n]}\n")


def _write_names(out: TextSink, found: TraceTracks) -> str:
    comma = ""
    for track in found.tracks:
        place = f'"pid":{track.pid},"tid":{track.tid}'
        for what, value in (("process_name", track.process), ("thread_name", track.label)):
            arguments = json_text({"name": escape(value)})
            out.write(f'{comma}{{"ph":"M",{place},"name":"{what}","args":{arguments}}}')
            comma = ",\n"
    return comma


def _write_calls(out: TextSink, recording: Recording, found: TraceTracks, shown: list[str], comma: str) -> str:
    kinds = ["python", "c", "synthetic"]
    names = []
    for text, frame in zip(shown, frames(recording), strict=True):
        kind = kinds[frame.kind] if frame.kind < len(kinds) else "python"
        names.append(f'"cat":"{kind}","name":{json_text(text)}')
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
            out.write(f'{comma}{{"ph":"X",{place},"ts":{_us(start)},"dur":{length},{names[functions[row]]}{more}}}')
            comma = ",\n"
    return comma


def _write_marks(out: TextSink, found: TraceTracks, comma: str) -> None:
    tracks = {(track.thread, track.stream): track for track in found.tracks}
    for instant in found.instants:
        track = tracks.get((instant.thread, instant.stream))
        if track is None:
            continue
        event: dict[str, Any] = {"pid": track.pid, "tid": track.tid, "name": name("", instant.name), "cat": "program"}
        value = value_of(instant.data)
        if instant.kind == "counter" and value is not None:
            event |= {"ph": "C", "args": {"value": value}}
        elif instant.kind in ("begin", "end"):
            event |= {"ph": "b" if instant.kind == "begin" else "e", "id2": {"local": hex(instant.span)}}
        else:
            event |= {"ph": "i", "s": "t"}
        if instant.data is not None and "args" not in event:
            event["args"] = {"data": mark_data(instant.data)}
        text = json_text(event)
        out.write(f'{comma}{{"ts":{_us(instant.time_ns)},{text[1:]}')
        comma = ",\n"
    for gap in found.gaps:
        track = tracks.get((gap.thread, gap.stream))
        if track is not None:
            place = f'"pid":{track.pid},"tid":{track.tid},"ts":{_us(gap.start_ns)}'
            length = _us(gap.end_ns - gap.start_ns)
            out.write(f'{comma}{{"ph":"i","s":"t",{place},"cat":"seismo","name":"events missing for {length} us"}}')
            comma = ",\n"


FORMAT = Format(
    name="chrome",
    description="Chrome's trace events in JSON, of a trace: for Perfetto's page, about:tracing, vizviewer",
    suffixes=(".chrome.json", ".trace.json", ".chrome.json.gz", ".trace.json.gz", ".json.gz"),
    binary=False,
    writer=_write,
    reader=None,
    lost="calls beyond a million; the call tree's counts and times, losses; how far the "
    "clocks of several systems may be apart; a pid that two of them use is replaced for one of them",
    of_traces=True,
    most_calls=MOST,
    mark=b'"exporter":"seismo"',
)
