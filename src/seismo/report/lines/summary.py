"""The summary on stderr after a program whose lines were timed. As in seismo.report.calls.summary: no argparse."""

from __future__ import annotations

from seismo.escape import printable
from seismo.report.facts import filter_words, time_taken
from seismo.report.libraries import library_words, of_functions
from seismo.report.lines.columns import COLUMNS, OF_SUMMARY, LineCells
from seismo.report.summary_lines import indented
from seismo.report.tables import Grid, made
from seismo.report.waiting import ELAPSED
from seismo.report.words import Signs, cells, location, number_of, rank, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.model.table import LineRow
    from seismo.report.summary_lines import Styled

LINES = 8
_HINT = "hint: no function that ran is one of these; names are as the report has them: module:name"


def lines(recording: Recording, signs: Signs, width: int) -> list[Styled]:
    """Return the summary without the losses, with which it has at most 15 lines."""
    recording = recording.timed(ELAPSED)
    table, functions = recording.lines, recording.functions
    python = [kind == 0 for kind in functions["kind"]]
    rows = [row for row in table if python[row.function]]
    hits = number_of(sum(row.hits for row in rows), "hit")
    words = f"seismo: {hits} of {number_of(len(rows), 'line')}{time_taken(recording, signs).replace('took', ' in', 1)}"
    found = [(line, "strong") for line in wrapped(words, width)]
    whole = sum(row.own_ns for row in rows)
    ran, filtered = {row.function for row in rows}, filter_words(recording)
    whose = dict.fromkeys(ran, "") if filtered else of_functions(recording, ran)  # what a filter chose is no library's
    times: dict[str, float] = {}
    for row in rows:
        kind = whose[row.function]
        times[kind] = times.get(kind, 0.0) + row.own_ns
    hidden = library_words(times, whole, signs)
    own = [row for row in rows if not whose[row.function]]
    inner = times.get("", 0.0) < 0.5 * whole  # mostly libraries, so that the calls matter most
    shown = sorted(own, key=lambda row: _place(row, inner))[:LINES]
    headings, texts = made(COLUMNS, OF_SUMMARY, LineCells(signs, whole), shown)
    grid = Grid(headings, texts, width)
    if shown:
        found.append((grid.head + "line", "quiet"))
    for row, numbers in zip(shown, texts, strict=True):
        place = location(functions["file"][row.function], row.line)
        name = printable(functions["qualname"][row.function])
        room = grid.room - cells(place) - 2
        found.append((grid.line(numbers) + place + (f"  {name}" if cells(name) <= room else ""), ""))
    why = "; so the lines are sorted by own and inner time" if inner and shown else ""
    found += indented(f"besides, {hidden}{why}", width, "quiet") if hidden else []
    found += indented(f"filter: {filtered}", width, "quiet") if filtered else []
    if filtered and not rows:
        found += indented(_HINT, width)
    return found


def _place(row: LineRow, with_inner: bool) -> tuple[float, int, int, int]:
    times = (row.total_ns, row.total_error_ns) if with_inner else (row.own_ns, row.own_error_ns)
    return -rank(*times), -row.hits, row.function, row.line
