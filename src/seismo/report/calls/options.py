"""Checks and defaults of the options of `seismo report` for calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.report.waiting import ELAPSED

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.options import Options


def check(options: Options) -> None:
    """Raise UsageError for unknown columns, invalid times and invalid expressions."""
    if options.columns:
        from seismo.report.calls.functions import chosen_columns

        chosen_columns(options.columns)
    if options.around or options.window:
        from seismo.errors import UsageError
        from seismo.report.calls.window import END, nanoseconds

        if not options.around:
            raise UsageError("--window needs --around", hint="--around 1.2s --window 10ms")
        if options.around != END:
            nanoseconds(options.around, "--around")
        if options.window:
            nanoseconds(options.window, "--window")
    if options.where:
        from seismo.report.shown_functions import about_functions

        about_functions(options.where)


# Options for the terminal only; a page has other means.
_OF_THE_TERMINAL = ("sort", "tree", "callers", "callees", "columns", "around", "limit", "depth", "min")


def check_page(options: Options) -> None:
    """Raise UsageError for options that a page does not take: its reader sorts, searches and zooms."""
    from seismo.errors import UsageError

    given = next((name for name in _OF_THE_TERMINAL if getattr(options, name, None)), "")
    if given:
        hint = "leave it out: in the page, tables are sorted and graphs are zoomed by a click"
        raise UsageError(f"--{given.replace('_', '-')} is for the terminal, not for the page of calls", "--html", hint)


def usual_times(recording: Recording) -> str:
    """Return the default of --time for the recording."""
    return "calls" if recording.timeless else ELAPSED
