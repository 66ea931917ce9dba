"""Runs a program and records which of its lines and branches were executed.

The program runs as it would bare: its own sys.argv, sys.path, __main__, stdin, output, exit status and tracebacks.
The recording goes to NAME-PID.seismo in the current directory, a table to stderr. The options come before the
program; all that follows it is the program's.

What is recorded: the program's own code, without the standard library and installed packages, or what --source or
--include say. GLOB is a pattern of files as in coverage.py: * is any name, ** any folders; PKG is a package's dotted
name. The settings of the project are read: .coveragerc, .coveragerc.toml, setup.cfg, tox.ini, pyproject.toml
([tool.coverage] and, over it, [tool.seismo.cover]). Options here win.
"""

from __future__ import annotations

import os

from seismo.cli.program import CHILDREN, COLOR, FLUSH, OUTPUT, QUIET, Option, Recording, Verb
from seismo.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo.cli.program import Given, Screen
    from seismo.coverage.settings import Settings
    from seismo.record.run import Program

ROWS = 40  # of the table at the end


def _percent(name: str, text: str) -> float:
    try:
        value = float(text.rstrip("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise UsageError(f"{name} cannot be {text!a}", hint="it is a percentage from 0 to 100")
    return value


def _parts(_name: str, text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


VERB = Verb(
    "cover",
    "seismo cover [options] SCRIPT|-m MODULE|-c CODE|- [ARGS...]",
    __doc__ or "",
    (
        OUTPUT,
        QUIET,
        CHILDREN,
        Option("--branch", "branch", "branches too: which of a line's ways on were taken"),
        Option("--counts", "counts", "how often each line ran, not only whether"),
        Option(
            "--source",
            "source",
            "only this package, or the files below this folder; those that never run are reported too",
            metavar="PKG|DIR",
            read=_parts,
            many=True,
        ),
        Option(
            "--include",
            "include",
            "only files that match; of no effect beside --source",
            metavar="GLOB",
            read=_parts,
            many=True,
        ),
        Option("--omit", "omit", "no files that match", metavar="GLOB", read=_parts, many=True),
        Option("--contexts", "contexts", "who ran what: test, each test function apart", choices=("test",)),
        Option("--context", "context", "a name for this run: what ran, ran in this context", metavar="NAME"),
        Option(
            "--fail-under",
            "fail_under",
            "exit with 1 when less than N percent were executed, unless the program itself failed",
            metavar="N",
            read=_percent,
        ),
        Option("--rcfile", "rcfile", "the settings file to read instead of the project's", metavar="FILE"),
        Option("--no-config", "no_config", "read no settings file"),
        FLUSH,
        COLOR,
    ),
)


def main(words: list[str]) -> int:
    """Runs the program. Returns only when there is none to run; raises what it raises, or SystemExit at its end."""
    return VERB.main(words, _make)


def _make(given: Given, program: Program) -> Recording:
    from seismo.record import coverage

    settings = wanted(given)
    options = coverage.options(settings)
    if "flush_ms" in given:
        options["flush_ms"] = given["flush_ms"]
    given["children"] = given.get("children") or settings.children
    end = _End(settings)
    return Recording(VERB, given, program, coverage.Life(), options, end.tell, settings.fail_under > 0)


def wanted(given: dict[str, Any]) -> Settings:
    """The project's settings, and what the options say over them. Raises UsageError."""
    from seismo.coverage import settings

    if given.get("rcfile") and given.get("no_config"):
        raise UsageError("--rcfile and --no-config cannot both be", hint="leave one of them out")
    folder = os.getcwd()
    if given.get("no_config") or not (given.get("rcfile") or settings.is_there(folder)):
        found = settings.Settings(folder=folder)
    else:
        found = settings.load(folder, given.get("rcfile"))
    over: dict[str, Any] = {
        name: given[name] for name in ("branch", "counts", "contexts", "context", "fail_under") if name in given
    }
    for name in ("source", "include", "omit"):
        if name in given:
            over[name] = tuple(one for part in given[name] for one in part)
    if "source" in over or "include" in over:
        over = {"source": (), **over, "source_pkgs": (), "source_dirs": ()}
    return found.replace(**over)


class _End:
    """What is said and decided when the program has ended."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def tell(self, path: str | bytes, screen: Screen) -> int:
        """Writes the table. Returns the exit status."""
        from seismo.coverage.analysis import analyze
        from seismo.coverage.numbers import too_little
        from seismo.model import read
        from seismo.report.coverage.text import write_end

        recording = read(path)
        settings = self.settings.of_recording(recording)
        report = analyze(recording, settings)
        if screen.fd >= 0:
            with screen.open() as stream:
                write_end(stream, recording, report, settings, screen.path, ROWS, screen.coloured)
        return int(too_little(report.totals, settings.fail_under, settings.precision)) if settings.fail_under else 0
