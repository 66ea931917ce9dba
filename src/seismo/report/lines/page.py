"""The page of lines' times: the functions, hottest first, and the source of each with what its lines took.

A function is shown from its first line to the last that ran; generator expressions and lambdas stand in the function
around them. Longer stretches in which nothing of it ran (in a module: the bodies of its functions, which have places of
their own) are left out, and the page says how many lines they are.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from seismo.report import facts
from seismo.report.libraries import library_words
from seismo.report.lines.timed_source import PYTHON, timed_program
from seismo.report.page.document import (
    STEPS,
    breakable,
    count,
    divided,
    document,
    filter_box,
    heads,
    plural,
    save,
    share_bar,
    table,
    text,
)
from seismo.report.page.highlight import highlighted
from seismo.report.waiting import sentence as waiting_sentence
from seismo.report.words import Signs, duration, error, function_name, location, rank, share, time

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.lines.timed_source import TimedFunction, TimedLine, TimedProgram
    from seismo.report.sources import Source

_SHOWN = 300  # functions with their source
_GAP = 8  # lines of a function in a row that did not run and are still shown
_EDGE = 2  # lines kept at either end of a longer stretch
_LONGEST = 5_000  # lines of one function that are shown
_HEATS = 9  # classes t1 to t9 of the style
_BLANKS = "".join(f'<span class="{kind}"></span>' for kind in "htett")

_SIGNS = Signs()


def write_lines(recording: Recording, path: str | os.PathLike[str], *, title: str = "", times: str = "cpu") -> None:
    """Writes the page of a recording of lines' times: "cpu", "wall" or "wait". FormatError: it cannot be written."""
    save(os.fspath(path), lines_page(recording, title, times))


def lines_page(recording: Recording, title: str = "", times: str = "cpu") -> str:
    """The page as text."""
    program = timed_program(recording.timed(times))
    waits = any(line.wait_ns >= program.notable_ns for line in program.lines)
    chosen = bool(facts.filter_words(recording))
    functions = [
        (bool(file.library) and not chosen, function, file.source)
        for file in program.files
        for function in file.functions
    ]
    functions.sort(key=_place)
    libraries = any(library for library, _, _ in functions)
    title = title or facts.command_line(recording) or "Lines"
    largest_ns = max((function.whole_ns for _, function, _ in functions), default=0.0)
    rows = [
        _row(number, function, largest_ns, program.whole_ns, waits) for number, (_, function, _) in enumerate(functions)
    ]
    waiting = ["Waiting"] if waits else []
    parts = _Sections(program, waits)
    sections = "".join(parts.section(number, *one[1:]) for number, one in enumerate(functions[:_SHOWN]))
    left = len(functions) - _SHOWN
    more = (
        f'<p class="quiet">The source of {plural(left, "function")} with less time is not shown.</p>'
        if left > 0
        else ""
    )
    top = f"""<h1>{text(title)}: <b>{text(duration(program.whole_ns, _SIGNS))}</b></h1>
<p class="facts">{_facts(recording, program, len(functions), libraries)}</p>"""
    titles = heads("Function", "Own", "", "±", *waiting, "Inner", "Lines run", "Place")
    rows = divided(rows, [library for library, _, _ in functions], 7 + waits)
    main = f"{filter_box('part of a name', after=STEPS)}\n{table('functions', titles, rows)}\n{sections}{more}"
    keys = "<kbd>n</kbd> <kbd>p</kbd> next and previous hot line, <kbd>/</kbd> filter"
    return document(title, "lines", top, main, keys)


def _place(one: tuple[bool, TimedFunction, Source]) -> tuple[bool, float, str, int, str]:
    is_library, function, _ = one
    time_ns = rank(function.whole_ns, function.whole_error_ns)
    return is_library, -time_ns, function.file, function.line, function.qualname


def _facts(recording: Recording, program: TimedProgram, functions: int, libraries: bool) -> str:
    said = f"Own time of {plural(len(program.lines), 'line')} in {plural(functions, 'function')}."
    if program.elsewhere_ns > 0:
        said += f" Another {text(duration(program.elsewhere_ns, _SIGNS))} could be assigned to no line."
    lost = sum(loss.kind not in facts.NOTES for loss in recording.losses) + len(recording.problems)
    if lost:
        said += f' <span class="warn">{plural(lost, "loss", "losses")} (<code>seismo info</code> lists them).</span>'
    waited = waiting_sentence(recording, _SIGNS)
    if waited:
        said += f" Waiting: {text(waited)}."
    said += " <i>Inner</i> is the time of the Python functions that a line called."
    if libraries:
        hidden = text(library_words(program.library_times(), program.whole_ns, _SIGNS))
        said += f" The program's own functions come first, then those of libraries: {hidden}."
    return said


def _time(ns: float, error_ns: float) -> str:
    return text(time(ns, error_ns, _SIGNS)) if ns > 0 or error_ns > 0 else ""


def _name(function: TimedFunction) -> str:
    return breakable(function_name(PYTHON, function.module, function.qualname))


