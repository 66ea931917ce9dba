"""The pages of a coverage report: a table of the files, and a page a file with its source.

Contexts of a line may be thousands, on each of thousands of lines. So a page has the names of its contexts once, each
distinct set of them once, as ranges of their numbers, and a line only the number of its set.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING

from seismo.coverage.result import common_folder
from seismo.errors import FormatError
from seismo.report.page.document import (
    STEPS,
    bar,
    breakable,
    count,
    document,
    filter_box,
    heads,
    plural,
    save,
    table,
    text,
)
from seismo.report.page.highlight import highlighted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.coverage.numbers import Numbers
    from seismo.coverage.result import CoverageReport, FileCoverage
    from seismo.coverage.settings import Settings

INDEX = "index.html"
_BLOCK = 200  # lines that a browser lays out together when they come into sight
_CHANGED = "The source has changed since it was recorded"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 100  # characters of the name of a page


def write_coverage(
    report: CoverageReport,
    folder: str | os.PathLike[str],
    *,
    title: str = "Coverage report",
    precision: int = 0,
    skip_covered: bool = False,
    skip_empty: bool = False,
) -> str:
    """Writes the pages into a folder, which is made if there is none; gives the path of the index.

    precision: decimals of percentages. skip_covered, skip_empty: no pages of files that are covered in full, or have no
    statements; they are in the totals. FormatError: the pages cannot be written.
    """
    target = os.fspath(folder)
    try:
        os.makedirs(target, exist_ok=True)
    except OSError as error:
        raise FormatError(f"the folder cannot be made: {error.strerror or error}", where=target) from None
    files = [
        file
        for file in report.files
        if not (skip_covered and file.statements and _is_whole(file)) and not (skip_empty and not file.statements)
    ]
    below = common_folder(files)
    names = [page_name(file.path, below) for file in files]
    for number, file in enumerate(files):
        neighbours = (names[number - 1] if number else "", names[number + 1] if number + 1 < len(names) else "")
        save(os.path.join(target, names[number]), file_page(file, title, precision, neighbours))
    index = os.path.join(target, INDEX)
    save(index, index_page(report, files, title, precision))
    ignore = os.path.join(target, ".gitignore")
    if not os.path.exists(ignore):
        save(ignore, "# Made by seismo.\n*\n")
    return index


def write_by_settings(report: CoverageReport, settings: Settings, folder: str | os.PathLike[str]) -> str:
    """As write_coverage, as the settings want it: those of pages, or else those of all reports."""

    def either(html: bool | None, otherwise: bool) -> bool:
        return otherwise if html is None else html

    return write_coverage(
        report,
        folder,
        title=settings.html_title,
        precision=settings.precision,
        skip_covered=either(settings.html_skip_covered, settings.skip_covered),
        skip_empty=either(settings.html_skip_empty, settings.skip_empty),
    )


def page_name(path: str, below: str = "") -> str:
    """The name of a file's page: readable, safe on every file system, and no other path's.

    below: the folder that the path begins with and that every file is below, so that it need not be in the name.
    """
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{_UNSAFE.sub('_', path[len(below) :]).strip('._')[-_LONGEST:] or 'file'}-{digest}.html"


# ---- the index ----


def index_page(report: CoverageReport, files: Sequence[FileCoverage], title: str, precision: int) -> str:
    """The page with the totals, the problems, and those files that have pages."""
    totals = report.totals
    branches = report.branch
    below = common_folder(files)
    rows = [_row(file, below, branches, precision) for file in files]
    all_below = f'<p class="facts">All files are below <code>{text(below)}</code>.</p>\n' if below else ""
    skipped = len(report.files) - len(files)
    left_out = f"; {count(skipped)} not shown" if skipped else ""
    top = f"""<h1>{text(title)}: <b class="{_grade(totals)}">{totals.percent_text(precision)}%</b></h1>
