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

import sys
from typing import TYPE_CHECKING, NoReturn

from seismo.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    import argparse

    from seismo.report.kind import Kind


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
    "  seismo report objects.seismo --by line --sort live --type 'app.*'"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `seismo report`."""
    from seismo.cli.files import add_file
    from seismo.cli.parsing import add_color, add_time
    from seismo.report.kind import every

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
    parser.set_defaults(of_kinds=[(kind, _declared(kind, parser)) for kind in every()])
    parser.epilog = _EXAMPLES


def _declared(kind: Kind, parser: argparse.ArgumentParser) -> dict[str, object]:
    """Declares the options that are the kind's. Returns them with what they are when they are not given."""
    before = {action.dest for action in parser._actions}
    kind.add_options(parser)
    return {action.dest: action.default for action in parser._actions if action.dest not in before}


def orders() -> list[str]:
    """All words that --sort takes, cProfile's apart."""
    from seismo.report.kind import every

    return list(dict.fromkeys(word for kind in every() for word in kind.orders()))


def _order(word: str) -> str:
    from seismo.report.calls.orders import OF_PSTATS

    known = orders()
    if word.removeprefix("-") not in known and word not in OF_PSTATS:
        hint = did_you_mean(word, [*known, *OF_PSTATS]) + f"it is one of {', '.join(known)}"
        raise UsageError(f"--sort cannot be {word!a}", hint=hint)
    return OF_PSTATS.get(word, word)


def _refuse(args: argparse.Namespace, kind: Kind) -> None:
    """Raises UsageError if an option was given that is for recordings of another kind."""
    if args.time and not kind.times:
        _not_for_this("time", "calls and lines", args.file)
    for other, options in args.of_kinds:
        if other is kind:
            continue
        for name, default in options.items():
            if name not in kind.also and getattr(args, name) != default:
                _not_for_this(name, other.what, args.file)


def _not_for_this(option: str, what: str, file: str) -> NoReturn:
    shown = option.replace("_", "-")
    raise UsageError(f"--{shown} is for recordings of {what}, and this is none", file, "see: seismo info FILE")


def run(args: argparse.Namespace) -> int:
    """Shows the recording on standard output."""
    from seismo.cli.files import check_pages, check_time, open_recording, or_newest
    from seismo.report.kind import of
    from seismo.report.paper import paper_for

    for kind, _ in args.of_kinds:
        kind.check(args)
    args.file = or_newest(args.file)
    recording = open_recording(args.file)
    kind = of(recording).instead(args, recording)
    _refuse(args, kind)
    if args.only:
        from seismo.record.choice import chosen

        args.where = chosen(args.only, args.where)
    check_time(recording, args.time, args.file)
    if args.html:
        check_pages(kind.page_at(args.html), args.force)
        return kind.page(recording, args.html, args)
    return kind.report(paper_for(sys.stdout, args.color), recording, args)
