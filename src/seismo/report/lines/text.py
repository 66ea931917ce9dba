"""Line times on a terminal or a pipe: the tables of the story, and the sources with the times beside the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.report import words as text
from seismo.report.facts import header, time_taken, write_notes, write_opening
from seismo.report.lines.columns import HEAT, MEANINGS, NARROW, OF_SOURCES, LineCells, of_times
from seismo.report.lines.story import shown_program, source_text, tables
from seismo.report.paper import ROOMY, Paper, Span
from seismo.report.story import Row, marks
from seismo.report.tables import Grid, made, write_marks, write_table

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.model.table import LineRow
    from seismo.report.lines.timed_source import TimedFile, TimedFunction, TimedProgram
    from seismo.report.options import Options
    from seismo.report.words import Signs

MOST_FILES = 5  # with their sources, unless all are wanted
LEAST_PERCENT = 2  # share of all own time for a function's source by default
HOT = 0.5  # share of the hottest line's own time; shown in red


def write_report(paper: Paper, recording: Recording, options: Options) -> None:
    """Write the report."""
    write_opening(paper, recording, time_taken(recording, paper.signs))
    paper.flush()
    program, options, hidden = shown_program(recording, options, paper.signs)
    shown = list(tables(program, options, hidden, paper.signs, paper.width >= ROOMY))
    for section in shown:
        if section.rows or section.name == "lines":
            write_table(paper, section, lambda row, room: _about(row, room, paper.signs))
    write_sources(paper, program, options)
    found = marks(MEANINGS, shown)
    small = any(function.small for file in program.files for function in file.functions)
    write_marks(paper, [*found, (paper.signs.hot, "a lambda or comprehension of the line above")] if small else found)
    write_notes(paper, header(recording, paper.signs))


def _about(row: Row, room: int, signs: Signs) -> list[Span]:
    """Return a line's place with its source, or a function's name."""
    if "module" in row.data:
        return [(text.shorten(row.cells[-2], room, signs), "name")]
    where, function, source = row.cells[-3:]
    where = text.shorten(where, room, signs)
    room -= text.cells(where) + 2
    if room < 8:
        return [(where, "name")]
    return [(where, "name"), ("  " + text.beginning(source_text(source) or printable(function), room, signs), "quiet")]


# ---- Sources. ----


def write_sources(paper: Paper, program: TimedProgram, options: Options) -> None:
    """Write the sources of the relevant functions, file by file, with the times beside the lines."""
    hottest = max((line.own_ns for line in program.lines), default=0.0)
    cells = LineCells(paper.signs, program.whole_ns, program.notable_ns, program.known, paper.width >= ROOMY)
    files = program.files[: None if options.all else MOST_FILES]
    share = (options.min if options.min is not None else 0 if options.all else LEAST_PERCENT) / 100
    hidden = sum(len(file.functions) for file in program.files[len(files) :])
    for file in files:
        least = share * program.whole_ns
        functions = [
            one
            for one in file.functions
            if one.whole_ns >= least or max((line.total_ns for line in one.lines.values()), default=0.0) >= least
        ]
        hidden += len(file.functions) - len(functions)
        if not functions:
            continue
        paper.line()
        percent = text.percent(file.own_ns, program.whole_ns)
        paper.line((printable(file.path or file.name), "title"), (f"  {percent} of the time", "quiet"))
        if file.source.problem:
            paper.line((f"  {printable(file.source.problem)}", "warning"))
        for function in functions:
            _write_function(paper, file, function, hottest, cells, program)
        paper.flush()
    if hidden:
        words = text.number_of(hidden, "more function")
        paper.line()
        paper.line((f"{paper.signs.cut} {words} with little time (--min 0 --all for their sources)", "quiet"))


def _entries(file: TimedFile, function: TimedFunction) -> list[tuple[int, LineRow | None]]:
    """Return the numbered lines of a function: timed, None if it did not run, or several if it has lambdas."""
    first, last = function.span()
    if not file.source.lines or function.qualname == "<module>":  # only those lines of a module that ran
        numbers = sorted({*function.lines, *(number for small in function.small for number in small.lines)})
    else:
        numbers = list(range(first, min(last, len(file.source.lines)) + 1))
        numbers += sorted(number for number in function.lines if number > len(file.source.lines))
    at: list[tuple[int, list[LineRow]]] = [(number, function.at(number)) for number in numbers]
    return [(number, line) for number, lines in at for line in (lines or (None,))]


def _write_function(
    paper: Paper, file: TimedFile, function: TimedFunction, hottest: float, cells: LineCells, program: TimedProgram
) -> None:
    signs = paper.signs
    entries = _entries(file, function)
    lines = [line for _, line in entries]
    name = text.function_name(text.PYTHON, function.module, function.qualname)
    paper.line()
    spent = text.time(function.own_ns, function.own_error_ns, signs)
    paper.line((text.shorten(name, paper.width - 20, signs), "strong"), (f"  {spent}", "quiet"))
    notable = any(line is not None and 0 < cells.notable_ns <= line.wait_ns for line in lines)
    names = [one for one in OF_SOURCES if notable or one not in ("waiting", "why")]
    headings, rows = made(of_times(program.times), names, cells, lines)
    heats = [round(HEAT * line.own_ns / hottest) if line and hottest > 0 else 0 for line in lines]
    widest = max(len("heat"), *heats)
    rows = [
        [text.left(signs.full * heat, widest), *row, "" if line and line.function != function.id else str(number)]
        for heat, row, (number, line) in zip(heats, rows, entries, strict=True)
    ]
    grid = Grid([text.left("heat", widest), *headings, "line"], rows, paper.width, NARROW)
    paper.line((grid.head, "quiet"))
    for (number, line), row in zip(entries, rows, strict=True):
        hot = line is not None and hottest > 0 and line.own_ns >= HOT * hottest
        shown, shown_text = grid.line(row), source_text(file.source.text(number))
        if line is not None and line.function != function.id:  # a small function in the line above
            name = program.functions[line.function].qualname.rpartition(".")[2]
            shown_text = f"  {signs.hot} {printable(name)}"
        paper.line(
            (shown[:widest], "hot" if hot else "time"),
            shown[widest:],
            (text.beginning(shown_text, grid.room, signs), "quiet" if line is None else "hot" if hot else ""),
        )
        for offset, words, hits in program.instructions.get((line.function, number), ()) if line else ():
            what = text.beginning(f"{offset:>5} {printable(words) or '?'}", grid.room, signs)
            paper.line((grid.line(["", text.count(hits), *[""] * len(headings)]), "quiet"), (what, "quiet"))
