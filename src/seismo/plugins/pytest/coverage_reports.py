"""Reports of `pytest --seismo-cover` at the end of a run, and their settings."""

from __future__ import annotations

import os
from contextlib import chdir
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.errors import UsageError
from seismo.options import of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from seismo.coverage.coverage_report import CoverageReport
    from seismo.coverage.settings import Settings
    from seismo.model import Recording
    from seismo.report.paper import Paper

# For each file report: the format that writes it, the setting of its path, the message, and the bytes that mark any
# such file. A run replaces an earlier report of the same kind, whatever tool wrote it, and no other file.
FILES = {
    "json": ("coverage-json", "json_output", "Coverage JSON written to file", b'"meta"'),
    "xml": ("cobertura", "xml_output", "Coverage XML written to file", b"<coverage"),
    "lcov": ("lcov", "lcov_output", "Coverage LCOV written to file", b"SF:"),
    "data": ("coverage", "data_file", "Coverage data written to file", b"SQLite format 3"),
}
OPTION = "--seismo-cover-report"
KINDS = ("term", "term-missing", "html", *FILES, "none")


class Wanted(NamedTuple):
    """A requested report. `destination` is a file, a folder or "skip-covered", or "" for the default."""

    kind: str
    destination: str


@dataclass
class Result:
    """The coverage of a run: its recording, the report and the settings."""

    recording: Recording
    report: CoverageReport
    settings: Settings

    @property
    def enough(self) -> bool:
        """True if coverage reaches the required minimum."""
        from seismo.coverage.percentages import too_little

        least = self.settings.fail_under
        return not (least and too_little(self.report.totals, least, self.settings.precision))


def wanted(texts: Sequence[str]) -> list[Wanted]:
    """Return the reports for TYPE[:DEST] texts, by default the table. Raise UsageError for invalid ones."""
    found = []
    for text in texts or ["term"]:
        kind, _, destination = text.partition(":")
        if kind not in KINDS and text:
            raise UsageError(f"there is no report {kind!a}", OPTION, f"use one of {', '.join(KINDS)}")
        if kind.startswith("term") and destination not in ("", "skip-covered"):
            raise UsageError(f"the report {kind} cannot be {destination!a}", OPTION, "it can only be skip-covered")
        if kind not in ("none", ""):
            found.append(Wanted(kind, destination))
    return found


def check(settings: Settings, reports: Sequence[Wanted], force: bool) -> None:
    """Raise FormatError if a report would overwrite a file that is not a report of its kind."""
    from seismo.formats.destination import check_free
    from seismo.report.page import MARK

    with chdir(settings.folder):
        for report in reports:
            if report.kind == "html":
                path, mark = os.path.join(report.destination or settings.html_directory, "index.html"), MARK.encode()
            elif report.kind in FILES:
                path = report.destination or getattr(settings, FILES[report.kind][1])
                mark = FILES[report.kind][3]
            else:
                continue
            check_free(path, force, mark, "--seismo-cover-force")


def settings(options: Namespace) -> Settings:
    """Return the settings files' values, overridden by the command line. Raise UsageError for invalid ones."""
    from seismo.coverage.settings import load

    given: dict[str, Any] = {"contexts": ""}  # the plugin names contexts itself, after the running test
    for name in (*(option.name for option in of("pytest-cover")), "fail_under"):
        value = getattr(options, f"seismo_cover_{name}")
        if value is not None:
            given[name] = value
    sources = [source for source in options.seismo_cover if source]
    if sources:
        given["source"] = tuple(sources)
    return load(os.getcwd(), options.seismo_cover_config).overridden(**given)


def result(path: str, settings: Settings) -> Result:
    """Read the recording and analyze it against the sources. Raise SeismoError if that fails."""
    from seismo.coverage.analysis import analyze
    from seismo.model import read

    recording = read(path)
    chosen = settings.of_recording(recording)
    with chdir(settings.folder):  # file names in the recording are relative to this folder
        return Result(recording, analyze(recording, chosen), chosen)


def write(result: Result, reports: Sequence[Wanted], paper: Paper) -> None:
    """Write all reports; relative paths start at the settings' folder. Raise SeismoError if that fails."""
    from seismo.report.coverage.text import write_problems, write_verdict

    with chdir(result.settings.folder):
        for report in reports:
            if report.kind.startswith("term"):
                _table(paper, result, report)
            elif report.kind == "html":
                from seismo.report.coverage.page import write_by_settings
                from seismo.report.facts import header
                from seismo.report.words import Signs

                folder = report.destination or result.settings.html_directory
                write_by_settings(result.report, result.settings, folder, header(result.recording, Signs()))
                paper.line(f"Coverage HTML written to dir {folder}")
            else:
                from seismo import formats

                name, setting, message, _ = FILES[report.kind]
                path = report.destination or getattr(result.settings, setting)
                formats.write(result.recording, path, name, report=result.report)
                paper.line(f"{message} {path}")
        write_problems(paper, result.report)
        if result.settings.fail_under:
            write_verdict(paper, result.report.totals, result.settings)


def _table(paper: Paper, result: Result, report: Wanted) -> None:
    from seismo.report.coverage.text import write_table

    settings = result.settings
    settings = settings.replace(
        show_missing=settings.show_missing or report.kind == "term-missing",
        skip_covered=settings.skip_covered or report.destination == "skip-covered",
    )
    write_table(paper, result.report, settings)
