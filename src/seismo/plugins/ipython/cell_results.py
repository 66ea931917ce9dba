"""Results of the IPython magics, displayed as text in a terminal and as the same text in HTML in a notebook."""

from __future__ import annotations

import html
import io
import os
from typing import TYPE_CHECKING, Any

import seismo
from seismo import recording_kinds
from seismo.errors import UsageError
from seismo.escape import printable
from seismo.options import of
from seismo.report.html import WIDTH, HtmlPaper
from seismo.report.paper import Paper
from seismo.report.words import Signs
from seismo.sessions.recording_session import checked_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import CodeType

    from seismo.coverage.coverage_report import FileCoverage
    from seismo.model import Recording


MORE = "-l N"  # the magics' option for the number of rows


class CellResult:
    """A cell's recording by one verb, and its table. `session` is a context manager with the attribute `recording`."""

    session: Any

    def __init__(
        self, options: dict[str, Any], limit: int, file: str, functions: Sequence[CodeType], cells: Mapping[str, int]
    ) -> None:
        """Initialize with the options from magics.read(), the cell's file, and the functions named by -f.

        `cells` has the numbers of all cells by the names of their files. Raise UsageError for a bad option.
        """
        self.options = options
        self.cells = cells
        self.limit = limit
        self.file = file
        self.functions = functions
        self.time = checked_time(options.get("--time", "wall"))
        self.begin()

    def begin(self) -> None:
        """Create the session."""
        raise NotImplementedError

    def write(self, paper: Paper) -> None:
        """Write the table."""
        raise NotImplementedError

    @property
    def recording(self) -> Recording:
        """The recording of the cell."""
        recording: Recording = self.session.recording
        return recording

    def timed(self, paper: Paper) -> Recording | None:
        """Return the recording with the requested times, or write a message and return None if they are unknown."""
        from seismo.report.waiting import known_waits

        recording = self.recording
        if self.time == "wait" and not known_waits(recording):
            paper.line("waiting and running were not distinguished here (seismo doctor has why)")
            return None
        return recording.timed(self.time)

    def text(self) -> str:
        """Return the table as plain text."""
        stream = io.StringIO()
        self.write(Paper(stream, WIDTH, Signs()).asked_by(MORE))
        return self._named(stream.getvalue())

    def _named(self, text: str) -> str:
        """Return the text with the files of cells replaced by names such as `In [3]`, once sources have been found."""
        for path, number in self.cells.items():
            for name in (path, html.escape(path), os.path.basename(path), html.escape(os.path.basename(path))):
                text = text.replace(name, cell_name(number))
        return text

    def __repr__(self) -> str:
        return self.text().rstrip("\n")

    def _repr_html_(self) -> str:
        paper = HtmlPaper().asked_by(MORE)
        self.write(paper)
        return self._named(paper.html)


class Profiled(CellResult):
    """The calls of a cell."""

    def begin(self) -> None:
        """Create a session of seismo.profile."""
        from seismo.report.kind import named

        self.order = named(recording_kinds.CALLS).order(self.options.get("--sort", "own"), "--sort")
        settings: Any = {option.name: self.options.get(option.word) for option in of("%profile")}
        self.session = seismo.profile(**settings)

    @property
    def recording(self) -> Recording:
        """The recording of the calls below the cell; the kernel's own calls are left out."""
        from seismo.model.combine import subtree_of, with_files

        recording = subtree_of(super().recording, self.file.__eq__)
        # This also merges a cell's last expression, which is compiled separately under the same name.
        return with_files(
            recording, {path: cell_name(number) for path, number in self.cells.items()}, {}, recording.meta
        )

    def write(self, paper: Paper) -> None:
        """Write the functions."""
        from seismo.report.calls.functions import FunctionCells, write_functions
        from seismo.report.shown_functions import Modules

        recording = self.timed(paper)
        if recording is None:
            return
        cells = FunctionCells(recording, paper.signs)
        write_functions(paper, cells, self.order, Modules(), self.limit)