<p class="facts">{_facts(totals, branches)}, in {plural(len(report.files), "file")}{left_out}</p>
{_coverage_bar(totals)}"""
    hide = '<label><input id="hide" type="checkbox"> only files with something missing</label>\n'
    foot = f'<tfoot><tr><th scope="row">Total</th>{_cells(totals, branches, precision)}</tr></tfoot>\n'
    of_branches = ["Partial", "Branches"] if branches else []
    titles = heads("File", "Covered", "", "Statements", "Missing", *of_branches, "Excluded")
    main = f"""{_problems(report)}
{filter_box("part of a path, or *.py", hide)}
{all_below}{table("files", titles, rows, foot)}"""
    return document(title, "index", top, main, "<kbd>/</kbd> filter; click a column's title to sort by it")


def _row(file: FileCoverage, below: str, branches: bool, precision: int) -> str:
    folder, slash, name = file.path[len(below) :].rpartition("/")
    shown = f'<span class="folder">{breakable(folder + slash)}</span>{breakable(name)}'
    link = f'<a href="{page_name(file.path, below)}">{shown}</a>'
    whole = ' class="whole"' if _is_whole(file) else ""
    changed = f' <span class="tag warn" title="{_CHANGED}">changed</span>' if file.changed else ""
    return f'<tr{whole}><th scope="row">{link}{changed}</th>{_cells(file.numbers, branches, precision)}</tr>'


def _is_whole(file: FileCoverage) -> bool:
    return not file.missing and not file.missing_branches


def _cells(numbers: Numbers, branches: bool, precision: int) -> str:
    values = [numbers.statements, numbers.missing]
    values += [numbers.partial_branches, numbers.branches] if branches else []
    values += [numbers.excluded]
    cells = "".join(f'<td data-v="{value}">{count(value) if value else "<s>0</s>"}</td>' for value in values)
    percent = f'<td class="{_grade(numbers)}" data-v="{numbers.percent:.6f}">{numbers.percent_text(precision)}%</td>'
    return f'{percent}<td class="bars">{_coverage_bar(numbers)}</td>{cells}'


def _coverage_bar(numbers: Numbers) -> str:
    whole = numbers.statements + numbers.branches
    if not whole:
        return bar(("ran", 100))
    partial = numbers.partial_branches / whole * 100
    return bar(("ran", numbers.percent), ("partial", partial))


def _grade(numbers: Numbers) -> str:
    return "good" if numbers.percent >= 90 else "fair" if numbers.percent >= 70 else "poor"


def _facts(numbers: Numbers, branches: bool) -> str:
    facts = f"{count(numbers.executed)} of {plural(numbers.statements, 'statement')}"
    if branches:
        facts += f" and {count(numbers.executed_branches)} of {plural(numbers.branches, 'branch', 'branches')}"
    return facts


def _problems(report: CoverageReport) -> str:
    problems = [problem for problem in report.problems if not problem.minor]
    if not problems:
        return ""
    rows = "".join(
        f"<li>{f'<code>{text(problem.path)}</code>: ' if problem.path else ''}{text(problem.text)}</li>"
        for problem in problems
    )
    title = plural(len(problems), "problem")
    return f'<details class="problems" open><summary>{title}</summary><ul>{rows}</ul></details>'


# ---- a file ----


def file_page(file: FileCoverage, title: str, precision: int, neighbours: tuple[str, str] = ("", "")) -> str:
    """The page of a file. neighbours: the pages of the files before and after it, or ""."""
    numbers = file.numbers
    folder, slash, name = file.path.rpartition("/")
    sets = _ContextSets(file)
    links = [f'<a href="{INDEX}" id="up">{text(title)}</a>']
    before, after = neighbours
    links += [f'<a href="{before}" rel="prev">← previous</a>'] if before else []
    links += [f'<a href="{after}" rel="next">next →</a>'] if after else []
    source = _source(file, sets)
    changed = f'<p class="warn">{_CHANGED}, so lines may be marked wrongly.</p>' if file.changed else ""
    top = f"""<nav>{" ".join(links)}</nav>
