"""The options of `seismo report` that kinds of recordings declare, each once: for the command line and for its reader.

An option's default decides whether it is a flag, may be given several times, or has one value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


def _option(group: str, help: str, metavar: str = "", read: str = "", *, default: Any = None) -> Any:  # noqa: A002
    """Return the field of an option.

    group: of the help, which begins with the kind of recordings. metavar: the name of its value. read: one of the
    command line's READERS.
    """
    return field(default=default, metadata={"group": group, "help": help, "metavar": metavar, "type": read})


_shows = partial(_option, "calls: what to show")
_limits = partial(_option, "calls: how much to show")
_selects = partial(_option, "calls: which functions to show")
_of_objects = partial(_option, "objects")
_of_coverage = partial(_option, "coverage")
RCFILE = "use this settings file instead of the recording's settings"
NO_CONFIG = "use no settings: neither a file's nor the recording's"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a report. `limit`: rows of a table. `min`: per cent of the time. `time`: a value of --time."""

    sort: str | None = None
    all: bool = False
    time: str | None = None
    html: str | None = None
    color: str = "auto"
    # Options of calls; some also of lines and objects.
    tree: bool = _shows("show only the call tree, with more rows", default=False)
    callers: Sequence[str] = _shows("show who calls FUNC, and how much time that takes", "FUNC", default=())
    callees: Sequence[str] = _shows("show what FUNC calls, and how much time that takes", "FUNC", default=())
    columns: str | None = _shows(
        "the columns of the table of functions, separated by commas: own, error, percent, total, total-percent, "
        "each, calls, resumes, exceptions, awaiting, awaits, waiting, for",
        "LIST",
    )
    around: str | None = _shows(
        "of a trace: show what each thread was doing then (1.2s, 300ms; from the start of the process); `end`: "
        "its last calls",
        "TIME",
    )
    window: str | None = _shows("how much time --around shows (default: 10ms)", "SPAN")
    limit: int | None = _limits(
        "show at most N rows of a table (default: 20), or of the tree (default: 40); 0: all", "N", "count"
    )
    depth: int | None = _limits(
        "show at most N levels of the call tree (default: as many as are relevant)", "N", "whole"
    )
    min: float | None = _limits(
        "leave out rows of the call tree below this share of the time (default: 1)", "PERCENT", "percent"
    )
    module: Sequence[str] = _selects("show only modules that match, such as 'app.*'", "GLOB", default=())
    exclude_module: Sequence[str] = _selects("leave out modules that match", "GLOB", default=())
    thread: Sequence[str] = _selects("show only this thread (seismo info lists the threads)", "NAME|ID", default=())
    where: str | None = _selects(
        "show only functions that match the expression, such as 'duration > 10ms and not module(\"json*\")' (see "
        "docs/expressions.md)",
        "EXPR",
    )
    only: Sequence[str] = _selects(
        "show only functions whose module, name or file matches, as in seismo lines --only", "GLOB", default=()
    )
    libraries: bool = _selects(
        "also show the inside of the standard library and installed packages. By default, the call tree folds it, "
        "and tables of lines and objects omit it, unless functions were selected here (--only, --module, --where, "
        "--all) or when recording",
        default=False,
    )
    imports: bool = _selects(
        "also show the functions of the import system. Without this option, the report has a row for each "
        "imported module, and one for all that finds and loads them",
        default=False,
    )
    by: str | None = _of_objects(
        "show one table only: types (type), lines (line), call paths (path), or types with their lines and paths "
        "(all); of a dataset: how times spread over hosts (host), processes (process), tasks (task) or values of a "
        "label (label:NAME), and which functions explain the slow ones",
        "WHAT",
    )
    type: Sequence[str] = _of_objects(
        "show only objects of matching types, such as 'app.*' or dict; may be given several times", "GLOB", default=()
    )
    show_missing: bool = _of_coverage("show all missing lines, on as many rows as they need", default=False)
    skip_covered: bool = _of_coverage("leave out files that are covered completely", default=False)
    skip_empty: bool = _of_coverage("leave out files without statements", default=False)
    include: Sequence[str] = _of_coverage("show only files that match, such as 'app/*'", "GLOB", default=())
    omit: Sequence[str] = _of_coverage("leave out files that match", "GLOB", default=())
    contexts: Sequence[str] = _of_coverage("show only what was executed in contexts that match", "GLOB", default=())
    line: str | None = _of_coverage(
        "show one line: whether it ran, in which contexts, and where its branches went", "FILE:N"
    )
    conditions: bool = _of_coverage(
        "show the operands of and, or and not that were never true or never false (Python 3.12 and later)",
        default=False,
    )
    changed_since: str | None = _of_coverage("show lines changed since this git revision that were not executed", "REV")
    fail_under: float | None = _of_coverage("exit with status 1 if less than N percent were executed", "N", "percent")
    precision: int | None = _of_coverage("show percentages with N decimals (default: 0)", "N", "count")
    rcfile: str | None = _of_coverage(RCFILE, "FILE")
    no_config: bool = _of_coverage(NO_CONFIG, default=False)


def declare(parser: ArgumentParser, kind: str) -> dict[str, object]:
    """Declare the options of a kind of recordings in groups of the help. Return their defaults."""
    groups, defaults = {}, {}
    for option in fields(Options):
        about = dict(option.metadata)
        title = about.pop("group", "")
        if title.partition(":")[0] != kind:
            continue
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        if option.default is False:
            about = {"help": about["help"], "action": "store_true"}
        elif option.default == ():
            about |= {"action": "append", "default": [], "type": None}
        action = groups[title].add_argument(f"--{option.name.replace('_', '-')}", **about)
        defaults[option.name] = action.default
    return defaults
