"""Births and deaths of objects on a terminal or a pipe: the story's tables, with lines and holders below the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.report import words as text
from seismo.report.facts import header, time_taken, write_notes, write_opening
from seismo.report.objects.columns import MEANINGS
from seismo.report.objects.facts import objects
from seismo.report.objects.group_descriptions import HARMLESS, ObjectWords, style
from seismo.report.objects.holders import write_holders
from seismo.report.objects.options import check_data
from seismo.report.objects.story import ObjectRow, Tables
from seismo.report.story import Row, Section, marks
from seismo.report.tables import grid_of, write_heading, write_marks, write_rest, write_table

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.options import Options
    from seismo.report.paper import Paper, Span
    from seismo.report.words import Signs

BELOW, BELOW_LEAK = 6, 4  # columns of indentation below a row
PATH = 6  # most functions of a call path to show


def write_report(paper: Paper, recording: Recording, options: Options) -> None:
    """Write the report. Raises UsageError as check_data()."""
    check_data(options, recording)
    words = f"{time_taken(recording, paper.signs).partition(':')[0]}: {objects(recording, paper.signs)}"
    write_opening(paper, recording, words)
    paper.flush()
    described = ObjectWords(recording, paper.signs)
    write_tables(paper, described, options)
    for file in described.changed()[:3]:
        paper.line()
        paper.line((f"{file} has changed since it ran: its lines' texts are not shown", "warning"))
    write_notes(paper, header(recording, paper.signs))


def write_tables(paper: Paper, words: ObjectWords, options: Options) -> None:
    """Write the one table that the options ask for, or those of the most common questions."""
    tables, shown = Tables(words, options), []
    for section in [tables.one()] if options.by else tables.all():
        shown.append(section)
        if section.name == "leaks":
            _write_leaks(paper, section)
        else:
            _write(paper, section)
    write_marks(paper, marks(MEANINGS, shown))


def _write(paper: Paper, section: Section) -> None:
    at = section.numbers

    def about(row: Row, room: int) -> list[Span]:
        if section.about == "type":
            return [(text.shorten(row.cells[at], room, paper.signs), "name")]
        return _name(row, at, room, paper.signs)

    def below(row: Row) -> None:
        assert isinstance(row, ObjectRow)
        if section.about != "type":
            _write_below(paper, row, at, BELOW)
        if row.held is not None:
            write_holders(paper, row.held, BELOW, row.data["live"])

    write_table(paper, section, about, below)


def _name(row: Row, at: int, width: int, signs: Signs) -> list[Span]:
    """Return where objects were made, then their types, in at most `width` columns. at: the first cell with a name."""
    types, place = row.cells[at], row.cells[at + 1]
    place = text.shorten(place, max(16, width - max(12, width // 3)), signs)
    room = width - text.cells(place) - 2
    if room < 8:
        return [(place, "name")]
    types = text.shorten(types, room, signs) if row.data["type"] else text.beginning(types, room, signs)
    return [(place, "quiet"), ("  " + types, "name")]


def _write_below(paper: Paper, row: ObjectRow, at: int, indent: int) -> None:
    """Write below a row the function and the line's text, or the call path."""
    name, source = row.cells[at + 2 : at + 4]
    room, path = paper.width - indent, row.path
    if not name:
        return
    if len(path) > 1:
        cut = [paper.signs.cut, *path[-PATH:]] if len(path) > PATH else path
        for line in text.wrapped(f" {paper.signs.arrow} ".join(cut), room):
            paper.line((" " * indent + text.shorten(line, room, paper.signs), "quiet"))
    if not source:
        if len(path) < 2:
            paper.line((" " * indent + text.shorten(name, room, paper.signs), "quiet"))
        return
    if text.cells(name) + text.cells(source) + 2 > room:
        name = name.rpartition(":")[2].rpartition(".")[2]
    shown = f"{name}: {source}" if len(path) < 2 and text.cells(name) + 2 <= room // 3 else source
    paper.line((" " * indent + text.beginning(shown, room, paper.signs), "quiet"))


# ---- Survivors of calls. ----


def _write_leaks(paper: Paper, section: Section) -> None:
    """Write the verdicts, each unless harmless with its objects and their holders below."""
    write_heading(paper, section.title, section.remark)
    if not section.rows:
        paper.line((f"  {section.none}", "good"))
        return
    grid, at = grid_of(section, paper.width), section.numbers
    paper.line((grid.head + section.about, "quiet"))
    for number, row in enumerate(section.rows):
        assert isinstance(row, ObjectRow)
        numbers, looks = grid.line(row.cells), style(row.data["verdict"])
        if looks == HARMLESS:
            short = f"{row.data['verdict']}: "
            paper.line((numbers + short, looks), *_name(row, at + 1, grid.room - text.cells(short), paper.signs))
            continue
        for index, line in enumerate(text.wrapped(row.cells[at], grid.room)):
            paper.line(" " * grid.used if index else numbers, (line, looks))
        _write_leak(paper, row, at + 1)
        if number < len(section.rows) - 1:
            paper.line()
    write_rest(paper, section)


def _write_leak(paper: Paper, row: ObjectRow, at: int) -> None:
    signs, data = paper.signs, row.data
    escaped = data["span_born"] - data["span_died"]
    size = (signs.at_least if data["live_at_least"] else "") + text.size(data["alive_bytes"])
    about = signs.about if data["approximate"] else ""
    remark = f"{size}; born {data['span_born']:,}, escaped {about}{escaped:,}"
    room = paper.width - BELOW_LEAK
    name = _name(row, at, room, signs)
    fits = sum(text.cells(span[0]) for span in name) + text.cells(remark) + 2 <= room
    paper.line(" " * BELOW_LEAK, *name, (f"  {remark}" if fits else "", "quiet"))
    if not fits:
        paper.line((" " * BELOW_LEAK + remark, "quiet"))
    _write_below(paper, row, at, BELOW_LEAK)
    if row.held is not None:
        write_holders(paper, row.held, BELOW_LEAK, data["alive"])
