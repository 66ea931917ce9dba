"""The sections of a trace besides the call tree and its tables: the longest calls and spans, gaps, pauses, imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.escape import printable
from seismo.model.trace.runtime_events import landmarks
from seismo.report import words as text
from seismo.report.calls.imports import import_system
from seismo.report.calls.program_marks import longest_spans, span_length, thread_name, with_values
from seismo.report.calls.window import LIMITS, how_left, started, took
from seismo.report.story import Name, Row, Section, falling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Recording
    from seismo.model.table import Table
    from seismo.model.trace.calls import CallRow, GapRow, InstantRow
    from seismo.report.calls.functions import FunctionCells
    from seismo.report.calls.program_marks import LongestSpan
    from seismo.report.words import Signs

    _Made = tuple[dict[str, Any], list[str]]  # the data and the cells of a row

LONGEST = 10
SOME_BYTES = 4 << 20  # size of a journal that is always read in full; takes some tenths of a second
MOST_BYTES = 64 << 20  # size up to which a journal without an end is read in full; takes some seconds


def longest_calls(recording: Recording) -> list[CallRow]:
    """Return the longest call of each function, the longest first.

    The import system's functions are left out, as in the tree: `imports` has the modules.
    """
    rows = _known(recording)[0]
    system = import_system(recording)
    functions, parents = recording.tree["function"], recording.tree["parent"]

    def caller(row: CallRow) -> int:
        parent = parents[row.node]
        return functions[parent] if parent >= 0 else -1

    shown = [row for row in rows if not system.has(row.function, caller(row))] or rows
    return sorted(shown, key=lambda row: row.start_ns - row.end_ns)


def _known(recording: Recording) -> tuple[Table[CallRow], list[GapRow], list[str]]:
    """Return the longest call of each function, the gaps, and the reader's problems.

    A long journal is read in full only if its recorder noted none.
    """
    calls = recording.calls
    size = sum(block.size for block in calls.blocks)
    if size > SOME_BYTES and calls.longest is not None:
        return calls.longest, calls.gaps, []
    if size > MOST_BYTES and calls.noted is not None:
        return calls.noted, calls.gaps, []
    sums = calls.sums
    return sums.longest, sums.gaps, sums.problems


def imports(recording: Recording) -> list[InstantRow]:
    """Return the imported modules, the slowest first. The time of a module includes its own imports."""
    rows = [row for row in landmarks(recording, _known(recording)[0]) if row.kind == "import"]
    return sorted(rows, key=lambda row: -row.data["took_ns"])


def sections(recording: Recording, cells: FunctionCells, most: int) -> list[Section]:
    """Return the sections of a trace. most: rows of each."""
    signs = cells.signs
    sections = [
        _longest(longest_calls(recording), cells, most),
        _spans(longest_spans(recording), most, signs),
        _gaps(recording, most, signs),
        _pauses(recording, signs),
        _imports(imports(recording), most, signs),
    ]
    return [section for section in sections if section.rows]


def _longest(rows: list[CallRow], cells: FunctionCells, most: int) -> Section:
    made: list[_Made] = []
    for row in rows[:most]:
        ns = row.end_ns - row.start_ns
        data = {**cells.place(row.function), "start_ns": row.start_ns, "took_ns": ns, "thread": row.thread}
        data["ended"] = ", ".join(how_left(row.flags & LIMITS))
        made.append((data, [took(row, ns, cells.signs), started(row, cells.signs), Name(cells.name(row.function))]))
    headings, remark = ("took", "at", "function"), "of each function the longest"
    return _section("longest", "Longest calls", headings, made, len(rows), 0.55, remark)


def _spans(rows: list[LongestSpan], most: int, signs: Signs) -> Section:
    made: list[_Made] = []
    for row in rows[:most]:
        span, still_open = row.span, row.span.end_ns < 0
        left = ["still open"] if still_open else []
        data = {
            "name": span.name,
            "values": span.values,
            "start_ns": span.start_ns,
            "took_ns": row.took_ns,
            "open": still_open,
            "error": span.error,
            "ended": ", ".join([*left, *([f"left by {printable(span.error)}"] if span.error else [])]),
            "thread": span.thread,
            "spans": row.number,
            "all_ns": row.all_ns,
        }
        lengths = span_length(span, row.took_ns, signs), _at(span.start_ns), f"{row.number:,}"
        made.append((data, [*lengths, text.duration(row.all_ns, signs), Name(with_values(span.name, span.values))]))
    headings, remark = ("took", "at", "spans", "all", "name"), "of each name that the program gave the longest"
    return _section("spans", "Longest spans", headings, made, len(rows), 0.6, remark)


def _gaps(recording: Recording, most: int, signs: Signs) -> Section:
    gaps = _known(recording)[1]
    made: list[_Made] = []
    for gap in gaps[:most]:
        missing = gap.end_ns - gap.start_ns
        data = {"start_ns": gap.start_ns, "missing_ns": missing, "thread": gap.thread}
        name = Name(thread_name(recording, gap.thread))
        made.append((data, [_at(gap.start_ns), text.duration(missing, signs), name]))
    remark = "events of the thread are missing"
    return _section("gaps", "Gaps", ("from", "missing", "thread"), made, len(gaps), 0.8, remark)


def _pauses(recording: Recording, signs: Signs) -> Section:
    pauses = [pause for pause in recording.calls.pauses if pause.end_ns >= 0]
    made: list[_Made] = []
    if pauses:
        longest = max(pauses, key=lambda pause: pause.end_ns - pause.start_ns)
        whole, most = sum(pause.end_ns - pause.start_ns for pause in pauses), longest.end_ns - longest.start_ns
        data = {
            "pauses": len(pauses),
            "took_ns": whole,
            "longest_ns": most,
            "longest_at_ns": longest.start_ns,
            "generation": longest.generation,
        }
        cells = [text.duration(whole, signs), f"{len(pauses):,}", text.duration(most, signs), _at(longest.start_ns)]
        made.append((data, [*cells, f"generation {longest.generation}"]))
    headings = ("took", "pauses", "longest", "at", "of")
    return _section("pauses", "Garbage collector", headings, made, len(made), 0.5)


def _imports(rows: list[InstantRow], most: int, signs: Signs) -> Section:
    made: list[_Made] = []
    for row in rows[:most]:
        ns = row.data["took_ns"]
        data = {"module": row.name, "start_ns": row.time_ns, "took_ns": ns}
        made.append((data, [text.duration(ns, signs), _at(row.time_ns), Name(printable(row.name))]))
    headings, remark = ("took", "at", "module"), "with what they import"
    return _section("imports", "Longest imports", headings, made, len(rows), 0.3, remark)


def _section(
    name: str, title: str, headings: Sequence[str], made: list[_Made], of: int, weight: float, remark: str = ""
) -> Section:
    """Return a section for the first rows of `of`. The last heading is their subject, the others are numbers."""
    rows = [Row(data, cells, falling(weight, place)) for place, (data, cells) in enumerate(made)]
    subject, numbers = headings[-1], len(headings) - 1
    section = Section(name, title, rows, headings=headings, numbers=numbers, remark=remark, more=of - len(rows))
    section.about = section.noun = subject
    return section


def _at(ns: int) -> str:
    return f"{ns / 1e9:,.6f} s"


def problems(recording: Recording) -> list[str]:
    """Return what the reader of the journal could not make sense of, as sentences."""
    return _known(recording)[2]
