"""The story of a recording of lines' times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seismo.escape import printable
from seismo.report import words as text
from seismo.report.facts import cpu_ns, filter_words, header, thread_count, wall_ns
from seismo.report.libraries import library_words
from seismo.report.lines.columns import MEANINGS, NARROW, OF_FUNCTIONS, OF_LINES, LineCells, hottest, of_times
from seismo.report.lines.timed_source import TimedFunction, TimedProgram, timed_program
from seismo.report.shown_functions import chosen_modules
from seismo.report.story import Name, Row, Section, Story, facts_section, falling, marks, marks_section, rounded, share
from seismo.report.story.steps import Steps, option
from seismo.report.tables import made
from seismo.report.waiting import ELAPSED, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from seismo.model import Recording
    from seismo.model.table import LineRow
    from seismo.report.options import Options
    from seismo.report.words import Signs

_SIGNS = text.Signs()
MOSTLY = 0.5  # share of all time; if the program's own lines have less, they are sorted by own and inner time
TAB = 4

# The values of --sort, and the words for them.
ORDERS: dict[str, tuple[Callable[[LineRow], float], str]] = {
    "own": (lambda line: text.rank(line.own_ns, line.own_error_ns), "own time"),
    "inner": (lambda line: text.rank(line.inner_ns, line.inner_error_ns), "inner time"),
    "total": (lambda line: text.rank(line.total_ns, line.total_error_ns), "own and inner time"),
    "hits": (lambda line: line.hits, "hits"),
    "calls": (lambda line: line.hits, "hits"),
    "awaiting": (lambda line: line.await_ns, "time awaiting"),
}


def story(recording: Recording, file: str, most: int, options: Options) -> Story:
    """Return the story. file: the recording's name in commands. most: rows of a section."""
    program, options, hidden = shown_program(recording, replace(options, limit=most), _SIGNS)
    sections = [facts_section(header(recording, _SIGNS)), *tables(program, options, hidden, _SIGNS), _problems(program)]
    sections = [section for section in sections if section.rows or section.name == "lines"]
    sections += [marks_section(marks(MEANINGS, sections)), _steps(recording, file, program)]
    return Story.of(recording, file, "lines", "Times of lines of", totals(recording), sections)


def shown_program(recording: Recording, options: Options, signs: Signs) -> tuple[TimedProgram, Options, str]:
    """Return the shown part of a recording; the options with their order chosen; and a remark on what is hidden.

    The order is one of ORDERS. If none is given, it is own time, or own and inner time if most is in hidden libraries.
    """
    recording = recording.timed(options.time or ELAPSED)
    modules = chosen_modules(options)
    program = timed_program(recording, modules.left_out(recording.functions))
    everything = options.libraries or options.all or modules or filter_words(recording)
    hidden = "" if everything else library_words(program.library_times(), program.whole_ns, signs)
    if hidden:
        program = program.own_files()
    if not options.sort:  # in a program that mostly calls libraries, the calls matter most
        own_ns = sum(line.own_ns for line in program.lines)
        options = replace(options, sort="total" if own_ns < MOSTLY * program.whole_ns else "own")
    return program, options, hidden


def heading(program: TimedProgram, options: Options, signs: Signs) -> tuple[str, str]:
    """Return the title of the table of lines, and a remark on it."""
    where = f"of {WORDS[program.times]}" if program.known and program.times != "wall" else "in lines"
    whole = f"100 % is {text.duration(program.whole_ns, signs)} {where}"
    by = ORDERS[options.sort or ""][1]
    by = by.replace("own time", "time waiting") if program.times == "wait" else by
    return f"Lines by {by}", printable("; ".join(filter(None, (chosen_modules(options).words(), whole))))


def totals(recording: Recording) -> dict[str, Any]:
    """Return the sums over the recording."""
    shown, cpu = recording.timed("cpu"), cpu_ns(recording)
    kinds = shown.functions["kind"]
    rows = [row for row in shown.lines if kinds[row.function] == text.PYTHON]
    return {
        "wall_ns": rounded(wall_ns(recording)),
        "cpu_ns": cpu if cpu >= 0 else None,
        "processes": len(recording.processes),
        "threads": max(1, thread_count(recording)),
        "functions": len({row.function for row in rows}),
        "lines": len(rows),
        "hits": sum(row.hits for row in rows),
        "own_ns": rounded(sum(row.own_ns for row in rows)),
        "wait_ns": rounded(sum(row.wait_ns for row in rows)),
    }


def called(function: TimedFunction) -> str:
    """Return `module:qualname`, as options take it."""
    return f"{function.module}:{function.qualname}" if function.module else function.qualname


def line_data(line: LineRow, program: TimedProgram) -> dict[str, Any]:
    """Return the numbers of a line."""
    times = ("own", "own_error", "inner", "inner_error", "total", "total_error", "wait", "await")
    values = {f"{name}_ns": rounded(getattr(line, f"{name}_ns")) for name in times}
    return {"hits": line.hits, **values, "own_share": share(line.own_ns, program.whole_ns)}


