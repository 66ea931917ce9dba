"""The page of coverage: the files as a tree or a table, and the source of each with its executed lines.

It is one file, `index.html` in a folder. Pages with a shared script and style would need a policy that lets any file
beside them run, which is impossible for pages opened by a double click. Pages that each carry both would be large: a
quarter of a gigabyte for five thousand files. One page has script and style once. Each file's lines are one packed
element, which the page unpacks when the file is opened.

Each of thousands of lines may have thousands of contexts. So a file has the names of its contexts once, and each
distinct set of them once, as ranges of their numbers. A line has only the number of its set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from seismo import progress
from seismo.coverage.coverage_report import CoverageReport, FileCoverage, common_folder
from seismo.coverage.percentages import runs
from seismo.errors import FormatError
from seismo.report.coverage.story import missing_text, shown_files
from seismo.report.page.document import drawn_in_parts, save
from seismo.report.page.payload import counts, packed, shown, shown_facts, shown_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.coverage.settings import Settings

INDEX = "index.html"
# The state of a line on the page: that of the statement it begins, plus MORE if it continues the statement.
NONE, RAN, PARTIAL, MISSING, EXCLUDED = range(5)
MORE = 8
_NAME = 300  # most characters of the name of a context
# The numbers of a file and of all, and their attributes in Percentages.
_NUMBERS = {name: name for name in ("statements", "missing", "excluded", "branches")}
_NUMBERS |= {"partial": "partial_branches", "untaken": "missing_branches"}


def write_by_settings(
    report: CoverageReport, settings: Settings, folder: str | os.PathLike[str], facts: Sequence[tuple[str, str]] = ()
) -> str:
    """Write the page into a folder, which is created if missing, and return the page's path.

    coverage.py's settings for HTML reports decide on the title and on the files to leave out, which count in the totals
    all the same; those for all reports are their defaults. facts: those above the numbers. Raises FormatError if the
    page cannot be written.
    """
    target = os.fspath(folder)
    try:
        os.makedirs(target, exist_ok=True)
    except OSError as error:
        raise FormatError(f"the folder cannot be made: {error.strerror or error}", where=target) from None
    covered = settings.skip_covered if settings.html_skip_covered is None else settings.html_skip_covered
    empty = settings.skip_empty if settings.html_skip_empty is None else settings.html_skip_empty
    files = shown_files(report, covered, empty)
    index = os.path.join(target, INDEX)
    head = index_data(report, files, settings, facts)
    numbered = progress.over("writing files", enumerate(files), len(files))
    parts = ((f"file-{number}", file_data(file)) for number, file in numbered)
    caption = f"{settings.html_title}: {report.totals.percent_text(settings.precision)}%"
    save(index, drawn_in_parts(caption, "coverage", head, parts))
    ignore = os.path.join(target, ".gitignore")
    if not os.path.exists(ignore):
        save(ignore, "# Made by seismo.\n*\n")
    return index


# ---- The page's data. ----


def index_data(
    report: CoverageReport, files: Sequence[FileCoverage], settings: Settings, facts: Sequence[tuple[str, str]]
) -> str:
    """Return the totals, the problems, and the numbers of the files, packed."""
    head = {
        "kind": "coverage",
        "title": shown(settings.html_title),
        "precision": settings.precision,
        "branch": report.branch,
        "facts": shown_facts(facts),
        "below": shown(common_folder(files)),
        "paths": [shown(file.path) for file in files],
        "missing": [shown(missing_text(file), 2_000) for file in files],
        "of": len(report.files),
        "totals": {name: getattr(report.totals, of) for name, of in _NUMBERS.items()},
        "problems": shown_facts((shown(one.path), one.text) for one in report.main_problems),
    }
    columns = {name: counts(getattr(file.numbers, of) for file in files) for name, of in _NUMBERS.items()}
    return packed(head, {**columns, "changed": counts(int(file.changed) for file in files)})


def file_data(file: FileCoverage) -> str:
    """Return the lines of a file with their states, packed."""
    untaken: dict[int, list[tuple[int, int]]] = {}
    for arc in file.missing_branches:
        untaken.setdefault(arc[0], []).append(arc)
    marks = _marks(file, untaken)
    set_of, names, sets = _context_sets(file)
    lines = shown_lines(file.source_lines)
    size = max([len(lines), *marks]) if marks else len(lines)
    hits = file.hits or {}
    numbers = range(1, size + 1)
    head = {
        "lines": lines,
        # Why a line is partial: the line, the target that was never reached (0 for the exit), and the reason.
        "why": [
            [line, max(0, arc[1]), shown(file.missing_text(*arc))]
            for line, arcs in untaken.items()
            if marks.get(line) == PARTIAL
            for arc in arcs
        ],
        "names": names,
        "sets": sets,
    }
    columns = {
        "kind": counts(_kind(file, line, marks) for line in numbers),
        "set": counts(set_of.get(line, -1) + 1 for line in numbers),
    }
    if file.hits is not None:
        columns["hits"] = counts(hits.get(line, 0) for line in numbers)
    return packed(head, columns)


def _kind(file: FileCoverage, line: int, marks: dict[int, int]) -> int:
    kind = marks.get(line, NONE)
    begun = marks.get(file.first_lines.get(line, 0), NONE)
    return kind or (begun + MORE if begun else NONE)


def _marks(file: FileCoverage, untaken: dict[int, list[tuple[int, int]]]) -> dict[int, int]:
    marks: dict[int, int] = dict.fromkeys(file.excluded, EXCLUDED)
    for line in file.executed:
        marks[line] = PARTIAL if line in untaken else RAN
    for line in file.missing:
        marks[line] = MISSING
    return marks


def _context_sets(file: FileCoverage) -> tuple[dict[int, int], list[str], list[list[tuple[int, int]]]]:
    """Return the number of the set of contexts of each line that has one, the contexts' names, and the sets.

    A set has ranges of the numbers of its contexts.
    """
    known: dict[str, int] = {}
    sets: dict[tuple[int, ...], int] = {}
    of: dict[int, int] = {}
    if any(name for names in file.contexts_by_line.values() for name in names):
        for line in file.executed:
            names = file.contexts_of(line)
            if names and names != [""]:
                numbers = tuple(sorted(known.setdefault(name, len(known)) for name in names))
                of[line] = sets.setdefault(numbers, len(sets))
    return of, [shown(name, _NAME) or "(no context)" for name in known], list(map(runs, sets))
