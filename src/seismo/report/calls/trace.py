"""The sections of a trace besides the call tree and its tables: the longest calls, gaps, and the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from seismo.escape import printable
from seismo.model.recording import UNENDED
from seismo.model.trace.process_clocks import difference_ns, hosts
from seismo.model.trace.runtime_events import landmarks
from seismo.report import words as text
from seismo.report.calls.imports import import_system
from seismo.report.calls.program_marks import longest_spans, span_length, thread_name, with_values
from seismo.report.calls.window import END, LIMITS, how_left, started, took, write_window
from seismo.report.facts import unended

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.model.table import Table
    from seismo.model.trace.calls import CallRow, GapRow, InstantRow
    from seismo.report.paper import Paper

LONGEST = 10
IMPORTS = 5
SOME_BYTES = 4 << 20  # size of a journal that is always read in full; takes some tenths of a second
MOST_BYTES = 64 << 20  # size up to which a journal without an end is read in full; takes some seconds


class Longest(NamedTuple):
    """The longest call of each function, the longest first, with the gaps and the reader's problems."""

    rows: list[CallRow]
    gaps: list[GapRow]
    problems: list[str]


def longest_calls(recording: Recording) -> Longest:
    """Return the longest calls. A long journal is read in full only if its recorder noted none.

    The import system's functions are left out, as in the tree: `imports` has the modules.
    """
    rows, gaps, problems = _known(recording)
    system = import_system(recording)
    functions, parents = recording.tree["function"], recording.tree["parent"]

    def caller(row: CallRow) -> int:
        parent = parents[row.node]
        return functions[parent] if parent >= 0 else -1

    shown = [row for row in rows if not system.has(row.function, caller(row))] or rows
    return Longest(sorted(shown, key=lambda row: row.start_ns - row.end_ns)[:LONGEST], gaps, problems)


def _known(recording: Recording) -> tuple[Table[CallRow], list[GapRow], list[str]]:
    """Return the longest call of each function, gaps and problems."""
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


def write_trace(paper: Paper, recording: Recording) -> None:
    """Write the sections of a trace; nothing for other recordings."""
    if not recording.calls:
        return
    _write_longest(paper, recording, longest_calls(recording))
    _write_spans(paper, recording)
    _write_pauses(paper, recording)
    _write_imports(paper, recording)
    _write_hosts(paper, recording)
    if unended(paper.signs, ("", recording)):
        paper.line()
        write_window(paper, recording, END, threads=_without_end(recording))


def _without_end(recording: Recording) -> set[int]:
    """Return the threads of processes whose end is missing, as after a merge; empty if no process is named."""
    names = {row.detail for row in recording.losses if row.kind == UNENDED}
    processes = {row.id for row in recording.processes if f"process {row.pid}" in names}
    return {row.id for row in recording.threads if row.process in processes}


def _write_hosts(paper: Paper, recording: Recording) -> None:
    """Write how much the clocks of several systems may differ."""
    systems = hosts(recording)
    for host in systems[1:]:
        bound = difference_ns(systems[0], host)
        bound_words = f"by up to {text.duration(bound, paper.signs)}" if bound else "by an unknown time"
        names = f"{printable(systems[0].name)} and {printable(host.name)}"
        paper.line((f"clocks: those of {names} may differ {bound_words}", "warning"))


def _write_longest(paper: Paper, recording: Recording, found: Longest) -> None:
    rows, gaps, problems = found
    functions = recording.functions
    if rows:
        paper.line()
        paper.line(("longest calls", "strong"), ("  of each function the longest", "quiet"))
    for row in rows:
        function = functions[row.function]
        length = text.aligned(took(row, row.end_ns - row.start_ns, paper.signs))
        lead = f"{length:>10}  at {started(row, paper.signs)}  "
        left = how_left(row.flags & LIMITS)
        more = f"  {', '.join(left)}" if left else ""
        name = text.function_name(function.kind, function.module, function.qualname)
        room = max(12, paper.width - text.cells(lead) - text.cells(more))
        paper.line((lead, "quiet"), (text.shorten(name, room, paper.signs), "name"), (more, "quiet"))
    for gap in gaps[:LONGEST]:
        missing = text.duration(gap.end_ns - gap.start_ns, paper.signs)
        where = thread_name(recording, gap.thread)
        paper.line((f"gap: from {gap.start_ns / 1e9:,.6f} s, {missing} of {where} are missing", "warning"))
    if len(gaps) > LONGEST:
        paper.line((f"and {len(gaps) - LONGEST:,} more gaps", "warning"))
    for problem in problems:
        paper.line((problem, "warning"))


def _write_spans(paper: Paper, recording: Recording) -> None:
    """Write the longest spans that the program named; nothing if there are none."""
    rows = longest_spans(recording)
    if not rows:
        return
    signs = paper.signs
    paper.line()
    paper.line(("longest spans", "strong"), ("  of each name the longest", "quiet"))
    for row in rows[:LONGEST]:
        span = row.span
        lead = f"{text.aligned(span_length(span, row.took_ns, signs)):>10}  at {span.start_ns / 1e9:,.6f} s  "
        left = [] if span.end_ns >= 0 else ["still open"]
        left += [f"left by {printable(span.error)}"] if span.error else []
        if row.number > 1:
            left.append(f"{row.number:,} in all: {text.duration(row.all_ns, signs)}")
        more = f"  {', '.join(left)}" if left else ""
        room = max(12, paper.width - text.cells(lead) - text.cells(more))
        shown = text.beginning(with_values(span.name, span.values), room, signs)
        paper.line((lead, "quiet"), (shown, "name"), (more, "quiet"))
    if len(rows) > LONGEST:
        paper.line((f"and {text.number_of(len(rows) - LONGEST, 'name')} more", "quiet"))


def _write_pauses(paper: Paper, recording: Recording) -> None:
    """Write one line if the cycle collector ever ran."""
    known = [pause for pause in recording.calls.pauses if pause.end_ns >= 0]
    if not known:
        return
    longest = max(known, key=lambda pause: pause.end_ns - pause.start_ns)
    whole = text.duration(sum(pause.end_ns - pause.start_ns for pause in known), paper.signs)
    most = text.duration(longest.end_ns - longest.start_ns, paper.signs)
    at = f"at {longest.start_ns / 1e9:,.6f} s, generation {longest.generation}"
    paper.line()
    paper.line(
        ("garbage collector", "strong"), f"  {text.number_of(len(known), 'pause')}, {whole}; the longest {most} ({at})"
    )


def _write_imports(paper: Paper, recording: Recording) -> None:
    """Write the modules that took longest to import, with what they import."""
    rows = imports(recording)
    if not rows:
        return
    paper.line()
    paper.line(
        ("longest imports", "strong"), (f"  of {text.number_of(len(rows), 'module')}, with what they import", "quiet")
    )
    for row in rows[:IMPORTS]:
        took = text.aligned(text.duration(row.data["took_ns"], paper.signs))
        paper.line((f"{took:>10}  at {row.time_ns / 1e9:,.6f} s  ", "quiet"), (printable(row.name), "name"))
