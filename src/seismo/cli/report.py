"""Shows a recording: of calls, its functions by own time and its call tree.

  own    time that the function itself ran
  total  time that it and all that it called ran
  waiting  off the CPU: for the interpreter's lock, preempted, other
  ±      the error of the own time: the truth is within it 19 times in 20;
         below 1 % it is not shown
  < 6 ms a time that is not known but for this upper bound
  ≥      a lower bound: some calls were not counted, and the report says why
  ▸      the hot path: from the root down, always to the largest

Of coverage, a table of files: statements, branches, how many were missed, which
lines these are. 12-15 never ran; 20->25 is a branch that was never taken. The
exit status is 1 when coverage is less than --fail-under, or when a line that
has changed since --changed-since was not executed.

Of objects, what was born, what died young, what lives on and who holds it, by
type and by the line that made it.

  ≈      an estimate: the live objects were too many to follow each
  ≤ ≥    an upper and a lower bound
  short  died before 256 others were born, or within a millisecond

The report is as wide as the terminal; on a pipe, as COLUMNS says, or 80.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from seismo.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from seismo.expression import Expression
    from seismo.model import Recording


_EXAMPLES = (
    "FUNC is module:qualname, a name alone, or a glob such as 'json.*:*decode*'.\n"
    "FUNC, GLOB and thread options may be given several times.\n\n"
    "examples:\n"
    "  seismo report --sort cumulative\n"
    "  seismo report app-123.seismo --sort calls --limit 50\n"
    "  seismo report app-123.seismo --tree --module 'app*'\n"
    "  seismo report app-123.seismo --callers parse\n"
    "  seismo report tests.seismo --skip-covered --show-missing\n"
    "  seismo report tests.seismo --changed-since main\n"
    "  seismo report tests.seismo --line app/core.py:12\n"
    "  seismo report tests.seismo --html htmlcov\n"
    "  seismo report refs.seismo --by line --sort live --type 'app.*'"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `seismo report`."""
    from seismo.cli import report_coverage, report_objects
    from seismo.cli.files import add_file
    from seismo.cli.parsing import add_color, add_time

    add_file(parser)
    parser.add_argument(
        "--sort",
        metavar="ORDER",
        type=_order,
        help="of calls: own (default), total, calls, primitive, awaiting, name, file, line, or a word of cProfile's "
        "(cumulative, tottime, ncalls ...); of lines: own (default), inner, total, hits, awaiting; "
        "of coverage: name (default), statements, missing, branches, partial, percent, and --sort=-missing for the "
        "largest first; of objects: born (default), died, gc, live, peak, bytes, live-bytes, short",
    )
    parser.add_argument("--all", action="store_true", help="everything: all functions, the whole tree, all contexts")
    pages = "write HTML pages instead: of coverage into a folder, of lines or objects into a file"
    parser.add_argument("--html", metavar="OUT", help=pages)
    parser.add_argument("--force", action="store_true", help="overwrite OUT even if it is not known to be seismo's")
    add_color(parser)
    add_time(parser, "of calls and lines: own and total times, and what is ranked by them, are")
    what = parser.add_argument_group("of calls: what to show")
    what.add_argument("--tree", action="store_true", help="the call tree only, and more of it")
    what.add_argument("--callers", metavar="FUNC", action="append", default=[], help="who calls FUNC, and how much")
    what.add_argument(
        "--callees", metavar="FUNC", action="append", default=[], help="what FUNC calls, and for how much"
    )
    what.add_argument(
        "--columns",
        metavar="LIST",
        help="columns of the functions, with commas: own,error,percent,total,total-percent,each,calls,resumes,"
        "exceptions,awaiting,awaits,waiting,for",
    )
    how = parser.add_argument_group("of calls: how much of it")
    how.add_argument(
        "--limit", metavar="N", type=_number(1), help="rows of a table (default: 20), lines of the tree (40)"
    )
    how.add_argument(
        "--depth", metavar="N", type=_number(1), help="levels of the call tree (default: as many as matter)"
    )
    how.add_argument("--min", metavar="PERCENT", type=_percent, help="the smallest share of time in the call tree (1)")
    _add_what(parser.add_argument_group("of calls: of what"))
    report_coverage.add_arguments(parser)
    report_objects.add_arguments(parser)
    parser.epilog = _EXAMPLES


def _add_what(only: argparse._ArgumentGroup) -> None:
    only.add_argument(
        "--module",
        metavar="GLOB",
        action="append",
        default=[],
        help="only modules that match, such as 'app.*'",
    )
    only.add_argument("--exclude-module", metavar="GLOB", action="append", default=[], help="no modules that match")
    only.add_argument(
        "--thread",
        metavar="NAME|ID",
        action="append",
        default=[],
        help="only this thread (see seismo info)",
    )
    only.add_argument(
        "--where",
        metavar="EXPR",
        help="only functions for which the expression is true, such as 'duration > 10ms and not module(\"json*\")' "
        "(see docs/expressions.md)",
    )
    only.add_argument(
        "--only",
        metavar="GLOB",
        action="append",
        default=[],
        help="only functions of this module, name or file, as seismo lines --only takes it",
    )
    only.add_argument(
        "--libraries",
        action="store_true",
        help="what the standard library and installed packages do inside: the call tree folds it, tables of lines and "
        "objects leave it out, unless something is chosen (--only, --module, --where, --all), here or when it was "
        "recorded",
    )


def orders() -> list[str]:
    """All words that --sort takes, cProfile's apart."""
    from seismo.report.calls.orders import ORDERS as OF_CALLS
    from seismo.report.coverage.text import ORDERS as OF_COVERAGE
    from seismo.report.lines.text import ORDERS as OF_LINES
    from seismo.report.objects.text import ORDERS as OF_OBJECTS

    return list(dict.fromkeys([*OF_CALLS, *OF_LINES, *OF_COVERAGE, *OF_OBJECTS]))