class Timed(CellResult):
    """The lines of a cell with their times."""

    def begin(self) -> None:
        """Create a session of seismo.lines."""
        self.session = seismo.lines(where=self._where()).apart()

    def _where(self) -> str:
        """Return an expression for the named functions and modules, or for the cell if there are none."""
        parts = [
            f'file("{_quoted(code.co_filename)}") and qualname("{_quoted(code.co_qualname)}")'
            for code in self.functions
        ]
        parts += [f'module("{module}")' for module in self.options.get("-m", ())]
        return " or ".join(f"({part})" for part in parts or [f'file("{_quoted(self.file)}")'])

    def write(self, paper: Paper) -> None:
        """Write the sources with their times."""
        from seismo.report.lines.text import write_sources
        from seismo.report.lines.timed_source import timed_program
        from seismo.report.options import Options

        recording = self.timed(paper)
        if recording is None:
            return
        program = timed_program(recording)
        if not program.lines:
            paper.line("none of these lines ran")
            return
        write_sources(paper, program, Options(all=True))


class Covered(CellResult):
    """The executed lines of a cell."""

    def begin(self) -> None:
        """Create a session of seismo.cover."""
        settings: Any = {option.name: self.options.get(option.word) for option in of("%cover")}
        settings["source"] = [os.path.dirname(self.file), *(settings["source"] or ())]
        self.session = seismo.cover(rcfile="", **settings).apart()

    def write(self, paper: Paper) -> None:
        """Write the cell's lines with marks, and a table of other files."""
        from seismo.coverage.settings import Settings
        from seismo.report.coverage.text import write_problems, write_table

        report = self.session.analysis()
        cell = next((file for file in report.files if file.absolute == self.file), None)
        if cell is not None:
            self._write_cell(paper, cell)
            report.files.remove(cell)
        if report.files:
            paper.line()
            write_table(paper, report, Settings(), self.limit)
        write_problems(paper, report)

    def _write_cell(self, paper: Paper, cell: FileCoverage) -> None:
        from seismo.report.coverage.story import total_text

        paper.line((total_text(cell.numbers), "title"))
        partial: dict[int, list[str]] = {}
        for line, to in cell.missing_branches:
            if line not in cell.missing:
                partial.setdefault(line, []).append(cell.missing_text(line, to))
        missing, executed = set(cell.missing), set(cell.executed)
        for number, source in enumerate(cell.source_lines, 1):
            mark, style = ("✗", "bad") if number in missing else ("✓", "good") if number in executed else (" ", "quiet")
            if number in partial:
                mark, style = "~", "warning"
            hits = f"{cell.hits[number]:>9,} " if cell.hits and number in cell.hits else " " * 10 if cell.hits else ""
            paper.line((f"{number:>4} {mark} {hits}", style), printable(source))
            for why in partial.get(number, ()):
                paper.line((f"     ~ {printable(why)}", "warning"))


class Counted(CellResult):
    """The objects that a cell creates."""

    def begin(self) -> None:
        """Create a session of seismo.objects."""
        from seismo.report.objects.columns import ORDERS

        self.order = self.options.get("--sort", "born")
        if self.order not in ORDERS:
            raise UsageError(f"--sort cannot be {self.order!a}", hint=f"use one of {', '.join(ORDERS)}")
        self.session = seismo.objects(objects="types" if "--types" in self.options else "lines").apart()

    def write(self, paper: Paper) -> None:
        """Write the types, then the lines."""
        from seismo.report.objects.group_descriptions import ObjectWords
        from seismo.report.objects.text import write_tables
        from seismo.report.options import Options

        words = ObjectWords(self.recording, paper.signs)
        for by in ("type", "line") if len(self.recording.objects) else ("type",):
            types = self.options.get("--type", ())
            write_tables(paper, words, Options(by=by, sort=self.order, limit=self.limit, type=types))


RESULTS: dict[str, type[CellResult]] = {"profile": Profiled, "lines": Timed, "cover": Covered, "objects": Counted}


def cell_name(number: int) -> str:
    """Return the name by which IPython shows a cell."""
    return f"In [{number}]"


def _quoted(text: str) -> str:
    """Return the text as a pattern that matches only itself, escaped for quotation marks."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text).replace("\\", "\\\\").replace('"', '\\"')
