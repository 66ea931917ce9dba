"""The story of a recording of lines' times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.report import words as text
from seismo.report.facts import command_line, cpu_ns, filter_words, header, losses, thread_count, wall_ns
from seismo.report.lines.text import (
    FUNCTION_HEADINGS,
    ORDERS,
    LinesView,
    function_cells,
    functions_by_own,
    heading,
    hottest_lines,
    line_cells,
    shown_program,
)
from seismo.report.shown_functions import chosen_modules
from seismo.report.story import Name, Row, Section, Story, facts_section, falling, next_section, rounded, share
from seismo.report.story.steps import Steps, option
from seismo.report.waiting import WAITED

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.lines.timed_source import TimedFile, TimedFunction, TimedLine, TimedProgram
    from seismo.report.options import Options

_SIGNS = text.Signs()


def story(recording: Recording, file: str, most: int, options: Options) -> Story:
    """What there is to tell. file: what commands call it. most: rows of a section."""
    modules = chosen_modules(options)
    view = LinesView(
        order="",
        libraries=bool(options.libraries or modules or filter_words(recording)),
        modules=modules,
        times=options.time or "cpu",
    )
    program, view, hidden = shown_program(recording, view, _SIGNS)
    files = {one.id: of for of in program.files for function in of.functions for one in function.all()}
    sections = [
        facts_section(header(recording, _SIGNS)),
        _lines(program, view, hidden, files, most),
        _functions(program, files, most),
        _problems(program),
    ]
    sections = [section for section in sections if section.rows or section.name == "lines"]
    sections.append(next_section(_steps(recording, file, program, view)))
    lost = bool(losses(recording, _SIGNS))
    return Story("lines", "Times of lines of", command_line(recording), file, totals(recording), sections, lost)


def totals(recording: Recording) -> dict[str, Any]:
    """The sums."""
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
    """`module:qualname`, as options take it."""
    return f"{function.module}:{function.qualname}" if function.module else function.qualname


def line_data(line: TimedLine, program: TimedProgram) -> dict[str, Any]:
    """The numbers of a line."""
    times = (
        "own_ns",
        "own_error_ns",
        "inner_ns",
        "inner_error_ns",
        "total_ns",
        "total_error_ns",
        "wait_ns",
        "await_ns",
    )
    return {
        "hits": line.hits,
        **{name: rounded(getattr(line, name)) for name in times},
        "own_share": share(line.own_ns, program.whole_ns),
    }


def _source(file: TimedFile, number: int) -> str:
    return "" if file.source.problem else file.source.text(number).strip()


def _lines(program: TimedProgram, view: LinesView, hidden: str, files: dict[int, TimedFile], most: int) -> Section:
    lines = hottest_lines(program, view)
    shown = lines[:most]
    headings, cells = line_cells(program, shown, view, _SIGNS, roomy=True)
    key = ORDERS[view.order][0]
    largest = key(shown[0]) if shown else 0.0
    rows = []
    for place, (line, row) in enumerate(zip(shown, cells, strict=True)):
        function, file = line.function, files[line.function.id]
        source = _source(file, line.number)
        data = {
            "file": file.path,
            "line": line.number,
            "function": called(function),
            **line_data(line, program),
            "source": source,
        }
        where = Name(text.location(text.PYTHON, function.file, line.number))
        names = [where, Name(function.qualname), Name(source)]
        rows.append(Row(data, [*row[:-1], *names], falling(0.95, place, key(line) / largest if largest > 0 else 0)))
    title, remark = heading(program, view, _SIGNS)
    remark += f"; of the program's own files; not shown: {hidden} (--libraries)" if hidden else ""
    heads = ["±" if not head.strip() else head.strip() for head in headings[:-1]]
    return Section(
        "lines",
        title,
        rows,
        headings=[*heads, "line", "function", "source"],
        numbers=len(heads),
        remark=remark,
        more=len(lines) - len(shown),
    )


def _functions(program: TimedProgram, files: dict[int, TimedFile], most: int) -> Section:
    functions = functions_by_own(program)
    shown = functions[:most]
    rows = []
    for place, function in enumerate(shown):
        hottest = max(function.lines.values(), key=lambda line: line.own_ns)
        data = {
            "function": called(function),
            "module": function.module,
            "qualname": function.qualname,
            "file": files[function.id].path,
            "line": function.line,
            "own_ns": rounded(function.own_ns),
            "own_error_ns": rounded(function.own_error_ns),
            "own_share": share(function.own_ns, program.whole_ns),
            "lines": len(function.lines),
            "hottest": hottest.number,
        }
        cells = function_cells(program, function, _SIGNS)[:-1]
        names = [
            Name(text.function_name(text.PYTHON, function.module, function.qualname)),
            Name(text.location(text.PYTHON, function.file, function.line)),
        ]
        largest = shown[0].own_ns
        weight = falling(0.7, place, function.own_ns / largest if largest > 0 else 0)
        rows.append(Row(data, [*cells, *names], weight))
    heads = [head.strip() or "±" for head in FUNCTION_HEADINGS]
    more = len(functions) - len(shown)
    return Section(
        "functions",
        "Functions by own time",
        rows,
        headings=[*heads, "where"],
        numbers=len(heads) - 1,
        remark="of their lines",
        more=more,
    )


def _problems(program: TimedProgram) -> Section:
    """Files whose text is not what ran."""
    rows = [
        Row({"file": file.path, "problem": file.source.problem}, [Name(file.path), file.source.problem], 0.4)
        for file in program.files
        if file.source.problem and not file.library
    ]
    return Section("problems", "Sources that are not shown", rows[:10], headings=("file", "why"), more=len(rows[10:]))


def _steps(recording: Recording, file: str, program: TimedProgram, view: LinesView) -> list[tuple[str, str]]:
    steps = Steps(recording, file)
    functions = functions_by_own(program)
    if functions:
        top = called(functions[0])
        steps.report(f"the source of {top}, with the times beside its lines", option("--only", top))
        steps.record(f"who calls {top}, and how often", "profile")
    waited = sum(line.wait_ns for line in program.lines)
    if view.times == "cpu" and program.known and waited > WAITED * (waited + program.whole_ns):
        steps.report("where it waits, which is no part of own time", "--time wait")
    if functions:
        steps.report("all sources with the times beside the lines", "--all --min 0")
    if losses(recording, _SIGNS):
        steps.of_file("info", "what was lost, and how it was recorded")
    return steps.found