<h1><span class="folder">{text(folder + slash)}</span>{text(name)}:
<b class="{_grade(numbers)}">{numbers.percent_text(precision)}%</b></h1>
<p class="facts">{_facts(numbers, file.has_branches)}</p>
<p class="tools">{_switches(file)} {STEPS}</p>
{changed}"""
    main = f"""<div class="source">
{source}
</div>
{sets.markup()}"""
    keys = "<kbd>n</kbd> <kbd>p</kbd> next and previous missing or partial line, <kbd>u</kbd> all files"
    return document(f"{file.path}: {numbers.percent_text(precision)}%", "file", top, main, keys, stuck=True)


def _switches(file: FileCoverage) -> str:
    """Buttons that switch the marks of a kind of line on and off."""
    partial = {line for line, _ in file.missing_branches} - set(file.missing)
    kinds = [
        ("ran", "executed", len(file.executed) - len(partial), False),
        ("missing", "missing", len(file.missing), True),
        ("partial", "partial", len(partial), True),
        ("excluded", "excluded", len(file.excluded), False),
    ]
    return " ".join(
        f'<button type="button" class="switch {kind}" data-kind="{kind}" aria-pressed="{"true" if on else "false"}">'
        f"{count(number)} {word}</button>"
        for kind, word, number, on in kinds
        if number or kind in ("ran", "missing")
    )


def _source(file: FileCoverage, sets: _ContextSets) -> str:
    """The lines of a source, in blocks. A line is a paragraph with its anchor, its mark, its hits and its text."""
    untaken: dict[int, list[tuple[int, int]]] = {}
    for arc in file.missing_branches:
        untaken.setdefault(arc[0], []).append(arc)
    marks = _marks(file, untaken)
    hits = file.hits or {}
    lines = []
    for line, markup in enumerate(highlighted(file.source_lines), 1):
        kind = marks.get(line, "")
        begun = marks.get(file.first_lines.get(line, 0), "")
        name = kind or f"{begun} more".removeprefix(" more")
        cells = [f'<a class="n" href="#L{line}">{line}</a>']
        if file.hits is not None:
            cells.append(f'<span class="h">{count(hits[line]) if hits.get(line) else ""}</span>')
        cells.append(f"<code>{markup or ' '}</code>")
        button = sets.button(line)
        if button:
            cells.append(button)
        class_ = f' class="{name}"' if name else ""
        lines.append(f'<p id="L{line}"{class_}>{"".join(cells)}</p>')
        if kind == "partial":
            lines += [_why(file, arc) for arc in untaken[line]]
    blocks = [lines[start : start + _BLOCK] for start in range(0, len(lines), _BLOCK)]
    return "\n".join(f'<div class="block">{"".join(block)}</div>' for block in blocks)


def _why(file: FileCoverage, arc: tuple[int, int]) -> str:
    """The explanation below a line: which way was never taken, and why."""
    goes = f'<a href="#L{arc[1]}">→ {arc[1]}</a>' if arc[1] > 0 else "→ out"
    return f'<p class="why"><span>{goes}</span> {text(file.missing_text(*arc))}</p>'


def _marks(file: FileCoverage, untaken: dict[int, list[tuple[int, int]]]) -> dict[int, str]:
    """The class of every line that has one: that of the statement it belongs to."""
    marks: dict[int, str] = dict.fromkeys(file.excluded, "excluded")
    for line in file.executed:
        marks[line] = "partial" if line in untaken else "ran"
    for line in file.missing:
        marks[line] = "missing"
    return marks


class _ContextSets:
    """The contexts of a file's lines: names once, distinct sets once."""

    def __init__(self, file: FileCoverage) -> None:
        self._names: dict[str, int] = {}
        self._sets: dict[tuple[int, ...], int] = {}
        self._of_line: dict[int, int] = {}
        self._sizes: list[int] = []
        self._any = any(name for names in file.contexts_by_line.values() for name in names)
        if not self._any:
            return
        for line in file.executed:
            numbers = tuple(sorted(self._names.setdefault(name, len(self._names)) for name in file.contexts_of(line)))
            if numbers and file.contexts_of(line) != [""]:
                known = self._sets.setdefault(numbers, len(self._sets))
                if known == len(self._sizes):
                    self._sizes.append(len(numbers))
                self._of_line[line] = known

    def button(self, line: int) -> str:
        """What opens the contexts of a line; "" where it has none."""
        known = self._of_line.get(line)
        if known is None:
            return ""
        size = self._sizes[known]
        return f'<button type="button" class="ctx" data-set="{known}" title="its contexts">{count(size)}</button>'

    def markup(self) -> str:
        """The names and the sets, hidden, for the script to show."""
        if not self._any:
            return ""
        names = "".join(f"<li>{text(name) or '(no context)'}</li>" for name in self._names)
        sets = "".join(f'<li data-c="{_ranges(numbers)}"></li>' for numbers in self._sets)
        return (
            f'<ol id="contexts" hidden>{names}</ol><ol id="sets" hidden>{sets}</ol>'
            '<aside id="panel" hidden><button type="button" id="close" title="close (Esc)">×</button>'
            "<h2></h2><ul></ul></aside>"
        )


def _ranges(numbers: Sequence[int]) -> str:
    """Sorted numbers as `0-4 7 9-12`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)
