"""The reports of coverage that the options of `seismo report` select, and their settings."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from seismo.errors import UsageError
from seismo.escape import printable
from seismo.report.options import NO_CONFIG, RCFILE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.coverage.coverage_report import CoverageReport
    from seismo.coverage.settings import Settings
    from seismo.model import Recording
    from seismo.report.options import Options
    from seismo.report.paper import Paper


def add_settings(add: Callable[..., object]) -> None:
    """Declare the options for coverage settings. add: add_argument() of a parser or group."""
    add("--rcfile", metavar="FILE", help=RCFILE)
    add("--no-config", action="store_true", help=NO_CONFIG)


def say_settings(settings: Settings) -> None:
    """Print on stderr which settings are used, unless all are defaults."""
    from seismo.coverage.recorded_settings import settings_text

    words = settings_text(settings)
    if words:
        print(f"seismo: settings: {printable(words)}", file=sys.stderr)


def settings_of(options: Options, recording: Recording) -> Settings:
    """Return the recording's settings, overridden by the options. Raises UsageError."""
    from seismo.coverage.file_patterns import absolute
    from seismo.coverage.recorded_settings import for_recording
    from seismo.coverage.settings import rcfile_of

    if sum(map(bool, (options.line, options.changed_since, options.html, options.conditions))) > 1:
        different = "--line, --changed-since, --conditions and --html are different reports"
        raise UsageError(different, hint="use only one of these options")
    found = for_recording(recording, os.getcwd(), rcfile_of(options.rcfile, options.no_config))
    given = ("show_missing", "skip_covered", "skip_empty", "sort", "fail_under", "precision")
    values: dict[str, object] = {name: getattr(options, name) for name in given}
    over = {name: value for name, value in values.items() if value not in (None, "") and value is not False}
    for name in ("include", "omit"):
        if getattr(options, name):
            patterns = [part for words in getattr(options, name) for part in words.split(",") if part]
            over[f"report_{name}"] = tuple(absolute(patterns, os.getcwd()))
    settings = found.replace(**over)
    if options.contexts:
        settings = _in_contexts(settings, recording, options.contexts)
    if not 0 <= settings.fail_under <= 100:
        raise UsageError(f"--fail-under cannot be {settings.fail_under:g}", hint="give a percentage from 0 to 100")
    if not 0 <= settings.precision <= 20:
        raise UsageError(f"--precision cannot be {settings.precision}", hint="give a number of decimals from 0 to 20")
    return settings


def _in_contexts(settings: Settings, recording: Recording, globs: Sequence[str]) -> Settings:
    """Return the settings limited to contexts that match a glob. Raises UsageError if none does."""
    from fnmatch import fnmatchcase, translate

    names = sorted({name for name in recording.contexts["name"] if name})
    if not any(fnmatchcase(name, glob) for name in names for glob in globs):
        more = f" and {len(names) - 6:,} more" if len(names) > 6 else ""
        hint = f"there are: {', '.join(names[:6])}{more}" if names else "to record some: seismo cover --contexts test"
        raise UsageError("there is no such context", f"--contexts {' '.join(globs)}", hint)
    return settings.replace(report_contexts=tuple(rf"\A{translate(glob)}" for glob in globs))


def analyzed(recording: Recording, options: Options) -> tuple[CoverageReport, Settings]:
    """Return the analysis of the recording against the source, and the settings that the options select for it."""
    from seismo.coverage.analysis import analyze

    settings = settings_of(options, recording)
    return analyze(recording, settings), settings


def write(paper: Paper, recording: Recording, options: Options) -> int:
    """Write the report. Return 1 if a check fails, else 0."""
    from seismo.coverage.git_changes import changes
    from seismo.coverage.percentages import fails_under
    from seismo.report.coverage.text import write_changes, write_conditions, write_line, write_problems, write_report

    since = options.changed_since
    changed = changes(since, os.getcwd()) if since else []
    report, settings = analyzed(recording, options)
    if since:
        total, missed = write_changes(paper, report, changed, since)
        write_problems(paper, report)
        if options.fail_under is None:
            return int(missed > 0)
        percent = 100.0 * (total - missed) / total if total else 100.0
        return int(fails_under(percent, options.fail_under, settings.precision))
    if options.line:
        write_line(paper, report, options.line, None if options.all else 40)
        return 0
    if options.conditions:
        write_conditions(paper, report, options.all)
    else:
        write_report(paper, recording, report, settings, options.all)
    return _verdict(paper, report, settings)


def say_page(index: str, report: CoverageReport, settings: Settings, options: Options) -> int:
    """Write the settings to stderr and the path of the page to stdout. Return 1 if a check fails, else 0."""
    from seismo.report.paper import paper_for

    say_settings(settings)
    print(printable(index))
    return _verdict(paper_for(sys.stdout, options.color), report, settings)


def _verdict(paper: Paper, report: CoverageReport, settings: Settings) -> int:
    from seismo.report.coverage.text import write_verdict

    if not settings.fail_under:
        return 0
    paper.line()
    return int(write_verdict(paper, report.totals, settings))
