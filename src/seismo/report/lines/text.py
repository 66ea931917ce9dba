"""Line times on a terminal or a pipe: the hottest lines, the functions, the sources with the times beside the lines.

heat   how the line's own time compares to the hottest line's
hits   how often the line began; exact
own    time in the line itself and the C functions that it called
±      the error of that, from 1 % on; `< 6 ms`: no more is known of it than that
inner  time in Python functions that it called
each   own and inner time a hit
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.report import words as text
from seismo.report.facts import header, write_facts
from seismo.report.libraries import library_words
from seismo.report.lines.timed_source import TimedFile, TimedFunction, TimedLine, TimedProgram, timed_program
from seismo.report.paper import ROOMY
from seismo.report.shown_functions import Modules
from seismo.report.waiting import LEAST, WORDS, reasons

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model import Recording
    from seismo.report.paper import Paper, Span
    from seismo.report.words import Signs

WHY = "for" + " " * 6  # the heading of what was waited for
DROPPED_FIRST = (WHY, "each  ", "own %")
HEAT = 5  # columns
MOSTLY = 0.5  # of all time: with less in the program's own lines, they are sorted by own and inner time
LEAST_TEXT = 20  # columns for a source text; with less the line gets too long rather
HOT = 0.5  # of the hottest line's own time: shown in red
TAB = 4

# What --sort takes, and the words for it.
ORDERS: dict[str, tuple[Callable[[TimedLine], float], str]] = {
    "own": (lambda line: text.rank(line.own_ns, line.own_error_ns), "own time"),
    "inner": (lambda line: text.rank(line.inner_ns, line.inner_error_ns), "inner time"),
    "total": (lambda line: text.rank(line.total_ns, line.total_error_ns), "own and inner time"),
    "hits": (lambda line: line.hits, "hits"),
    "calls": (lambda line: line.hits, "hits"),
    "awaiting": (lambda line: line.await_ns, "time awaiting"),
}


@dataclass
class LinesView:
    """What of a recording of line times to show. limit: lines and functions of a table, None for all.

    files: how many files' sources, None for all. share: of all own time, from which on a function's source is shown.
    libraries: the lines of the standard library and of installed packages, too. order: one of ORDERS; "": by own time,
    or by own and inner time where most of it is in libraries that are not shown.
    """

    order: str = "own"
    limit: int | None = 20
    files: int | None = 5
    share: float = 0.02
    libraries: bool = True
    modules: Modules = field(default_factory=Modules)
    times: str = "cpu"  # as --time has it


def write_report(paper: Paper, recording: Recording, view: LinesView) -> None:
    """Writes the report."""
    write_facts(paper, header(recording, paper.signs))
    paper.flush()
    program, view, hidden = shown_program(recording, view, paper.signs)
    paper.line()
    title, remark = heading(program, view, paper.signs)
    paper.line((title, "title"), (f" ({printable(remark)})", "quiet"))
    if hidden:
        for part in text.wrapped(f"of the program's own files; not shown: {hidden} (--libraries)", paper.width - 2):
            paper.line((f"  {part}", "quiet"))
    if not program.lines:
        paper.line(("  none", "quiet"))
        return
    write_hottest(paper, program, view)
    paper.line()
    write_functions(paper, program, view)
    paper.flush()
    write_sources(paper, program, view)


def shown_program(recording: Recording, view: LinesView, signs: Signs) -> tuple[TimedProgram, LinesView, str]:
    """What is shown of a recording; the view, its order chosen; and what is not shown, in words."""
    recording = recording.timed(view.times)
    program = timed_program(recording, view.modules.left_out(recording.functions) if view.modules else ())
    hidden = "" if view.libraries else library_words(program.library_times(), program.whole_ns, signs)
    if hidden:
        program = program.own_files()
    if not view.order:  # in a program that mostly calls libraries, what it calls is the news
        own_ns = sum(line.own_ns for line in program.lines)
        view = replace(view, order="total" if own_ns < MOSTLY * program.whole_ns else "own")
    return program, view, hidden


def heading(program: TimedProgram, view: LinesView, signs: Signs) -> tuple[str, str]:
    """Over the table of lines: its title, and a remark to it."""
    where = f"of {WORDS[view.times]}" if program.known and view.times != "wall" else "in lines"
    whole = f"100 % is {text.duration(program.whole_ns, signs)} {where}"
    by = ORDERS[view.order][1].replace("own time", "time waiting") if view.times == "wait" else ORDERS[view.order][1]
    return f"Lines by {by}", "; ".join(part for part in (view.modules.words(), whole) if part)


def write_lines(paper: Paper, recording: Recording) -> None:
    """Writes the sources alone, all of them, with the times beside the lines: what a notebook shows under a cell."""
    program = timed_program(recording.timed("cpu"))
    if not program.lines:
        paper.line(("no line was timed", "quiet"))
        return
    write_sources(paper, program, LinesView(files=None, share=0.0))


# ---- tables ----


def write_table(
    paper: Paper, headings: Sequence[str], rows: Sequence[Sequence[str]], last: Callable[[int, int], list[Span]]
) -> None:
    """Writes columns that are right-aligned, then what last(row, width left) gives; its heading is the last one."""
    rows, widths, left = _write_headings(paper, headings, rows)
    for number, row in enumerate(rows):
        cells = "  ".join(text.right(cell, width) for cell, width in zip(row, widths, strict=False))
        paper.line(cells + "  ", *last(number, left))


def _write_headings(
    paper: Paper, headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[list[str]], list[int], int]:
    """Write the headings that fit. Return the rows of these columns, the columns' widths, and that of the last one."""
    headings, rows = _fitting(headings, rows, paper.width)
    widths = [max(text.cells(cell) for cell in column) for column in zip(headings, *rows, strict=True)][:-1]
    head = "  ".join(text.right(heading, width) for heading, width in zip(headings, widths, strict=False))
    paper.line((f"{head}  {headings[-1]}".rstrip(), "quiet"))
    return rows, widths, max(LEAST_TEXT, paper.width - sum(widths) - 2 * len(widths))


