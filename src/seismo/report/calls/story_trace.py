"""The sections of a trace's story: the longest calls and spans, gaps, collector pauses, and imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.report import words as text
from seismo.report.calls.program_marks import longest_spans, span_length, thread_name, with_values
from seismo.report.calls.trace import IMPORTS, LONGEST, imports, longest_calls
from seismo.report.calls.window import LIMITS, how_left, started, took
from seismo.report.story import Name, Row, Section, falling

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.model.trace.calls import CallRow, GapRow
    from seismo.report.calls.story import Functions

_SIGNS = text.Signs()


def sections(recording: Recording, functions: Functions, most: int) -> list[Section]:
    """Return the sections. most: rows of each."""
    found = longest_calls(recording)
    longest = _longest(found.rows, functions, min(most, LONGEST))
    spans = _spans(recording, min(most, LONGEST))
    return [longest, spans, _gaps(recording, found.gaps, most), _pauses(recording), _imports(recording)]


def _longest(rows: list[CallRow], functions: Functions, most: int) -> Section:
    made = []
    for place, row in enumerate(rows[:most]):
        ns = row.end_ns - row.start_ns
        data = {**functions.place(row.function), "start_ns": row.start_ns, "took_ns": ns, "thread": row.thread}
        data["ended"] = ", ".join(how_left(row.flags & LIMITS))
        name = Name(functions.cells.name(row.function))
        cells = [took(row, ns, _SIGNS), started(row, _SIGNS), name]
        made.append(Row(data, cells, falling(0.55, place)))
    return Section(
        "longest",
        "Longest calls",
        made,
        headings=("took", "at", "function"),
        numbers=2,
        remark="of each function the longest",
        more=len(rows) - len(made),
    )


def _spans(recording: Recording, most: int) -> Section:
    rows = longest_spans(recording)
    made = []
    for place, row in enumerate(rows[:most]):
        span = row.span
        data = {
            "name": span.name,
            "values": span.values,
            "start_ns": span.start_ns,
            "took_ns": row.took_ns,
            "open": span.end_ns < 0,
            "error": span.error,
            "thread": span.thread,
            "spans": row.number,
            "all_ns": row.all_ns,
        }
        cells = [
            span_length(span, row.took_ns, _SIGNS),
            _at(span.start_ns),
            f"{row.number:,}",
            text.duration(row.all_ns, _SIGNS),
            Name(with_values(span.name, span.values)),
        ]
        made.append(Row(data, cells, falling(0.6, place)))
    return Section(
        "spans",
        "Longest spans",
        made,
        headings=("took", "at", "spans", "all", "name"),
        numbers=4,
        remark="of each name that the program gave the longest",
        more=len(rows) - len(made),
    )


def _gaps(recording: Recording, gaps: list[GapRow], most: int) -> Section:
    made = []
    for place, gap in enumerate(gaps[:most]):
        missing = gap.end_ns - gap.start_ns
        data = {"start_ns": gap.start_ns, "missing_ns": missing, "thread": gap.thread}
        cells = [_at(gap.start_ns), text.duration(missing, _SIGNS), Name(thread_name(recording, gap.thread))]
        made.append(Row(data, cells, falling(0.8, place)))
    headings = ("from", "missing", "thread")
    return Section("gaps", "Gaps", made, headings=headings, numbers=2, more=len(gaps) - len(made))


def _pauses(recording: Recording) -> Section:
    pauses = [pause for pause in recording.calls.pauses if pause.end_ns >= 0]
    if not pauses:
        return Section("pauses", "Garbage collector", [])
    longest = max(pauses, key=lambda pause: pause.end_ns - pause.start_ns)
    whole, most = sum(pause.end_ns - pause.start_ns for pause in pauses), longest.end_ns - longest.start_ns
    data = {
        "pauses": len(pauses),
        "took_ns": whole,
        "longest_ns": most,
        "longest_at_ns": longest.start_ns,
        "generation": longest.generation,
    }
    cells = [f"{len(pauses):,}", text.duration(whole, _SIGNS), text.duration(most, _SIGNS), _at(longest.start_ns)]
    headings = ("pauses", "took", "longest", "at")
    return Section("pauses", "Garbage collector", [Row(data, cells, 0.35)], headings=headings, numbers=4)


def _imports(recording: Recording) -> Section:
    rows = imports(recording)
    made = []
    for place, row in enumerate(rows[:IMPORTS]):
        took = row.data["took_ns"]
        data = {"module": row.name, "start_ns": row.time_ns, "took_ns": took}
        made.append(Row(data, [text.duration(took, _SIGNS), _at(row.time_ns), Name(row.name)], falling(0.3, place)))
    return Section(
        "imports",
        "Longest imports",
        made,
        headings=("took", "at", "module"),
        numbers=2,
        remark="with what they import",
        more=len(rows) - len(made),
    )


def _at(ns: int) -> str:
    return f"{ns / 1e9:,.6f} s"
