"""The page of lines' times: the functions, the lines and the files in tables, and the whole source with its heat.

This module makes the page's data; web/src draws it. Every number is the one that the report shows, for each of the
times that the recording has: a page can switch between running, elapsed and waiting time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.report import facts, words
from seismo.report.lines.timed_source import TimedFile, TimedFunction, TimedProgram, timed_program
from seismo.report.page.document import drawn
from seismo.report.page.payload import counts, doubles, shown, shown_facts, shown_lines
from seismo.report.waiting import ELAPSED, reasons

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Recording
    from seismo.report.options import Options
    from seismo.report.page.payload import Columns

TIMES = ("cpu", "wait", "wall")
_VALUES = ("own_ns", "own_error_ns", "inner_ns", "inner_error_ns", "total_ns", "total_error_ns")
ROOM = 6_000_000  # most characters of the sources of a page; deflated, about a sixth
_INSTRUCTION = 120  # most characters of an instruction's text


def page(recording: Recording, options: Options) -> str:
    """Return the page as text."""
    times = options.time or ELAPSED
    title = facts.command_line(recording) or "Lines"
    program = timed_program(recording.timed(times))
    chosen = bool(facts.filter_words(recording))
    files = sorted(program.files, key=lambda file: bool(file.library) and not chosen)
    functions = [one for file in files for one in file.all()]
    there = [one for one in TIMES if one == times or program.known]
    head: dict[str, object] = {
        "kind": "lines",
        "times": times,
        "there": there,
        "facts": shown_facts(facts.header(recording, words.Signs())),
        "files": _files(files, chosen),
        "modules": [shown(one.module) for one in functions],
        "names": [shown(one.qualname) for one in functions],
        "places": [shown(words.location(one.file, one.line)) for one in functions],
    }
    columns: Columns = {
        "f.file": counts(number for number, file in enumerate(files) for _ in file.all()),
        "f.line": counts(max(0, one.line) for one in functions),
    }
    for one in there:
        columns |= _times(timed_program(recording.timed(one)), functions)
    columns |= _line_columns(program, functions, head)
    return drawn(title, head, columns)


def _times(program: TimedProgram, functions: Sequence[TimedFunction]) -> Columns:
    """Return the times of the lines, and the functions' sums of them, as in the report."""
    times, same = program.times, [program.functions[one.id] for one in functions]
    columns: Columns = {
        f"l.{times}.{name[:-3]}": doubles([getattr(row, name) for row in program.lines]) for name in _VALUES
    }
    columns[f"f.{times}.own"] = doubles([one.own_ns for one in same])
    columns[f"f.{times}.own_error"] = doubles([one.own_error_ns for one in same])
    return columns


def _files(files: Sequence[TimedFile], chosen: bool) -> list[dict[str, object]]:
    """Return the files, those with most of the time with their sources as long as there is room for them."""
    room = ROOM
    found: list[dict[str, object]] = []
    for file in files:
        lines = shown_lines(file.source.lines) if sum(map(len, file.source.lines)) <= room else None
        room -= sum(map(len, lines or ()))
        found.append(
            {
                "name": shown(file.name),
                "path": shown(file.path or file.name),
                "whose": "" if chosen else file.library,
                "problem": shown(file.source.problem),
                "lines": lines,
            }
        )
    return found


def _line_columns(program: TimedProgram, functions: Sequence[TimedFunction], head: dict[str, object]) -> Columns:
    """Return the lines' columns that are independent of --time, and their instructions. Texts go into the head."""
    number_of = {one.id: number for number, one in enumerate(functions)}
    lines = program.lines
    why = [reasons(one.wait_ns, one.ready_ns, one.lock_ns, program.known) if one.wait_ns else "" for one in lines]
    texts = sorted(set(why))
    place = {words_: number for number, words_ in enumerate(texts)}
    head["reasons"] = texts
    instructions = [
        (row, *one)
        for row, line in enumerate(lines)
        for one in program.instructions.get((line.function, line.line), ())
    ]
    head["instructions"] = [shown(text, _INSTRUCTION) or "?" for _, _, text, _ in instructions]
    return {
        "l.function": counts(number_of[line.function] for line in lines),
        "l.line": counts(line.line for line in lines),
        "l.hits": counts(line.hits for line in lines),
        "l.wait": counts(max(0, line.wait_ns) for line in lines),
        "l.await": counts(max(0, line.await_ns) for line in lines),
        "l.reason": counts(place[one] for one in why),
        "i.row": counts(row for row, _, _, _ in instructions),
        "i.offset": counts(max(0, offset) for _, offset, _, _ in instructions),
        "i.hits": counts(hits for _, _, _, hits in instructions),
    }
