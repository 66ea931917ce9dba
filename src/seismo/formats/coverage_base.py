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
from seismo.formats import function_names
from seismo.formats.base import MAX_LINE, MAX_NODES, MAX_VALUE
from seismo.model.enums import RAN_ONLY
from seismo.recording_kinds import COVERAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from seismo.coverage.coverage_report import CoverageReport, Problem
    from seismo.coverage.settings import Settings
    from seismo.model import Recording

Arc = tuple[int, int]

_OUTSIDE = ""  # the context of what ran in none
_NOT_XML = re.compile("[\ufffe\uffff]")


def resolved(path: str) -> str:
    """The path as the analysis names it: without links; as it is if it is none, as with a zero byte."""
    try:
        return os.path.realpath(path)
    except ValueError:
        return path


@dataclass(slots=True)
class ExecutedFile:
    """What ran of one file. `path` is absolute where it is known. Lines are as they were reported."""

    path: str
    lines: dict[int, int] = field(default_factory=dict)  # hits; 1 where only that it ran is known
    arcs: dict[Arc, int] = field(default_factory=dict)


def has_arcs(recording: Recording) -> bool:
    """Whether branches were recorded: the recording, or one that was merged into it, says so or has arcs."""
    from seismo.model.lines.tables import rows_of

    merged = recording.meta.get("merged")
    parts = merged if isinstance(merged, list) and merged else [recording.meta]
    said = any(isinstance(part, dict) and part.get("branch") is True for part in parts)
    return said or next(rows_of(recording, "arcs"), None) is not None


class ExecutedByFile:
    """A recording by files: those of which anything ran, or that it names. What is no file is left out."""

    def __init__(self, recording: Recording) -> None:
        from seismo.model.lines.tables import rows_of

        self._recording = recording
        paths = {file: path or "" for file, path, *_ in rows_of(recording, "sources")}
        self._files: dict[str, ExecutedFile] = {path: ExecutedFile(path) for path in paths.values() if path}
        of_function = [self._file(paths.get(file, file)) for file in recording.functions.strings("file")]
        # Of each row of the tables, in their order:
        self._lines: list[tuple[ExecutedFile | None, int]] = []
        self._arcs: list[tuple[ExecutedFile | None, Arc]] = []
        for function, line, hits, *_ in rows_of(recording, "lines"):
            ran = of_function[function] if line > 0 else None
            self._lines.append((ran, line))
            if ran is not None:
                ran.lines[line] = ran.lines.get(line, 0) + hits
        for function, from_line, to_line, hits, _ in rows_of(recording, "arcs"):
            ran, arc = of_function[function], (from_line, to_line)
            self._arcs.append((ran, arc))
            if ran is not None:
                ran.arcs[arc] = ran.arcs.get(arc, 0) + hits

    def _file(self, path: str) -> ExecutedFile | None:
        return self._files.setdefault(path, ExecutedFile(path)) if path and not path.startswith("<") else None

    @property
    def files(self) -> list[ExecutedFile]:
        """The files by path."""
        return [self._files[path] for path in sorted(self._files)]

    def contexts(self) -> Iterator[tuple[str, list[ExecutedFile]]]:
        """What ran in each context, one after the other; last what ran in none, under the name that is empty.

        Hits are 1. All contexts at once would be lines times contexts, which a large test suite has no memory for.
        """
        from seismo.model.lines.tables import rows_of

        blocks: dict[str, list[tuple[int, int, int]]] = {}
        names = [name for (name,) in rows_of(self._recording, "contexts")]
        seen = (bytearray(len(self._lines) + 64), bytearray(len(self._arcs) + 64))
        for context, kind, base, bits in rows_of(self._recording, "context_hits"):
            blocks.setdefault(names[context], []).append((kind, base, bits))
        outside = blocks.pop(_OUTSIDE, [])
        for name in sorted(blocks):
            yield name, self._chosen(blocks[name], seen)
        rest = self._chosen(outside, seen)
        known = {ran.path: ran for ran in rest}
        for kind in (0, 1):
            places: list[tuple[ExecutedFile | None, Any]] = self._arcs if kind else self._lines
            for row, (ran, place) in enumerate(places):
                if ran is not None and not seen[kind][row]:
                    of = known.setdefault(ran.path, ExecutedFile(ran.path))
                    (of.arcs if kind else of.lines)[place] = 1
        yield _OUTSIDE, list(known.values())

    def _chosen(self, blocks: list[tuple[int, int, int]], seen: tuple[bytearray, bytearray]) -> list[ExecutedFile]:
        """The files with only those lines and arcs whose bits are set. Marks their rows as seen."""
        found: dict[str, ExecutedFile] = {}
        for kind, base, bits in blocks:
            bits &= (1 << 64) - 1
            while bits:
                low = bits & -bits
                bits ^= low
                row = base + low.bit_length() - 1
                places: list[tuple[ExecutedFile | None, Any]] = self._arcs if kind else self._lines
                if kind > 1 or row >= len(places):
                    continue  # a damaged file
                seen[kind][row] = 1
                ran, place = places[row]
                if ran is not None:
                    of = found.get(ran.path)
                    if of is None:
                        of = found[ran.path] = ExecutedFile(ran.path)
                    (of.arcs if kind else of.lines)[place] = 1
        return list(found.values())


