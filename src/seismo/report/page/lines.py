"""The page of lines' times: the functions, hottest first, and the source of each with what its lines took.

A function is shown from its first line to the last that ran. Longer stretches in which nothing of it ran (in a
module: the bodies of its functions, which have places of their own) are left out, and the page says how many lines
they are.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seismo.coverage import text as sources
from seismo.errors import SeismoError
from seismo.report import facts
from seismo.report.page.document import bar, count, document, filter_box, footer, plural, save, text
from seismo.report.page.highlight import highlighted
from seismo.report.text import Signs, duration, error, function_name, location, percent

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.model.table import FunctionRow, LineRow

_SHOWN = 300  # functions with their source
_GAP = 8  # lines of a function in a row that did not run and are still shown
_EDGE = 2  # lines kept at either end of a longer stretch
_LONGEST = 5_000  # lines of one function that are shown
_HEATS = 9  # classes t1 to t9 of the style

_BLANKS = "".join(f'<span class="{name}"></span>' for name in "htett")

_SIGNS = Signs()


@dataclass(slots=True)
class _Function:
    row: FunctionRow
    lines: dict[int, LineRow] = field(default_factory=dict)
    own: float = 0.0
    variance: float = 0.0  # of `own`, in units of the lines' errors
    hits: int = 0

    def add(self, line: LineRow) -> None:
        self.lines[line.line] = line
        self.own += line.own_ns
        self.variance += line.own_error_ns**2
        self.hits += line.hits


def write_lines(recording: Recording, path: str | os.PathLike[str], *, title: str = "") -> None:
    """Writes the page of a recording of lines' times. FormatError: it cannot be written."""
    save(os.fspath(path), lines_page(recording, title))


def lines_page(recording: Recording, title: str = "") -> str:
    """The page as text."""
    functions = _functions(recording)
    total = sum(function.own for function in functions)
    hottest = max((line.own_ns for function in functions for line in function.lines.values()), default=0.0)
    title = title or facts.command_line(recording) or "Lines"
    rows = "\n".join(_row(number, function, total) for number, function in enumerate(functions))
    texts = _Texts(recording)
    parts = [_section(number, function, texts, hottest, total) for number, function in enumerate(functions[:_SHOWN])]
    left = len(functions) - _SHOWN
    if left > 0:
        parts.append(f'<p class="quiet">{plural(left, "colder function")} without source here.</p>')
    body = f"""<header>
<h1>{text(title)}: <b>{text(duration(total, _SIGNS))}</b></h1>
<p class="facts">own time of {plural(sum(len(function.lines) for function in functions), "line")}
in {plural(len(functions), "function")}; Python functions that a line called are <i>inner</i>.
{_losses(recording)}</p>
</header>
<main>
<p class="tools">{filter_box("part of a name")}
<span id="shown" role="status"></span>
<span class="step"><button type="button" id="back" title="previous (p)">↑</button>
<button type="button" id="forth" title="next (n)">↓</button> <span id="place" role="status"></span></span></p>
<div class="scroll"><table id="functions" class="sortable">
<thead><tr>{_heads("Function", "Own", "", "±", "Inner", "Lines run", "Place")}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
{"".join(parts)}
</main>
{footer("<kbd>n</kbd> <kbd>p</kbd> next and previous hot line, <kbd>/</kbd> filter")}"""
    return document(title, "lines", body)


def _functions(recording: Recording) -> list[_Function]:
    """The functions of which lines ran, the hottest first."""
    found: dict[int, _Function] = {}
    functions = recording.functions
    for line in recording.lines:
        known = found.get(line.function)
        if known is None:
            known = found[line.function] = _Function(functions[line.function])
        known.add(line)
    return sorted(found.values(), key=lambda one: (-one.own, one.row.file, one.row.line, one.row.qualname))


def _losses(recording: Recording) -> str:
    lost = sum(loss.kind not in facts.NOTES for loss in recording.losses) + len(recording.problems)
    return f'<span class="warn">{plural(lost, "loss", "losses")}: see seismo info.</span>' if lost else ""


def _heads(*names: str) -> str:
    return "".join(
        f'<th scope="col"><button type="button">{name}</button></th>' if name else '<th class="bars"></th>'
        for name in names
    )


def _inner(function: _Function) -> float:
    return sum(line.inner_ns for line in function.lines.values())


def _row(number: int, function: _Function, total: float) -> str:
    name = text(function_name(function.row.kind, function.row.module, function.row.qualname))
    shown = f'<a href="#f{number}">{name}</a>' if number < _SHOWN else name
    share = function.own / total * 100 if total > 0 else 0.0
    error_ns = function.variance**0.5
    inner = _inner(function)
    return (
        f'<tr><th scope="row">{shown}</th><td data-v="{function.own:.0f}">{text(duration(function.own, _SIGNS))}</td>'
        f'<td class="bars">{bar(("hot", share))}</td>'
        f'<td data-v="{error_ns:.0f}">{text(error(error_ns, function.own, _SIGNS))}</td>'
        f'<td data-v="{inner:.0f}">{text(duration(inner, _SIGNS)) if inner else ""}</td>'
        f'<td data-v="{function.hits}">{count(function.hits)}</td>'
        f'<td class="place">{text(location(function.row.kind, function.row.file, function.row.line))}</td></tr>'
    )


