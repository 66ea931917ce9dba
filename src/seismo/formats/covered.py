"""What the formats of coverage share: a recording seen file by file, and a recording made of files' lines.

A recording has its lines by function. Other tools have them by file, and know no functions, so what is read belongs to
one function a file, `<module>`; the analysis joins recording and source by file and line and does not mind.

A context is what ran when: usually a test. A line that ran in no context belongs to the one without a name, as in
coverage.py.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from seismo.errors import FormatError
from seismo.formats import text
from seismo.formats.base import COVERAGE, MAX_LINE, MAX_NODES, MAX_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.coverage.result import CoverageReport, Problem
    from seismo.coverage.settings import Settings
    from seismo.model import Recording

Arc = tuple[int, int]

_RAN_ONLY = 1  # flag of a line or an arc: its hits say only that it ran
_OUTSIDE = ""  # the context of what ran in none
_NOT_XML = re.compile("[\ufffe\uffff]")


@dataclass(slots=True)
class RanFile:
    """What ran of one file. `path` is absolute where it is known. Lines are as they were reported."""

    path: str
    lines: dict[int, int] = field(default_factory=dict)  # hits; 1 where only that it ran is known
    arcs: dict[Arc, int] = field(default_factory=dict)
    line_contexts: dict[int, set[str]] = field(default_factory=dict)  # without those of no context
    arc_contexts: dict[Arc, set[str]] = field(default_factory=dict)

    def contexts_of(self, line: int) -> list[str]:
        """The contexts that a line ran in, sorted; the one without a name if in none."""
        return sorted(self.line_contexts.get(line) or {_OUTSIDE})


def has_arcs(recording: Recording) -> bool:
    """Whether branches were recorded: the recording, or one that was merged into it, says so or has arcs."""
    from seismo.model.lines import rows_of

    merged = recording.meta.get("merged")
    parts = merged if isinstance(merged, list) and merged else [recording.meta]
    said = any(isinstance(part, dict) and part.get("branch") is True for part in parts)
    return said or next(rows_of(recording, "arcs"), None) is not None


def files_of(recording: Recording) -> list[RanFile]:
    """The files of which anything ran, or that the recording names, by path. What is no file is left out."""
    from seismo.model.lines import context_rows, rows_of

    paths = {file: path or "" for file, path, *_ in rows_of(recording, "sources")}
    files: dict[str, RanFile] = {}
    for path in paths.values():
        if path:
            files.setdefault(path, RanFile(path))
    of_function: list[RanFile | None] = []
    for file in recording.functions.strings("file"):
        path = paths.get(file, file)
        of_function.append(files.setdefault(path, RanFile(path)) if path and not path.startswith("<") else None)
    line_places: list[tuple[RanFile | None, int]] = []
    for function, line, hits, *_ in rows_of(recording, "lines"):
        ran = of_function[function]
        line_places.append((ran, line))
        if ran is not None and line > 0:
            ran.lines[line] = ran.lines.get(line, 0) + hits
    arc_places: list[tuple[RanFile | None, Arc]] = []
    for function, from_line, to_line, hits, _ in rows_of(recording, "arcs"):
        ran, arc = of_function[function], (from_line, to_line)
        arc_places.append((ran, arc))
        if ran is not None:
            ran.arcs[arc] = ran.arcs.get(arc, 0) + hits
    names = [name for (name,) in rows_of(recording, "contexts")]
    for context, kind, row in context_rows(recording):
        if kind == 0 and row < len(line_places):
            ran, line = line_places[row]
            if ran is not None:
                ran.line_contexts.setdefault(line, set()).add(names[context])
        elif kind == 1 and row < len(arc_places):
            ran, arc = arc_places[row]
            if ran is not None:
                ran.arc_contexts.setdefault(arc, set()).add(names[context])
    return sorted((ran for ran in files.values()), key=lambda ran: ran.path)


_reports: WeakKeyDictionary[Recording, tuple[Settings, CoverageReport]] = WeakKeyDictionary()


def settings_of(recording: Recording) -> Settings:
    """The settings that the recording was made with."""
    return _joined(recording)[0]


def report_of(recording: Recording) -> CoverageReport:
    """The recording joined with its sources. FormatError: none of them can be used, and the first reason."""
    report = _joined(recording)[1]
    problems = problems_of(recording)
    if problems and not report.files:
        first = problems[0]
        raise FormatError(
            f"none of the sources can be used: {first.text}", first.path, "give the sources' folder as it was recorded"
        )
    return report


def problems_of(recording: Recording) -> list[Problem]:
    """What is left out, or doubtful, in files that need the sources; without what nobody would look for there."""
    return [problem for problem in _joined(recording)[1].problems if not problem.minor]


def _joined(recording: Recording) -> tuple[Settings, CoverageReport]:
    """Done once for a recording: a writer asks for several things of it."""
    found = _reports.get(recording)
    if found is None:
        from seismo.coverage import analysis, settings

        chosen = settings.for_recording(recording)
        found = _reports[recording] = (chosen, analysis.analyze(recording, chosen))
    return found


class Covered:
    """A recording of coverage that is being read from another tool's file."""

    def __init__(self) -> None:
        from seismo.model import Builder

        self._builder = Builder()
        self._functions: dict[str, int] = {}
        self._lines: dict[tuple[int, int], int] = {}  # the row of each line of a function
        self._arcs: dict[tuple[int, int, int], int] = {}
        self._hits: list[int] = []
        self._arc_hits: list[int] = []
        self._contexts: dict[str, tuple[set[int], set[int]]] = {}

    def file(self, path: str) -> int:
        """The number of a file, by its path as the format has it: absolute, or from the folder that it is read in."""
        known = self._functions.get(path)
        if known is None:
            known = self._functions[path] = self._builder.function("", "<module>", path, 1)
            self._builder.source(path, os.path.abspath(path) if path else "")
        return known

    def line(self, file: int, line: int, hits: int = 1, contexts: Iterable[str] = ()) -> None:
        """Adds a line that ran, and in which contexts. ValueError: it cannot be the number of a line."""
        if not 0 < line <= MAX_LINE:
            raise ValueError(f"{line} is no number of a line")
        row = self._lines.get((file, line))
        if row is None:
            row = self._lines[file, line] = self._room(self._hits)
        self._hits[row] = min(self._hits[row] + hits, MAX_VALUE)
        for name in contexts:
            self._context(name)[0].add(row)

    def arc(self, file: int, from_line: int, to_line: int, contexts: Iterable[str] = ()) -> None:
        """Adds a step from one line to another, -N for the way in or out of code. ValueError: as for line()."""
        if not (0 < abs(from_line) <= MAX_LINE and 0 < abs(to_line) <= MAX_LINE):
            raise ValueError(f"there is no way from line {from_line} to {to_line}")
        row = self._arcs.get((file, from_line, to_line))
        if row is None:
            row = self._arcs[file, from_line, to_line] = self._room(self._arc_hits)
        self._arc_hits[row] = 1
        for name in contexts:
            self._context(name)[1].add(row)

    def loss(self, kind: str, count: int, detail: str) -> None:
        """Notes what the file does not say."""
        self._builder.loss(kind, count, detail)

    def build(self, source_format: str, branch: bool, counts: bool) -> Recording:
        """The recording. counts: the hits of lines are how often they ran, not only that they did."""
        flags = 0 if counts else _RAN_ONLY
        for (file, line), row in self._lines.items():
            self._builder.line(file, line, self._hits[row] if counts else 1, segments=0, timed=0, flags=flags)
        for file, from_line, to_line in self._arcs:
            self._builder.arc(file, from_line, to_line, 1, flags=_RAN_ONLY)
        if any(self._contexts):  # where all is of the context without a name, there are none
            for name in sorted(self._contexts):
                self._builder.context(name, *self._contexts[name])
        meta: dict[str, Any] = {"recorder": COVERAGE, "branch": branch, "counts": counts}
        return self._builder.build({**meta, "source_format": source_format})

    def _context(self, name: str) -> tuple[set[int], set[int]]:
        found = self._contexts.get(name)
        if found is None:
            found = self._contexts[name] = (set(), set())
        return found

    def _room(self, hits: list[int]) -> int:
        if len(self._lines) + len(self._arcs) >= MAX_NODES:
            raise ValueError(f"it has more than {MAX_NODES} lines and arcs")
        hits.append(0)
        return len(hits) - 1


def field_text(path: str) -> str:
    """A path that ends no line and no field: what does so is written as in a URL. Semicolons are harmless here."""
    parts = (text.escape(part) for part in path.split(";"))
    return _NOT_XML.sub(lambda found: "%EF%BF%BE" if found[0] == "\ufffe" else "%EF%BF%BF", ";".join(parts))


def field_path(field: str) -> str:
    """What field_text() was given."""
    return text.unescape(field)
