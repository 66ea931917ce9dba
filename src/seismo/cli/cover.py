"""Runs a program and records which of its lines and branches were executed.

By default, seismo measures the program's own code, without the standard library and installed packages; --source
and --include choose other code. GLOB is a pattern of files as in coverage.py: * matches any name, ** any number of
folders. PKG is the dotted name of a package. The settings of the project apply (.coveragerc, .coveragerc.toml,
setup.cfg, tox.ini, pyproject.toml; [tool.seismo.cover] overrides [tool.coverage]). Options of the command override
the settings.
"""

from __future__ import annotations

import os

from seismo import recording_kinds
from seismo.cli.options import Option, of_a_program, parts, percent
from seismo.cli.recording import RecordedRun, RecordingVerb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo.cli.recording import Screen
    from seismo.cli.verb import Given
    from seismo.coverage.settings import Settings
    from seismo.process.run_program import Program


def wanted(given: dict[str, Any]) -> Settings:
    """The project's settings, and what the options say over them. Raises UsageError."""
    from seismo.coverage import settings

    folder = os.getcwd()
    rcfile = settings.rcfile_of(given.get("rcfile"), bool(given.get("no_config")))
    if rcfile == "" or not (rcfile or settings.is_there(folder)):
        found = settings.Settings(folder=folder)
    else:
        found = settings.load(folder, rcfile)
    over: dict[str, Any] = {
        name: given[name] for name in ("branch", "counts", "contexts", "context", "fail_under") if name in given
    }
    for name in ("source", "include", "omit"):
        if name in given:
            over[name] = tuple(one for part in given[name] for one in part)
    return found.overridden(**over)


class _End:
    """What is said and decided when the program has ended."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def tell(self, path: str | bytes, screen: Screen) -> int:
        """Writes the table. Returns the exit status."""
        from seismo.coverage.percentages import too_little
        from seismo.model import read
        from seismo.report.coverage import Coverage

        kind = Coverage(self.settings)
        recording = read(path)
        if screen.fd >= 0:
            with screen.open() as stream:
                kind.summary(recording, stream, screen.path, screen.coloured)
        report, settings = kind.analysis(recording)
        return int(too_little(report.totals, settings.fail_under, settings.precision)) if settings.fail_under else 0


class _Cover(RecordingVerb):
    """It measures by the project's settings, and its exit status may be a verdict."""

    def make(self, given: Given, program: Program) -> RecordedRun:
        """The program, ready to run."""
        from seismo.process import coverage

        settings = wanted(given)
        given["children"] = given.get("children") or settings.children
        options = coverage.options(settings) | {name: given[name] for name in given if name == "flush_ms"}
        return RecordedRun(self, given, program, options, _End(settings).tell, settings.fail_under > 0)


VERB = _Cover(
    recording_kinds.COVERAGE,
    of_a_program(__doc__, "a table"),
    (
        Option("--branch", "branch", "also record which branches were taken"),
        Option("--counts", "counts", "count how often each line was executed"),
        Option(
            "--source",
            "source",
            "measure only this package, or the files below this folder; files that were never executed "
            "are reported, too",
            metavar="PKG|DIR",
            read=parts,
            many=True,
        ),
        Option(
            "--include",
            "include",
            "measure only files that match; ignored if --source is given",
            metavar="GLOB",
            read=parts,
            many=True,
        ),
        Option("--omit", "omit", "do not measure files that match", metavar="GLOB", read=parts, many=True),
        Option(
            "--contexts",
            "contexts",
            "record in which context each line was executed; test: every test function is a context",
            choices=("test",),
        ),
        Option(
            "--context",
            "context",
            "record that everything in this run was executed in the context of this name",
            metavar="NAME",
        ),
        Option(
            "--fail-under",
            "fail_under",
            "exit with status 1 if less than N percent were executed, unless the program itself failed",
            metavar="N",
            read=percent,
        ),
        Option("--rcfile", "rcfile", "read this settings file instead of the project's", metavar="FILE"),
        Option("--no-config", "no_config", "do not read any settings file"),
    ),
)
main = VERB.run
