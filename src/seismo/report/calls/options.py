"""The options of `seismo report` for calls, some of which also apply to lines and objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.report.options import Options, declarer
from seismo.report.waiting import ELAPSED

if TYPE_CHECKING:
    import argparse

    from seismo.model import Recording


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    declare = declarer(parser, "calls: what to show")
    declare("--tree", "show only the call tree, with more rows")
    declare("--callers", "show who calls FUNC, and how much time that takes", "FUNC")
    declare("--callees", "show what FUNC calls, and how much time that takes", "FUNC")
    declare(
        "--columns",
        "the columns of the table of functions, separated by commas: own, error, percent, total, total-percent, "
        "each, calls, resumes, exceptions, awaiting, awaits, waiting, for",
        "LIST",
    )
    declare(
        "--around",
        "of a trace: show what each thread was doing then (1.2s, 300ms; from the start of the process); `end`: "
        "its last calls",
        "TIME",
    )
    declare("--window", "how much time --around shows (default: 10ms)", "SPAN")
    declare = declarer(parser, "calls: how much to show")
    limit = "show at most N rows of a table (default: 20), or of the tree (default: 40); 0: all"
    declare("--limit", limit, "N", "count")
    depth = "show at most N levels of the call tree (default: as many as are relevant)"
    declare("--depth", depth, "N", "whole")
    least = "leave out rows of the call tree below this share of the time (default: 1)"
    declare("--min", least, "PERCENT", "percent")
    declare = declarer(parser, "calls: which functions to show")
    declare("--module", "show only modules that match, such as 'app.*'", "GLOB")
    declare("--exclude-module", "leave out modules that match", "GLOB")
    declare("--thread", "show only this thread (seismo info lists the threads)", "NAME|ID")
    declare(
        "--where",
        "show only functions that match the expression, such as 'duration > 10ms and not module(\"json*\")' (see "
        "docs/expressions.md)",
        "EXPR",
    )
    only = "show only functions whose module, name or file matches, as in seismo lines --only"
    declare("--only", only, "GLOB")
    declare(
        "--libraries",
        "also show the inside of the standard library and installed packages. By default, the call tree folds it, "
        "and tables of lines and objects omit it, unless functions were selected here (--only, --module, --where, "
        "--all) or when recording",
    )
    declare(
        "--imports",
        "also show the functions of the import system. Without this option, the report has a row for each "
        "imported module, and one for all that finds and loads them",
    )


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