def _order(word: str) -> str:
    from seismo.report.calls.orders import OF_PSTATS

    known = orders()
    if word.removeprefix("-") not in known and word not in OF_PSTATS:
        hint = did_you_mean(word, [*known, *OF_PSTATS]) + f"it is one of {', '.join(known)}"
        raise UsageError(f"--sort cannot be {word!a}", hint=hint)
    return OF_PSTATS.get(word, word)


def _number(least: int) -> Callable[[str], int]:
    def number(word: str) -> int:
        value = int(word)
        if value < least:
            raise argparse.ArgumentTypeError(f"{word} is less than {least}")
        return value

    return number


def _percent(word: str) -> float:
    value = float(word.rstrip("%"))
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{word} is not between 0 and 100")
    return value


# Options of recordings of calls, with what they are when they are not given.
_OF_CALLS: dict[str, object] = {
    "time": None,
    "tree": False,
    "callers": [],
    "callees": [],
    "columns": None,
    "limit": None,
    "depth": None,
    "min": None,
    "module": [],
    "exclude_module": [],
    "thread": [],
    "where": None,
    "only": [],
    "libraries": False,
}


def refuse(args: argparse.Namespace, options: Mapping[str, object], what: str) -> None:
    """Raises UsageError if one of these options was given, which are for recordings of something else."""
    for name, default in options.items():
        if getattr(args, name, default) != default:
            shown = name.replace("_", "-")
            raise UsageError(
                f"--{shown} is for recordings of {what}, and this is none", args.file, "see: seismo info FILE"
            )


def run(args: argparse.Namespace) -> int:
    """Shows the recording on standard output."""
    from seismo.cli import report_coverage, report_objects
    from seismo.cli.files import check_time, open_recording, or_newest

    if args.columns:
        from seismo.report.calls.functions import chosen_columns

        chosen_columns(args.columns)  # a mistake here must not wait for the reading
    if args.where:
        from seismo.report.where import about_functions

        about_functions(args.where)
    if args.only:
        from seismo.record.choice import chosen

        args.where = chosen(args.only, args.where)
    args.file = or_newest(args.file)
    recording = open_recording(args.file)
    if recording.kind == "coverage":
        refuse(args, _OF_CALLS, "calls")
        refuse(args, report_objects.OPTIONS, "objects")
        return report_coverage.run(args, recording)
    refuse(args, report_coverage.OPTIONS, "coverage")
    about_calls = args.tree or args.callers or args.callees
    if recording.kind == "lifetimes" and not (about_calls and len(recording.tree)):
        refuse(args, {name: value for name, value in _OF_CALLS.items() if name not in ("limit", "libraries")}, "calls")
        return report_objects.run(args, recording)
    refuse(args, report_objects.OPTIONS, "objects")
    check_time(recording, args.time, args.file)
    return (_lines if recording.kind == "linetimes" else _calls)(args, recording)


def _calls(args: argparse.Namespace, recording: Recording) -> int:
    if args.html:
        raise UsageError("there are no HTML pages of calls", f"--html {args.html}", "see: seismo export --list")
    from seismo.report.calls.functions import chosen_columns
    from seismo.report.calls.orders import order_of
    from seismo.report.calls.text import View, write_report
    from seismo.report.calls.tree import Limits
    from seismo.report.modules import Modules
    from seismo.report.paper import paper_for
    from seismo.report.where import about_functions

    order = order_of(args.sort or "own")
    limits = Limits(lines=args.limit or (200 if args.tree else 40), depth=args.depth, libraries=args.libraries)
    if args.min is not None:
        limits.share = args.min / 100
    elif args.tree:
        limits.share = 0.001
    if args.all:
        limits.lines, limits.share, limits.fold = None, (args.min or 0) / 100, False
    where = about_functions(args.where) if args.where else None
    view = View(
        order=order,
        limit=None if args.all and not args.limit else args.limit or 20,
        columns=chosen_columns(args.columns) if args.columns else None,
        functions=not args.tree,
        limits=limits,
        modules=Modules(tuple(args.module), tuple(args.exclude_module), where),
        threads=args.thread,
        callers=args.callers,
        callees=args.callees,
        times=args.time or "cpu",
    )
    write_report(paper_for(sys.stdout, args.color), recording, view)
    return 0


def _lines(args: argparse.Namespace, recording: Recording) -> int:
    from seismo.report.facts import filter_words
    from seismo.report.lines.text import ORDERS, LinesView, write_report
    from seismo.report.modules import Modules
    from seismo.report.paper import paper_for
    from seismo.report.where import about_functions

    if args.sort and args.sort not in ORDERS:
        raise UsageError(f"lines cannot be sorted by {args.sort}", hint=f"it is one of {', '.join(ORDERS)}")
    if args.html:
        from seismo.cli.files import check_pages
        from seismo.report.lines.page import write_lines

        check_pages(args.html, args.force)
        write_lines(recording, args.html, times=args.time or "cpu")
        return 0
    where: Expression | None = about_functions(args.where) if args.where else None
    modules = Modules(tuple(args.module), tuple(args.exclude_module), where)
    view = LinesView(
        order=args.sort or "",
        limit=None if args.all and not args.limit else args.limit or 20,
        files=None if args.all else 5,
        share=args.min / 100 if args.min is not None else 0.0 if args.all else 0.02,
        libraries=args.libraries or args.all or bool(modules) or bool(filter_words(recording)),
        modules=modules,
        times=args.time or "cpu",
    )
    write_report(paper_for(sys.stdout, args.color), recording, view)
    return 0
