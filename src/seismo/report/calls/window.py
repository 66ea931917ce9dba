"""A window of a trace as text: each thread's calls as an indented list with times.

Loops are folded: consecutive equal calls are one line with their number. Two calls of a function are equal if their own
calls, folded, are equal. So two rounds of a loop are equal even if an inner loop had more rounds in one of them. If a
loop's body makes several calls, the sequence of them repeats.

Calls that span the whole window, each the only one of its caller, are listed above, because the names of deep programs
would not fit otherwise.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seismo.errors import UsageError
from seismo.model.enums import CallFlags
from seismo.model.recording import FOREVER
from seismo.report import words as text
from seismo.report.calls.program_marks import events_within, thread_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from seismo.model import Recording
    from seismo.model.trace.calls import CallRow, Window
    from seismo.report.paper import Paper
    from seismo.report.words import Signs

LAST = 50  # last calls of each thread, for --around end
SPAN_NS = 10_000_000
LINES = 60  # most lines of a thread
INSIDE = 8  # most names of calls that span the window
MOST = 300_000  # most calls to read
LOOK_BACK = 256 << 20  # bytes of a thread's journal to search for beginnings: at most a second
NEWEST = 4  # most streams to read at the end of a thread's row, which may stand for thousands
LONGEST_BODY = 4  # most calls in one round of a loop
END = "end"

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "": 10**9, "m": 60 * 10**9, "min": 60 * 10**9}
_TIME = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ns|us|µs|ms|s|min|m|)")
_MORE = CallFlags.BEFORE | CallFlags.AFTER | CallFlags.OPEN
LIMITS = _MORE | CallFlags.BEGAN_UNSEEN | CallFlags.ENDED_UNSEEN | CallFlags.GAP
"""Flags of calls whose times may be only those of a part of the call."""
_LEFT = {
    CallFlags.UNWOUND: "left by an exception",
    CallFlags.YIELDED: "paused",
    CallFlags.OPEN: "still running",
    CallFlags.ENDED_UNSEEN: "end unseen",
    CallFlags.GAP: "events missing",
}


def started(row: CallRow, signs: Signs) -> str:
    """Return the start of the call, as an upper bound if the call began before the part that was read."""
    start = f"{row.start_ns / 1e9:,.6f} s"
    return f"{signs.at_most} {start}" if CallFlags.BEFORE in row.flags else start


def took(row: CallRow, ns: int, signs: Signs) -> str:
    """Return the length of a call of which `ns` were read, as a lower bound if it was cut or still open."""
    length = text.duration(ns, signs)
    return f"{signs.at_least} {length}" if row.flags & _MORE else length


def how_left(flags: CallFlags) -> list[str]:
    """Return the words for how a call with these flags ended, unless its return was seen."""
    return [word for flag, word in _LEFT.items() if flag in flags]


def nanoseconds(word: str, option: str) -> int:
    """Return `1.2s`, `300ms` or `5` (seconds) in ns. Raises UsageError."""
    found = _TIME.fullmatch(word.strip())
    ns = float(found[1]) * _UNITS[found[2]] if found and len(word) < 40 else math.inf
    if ns > 2**62:
        raise UsageError(f"{word!a} is no time", option, "give one such as 1.2s, 300ms or 45us")
    return int(ns)


@dataclass
class _Line:
    """A call, or several consecutive equal ones, with their callees. number: of rounds. row: the first call."""

    row: CallRow
    number: int = 1
    busy_ns: int = 0
    below: list[list[_Line]] = field(default_factory=list)
    shape: int = 0


def _folded(lines: list[_Line]) -> list[list[_Line]]:
    """Group lines into runs: each run is one round of a loop, and its lines have the number of rounds."""
    runs: list[list[_Line]] = []
    at = 0
    while at < len(lines):
        body, rounds = 1, 1
        for length in range(1, LONGEST_BODY + 1):
            first = [line.shape for line in lines[at : at + length]]
            times = 1
            while [line.shape for line in lines[at + times * length : at + (times + 1) * length]] == first:
                times += 1
            if times > 1 and times * length > body * rounds:
                body, rounds = length, times
        run = lines[at : at + body]
        for offset, line in enumerate(run):
            line.number = rounds
            line.busy_ns = sum(other.busy_ns for other in lines[at + offset : at + body * rounds : body])
        runs.append(run)
        at += body * rounds
    return runs


def _lines(rows: dict[int, CallRow]) -> list[list[_Line]]:
    """Return the calls of one stream as folded lines, starting with those without a caller. rows: by row number."""
    below: dict[int, list[_Line]] = {}
    shapes: dict[Any, int] = {}  # numbers of equal calls
    for number in sorted(rows, reverse=True):  # callees come after their callers
        row = rows[number]
        runs = _folded(below.pop(number, [])[::-1])
        called = tuple((tuple(line.shape for line in run), run[0].number > 1) for run in runs)
        key = (row.function, int(row.flags) & ~int(CallFlags.UNSURE), called)
        shape = shapes.setdefault(key, len(shapes))
        line = _Line(row, busy_ns=row.end_ns - row.start_ns, below=runs, shape=shape)
        below.setdefault(row.parent if row.parent in rows else -1, []).append(line)
    return _folded(below.pop(-1, [])[::-1])


def _in_order(runs: list[list[_Line]], indent: int) -> list[tuple[_Line, int, str]]:
    """Return the lines of runs in reverse order, each with its position in a round in words."""
    found = [
        (line, indent, "" if len(run) == 1 else f"{place} of {len(run)} a round")
        for run in runs
        for place, line in enumerate(run, 1)
    ]
    return found[::-1]


class _Writer:
    """A writer of one thread's lines, up to a limit."""

    def __init__(self, paper: Paper, recording: Recording, since: int, limit: int | None, depth: int | None) -> None:
        self.paper, self.since, self.limit, self.depth = paper, since, limit, depth
        self.left_out = 0
        self.functions = recording.functions

    def write(self, runs: list[list[_Line]]) -> None:
        """Write the runs and what is below them."""
        inside: list[str] = []
        while len(runs) == 1 and len(runs[0]) == 1 and runs[0][0].number == 1 and runs[0][0].row.start_ns < self.since:
            below = runs[0][0].below
            if not (len(below) == 1 and len(below[0]) == 1 and below[0][0].number == 1 and below[0][0].below):
                break  # keep the innermost ones as lines
            inside.append(self._name(runs[0][0].row.function))
            runs = below
        if inside:
            signs = self.paper.signs
            shown = [signs.cut, *inside[-INSIDE:]] if len(inside) > INSIDE else inside
            words = f" {signs.arrow} ".join(shown)
            for part in text.wrapped(f"inside {words}", self.paper.width):
                self.paper.line((text.beginning(part, self.paper.width, signs), "quiet"))
        waiting = _in_order(runs, 0)
        while waiting:
            line, indent, place = waiting.pop()
            if self.limit is not None and self.limit <= 0:
                self.left_out += 1
            else:
                self._line(line, indent, place)
            if self.depth is None or indent + 1 < self.depth:
                waiting += _in_order(line.below, indent + 1)

    def _name(self, number: int) -> str:
        functions = self.functions
        kind, module = functions.numbers("kind")[number], functions.strings("module")[number]
        return text.function_name(kind, module, functions.strings("qualname")[number])

    def _line(self, line: _Line, indent: int, place: str) -> None:
        row, signs = line.row, self.paper.signs
        if self.limit is not None:
            self.limit -= 1
        bounds = [bound for bound in (row.start_bound_ns, row.end_bound_ns) if bound > 0]
        bound = f"{signs.error}{text.duration(max(bounds), signs)}" if bounds else ""
        remarks = how_left(row.flags)
        if CallFlags.RESUMED in row.flags:
            remarks.insert(0, "resumed")
        if line.number > 1:
            remarks.insert(0, f"{signs.times} {line.number:,}")
        if place:
            remarks.append(place)
        more = f"  {', '.join(remarks)}" if remarks else ""
        length = text.aligned(took(row, line.busy_ns, signs))
        lead = f"{started(row, signs):>16}  {length:>12}  {bound:>9}  "
        room = max(12, self.paper.width - text.cells(lead) - text.cells(more))
        inset = "  " * min(indent, room // 4)
        name = text.shorten(self._name(row.function), max(8, room - len(inset)), signs)
        self.paper.line((lead, "quiet"), inset, (name, "name"), (more, "quiet"))


def _last(recording: Recording, threads: Collection[int]) -> list[Window]:
    """Return the end of each thread: the last two blocks of its newest streams. threads: ids, or empty for all.

    Threads end at different times, so each has its own window.
    """
    calls = recording.calls
    by_stream: dict[int, dict[int, list[int]]] = {}
    for block in calls.blocks:
        if not threads or block.thread in threads:
            by_stream.setdefault(block.thread, {}).setdefault(block.stream, []).append(block.time_ns)
    found = []
    for thread, streams in by_stream.items():
        newest = sorted(streams.values(), key=lambda times: times[-1])[-NEWEST:]
        start = min(times[-2:][0] for times in newest)
        found.append(calls.window(start, thread=thread, limit=MOST, look_back=LOOK_BACK))
    return found


def _kept(rows: dict[int, CallRow], number: int) -> dict[int, CallRow]:
    """Return the rows that began last, together with their callers."""
    kept = set(sorted(rows)[-number:])
    for row in sorted(kept, reverse=True):
        parent = rows[row].parent
        while parent in rows and parent not in kept:
            kept.add(parent)
            parent = rows[parent].parent
    return {row: rows[row] for row in kept}


def write_window(
    paper: Paper,
    recording: Recording,
    around: str,
    span: str | None = None,
    *,
    limit: int | None = None,
    depth: int | None = None,
    threads: Collection[int] = (),
) -> None:
    """Write each thread's calls around a time (`1.2s`), or the last ones ("end"). span: by default 10 ms.

    limit: lines of a thread. threads: ids, or empty for all. Raises UsageError if the recording is no trace, or the
    time is invalid or after its end.
    """
    calls = recording.calls
    if not calls:
        raise UsageError("this recording is not a trace", "--around", "to record one: seismo trace SCRIPT")
    if around == END:
        windows, first = _last(recording, threads), FOREVER
        title = f"the last {LAST} calls of each thread"
    else:
        middle, width = nanoseconds(around, "--around"), nanoseconds(span, "--window") if span else SPAN_NS
        first, last = max(0, middle - width // 2), middle + max(1, width // 2)
        if first > calls.end_ns:
            took = text.duration(calls.end_ns, paper.signs)
            raise UsageError("the recording ended before that time", "--around", f"it took {took}")
        windows = [calls.window(first, last, limit=MOST, look_back=LOOK_BACK)]
        title = f"from {first / 1e9:,.6f} s to {last / 1e9:,.6f} s"
    paper.line(title, (", times from the start of the process", "quiet"))
    for thread, rows in _streams(windows):
        if threads and thread not in threads:
            continue
        shown = _kept(rows, LAST) if around == END else rows
        paper.line()
        paper.line((thread_name(recording, thread), "strong"), (f"  {text.number_of(len(shown), 'call')}", "quiet"))
        writer = _Writer(paper, recording, first, limit or (None if around == END else LINES), depth)
        writer.write(_lines(shown))
        if writer.left_out:
            paper.line((f"and {text.number_of(writer.left_out, 'line')} more ({paper.more})", "quiet"))
    if around == END:
        first, last = min((row.start_ns for window in windows for row in window.calls), default=0), FOREVER
    events = sorted({line for window in windows for line in events_within(paper, recording, window, first, last)})
    _write_events(paper, events, around == END)
    _write_rest(paper, recording, windows)


def _streams(windows: list[Window]) -> Iterator[tuple[int, dict[int, CallRow]]]:
    for window in windows:
        streams: dict[tuple[int, int], dict[int, CallRow]] = {}
        for number, row in enumerate(window.calls):
            streams.setdefault((row.thread, row.stream), {})[number] = row
        for (thread, _), rows in streams.items():
            yield thread, rows


def _write_events(paper: Paper, events: list[tuple[int, str]], at_end: bool) -> None:
    """Write lines with their times, the last ones if `at_end`, else the first."""
    left_out = len(events[LINES:])
    if events:
        paper.line()
    if left_out and at_end:
        paper.line((f"{text.number_of(left_out, 'line')} before these are left out", "quiet"))
    for time, words in events[-LINES:] if at_end else events[:LINES]:
        paper.line(f"{time / 1e9:>14,.6f} s  {words}")
    if left_out and not at_end:
        paper.line((f"and {text.number_of(left_out, 'line')} more: choose a shorter --window", "quiet"))


def _write_rest(paper: Paper, recording: Recording, windows: list[Window]) -> None:
    for gap in [gap for window in windows for gap in window.gaps]:
        missing = text.duration(gap.end_ns - gap.start_ns, paper.signs)
        words = f"{missing} of {thread_name(recording, gap.thread)} are missing"
        paper.line((f"from {gap.start_ns / 1e9:,.6f} s, {words}", "warning"))
    if any(window.more for window in windows):
        paper.line((f"only the first {MOST:,} calls were read: choose a shorter --window", "warning"))
    for problem in dict.fromkeys(problem for window in windows for problem in window.problems):
        paper.line((problem, "warning"))
    if not any(len(window.calls) for window in windows):
        paper.line("nothing ran then")