def tables(program: TimedProgram, options: Options, hidden: str, signs: Signs, roomy: bool = True) -> Iterator[Section]:
    """Yield the sections of a report: single lines of all files, then functions. hidden: a remark on the rest."""
    cells = LineCells(signs, program.whole_ns, program.notable_ns, program.known, roomy)
    limit = options.limit or (None if options.all else 20)
    yield _lines(program, options, limit, hidden, cells)
    yield _functions(program, limit, cells)


def source_text(source: str) -> str:
    """Return a source line for display: tabs as blanks, other special characters escaped."""
    return printable(source.expandtabs(TAB).rstrip())


def _lines(program: TimedProgram, options: Options, limit: int | None, hidden: str, cells: LineCells) -> Section:
    key = ORDERS[options.sort or ""][0]
    known = [line for line in program.lines if key(line) > 0 or (line.hits and options.sort in ("own", "total"))]

    def place_of(line: LineRow) -> tuple[float, int, str, int, str]:
        function = program.functions[line.function]
        return -key(line), -line.hits, function.file, line.line, function.qualname

    lines = sorted(known, key=place_of)
    shown = lines[:limit]
    notable = any(line.wait_ns >= program.notable_ns for line in shown)
    names = [name for name in OF_LINES if notable or name not in ("waiting", "why")]
    headings, texts = made(of_times(program.times), names, cells, shown)
    files = {one.id: of for of in program.files for one in of.all()}
    largest = key(shown[0]) if shown else 0.0
    rows = []
    for place, (line, numbers) in enumerate(zip(shown, texts, strict=True)):
        function, file = program.functions[line.function], files[line.function]
        source = "" if file.source.problem else file.source.text(line.line).strip()
        where = text.location(function.file, line.line)
        data = {"file": file.path, "line": line.line, "function": called(function)}
        data |= {**line_data(line, program), "source": source}
        row = [*numbers, Name(where), Name(function.qualname), Name(source)]
        rows.append(Row(data, row, falling(0.95, place, key(line) / largest if largest > 0 else 0)))
    title, remark = heading(program, options, cells.signs)
    return Section(
        "lines",
        title,
        rows,
        headings=[*headings, "line", "function", "source"],
        numbers=len(headings),
        remark=remark,
        more=len(lines) - len(shown),
        besides=hidden,
        about="line",
        noun="line",
        narrow=NARROW,
    )


def functions_by_own(program: TimedProgram) -> list[TimedFunction]:
    """Return all functions by the own time of their lines."""
    functions = [one for file in program.files for one in file.all()]
    return sorted(
        functions, key=lambda one: (-text.rank(one.own_ns, one.own_error_ns), one.qualname, one.file, one.line)
    )


def _functions(program: TimedProgram, limit: int | None, cells: LineCells) -> Section:
    functions = functions_by_own(program)
    shown = functions[:limit]
    headings, texts = made(of_times(program.times), OF_FUNCTIONS, cells, shown)
    paths = {one.id: file.path for file in program.files for one in file.all()}
    rows = []
    for place, (function, numbers) in enumerate(zip(shown, texts, strict=True)):
        data = {
            "function": called(function),
            "module": function.module,
            "qualname": function.qualname,
            "file": paths[function.id],
            "line": function.line,
            "own_ns": rounded(function.own_ns),
            "own_error_ns": rounded(function.own_error_ns),
            "own_share": share(function.own_ns, program.whole_ns),
            "lines": len(function.lines),
            "hottest": hottest(function).line,
        }
        name = text.function_name(text.PYTHON, function.module, function.qualname)
        names = [Name(name), Name(text.location(function.file, function.line))]
        largest = shown[0].own_ns
        weight = falling(0.7, place, function.own_ns / largest if largest > 0 else 0)
        rows.append(Row(data, [*numbers, *names], weight))
    return Section(
        "functions",
        "Functions by time waiting" if program.times == "wait" else "Functions by own time",
        rows,
        headings=[*headings, "function", "where"],
        numbers=len(headings),
        remark="of their lines",
        more=len(functions) - len(shown),
        about="function",
        noun="function",
        narrow=NARROW,
    )


def _problems(program: TimedProgram) -> Section:
    rows = [
        Row({"file": file.path, "problem": file.source.problem}, [Name(file.path), file.source.problem], 0.4)
        for file in program.files
        if file.source.problem and not file.library
    ]
    return Section("problems", "Sources that are not shown", rows[:10], headings=("file", "why"), more=len(rows[10:]))


def _steps(recording: Recording, file: str, program: TimedProgram) -> Section:
    steps = Steps(recording, file)
    functions = functions_by_own(program)
    if functions:
        top = called(functions[0])
        steps.report(f"the source of {top}, with the times beside its lines", option("--only", top))
        steps.record(f"who calls {top}, and how often", "profile")
        steps.report("all sources with the times beside the lines", "--all --min 0")
    return steps.section()
