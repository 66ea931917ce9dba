"""Annotated sources as text: a mark before each line (> ran, ! did not, - excluded), and hits if they were counted.

The mark belongs to a statement, and all its lines have it. Blank lines, comments and lines before the first statement
have none. An `else:` is no statement and takes the mark of the next one. A line with missing branches is followed by a
line about each of them.

The output is meant for people and cannot be read back. It is escaped, because it is shown on terminals.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.formats.base import ByteSink, Format, TextSink
from seismo.formats.coverage_base import report_of, settings_of
from seismo.recording_kinds import COVERAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seismo.coverage.coverage_report import FileCoverage
    from seismo.model import Recording

_NOTHING = re.compile(r"\s*(#|$)")
_ELSE = re.compile(r"\s*(else|finally|try)\s*:\s*(#|$)")
_TAB = 8
RAN, MISSED, EXCLUDED, NONE = ">", "!", "-", " "


def _write(recording: Recording, file: ByteSink) -> None:
    report = report_of(recording)
    precision = settings_of(recording).precision
    with TextSink(file) as out:
        for number, covered in enumerate(report.files):
            numbers = covered.numbers
            title = f"{printable(covered.path)}: {numbers.percent_text(precision)}% of {numbers.statements} statements"
            if numbers.branches:
                title += f" and {numbers.branches} branches"
            out.write("\n" * (number > 0) + f"{title}\n{'=' * min(len(title), 100)}\n")
            _annotate(out, covered)


def _annotate(out: TextSink, covered: FileCoverage) -> None:
    hits = covered.hits or {}
    width = max((len(str(count)) for count in hits.values()), default=0)
    untaken: dict[int, list[str]] = {}
    missing = set(covered.missing)
    for arc in covered.missing_branches:
        if arc[0] not in missing:
            untaken.setdefault(arc[0], []).append(covered.missing_text(*arc))
    for line, mark, text in marks(covered):
        column = f"{hits.get(line, 0) or '':>{width}} " if width else ""
        out.write(f"{mark} {column}{printable(text.expandtabs(_TAB))}".rstrip() + "\n")
        for sentence in untaken.get(line, ()):
            out.write(f"  {' ' * len(column)}    ^ {printable(sentence)}\n")


def marks(covered: FileCoverage) -> Iterator[tuple[int, str, str]]:
    """Yield the number, mark and text of each line of a source."""
    statements, missing, excluded = set(covered.statements), set(covered.missing), set(covered.excluded)
    following = _following(covered)
    mark = NONE
    for line, text in enumerate(covered.source_lines, 1):
        if line in statements:
            mark = MISSED if line in missing else RAN
        if _NOTHING.match(text) and line not in statements:
            yield line, NONE, text
        elif line in excluded:
            yield line, EXCLUDED, text
        elif _ELSE.match(text) and line not in statements:
            yield line, following.get(line, mark), text
        else:
            yield line, mark, text


def _following(covered: FileCoverage) -> dict[int, str]:
    """Return the mark of the first statement at or after each line."""
    missing = set(covered.missing)
    found: dict[int, str] = {}
    next_ = len(covered.statements) - 1
    mark = NONE
    for line in range(len(covered.source_lines), 0, -1):
        while next_ >= 0 and covered.statements[next_] >= line:
            mark = MISSED if covered.statements[next_] in missing else RAN
            next_ -= 1
        found[line] = mark
    return found


FORMAT = Format(
    name="annotate",
    description="the sources with a mark before each line: > ran, ! did not, - excluded; and hit counts",
    suffixes=(".annotated",),
    binary=False,
    writer=_write,
    reader=None,
    lost="contexts, conditions, losses",
    of=(COVERAGE,),
    needs_sources=True,
)
