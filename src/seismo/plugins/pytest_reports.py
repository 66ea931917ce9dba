"""What `pytest --seismo-cover` shows and writes at the end of a run, and what it takes from the settings."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from seismo.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from _pytest.terminal import TerminalReporter

    from seismo.coverage.result import CoverageReport
    from seismo.coverage.settings import Settings
    from seismo.model import Recording

# What a report is called, the format that writes it, where to by default, and what the user is told.
FILES = {
    "json": ("coverage-json", "coverage.json", "Coverage JSON written to file"),
    "xml": ("cobertura", "coverage.xml", "Coverage XML written to file"),
    "lcov": ("lcov", "coverage.lcov", "Coverage LCOV written to file"),
    "annotate": ("annotate", "", "Coverage annotated source written to dir"),
}
HTML = "htmlcov"
KINDS = ("term", "term-missing", "html", *FILES, "none")


@dataclass
class Wanted:
    """A report that was asked for. destination: a file or folder, or what the kind calls so; "": the usual one."""

    kind: str
    destination: str


@dataclass
class Result:
    """What a run came to."""

    recording: Recording
    report: CoverageReport
    settings: Settings

    @property
    def enough(self) -> bool:
        """Whether as much is covered as has to be."""
        from seismo.coverage.numbers import fails_under

        least = self.settings.fail_under
        return not (least and fails_under(self.report.totals.percent, least, self.settings.precision))


def wanted(texts: Sequence[str]) -> list[Wanted]:
    """The reports that TYPE[:DEST] texts ask for, by default the table. Raises UsageError."""
    found = []
    for text in texts or ["term"]:
        kind, _, destination = text.partition(":")
        if kind not in KINDS and text:
            raise UsageError(f"there is no report {kind!a}", "--seismo-cover-report", f"it is one of {', '.join(KINDS)}")
        if kind.startswith("term") and destination not in ("", "skip-covered"):
            raise UsageError(f"{kind} cannot be {destination!a}", "--seismo-cover-report", "it can be skip-covered")
        if kind not in ("none", ""):
            found.append(Wanted(kind, destination))
    return found


def settings(options: Namespace) -> Settings:
    """The settings files' words, with the command line's over them. Raises UsageError."""
    from seismo.coverage import settings

    folder = os.getcwd()
    read = settings.load(folder, options.seismo_cover_config)
    changes: dict[str, Any] = {}
    for name in ("branch", "counts", "fail_under"):
        value = getattr(options, f"seismo_cover_{name}")
        if value is not None:
            changes[name] = value
    sources = [source for source in options.seismo_cover if source]
    if sources:
        changes |= {"source": sources, "source_pkgs": [], "source_dirs": []}
    return replace(read, **changes)


def result(path: str, settings: Settings) -> Result:
    """Reads the recording and holds it against the sources. Raises SeismoError."""
    from seismo.coverage.analysis import analyze
    from seismo.model import read

    recording = read(path)
    return Result(recording, analyze(recording, settings), settings)


def write(result: Result, reports: Sequence[Wanted], folder: str, terminal: TerminalReporter) -> None:
    """Writes all reports. folder: the one that relative names are of."""
    for report in reports:
        destination = os.path.join(folder, report.destination) if report.destination else ""
        if report.kind.startswith("term"):
            _table(result, report, terminal)
        elif report.kind == "html":
            from seismo.report.page import coverage as page

            written = destination or os.path.join(folder, HTML)
            page.write(result.report, written)
            terminal.write_line(f"Coverage HTML written to dir {_short(written, folder)}")
        else:
            _file(result, report.kind, destination, folder, terminal)
    for problem in result.report.problems:
        where = f"{problem.path}: " if problem.path else ""
        terminal.write_line(f"{where}{problem.text}", yellow=True)
    _verdict(result, terminal)


def _table(result: Result, report: Wanted, terminal: TerminalReporter) -> None:
    from seismo.report.coverage import write_table
    from seismo.report.paper import paper_for

    changes: dict[str, Any] = {}
    if report.kind == "term-missing":
        changes["show_missing"] = True
    if report.destination == "skip-covered":
        changes["skip_covered"] = True
    terminal.ensure_newline()
    terminal.flush()
    write_table(paper_for(terminal._tw._file), result.report, replace(result.settings, **changes))


def _file(result: Result, kind: str, destination: str, folder: str, terminal: TerminalReporter) -> None:
    from seismo import formats

    name, usual, told = FILES[kind]
    written = destination or os.path.join(folder, usual)
    formats.by_name(name).write(result.recording, written)
    terminal.write_line(f"{told} {_short(written, folder)}")


def _verdict(result: Result, terminal: TerminalReporter) -> None:
    least = result.settings.fail_under
    if not least:
        return
    percent = result.report.totals.percent_text(result.settings.precision)
    if result.enough:
        terminal.write_line(f"Required test coverage of {least:g}% reached. Total coverage: {percent}%", green=True)
    else:
        text = f"FAIL Required test coverage of {least:g}% not reached. Total coverage: {percent}%"
        terminal.write_line(text, red=True, bold=True)


def _short(path: str, folder: str) -> str:
    return os.path.relpath(path, folder) if path.startswith(folder) else path
