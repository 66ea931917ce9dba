"""The common part of the coverage formats: a recording by file, and a recording built from lines of files.

A recording has its lines by function. Other tools have them by file and have no functions, so lines that are read
belong to one function per file, `<module>`. The analysis joins recording and source by file and line, so it works with
both.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

from seismo.coverage.executed_lines import read_executed
from seismo.errors import FormatError
from seismo.formats.base import MAX_LINE, MAX_NODES, MAX_VALUE
from seismo.formats.function_names import escape
from seismo.model import Builder, Recording
from seismo.model.enums import RAN_ONLY
from seismo.recording_kinds import COVERAGE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.coverage.coverage_report import CoverageReport
    from seismo.coverage.executed_lines import ExecutedLines

Arc = tuple[int, int]
_Place = TypeVar("_Place", tuple[int, int], tuple[int, int, int])

_NOT_XML = re.compile("[\ufffe\uffff]")


def executed_files(recording: Recording) -> dict[str, ExecutedLines]:
    """Return the executed lines of each file that ran or that the recording names, by its path, sorted."""
    files = read_executed(recording, str(recording.meta.get("folder") or ""))[0]
    return {path: files[path] for path in sorted(files)}


def report_of(recording: Recording, report: CoverageReport | None = None) -> CoverageReport:
    """Return the report, by default that by the settings which the recording carries.

    Raise FormatError with the first reason if none of the sources can be used.
    """
    from seismo.coverage.analysis import analyze
    from seismo.coverage.recorded_settings import for_recording

    report = report or analyze(recording, for_recording(recording))
    if report.main_problems and not report.files:
        first = report.main_problems[0]
        raise FormatError(
            f"none of the sources can be used: {first.text}", first.path, "restore the sources in the recorded folder"
        )
    return report


class CoverageBuilder:
    """A recording of coverage that is being read from another tool's file."""

    def __init__(self) -> None:
        self.builder = Builder()
        self._functions: dict[str, int] = {}
        self._lines: dict[tuple[int, int], int] = {}  # (file, line): row
        self._hits: list[int] = []  # by row
        self._largest = 0  # of the hits that were added
        self._arcs: dict[tuple[int, int, int], int] = {}  # (file, from line, to line): row
        self._contexts: defaultdict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))  # rows of both

    def file(self, path: str) -> int:
        """Return the number of a file by its path in the format: absolute, or relative to the current folder."""
        known = self._functions.get(path)
        if known is None:
            known = self._functions[path] = self.builder.function("", "<module>", path, 1)
            self.builder.source(path, os.path.abspath(path) if path else "")
        return known

    def line(self, file: int, line: int, hits: int = 1, contexts: Iterable[str] = ()) -> None:
        """Add an executed line with its contexts. Raise ValueError if it is not a valid line number."""
        if not 0 < line <= MAX_LINE:
            raise ValueError(f"{line} is not a line number")
        row = self._row(self._lines, (file, line))
        if row == len(self._hits):
            self._hits.append(0)
        self._largest = max(self._largest, hits)
        self._hits[row] = min(self._hits[row] + hits, MAX_VALUE)
        for name in contexts:
            self._contexts[name][0].append(row)

    def lines(self, file: int, lines: Iterable[int], context: str) -> None:
        """Add lines that ran in a context; equivalent to line() for each."""
        ran = self._contexts[context][0]
        for line in lines:
            if (file, line) not in self._lines:
                self.line(file, line)
            ran.append(self._lines[file, line])

    def arc(self, file: int, from_line: int, to_line: int, contexts: Iterable[str] = ()) -> None:
        """Add a step between lines; -N is the way in or out of code. Raise ValueError if a line number is invalid."""
        if not (0 < abs(from_line) <= MAX_LINE and 0 < abs(to_line) <= MAX_LINE):
            raise ValueError(f"there is no arc from line {from_line} to {to_line}")
        row = self._row(self._arcs, (file, from_line, to_line))
        for name in contexts:
            self._contexts[name][1].append(row)

    def build(self, source_format: str, branch: bool) -> Recording:
        """Return the recording. Hits are counts if any is larger than 1; else they only mean that a line ran."""
        counts = self._largest > 1
        for (file, line), hits in zip(self._lines, self._hits, strict=True):
            self.builder.line(file, line, hits if counts else 1, flags=0 if counts else RAN_ONLY)
        for file, from_line, to_line in self._arcs:
            self.builder.arc(file, from_line, to_line, 1, flags=RAN_ONLY)
        if any(self._contexts):  # none if everything is in the context without a name
            for name, (lines, arcs) in sorted(self._contexts.items()):
                self.builder.context(name, lines, arcs)
        meta: dict[str, Any] = {"recorder": COVERAGE, "branch": branch, "counts": counts}
        return self.builder.build({**meta, "source_format": source_format})

    def _row(self, rows: dict[_Place, int], place: _Place) -> int:
        row = rows.get(place)
        if row is None:
            if len(self._lines) + len(self._arcs) >= MAX_NODES:
                raise ValueError(f"it has more than {MAX_NODES} lines and arcs")
            row = rows[place] = len(rows)
        return row


def count_in(field: str, most: int, what: str = "") -> int:
    """Return the number in a field of a text format. Raise ValueError unless it is one from 0 to `most`."""
    if not (field.isascii() and field.isdigit()) or len(field) > 20 or int(field) > most:
        raise ValueError(f"{what}{field[:20]!r} is no number from 0 to {most}")
    return int(field)


def field_text(path: str) -> str:
    """Return a path that cannot end a line or a field, escaped as for unescape() except for semicolons."""
    parts = (escape(part) for part in path.split(";"))
    return _NOT_XML.sub(lambda found: "%EF%BF%BE" if found[0] == "\ufffe" else "%EF%BF%BF", ";".join(parts))


def tool_version() -> str:
    """Return the name and version of the writer of a file."""
    from seismo import __version__

    return f"seismo {__version__}"
