"""What an editor shows of a recording of lines' times: beside each line how often it ran, and how long that took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.report import words as text
from seismo.report.gutter import Note, as_story, joined, noted
from seismo.report.lines.story import called, line_data
from seismo.report.lines.text import LinesView, heading, shown_program
from seismo.report.shown_functions import chosen_modules
from seismo.report.sources import Sources

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.lines.timed_source import TimedLine, TimedProgram
    from seismo.report.options import Options
    from seismo.report.story import Story

_SIGNS = text.Signs()


def gutter(recording: Recording, file: str, options: Options) -> Story:
    """The notes. file: the recording's."""
    modules = chosen_modules(options)
    view = LinesView(order="own", modules=modules, times=options.time or "cpu")
    program, view, _ = shown_program(recording, view, _SIGNS)
    hottest = max((text.rank(line.own_ns, line.own_error_ns) for line in program.lines), default=0.0)
    notes = [(line.function.file, _note(line, program, hottest, view.times)) for line in program.lines]
    words = "; ".join(heading(program, view, _SIGNS)).lower()
    return as_story(recording, file, "lines", words, noted(notes, Sources(recording)))


def _time(ns: float, error_ns: float) -> str:
    """As the report has it: nothing where no time is known."""
    return text.time(ns, error_ns, _SIGNS) if ns > 0 or error_ns > 0 else ""


def _note(line: TimedLine, program: TimedProgram, hottest: float, times: str) -> Note:
    data = {"function": called(line.function), **line_data(line, program)}
    data["share"] = data.pop("own_share")
    own = joined(_time(line.own_ns, line.own_error_ns), text.error(line.own_error_ns, line.own_ns, _SIGNS))
    of_whole = text.share(line.own_ns, line.own_error_ns, program.whole_ns)
    hits = text.number_of(line.hits, "hit")
    inner = _time(line.inner_ns, line.inner_error_ns)
    details = [
        ("function", text.function_name(text.PYTHON, line.function.module, line.function.qualname)),
        ("hits", text.count(line.hits)),
        ("waiting" if times == "wait" else "own", f"{own}, {of_whole}" if own else ""),
        ("inner", inner),
        ("each", _time(line.total_ns / line.hits, line.total_error_ns / line.hits) if line.hits else ""),
        ("waiting", text.duration(line.wait_ns, _SIGNS) if times == "cpu" and line.wait_ns else ""),
        ("awaiting", text.duration(line.await_ns, _SIGNS) if line.await_ns else ""),
    ]
    heat = text.rank(line.own_ns, line.own_error_ns) / hottest if hottest > 0 else 0.0
    return Note(line.number, data, joined(own, of_whole if own else "", hits), details, heat)