def _fitting(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> tuple[list[str], list[list[str]]]:
    """The columns but those that say nothing, and where there is little width, those that say least.

    The last one, which is made later, stays.
    """
    *columns, last = zip(headings, *rows, strict=True)
    columns = [column for column in columns if any(column[1:]) or column[0] not in ("", WHY)]
    for heading in DROPPED_FIRST:
        if width - sum(max(map(text.cells, column)) + 2 for column in columns) >= LEAST_TEXT:
            break
        columns = [column for column in columns if column[0] != heading]
    heads, *others = map(list, zip(*columns, last, strict=True))
    return heads, others


def _time(ns: float, signs: Signs, error_ns: float = 0.0) -> str:
    return text.aligned(text.time(ns, error_ns, signs)) if ns > 0 or error_ns > 0 else ""


def _each(line: TimedLine, signs: Signs) -> str:
    return _time(line.total_ns / line.hits, signs, line.total_error_ns / line.hits) if line.hits else ""


def _error(line: TimedLine | TimedFunction, signs: Signs) -> str:
    error = text.error(line.own_error_ns, line.own_ns, signs)
    return text.left(error, 6) if error else ""


def _waiting(line: TimedLine, program: TimedProgram, roomy: bool, signs: Signs) -> list[str]:
    """What of its wall it did not run, and what for."""
    least_ns, why = program.notable_ns, ""
    if line.wait_ns >= least_ns:
        why = reasons(line.wait_ns, line.ready_ns, line.lock_ns, program.known, roomy)
    shown = line.wait_ns > LEAST * least_ns
    return [_time(line.wait_ns, signs) if shown else "", text.left(why, 16 if roomy else 9) if why else ""]


def hottest_lines(program: TimedProgram, view: LinesView) -> list[TimedLine]:
    """The single lines, wherever they are, in the order of the view."""
    key = ORDERS[view.order][0]
    told = [line for line in program.lines if key(line) > 0 or (line.hits and view.order in ("own", "total"))]
    return sorted(told, key=lambda line: _place(line, key))


def line_cells(
    program: TimedProgram, shown: Sequence[TimedLine], view: LinesView, signs: Signs, roomy: bool
) -> tuple[list[str], list[list[str]]]:
    """The headings of a table of lines, and the cells of its rows; the last one, for the line itself, is empty."""
    awaiting = view.order == "awaiting" or any(line.await_ns for line in shown)
    least = program.notable_ns
    waits = any(line.wait_ns >= least for line in shown)
    own = "waiting  " if view.times == "wait" else "own  "
    headings = [own, "", "own %", *(["waiting  ", WHY] if waits else []), "inner  ", "each  ", "hits"]
    headings += [*(["awaiting  "] if awaiting else []), "line"]
    rows = [
        [
            _time(line.own_ns, signs, line.own_error_ns),
            _error(line, signs),
            text.share(line.own_ns, line.own_error_ns, program.whole_ns),
            *(_waiting(line, program, roomy, signs) if waits else []),
            _time(line.inner_ns, signs, line.inner_error_ns),
            _each(line, signs),
            text.count(line.hits),
            *([_time(line.await_ns, signs)] if awaiting else []),
            "",
        ]
        for line in shown
    ]
    return headings, rows


def write_hottest(paper: Paper, program: TimedProgram, view: LinesView) -> None:
    """Writes the table of single lines, wherever they are."""
    lines = hottest_lines(program, view)
    shown = lines if view.limit is None else lines[: view.limit]
    texts = {(file.name, number): file.source.text(number) for file in program.files for number in _numbers(file)}
    signs = paper.signs
    headings, rows = line_cells(program, shown, view, signs, paper.width >= ROOMY)

    def last(number: int, width: int) -> list[Span]:
        line = shown[number]
        where = text.location(0, line.function.file, line.number)
        source = _shown(texts.get((line.function.file, line.number), "").strip())
        name = printable(line.function.qualname)
        where = text.shorten(where, width, signs)
        room = width - text.cells(where) - 2
        if room < 8:
            return [(where, "name")]
        return [(where, "name"), ("  " + text.beginning(source or name, room, signs), "quiet")]

    write_table(paper, headings, rows, last)
    paper.cut_short(len(lines) - len(shown), "line")


def _place(line: TimedLine, key: Callable[[TimedLine], float]) -> tuple[float, int, str, int, str]:
    """What a line is sorted by: the order that was asked for, the hits, the place."""
    return -key(line), -line.hits, line.function.file, line.number, line.function.qualname


def _numbers(file: TimedFile) -> set[int]:
    return {number for function in file.functions for one in function.all() for number in one.lines}


FUNCTION_HEADINGS = ("own  ", "", "own %", "lines", "hottest", "function")


def functions_by_own(program: TimedProgram) -> list[TimedFunction]:
    """All functions by the own time of their lines."""
    functions = [one for file in program.files for function in file.functions for one in function.all()]
    return sorted(
        functions, key=lambda one: (-text.rank(one.own_ns, one.own_error_ns), one.qualname, one.file, one.line)
    )


def function_cells(program: TimedProgram, function: TimedFunction, signs: Signs) -> list[str]:
    """The cells of a function's row; the last one, for its name, is empty."""
    own = function.own_ns
    hottest = max(function.lines.values(), key=lambda line: line.own_ns)
    return [
        _time(own, signs, function.own_error_ns),
        _error(function, signs),
        text.share(own, function.own_error_ns, program.whole_ns),
        text.count(len(function.lines)),
        f"{hottest.number} ({text.percent(hottest.own_ns, own) or '0 %'})",
        "",
    ]


def write_functions(paper: Paper, program: TimedProgram, view: LinesView) -> None:
    """Writes the table of functions, by the own time of their lines."""
    signs = paper.signs
    functions = functions_by_own(program)
    shown = functions if view.limit is None else functions[: view.limit]
    paper.line(("Functions by own time", "title"), (" (of their lines)", "quiet"))
    rows = [function_cells(program, function, signs) for function in shown]

    def last(number: int, width: int) -> list[Span]:
        function = shown[number]
        name = text.function_name(0, function.module, function.qualname)
        return [(text.shorten(name, width, signs), "name")]

    write_table(paper, FUNCTION_HEADINGS, rows, last)
    paper.cut_short(len(functions) - len(shown), "function")


# ---- sources ----


def write_sources(paper: Paper, program: TimedProgram, view: LinesView) -> None:
    """Writes the sources of the functions that matter, file by file, with the times beside the lines."""
    hottest = max((line.own_ns for line in program.lines), default=0.0)
    files = program.files if view.files is None else program.files[: view.files]
    hidden = sum(len(file.functions) for file in program.files[len(files) :])
    for file in files:
        least = view.share * program.whole_ns
        functions = [one for one in file.functions if one.whole_ns >= least or _inner(one) >= least]
        hidden += len(file.functions) - len(functions)
        if not functions:
            continue
        paper.line()
        share = text.percent(file.own_ns, program.whole_ns)
        paper.line((printable(file.path or file.name), "title"), (f"  {share} of the time", "quiet"))
        if file.source.problem:
            paper.line((f"  {printable(file.source.problem)}", "warning"))
        for function in functions:
            _write_function(paper, file, function, hottest, program)
        paper.flush()
    if hidden:
        words = text.number_of(hidden, "more function")
        paper.line()
        paper.line((f"{paper.signs.cut} {words} with little time (--min 0 --all for their sources)", "quiet"))


def _inner(function: TimedFunction) -> float:
    return max((line.total_ns for line in function.lines.values()), default=0.0)


def _write_function(
    paper: Paper, file: TimedFile, function: TimedFunction, hottest: float, program: TimedProgram
) -> None:
    signs = paper.signs
    first, last = function.span()
    if not file.source.lines or function.qualname == "<module>":  # of a module's lines, those that ran
        numbers = sorted({*function.lines, *(number for small in function.small for number in small.lines)})
    else:
        numbers = list(range(first, min(last, len(file.source.lines)) + 1))
        numbers += sorted(number for number in function.lines if number > len(file.source.lines))
    entries: list[tuple[int, TimedLine | None]] = []
    for number in numbers:
        at = function.at(number)
        entries += [(number, line) for line in at] or [(number, None)]
    awaiting = any(line is not None and line.await_ns for _, line in entries)
    rows = []
    for number, line in entries:
        row = _cells(number, line, function, hottest, signs, awaiting)
        row[4:4] = _waiting(line, program, paper.width >= ROOMY, signs) if line is not None else ["", ""]
        rows.append(row)
    if not any(line is not None and line.wait_ns >= program.notable_ns for _, line in entries):
        rows = [[*row[:4], *row[6:]] for row in rows]
        waits = []
    else:
        waits = ["waiting  ", WHY]
    own = "waiting  " if program.times == "wait" else "own  "
    headings = ["heat", "hits", own, "", *waits, "inner  ", "each  "]
    headings += [*(["awaiting  "] if awaiting else []), "line", ""]
    name = text.function_name(0, function.module, function.qualname)
    paper.line()
    spent = text.time(function.own_ns, function.own_error_ns, signs)
    paper.line((text.shorten(name, paper.width - 20, signs), "strong"), (f"  {spent}", "quiet"))
    rows, widths, room = _write_headings(paper, headings, rows)
    for (number, line), row in zip(entries, rows, strict=True):
        cells = [text.right(cell, width) for cell, width in zip(row[1:], widths[1:], strict=False)]
        hot = line is not None and hottest > 0 and line.own_ns >= HOT * hottest
        source = row[-1] or _shown(file.source.text(number))
        style = "quiet" if line is None else "hot" if hot else ""
        paper.line(
            (text.left(row[0], widths[0]), "hot" if hot else "time"),
            "  " + "  ".join(cells),
            ("  " + text.beginning(source, room, signs), style),
        )
        for offset, words, hits in [] if line is None else line.instructions:
            blank = " " * (widths[0] + 2)
            what = text.beginning(f"{offset:>5} {printable(words) or '?'}", room, signs)
            paper.line(
                (blank + text.right(text.count(hits), widths[1]), "quiet"),
                " " * (sum(widths[2:]) + 2 * len(widths[2:]) + 2),
                (what, "quiet"),
            )


def _cells(
    number: int, line: TimedLine | None, function: TimedFunction, hottest: float, signs: Signs, awaiting: bool
) -> list[str]:
    """The cells of a row. The last is what stands for the source text, where it is not that."""
    if line is None:
        return ["", "", "", "", "", "", *([""] if awaiting else []), str(number), ""]
    full = round(HEAT * line.own_ns / hottest) if hottest > 0 else 0
    small = line.function is not function
    return [
        signs.full * full,
        text.count(line.hits) if line.hits else "",
        _time(line.own_ns, signs, line.own_error_ns),
        _error(line, signs),
        _time(line.inner_ns, signs, line.inner_error_ns),
        _each(line, signs),
        *([_time(line.await_ns, signs)] if awaiting else []),
        "" if small else str(number),
        f"  {signs.hot} {printable(line.function.qualname.rpartition('.')[2])}" if small else "",
    ]


def _shown(source: str) -> str:
    """A source text as it can be shown: tabs as blanks, whatever is not plain text escaped."""
    return printable(source.expandtabs(TAB).rstrip())