def files_of(recording: Recording) -> list[ExecutedFile]:
    """The files of which anything ran, or that the recording names, by path."""
    return ExecutedByFile(recording).files


_reports: WeakKeyDictionary[Recording, tuple[Settings, CoverageReport]] = WeakKeyDictionary()


def settings_of(recording: Recording) -> Settings:
    """The settings by which the recording is written: see `use`."""
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


def write_with_settings(recording: Recording, settings: Settings, report: CoverageReport | None = None) -> None:
    """From now on, the recording is written by these settings. report: what it comes to by them, if that is known."""
    from seismo.coverage.analysis import analyze

    _reports[recording] = settings, report or analyze(recording, settings)


def _joined(recording: Recording) -> tuple[Settings, CoverageReport]:
    """Done once for a recording: a writer asks for several things of it."""
    if recording not in _reports:
        from seismo.coverage.recorded_settings import for_recording

        write_with_settings(recording, for_recording(recording))
    return _reports[recording]


class CoverageBuilder:
    """A recording of coverage that is being read from another tool's file."""

    def __init__(self) -> None:
        from seismo.model import Builder

        self._builder = Builder()
        self._functions: dict[str, int] = {}
        self._rows: dict[int, dict[int, int]] = {}  # of each file, the row of each line
        self._places: list[tuple[int, int]] = []  # file and line of each row
        self._arcs: dict[tuple[int, int, int], int] = {}
        self._hits: list[int] = []
        self._arc_hits: list[int] = []
        self._contexts: dict[str, tuple[list[int], list[int]]] = {}  # rows of lines and of arcs

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
        rows = self._rows.setdefault(file, {})
        row = rows.get(line)
        if row is None:
            row = rows[line] = self._room(self._hits)
            self._places.append((file, line))
        self._hits[row] = min(self._hits[row] + hits, MAX_VALUE)
        for name in contexts:
            self._context(name)[0].append(row)

    def lines(self, file: int, lines: Iterable[int], context: str) -> None:
        """Adds lines that ran in a context, as line() does one by one."""
        ran = self._context(context)[0]
        rows = self._rows.setdefault(file, {})
        for line in lines:
            if line not in rows:
                self.line(file, line)
            ran.append(rows[line])

    def arc(self, file: int, from_line: int, to_line: int, contexts: Iterable[str] = ()) -> None:
        """Adds a step from one line to another, -N for the way in or out of code. ValueError: as for line()."""
        if not (0 < abs(from_line) <= MAX_LINE and 0 < abs(to_line) <= MAX_LINE):
            raise ValueError(f"there is no way from line {from_line} to {to_line}")
        row = self._arcs.get((file, from_line, to_line))
        if row is None:
            row = self._arcs[file, from_line, to_line] = self._room(self._arc_hits)
        self._arc_hits[row] = 1
        for name in contexts:
            self._context(name)[1].append(row)

    def loss(self, kind: str, count: int, detail: str) -> None:
        """Notes what the file does not say."""
        self._builder.loss(kind, count, detail)

    def build(self, source_format: str, branch: bool, counts: bool) -> Recording:
        """The recording. counts: the hits of lines are how often they ran, not only that they did."""
        flags = 0 if counts else RAN_ONLY
        for (file, line), hits in zip(self._places, self._hits, strict=True):
            self._builder.line(file, line, hits if counts else 1, flags=flags)
        for file, from_line, to_line in self._arcs:
            self._builder.arc(file, from_line, to_line, 1, flags=RAN_ONLY)
        if any(self._contexts):  # where all is of the context without a name, there are none
            for name in sorted(self._contexts):
                lines, arcs = self._contexts[name]
                self._builder.context(name, lines, arcs)
        meta: dict[str, Any] = {"recorder": COVERAGE, "branch": branch, "counts": counts}
        return self._builder.build({**meta, "source_format": source_format})

    def _context(self, name: str) -> tuple[list[int], list[int]]:
        found = self._contexts.get(name)
        if found is None:
            found = self._contexts[name] = ([], [])
        return found

    def _room(self, hits: list[int]) -> int:
        if len(self._hits) + len(self._arc_hits) >= MAX_NODES:
            raise ValueError(f"it has more than {MAX_NODES} lines and arcs")
        hits.append(0)
        return len(hits) - 1


def numbers_in(bits: bytes | bytearray) -> Iterator[int]:
    """The numbers of the bits that are set: byte N holds those from 8N on, the lowest first."""
    for place, byte in enumerate(bits):
        while byte:
            low = byte & -byte
            yield (place << 3) + low.bit_length() - 1
            byte ^= low


def field_text(path: str) -> str:
    """A path that ends no line and no field: what does so is written as in a URL. Semicolons are harmless here."""
    parts = (function_names.escape(part) for part in path.split(";"))
    return _NOT_XML.sub(lambda found: "%EF%BF%BE" if found[0] == "\ufffe" else "%EF%BF%BF", ";".join(parts))


def field_path(field: str) -> str:
    """What field_text() was given."""
    return function_names.unescape(field)


def tool_version() -> str:
    """What a file says of who wrote it."""
    from seismo import __version__

    return f"seismo {__version__}"
