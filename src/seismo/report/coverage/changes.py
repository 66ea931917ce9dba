"""The lines that ran in one recording of coverage and not in another, or in all of one group and none of the other.

A line is identified by its function and its distance from the function's first line. A line that ran in only some runs
of a side proves no change: it is counted but not listed.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from seismo.coverage.percentages import runs
from seismo.escape import printable
from seismo.model.difference import difference_of_lines
from seismo.report import words as text
from seismo.report.changes import files_of_sides, lacking, ranged
from seismo.report.coverage.facts import executed
from seismo.report.facts import command_line, write_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from seismo.model import DiffRow, Recording
    from seismo.report.paper import Paper

NARROWEST_LINES = 16


class _Place(NamedTuple):
    """Lines of a function."""

    module: str
    qualname: str
    file: str
    lines: list[int]


def _changes(old: Sequence[Recording], new: Sequence[Recording]) -> tuple[list[_Place], list[_Place], int, int]:
    """Return the lines that ran only now and only before, by function, most lines first.

    Then how many ran in some runs of a side only, and how many on both sides.
    """
    rows = difference_of_lines(old, new).rows
    now = [row for row in rows if row.calls_new and not row.calls_old_range[1]]
    before = [row for row in rows if row.calls_old and not row.calls_new_range[1]]
    alike = sum(1 for row in rows if row.calls_old and row.calls_new)
    return _places(now), _places(before), len(rows) - len(now) - len(before) - alike, alike


def _places(rows: Iterable[DiffRow]) -> list[_Place]:
    ordered = sorted(rows, key=lambda row: (row.key[:4], row.line))
    places = [
        _Place(module, qualname, file, sorted({row.line for row in members}))
        for (_, module, qualname, file), members in groupby(ordered, key=lambda row: row.key[:4])
    ]
    return sorted(places, key=lambda place: (-len(place.lines), place))


def write_changes(paper: Paper, old: Sequence[Recording], new: Sequence[Recording], limit: int | None) -> None:
    """Write which lines ran on one side only. limit: functions of a list, or None for all."""
    now, before, sometimes, _ = _changes(old, new)
    facts = [("old", _described(old)), ("new", _described(new))]
    came, went = (sum(len(place.lines) for place in places) for places in (now, before))
    facts.append(("change", f"{text.number_of(came, 'line')} ran only now, {went:,} only before"))
    write_facts(paper, [*facts, *lacking(old, new, paper.signs)])
    _write(paper, "Lines that ran only now", now, limit)
    _write(paper, "Lines that ran only before", before, limit)
    if sometimes:
        paper.line()
        words = f"{text.number_of(sometimes, 'other line')} ran in some runs of a side only: no finding"
        paper.line((words, "quiet"))


def _described(side: Sequence[Recording]) -> str:
    numbers = [len(executed(recording)) for recording in side]
    description = f"{len(side):,} runs, " if len(side) > 1 else ""
    program = command_line(side[0])
    noun = "line" if max(numbers) == 1 else "lines"
    return f"{description}{ranged((min(numbers), max(numbers)))} {noun} ran" + (f": {program}" if program else "")


def _write(paper: Paper, title: str, places: Sequence[_Place], limit: int | None) -> None:
    paper.line()
    if not places:
        paper.line((title, "title"), (": none", "quiet"))
        return
    paper.line((title, "title"))
    shown = places[:limit]
    for place in shown:
        name = f"{printable(place.file)}:{_numbers(place.lines)}"
        function = text.function_name(text.PYTHON, place.module, place.qualname)
        room = paper.width - 4 - text.cells(function)
        if text.cells(name) <= max(room, NARROWEST_LINES):
            shown_function = text.shorten(function, paper.width - 4 - text.cells(name), paper.signs)
            paper.line("  ", (name, "name"), "  ", (shown_function, "quiet"))
            continue
        paper.line("  ", (text.shorten(function, paper.width - 2, paper.signs), "name"))
        for line in text.wrapped(name.replace(",", ", "), paper.width - 4):
            paper.line("    ", (text.beginning(line, paper.width - 4, paper.signs), "quiet"))
    paper.cut_short(len(places) - len(shown), "function", paper.more)


def _numbers(lines: Sequence[int]) -> str:
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs(lines))


def as_json(old: Sequence[Recording], new: Sequence[Recording], paths: tuple[Sequence[str], Sequence[str]]) -> str:
    """Return the changes as one JSON object: functions with their lines."""
    now, before, sometimes, alike = _changes(old, new)
    content = {
        **files_of_sides(*paths),
        "ran_only_now": [place._asdict() for place in now],
        "ran_only_before": [place._asdict() for place in before],
        "ran_sometimes": sometimes,
        "alike": alike,
    }
    return json.dumps(content, indent=2)
