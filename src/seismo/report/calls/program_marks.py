"""Marks, counts and spans of the program, and events of the interpreter, in a trace as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from seismo.escape import printable
from seismo.model.trace.runtime_events import Span, landmarks, pauses, spans
from seismo.report import words as text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from seismo.model import Recording
    from seismo.model.trace.calls import InstantRow, Window
    from seismo.report.paper import Paper
    from seismo.report.words import Signs


class LongestSpan(NamedTuple):
    """The longest span of a name, with its minimum length, the number of spans of that name, and their total length.

    A span whose end is unknown counts up to the recording's end.
    """

    span: Span
    took_ns: int
    number: int
    all_ns: int


def longest_spans(recording: Recording) -> list[LongestSpan]:
    """Return the longest span of each name, the longest first."""
    known = recording.calls.spans
    end = recording.calls.end_ns if any(span.end_ns < 0 for span in known) else 0
    found: dict[str, LongestSpan] = {}
    for span in known:
        took = (span.end_ns if span.end_ns >= 0 else max(end, span.start_ns)) - span.start_ns
        best = found.get(span.name, LongestSpan(span, -1, 0, 0))
        if took > best.took_ns:
            best = best._replace(span=span, took_ns=took)
        found[span.name] = best._replace(number=best.number + 1, all_ns=best.all_ns + took)
    return sorted(found.values(), key=lambda one: (-one.took_ns, one.span.start_ns))


def span_length(span: Span, ns: int, signs: Signs) -> str:
    """Return the length of a span, or its minimum if the end is unknown."""
    length = text.duration(ns, signs)
    return length if span.end_ns >= 0 else f"{signs.at_least} {length}"


def with_values(name: str, values: Mapping[str, object]) -> str:
    """Return a name with its values, escaped for display."""
    parts = [name, *(f"{name}={value!r}" for name, value in values.items())]
    return printable(" ".join(parts))


def events_within(paper: Paper, recording: Recording, window: Window, first: int, last: int) -> list[tuple[int, str]]:
    """Return the marks, counts, spans, collections and landmarks in a window, as times and words."""
    several = len(recording.threads) > 1

    def on(thread: int) -> str:
        return f" on {thread_name(recording, thread)}" if several else ""

    found = [(row.time_ns, f"{_instant_words(row)}{on(row.thread)}") for row in window.instants if row.kind in _NAMES]
    found += _of_spans(paper, recording, window, on)
    for pause in pauses(window.instants):
        took = text.duration(pause.end_ns - pause.start_ns, paper.signs) if pause.end_ns >= 0 else "end not seen"
        freed = f", freed {text.number_of(pause.collected, 'object')}" if pause.collected > 0 else ""
        where = f"{on(pause.thread)}," if several else ","
        found.append((pause.start_ns, f"garbage collection{where} generation {pause.generation}: {took}{freed}"))
    for mark in landmarks(recording, window.calls):
        if first <= mark.time_ns < last:
            took = f": {text.duration(mark.data['took_ns'], paper.signs)}" if mark.data else ""
            found.append((mark.time_ns, f"{mark.kind} {printable(mark.name)}{took}"))
    return found


_NAMES = {"mark": "mark", "counter": "count"}


def _instant_words(row: InstantRow) -> str:
    data = row.data
    if row.kind == "counter" and isinstance(data, dict) and set(data) == {"value"}:
        return f"count {printable(row.name)} = {printable(repr(data['value']))}"
    values = data if isinstance(data, dict) else {} if data is None else {"value": data}
    return f"{_NAMES[row.kind]} {with_values(row.name, values)}"


def _of_spans(paper: Paper, recording: Recording, window: Window, on: Callable[[int], str]) -> list[tuple[int, str]]:
    """Return a line for each span that began in the window, and for each that only ended there. on: names a thread."""
    process = recording._raw["threads"]["process"].tolist()
    begun = spans(recording, window.instants)
    names = {(process[span.thread], span.number): span.name for span in begun}
    found = []
    for span in begun:
        outer = names.get((process[span.thread], span.outer), "")
        where = f"{f' in {printable(outer)}' if outer else ''}{on(span.thread)}"
        took = text.duration(span.end_ns - span.start_ns, paper.signs) if span.end_ns >= 0 else "goes on"
        left = f", left by {printable(span.error)}" if span.error else ""
        found.append((span.start_ns, f"span {with_values(span.name, span.values)}{where}: {took}{left}"))
    ends = [row for row in window.instants if row.kind == "end" and (process[row.thread], row.span) not in names]
    return found + [(row.time_ns, f"span {printable(row.name)}{on(row.thread)} ends") for row in ends]


def thread_name(recording: Recording, thread: int) -> str:
    """Return the name of a thread, escaped for display, with its process if there are several."""
    row = recording.threads[thread]
    name = printable(str(row.name)) or f"thread {thread}"
    if len(recording.processes) > 1:
        return f"{name} of process {recording.processes[row.process].pid}"
    return name
