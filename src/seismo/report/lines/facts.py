"""The facts above the numbers of a recording of lines' times."""

from __future__ import annotations

from seismo.report.facts import calls, clock, doubt, sources, took, waited
from seismo.report.words import Signs, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.kind import Facts


def facts(recording: Recording, signs: Signs) -> Facts:
    """Return the duration, the number of lines, the waiting, and the calls."""
    found = [took(recording, signs), ("lines", _timed_lines(recording)), *waited(recording, signs)]
    return [*found, ("calls", calls(recording))] if any(recording.functions["calls"]) else found


def _timed_lines(recording: Recording) -> str:
    kinds, files = recording.functions["kind"], recording.functions["file"]
    rows = [(row.hits, row.function) for row in recording.lines if kinds[row.function] == 0]
    functions = {function for _, function in rows}
    words = f"{number_of(sum(hits for hits, _ in rows), 'hit')} of {number_of(len(rows), 'line')}"
    words += f" in {number_of(len(functions), 'function')}"
    return words + f" of {number_of(len({files[function] for function in functions}), 'file')}"


def measured(recording: Recording, signs: Signs) -> str:
    """Return the source, the clock and the accuracy of times in words, or "" if unknown."""
    by = sources(recording)
    parts = [f"every hit counted (source: {by})"] if by else []
    return "; ".join([*parts, *clock(recording, signs), *doubt(recording, signs)])
