"""Runs a program and records which of its lines and branches were executed.

By default, seismo measures the program's own code, without the standard library and installed packages; --source
and --include select other code. GLOB is a pattern of files as in coverage.py: * matches any name, ** any number of
folders. PKG is a dotted package name. The project's settings apply (.coveragerc, .coveragerc.toml, setup.cfg, tox.ini,
pyproject.toml; [tool.seismo.cover] overrides [tool.coverage]), and options override them.
"""

from __future__ import annotations

import os

from seismo import recording_kinds
from seismo.cli.options import Option, of_a_program, settings
from seismo.cli.recording import RecordedRun, RecordingVerb, Screen
from seismo.options import of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo.cli.verb import Given
    from seismo.coverage.settings import Settings
    from seismo.process.run_program import Program


def wanted(given: dict[str, Any]) -> Settings:
    """Return the project's settings, overridden by the options. Raises UsageError."""
    from seismo.coverage.settings import load, rcfile_of

    over = {option.name: given[option.name] for option in of("cover") if option.name in given}
    over |= {name: tuple(one for part in value for one in part) for name, value in over.items() if type(value) is list}
    return load(os.getcwd(), rcfile_of(given.get("rcfile"), bool(given.get("no_config")))).overridden(**over)


def _report(settings: Settings, path: str | bytes, screen: Screen) -> int:
    from seismo.coverage.percentages import too_little
    from seismo.model import read
    from seismo.report.coverage import Coverage

    kind = Coverage(settings)
    recording = read(path)
    if screen.fd >= 0:
        with screen.open() as stream:
            kind.summary(recording, stream, screen.path, screen.coloured)
    report, settings = kind.analysis(recording)
    return int(too_little(report.totals, settings.fail_under, settings.precision)) if settings.fail_under else 0


class _Cover(RecordingVerb):
    """The verb `cover`, which follows the project's settings and may fail by its exit status."""

    def make(self, given: Given, program: Program) -> RecordedRun:
        """Return the program, ready to run."""
        from functools import partial

        from seismo.process import coverage

        measured = wanted(given)
        given["children"] = given.get("children") or measured.children
        options = coverage.options(measured) | {name: given[name] for name in given if name == "flush_ms"}
        return RecordedRun(self, given, program, options, partial(_report, measured), measured.fail_under > 0)


VERB = _Cover(
    recording_kinds.COVERAGE,
    of_a_program(__doc__, "a table"),
    (
        *settings("cover"),
        Option("--rcfile", "read this settings file instead of the project's", metavar="FILE"),
        Option("--no-config", "do not read any settings file"),
    ),
)
main = VERB.run