def _section(number: int, function: _Function, texts: _Texts, hottest: float, total: float) -> str:
    row = function.row
    name = text(function_name(row.kind, row.module, row.qualname))
    source = texts.of(row.file)
    place = text(location(row.kind, row.file, row.line))
    doubt = f' <span class="tag warn">{text(source.doubt)}</span>' if source.doubt else ""
    lines = _source(number, function, source, hottest)
    return (
        f'<section id="f{number}"><h2><a href="#f{number}">{name}</a> <span class="quiet">{place}: '
        f"{text(duration(function.own, _SIGNS))}, {text(percent(function.own, total))}</span>{doubt}</h2>"
        f'<div class="source timed"><p class="titles"><span class="n">line</span><span class="h">hits</span>'
        f'<span class="t">own</span><span class="e">±</span><span class="t">each</span><span class="t">inner</span></p>'
        f"{lines}</div></section>\n"
    )


def _source(number: int, function: _Function, source: _Text, hottest: float) -> str:
    first = max(1, min([function.row.line or min(function.lines), *function.lines]))
    last = min(max(function.lines), first + _LONGEST)
    pieces = []
    line = first
    while line <= last:
        gap = 0
        while line + gap <= last and line + gap not in function.lines:
            gap += 1
        if gap > _GAP:
            edge = _EDGE if line > first else 1
            pieces += [_line(number, at, function, source, hottest) for at in range(line, line + edge)]
            pieces.append(f'<p class="gap">⋯ {plural(gap - edge - _EDGE, "line")}</p>')
            line += gap - _EDGE
            gap = _EDGE
        pieces += [_line(number, at, function, source, hottest) for at in range(line, line + max(gap, 1))]
        line += max(gap, 1)
    if last < max(function.lines):
        pieces.append(f'<p class="gap">⋯ {plural(max(function.lines) - last, "more line")}</p>')
    return "".join(pieces)


def _line(number: int, line: int, function: _Function, source: _Text, hottest: float) -> str:
    anchor = f"f{number}L{line}"
    markup = source.lines[line - 1] if line <= len(source.lines) else ""
    row = function.lines.get(line)
    link = f'<a class="n" href="#{anchor}">{line}</a>'
    if row is None:
        return f'<p id="{anchor}">{link}{_BLANKS}<code>{markup or " "}</code></p>'
    each = row.own_ns / row.hits if row.hits else 0.0
    heat = _heat(row.own_ns, hottest)
    kinds = " ".join(["heat", f"t{heat}", *(["hot"] if heat >= _HEATS // 2 else [])]) if heat else "heat"
    return (
        f'<p id="{anchor}" class="{kinds}">{link}<span class="h">{count(row.hits)}</span>'
        f'<span class="t own">{text(duration(row.own_ns, _SIGNS)) if row.own_ns else ""}</span>'
        f'<span class="e">{text(error(row.own_error_ns, row.own_ns, _SIGNS))}</span>'
        f'<span class="t">{text(duration(each, _SIGNS)) if each else ""}</span>'
        f'<span class="t">{text(duration(row.inner_ns, _SIGNS)) if row.inner_ns else ""}</span>'
        f"<code>{markup or ' '}</code></p>"
    )


def _heat(own: float, hottest: float) -> int:
    """0 (cold) to 9 (hottest), by the square root of the share: half as hot is still seen."""
    if own <= 0 or hottest <= 0:
        return 0
    return round((own / hottest) ** 0.5 * _HEATS)


@dataclass(slots=True)
class _Text:
    lines: list[str]  # markup
    doubt: str = ""


class _Texts:
    """The sources of a recording, read once each."""

    def __init__(self, recording: Recording) -> None:
        self._known: dict[str, _Text] = {}
        self._sources = {row.file: row for row in recording.sources}

    def of(self, file: str) -> _Text:
        """The text of a file as functions name it; nothing, with the reason, where it cannot be had."""
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = self._read(file)
        return known

    def _read(self, file: str) -> _Text:
        row = self._sources.get(file)
        path = row.path if row else file
        try:
            data = sources.read(path)
            content = sources.decode(data, path)
        except SeismoError as problem:
            return _Text([], problem.what)
        changed = row is not None and row.crc >= 0 and row.crc != zlib.crc32(data)
        return _Text(highlighted(content.split("\n")), "changed since it ran" if changed else "")
