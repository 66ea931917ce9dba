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
    from collections.abc import Callable, Sequence

    from seismo.model import Recording
    from seismo.model.table import Table
    from seismo.model.trace.calls import CallRow, GapRow, InstantRow
    from seismo.model.trace.runtime_events import Pause
    from seismo.report.calls.functions import FunctionCells
    from seismo.report.calls.program_marks import LongestSpan

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


# The sections in their order: title, headings, weight and remark. The last heading is the subject, others are numbers.
_SECTIONS = {
    "longest": ("Longest calls", ("took", "at", "function"), 0.55, "of each function the longest"),
    "spans": (
        "Longest spans",
        ("took", "at", "spans", "all", "name"),
        0.6,
        "of each name that the program gave the longest",
    ),
    "gaps": ("Gaps", ("from", "missing", "thread"), 0.8, "events of the thread are missing"),
    "pauses": ("Garbage collector", ("took", "pauses", "longest", "at", "of"), 0.5, ""),
    "imports": ("Longest imports", ("took", "at", "module"), 0.3, "with what they import"),
}


def sections(recording: Recording, cells: FunctionCells, most: int) -> list[Section]:
    """Return the sections of a trace that are not empty. most: rows of each."""
    pauses = [pause for pause in recording.calls.pauses if pause.end_ns >= 0]
    contents: dict[str, tuple[Sequence[Any], Callable[[Any, FunctionCells], _Made]]] = {
        "longest": (longest_calls(recording), _call),
        "spans": (longest_spans(recording), _span),
        "gaps": (_known(recording)[1], _gap),
        "pauses": ([pauses] if pauses else [], _pauses),
        "imports": (imports(recording), _import),
    }
    sections = []
    for name, (title, headings, weight, remark) in _SECTIONS.items():
        found, made = contents[name]
        rows = [Row(*made(one, cells), falling(weight, place)) for place, one in enumerate(found[:most])]
        subject, numbers = headings[-1], len(headings) - 1
        more = len(found) - len(rows)
        section = Section(name, title, rows, headings=headings, numbers=numbers, remark=remark, more=more)
        section.about = section.noun = subject
        sections += [section] if rows else []
    return sections


def _call(row: CallRow, cells: FunctionCells) -> _Made:
    ns = row.end_ns - row.start_ns
    data = {**cells.place(row.function), "start_ns": row.start_ns, "took_ns": ns, "thread": row.thread}
    data["ended"] = ", ".join(how_left(row.flags & LIMITS))
    return data, [took(row, ns, cells.signs), started(row, cells.signs), Name(cells.name(row.function))]


def _span(row: LongestSpan, cells: FunctionCells) -> _Made:
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
    lengths = span_length(span, row.took_ns, cells.signs), _at(span.start_ns), f"{row.number:,}"
    return data, [*lengths, text.duration(row.all_ns, cells.signs), Name(with_values(span.name, span.values))]


def _gap(gap: GapRow, cells: FunctionCells) -> _Made:
    missing = gap.end_ns - gap.start_ns
    data = {"start_ns": gap.start_ns, "missing_ns": missing, "thread": gap.thread}
    name = Name(thread_name(cells.recording, gap.thread))
    return data, [_at(gap.start_ns), text.duration(missing, cells.signs), name]


def _pauses(pauses: list[Pause], cells: FunctionCells) -> _Made:
    longest = max(pauses, key=lambda pause: pause.end_ns - pause.start_ns)
    whole, most = sum(pause.end_ns - pause.start_ns for pause in pauses), longest.end_ns - longest.start_ns
    data = {
        "pauses": len(pauses),
        "took_ns": whole,
        "longest_ns": most,
        "longest_at_ns": longest.start_ns,
        "generation": longest.generation,
    }
    lengths = text.duration(whole, cells.signs), f"{len(pauses):,}", text.duration(most, cells.signs)
    return data, [*lengths, _at(longest.start_ns), f"generation {longest.generation}"]


def _import(row: InstantRow, cells: FunctionCells) -> _Made:
    ns = row.data["took_ns"]
    data = {"module": row.name, "start_ns": row.time_ns, "took_ns": ns}
    return data, [text.duration(ns, cells.signs), _at(row.time_ns), Name(printable(row.name))]


def _at(ns: int) -> str:
    return f"{ns / 1e9:,.6f} s"


def problems(recording: Recording) -> list[str]:
    """Return what the reader of the journal could not make sense of, as sentences."""
    return _known(recording)[2]
