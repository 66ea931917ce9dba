"""An editor's notes for a recording of lines' times: beside each line its hits and times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from seismo.report import words as text
from seismo.report.gutter import as_story, joined, note, noted
from seismo.report.lines.columns import COLUMNS, LineCells, of_times
from seismo.report.lines.story import called, heading, line_data, shown_program
from seismo.report.sources import Sources

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.model.table import LineRow
    from seismo.report.gutter import Note
    from seismo.report.lines.timed_source import TimedProgram
    from seismo.report.options import Options
    from seismo.report.story import Story

_SIGNS = text.Signs()
_DETAILS = ("inner", "each", "awaiting")


def gutter(recording: Recording, file: str, options: Options) -> Story:
    """Return a note for each line. file: the path of the recording."""
    program, options, _ = shown_program(recording, replace(options, sort="own", libraries=True), _SIGNS)
    hottest = max((text.rank(line.own_ns, line.own_error_ns) for line in program.lines), default=0.0)
    notes = [(program.functions[line.function].file, _note(line, program, hottest)) for line in program.lines]
    words = "; ".join(heading(program, options, _SIGNS)).lower()
    return as_story(recording, file, "lines", words, noted(notes, Sources(recording)))


def _note(line: LineRow, program: TimedProgram, hottest: float) -> Note:
    function = program.functions[line.function]
    data = {"function": called(function), **line_data(line, program)}
    data["share"] = data.pop("own_share")
    cells = LineCells(_SIGNS, program.whole_ns)
    shown = {name: COLUMNS[name].cell(cells, line) for name in ("own", "error", "share", "hits", *_DETAILS)}
    own = joined(shown["own"], shown["error"])
    details = [
        ("function", text.function_name(text.PYTHON, function.module, function.qualname)),
        ("hits", shown["hits"]),
        (of_times(program.times)["own"].head.strip(), f"{own}, {shown['share']}" if own else ""),
        *((COLUMNS[name].head.strip(), shown[name].strip()) for name in _DETAILS),
    ]
    if program.times != "wait" and line.wait_ns:
        details.append(("waiting", text.duration(line.wait_ns, _SIGNS)))
    heat = text.rank(line.own_ns, line.own_error_ns) / hottest if hottest > 0 else 0.0
    words = joined(own, shown["share"] if own else "", text.number_of(line.hits, "hit"))
    return note(line.line, data, words, details, heat)