def _row(number: int, function: TimedFunction, largest_ns: float, whole_ns: float, waits: bool) -> str:
    shown = f'<a href="#f{number}">{_name(function)}</a>' if number < _SHOWN else _name(function)
    own, doubt = function.whole_ns, function.whole_error_ns
    lines = function.lines.values()
    inner = sum(line.inner_ns for line in lines), math.hypot(*(line.inner_error_ns for line in lines))
    hits = sum(line.hits for line in lines)
    wait = function.whole_wait_ns
    waiting = f'<td data-v="{wait:.0f}">{_time(wait, 0.0)}</td>' if waits else ""
    return (
        f'<tr><th scope="row">{shown}</th><td data-v="{rank(own, doubt):.0f}">{text(time(own, doubt, _SIGNS))}</td>'
        f"{share_bar('hot', own, largest_ns, whole_ns)}"
        f'<td data-v="{doubt:.0f}">{text(error(doubt, own, _SIGNS))}</td>{waiting}'
        f'<td data-v="{rank(*inner):.0f}">{_time(*inner)}</td><td data-v="{hits}">{count(hits)}</td>'
        f'<td class="place">{text(location(PYTHON, function.file, function.line))}</td></tr>'
    )


class _Sections:
    """The functions with their sources. A file's text is coloured once."""

    def __init__(self, program: TimedProgram, waits: bool) -> None:
        self._waits = waits
        self._blanks = _BLANKS + ('<span class="t"></span>' if waits else "")
        self._whole_ns = program.whole_ns
        self._hottest_ns = max((line.own_ns for line in program.lines), default=0.0)
        self._markup: dict[int, list[str]] = {}

    def section(self, number: int, function: TimedFunction, source: Source) -> str:
        """A function: its name, its place, and its lines."""
        place = text(location(PYTHON, function.file, function.line))
        own = function.whole_ns, function.whole_error_ns
        times = f"{text(time(*own, _SIGNS))}, {text(share(*own, self._whole_ns))}"
        doubt = f'<p class="warn">{text(source.problem)}</p>' if source.problem else ""
        more = ["waiting"] if self._waits else []
        kinds, heads = "nhtett" + "t" * len(more), ("line", "hits", "own", "±", *more, "each", "inner")
        titles = "".join(f'<span class="{kind}">{title}</span>' for kind, title in zip(kinds, heads, strict=True))
        return (
            f'<section id="f{number}"><h2><a href="#f{number}">{_name(function)}</a> '
            f'<span class="quiet">{place}: {times}</span></h2>{doubt}'
            f'<div class="source timed"><p class="titles">{titles}</p>{self._lines(number, function, source)}</div>'
            "</section>\n"
        )

    def _lines(self, number: int, function: TimedFunction, source: Source) -> str:
        markup = self._markup.get(id(source))
        if markup is None:
            markup = self._markup[id(source)] = highlighted(source.lines)
        first, end = function.span()
        last = min(end, first + _LONGEST)
        pieces: list[str] = []
        line = max(1, first)
        while line <= last:
            ran = function.at(line)
            gap = 0
            while not ran and line + gap <= last and not function.at(line + gap):
                gap += 1
            if gap > _GAP:
                pieces += [self._line(number, at, [], markup) for at in range(line, line + _EDGE)]
                pieces.append(f'<p class="gap">⋯ {plural(gap - 2 * _EDGE, "line")}</p>')
                line += gap - _EDGE
                continue
            pieces.append(self._line(number, line, ran, markup))
            line += 1
        if last < end:
            pieces.append(f'<p class="gap">⋯ {plural(end - last, "more line")}</p>')
        return "".join(pieces)

    def _line(self, number: int, line: int, ran: list[TimedLine], markup: list[str]) -> str:
        """A line of a function, then what ran in it of smaller ones, then its instructions."""
        anchor = f"f{number}L{line}"
        link = f'<a class="n" href="#{anchor}">{line}</a>'
        shown = (markup[line - 1] if line <= len(markup) else "") or " "
        if not ran:
            return f'<p id="{anchor}">{link}{self._blanks}<code>{shown}</code></p>'
        pieces = [f'<p id="{anchor}"{self._kind(ran[0])}>{link}{_cells(ran[0], self._waits)}<code>{shown}</code></p>']
        for small in ran[1:]:
            called = text(small.function.qualname.rpartition(".")[2])
            code = f'<code class="quiet">    ↳ {called}</code>'
            pieces.append(f'<p{self._kind(small)}><span class="n"></span>{_cells(small, self._waits)}{code}</p>')
        instructions = [instruction for one in ran for instruction in one.instructions]
        if instructions:
            listed = "".join(
                f"<li><span>{count(hits)}</span> <span>{offset}</span> {text(said)}</li>"
                for offset, said, hits in instructions
            )
            title = plural(len(instructions), "instruction")
            pieces.append(f'<details class="ops"><summary>{title}</summary><ol>{listed}</ol></details>')
        return "".join(pieces)

    def _kind(self, line: TimedLine) -> str:
        """The class of a line by its heat, 0 (cold) to 9: the root of its share, so that half as hot is still seen."""
        if line.own_ns <= 0 or self._hottest_ns <= 0:
            return ' class="heat"'
        heat = round((line.own_ns / self._hottest_ns) ** 0.5 * _HEATS)
        return f' class="heat t{heat}{" hot" if heat > _HEATS // 2 else ""}"'


def _cells(line: TimedLine, waits: bool) -> str:
    waiting = f'<span class="t">{_time(line.wait_ns, 0.0)}</span>' if waits else ""
    return (
        f'<span class="h">{count(line.hits)}</span><span class="t own">{_time(line.own_ns, line.own_error_ns)}</span>'
        f'<span class="e">{text(error(line.own_error_ns, line.own_ns, _SIGNS))}</span>{waiting}'
        f'<span class="t">{_time(line.own_ns / line.hits, line.own_error_ns / line.hits) if line.hits else ""}</span>'
        f'<span class="t">{_time(line.inner_ns, line.inner_error_ns)}</span>'
    )
