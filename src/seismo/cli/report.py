"""Shows a recording in the terminal, or as HTML pages.

For calls: the functions by own time, and the call tree.

  own      elapsed time in the function itself
  total    elapsed time in the function and in everything that it called
  waiting  the part of the own time off the CPU: waiting for the interpreter's
           lock (lock), a processor (preempted), or anything else (other)
  ±        the error of the own time: the true time lies within it in 19 of 20
           cases; not shown below 1 %
  < 6 ms   a time of which only this upper bound is known
  ≥        a lower bound: some calls were not counted, and the report says why
  ▸        the hot path, from the root always to the largest child

For coverage: a table of files with their statements and branches, how many
were missed, and which lines. 12-15 are lines that never ran; 20->25 is a
branch that was never taken. The exit status is 1 if coverage is less than
--fail-under, or if a line changed since --changed-since was not executed.

For lines: the source of the functions that took most time, with the count and
time of each line.

For objects: what was born, died young, is still alive and who holds it, by
type and by the line that made it.

  ≈        an estimate: there were too many living objects to follow each
  ≤ ≥      an upper and a lower bound
  short    died before 256 others were born, or within a millisecond

The report is as wide as the terminal, and on a pipe as COLUMNS, or 80 columns.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn, TextIO

from seismo import progress
from seismo.cli.dataset import add_attempts, attempts
from seismo.cli.files import add_file, check_time, open_recording, open_running, or_newest
from seismo.cli.options import FORCE, OPEN, one_of
from seismo.cli.parsing import add_color, add_time
from seismo.errors import UsageError, did_you_mean
from seismo.escape import shell_word
from seismo.report.kind import MOST, OF_PSTATS, every, of
from seismo.report.kind import orders as orders_of
from seismo.report.objects.options import TABLES
from seismo.report.options import Options, declare
from seismo.report.paper import paper_for

if TYPE_CHECKING:
    import argparse

    from seismo.model import Recording
    from seismo.report.kind import Kind

FORMATS = ("markdown", "json", "gutter-json")
# Options that go with --format: those that select content.
_WITH_FORMAT = {
    *("module", "exclude_module", "where", "only", "libraries", "time"),
    *("include", "omit", "contexts", "rcfile", "no_config"),
}

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
    "  seismo report objects.seismo --by line --sort live --type 'app.*'\n"
    "  seismo report app-123.seismo --format markdown --max-lines 60\n"
    "  seismo report app-123.seismo --live --limit 10"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `seismo report`."""
    add_file(parser)
    parser.add_argument(
        "--sort",
        metavar="ORDER",
        type=_order,
        help="the order of the rows. Calls: own (default), total, calls, primitive, awaiting, name, file, line, or "
        "cProfile's words (cumulative, tottime, ncalls ...). Lines: own (default), inner, total, hits, awaiting. "
        "Coverage: name (default), statements, missing, branches, partial, percent; --sort=-missing: largest first. "
        "Objects: born (default), died, gc, live, peak, bytes, live-bytes, short",
    )
    parser.add_argument(
        "--all", action="store_true", help="show everything: all functions, the whole tree, all contexts"
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        metavar="FORMAT",
        help="for agents and scripts, print everything, most important first: markdown or json "
        "(docs/report-schema.json); for editors, numbers beside source lines: gutter-json (the same schema)",
    )
    parser.add_argument(
        "--max-lines",
        metavar="N",
        type="whole",
        help="with --format, print at most N lines and leave out the least important (default: 8 kB of Markdown, all "
        "of JSON)",
    )
    pages = "write HTML pages to OUT instead: a folder for coverage, a file for all others"
    parser.add_argument("--html", metavar="OUT", help=pages)
    parser.add_argument("--open", action="store_true", help=OPEN)
    parser.add_argument("--force", action="store_true", help=FORCE.format("OUT"))
    add_attempts(parser)
    help_ = "with --by, of a dataset: functions of the same name and file are one, as in two versions of the code"
    parser.add_argument("--by-name", action="store_true", help=help_)
    parser.add_argument(
        "--live", action="store_true", help="while the program runs, repeatedly show what it did since the last time"
    )
    add_color(parser)
    add_time(parser, "calls and lines: show and rank by", calls=True)
    parser.set_defaults(of_kinds=[(kind, declare(parser, kind.what)) for kind in every()])
    parser.epilog = _EXAMPLES


def orders() -> list[str]:
    """Return all words of --sort except cProfile's."""
    return list(dict.fromkeys(word for one in every() for word in orders_of(one)))


def _order(word: str) -> str:
    known = orders()
    if word.removeprefix("-") not in known and word not in OF_PSTATS:
        of_kinds = "; ".join(f"{one.what}: {', '.join(orders_of(one))}" for one in every())
        raise UsageError(f"--sort cannot be {word!a}", hint=did_you_mean(word, [*known, *OF_PSTATS]) + of_kinds)
    return OF_PSTATS.get(word, word)


def _refuse(args: argparse.Namespace, kind: Kind) -> None:
    """Raise UsageError for an option that belongs to recordings of another kind."""
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
    raise UsageError(f"--{shown} applies to recordings of {what} only", file, f"see: seismo info {shell_word(file)}")


def _check_format(args: argparse.Namespace) -> None:
    """Raise UsageError for options that --format excludes."""
    if not args.format:
        if args.max_lines is not None:
            raise UsageError("--max-lines needs --format", hint="--format markdown --max-lines 40")
        return
    if args.max_lines is not None and args.format == "gutter-json":
        hint = "leave it out: an editor wants every line"
        raise UsageError("--max-lines does not go with --format gutter-json", hint=hint)
    options = {name: default for _, declared in args.of_kinds for name, default in declared.items()}
    options |= {"sort": None, "all": False, "html": None, "open": False}
    for name, default in options.items():
        if name not in _WITH_FORMAT and getattr(args, name) != default:
            hint = "leave it out: --format shows everything that --max-lines has room for"
            raise UsageError(f"--{name.replace('_', '-')} does not go with --format", f"--format {args.format}", hint)


def _options(args: argparse.Namespace) -> Options:
    from dataclasses import fields

    return Options(**{field.name: getattr(args, field.name) for field in fields(Options)})


def _formatted(kind: Kind, recording: Recording, args: argparse.Namespace, options: Options) -> int:
    """Write the recording's story, or the data for an editor's gutter."""
    most = max(MOST, args.max_lines or 0)
    notes = args.format == "gutter-json"
    story = kind.gutter(recording, args.file, options) if notes else kind.story(recording, args.file, most, options)
    if args.format != "markdown":
        from seismo.report.story.document import document

        shown = document(story, args.max_lines)
    else:
        from seismo.report.story.markdown import markdown

        shown = markdown(story, args.max_lines)
    write(shown, sys.stdout)
    return 0


def write(shown: str, stream: TextIO) -> None:
    """Write a document as UTF-8 in any locale, because its reader is a program."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(shown)
        return
    stream.flush()
    buffer.write(shown.encode("utf-8", "backslashreplace"))
    buffer.flush()


def run(args: argparse.Namespace) -> int:
    """Show the recording on standard output."""
    given = _options(args)
    for kind, _ in args.of_kinds:
        kind.check(given)
    _check_format(args)
    if args.live:
        from seismo.cli import live

        live.check(args)
    args.limit = sys.maxsize if args.limit == 0 else args.limit
    args.file = or_newest(args.file)
    if args.by:
        from seismo.cli.dataset import is_given, report_groups

        if is_given(args.file):
            return report_groups(args)
        one_of("--by", args.by, TABLES)
    if args.by_name:
        raise UsageError("--by-name applies to the groups of a dataset", args.file, "seismo report DIR --by host")
    progress.begin("reading the recording")
    if args.live:
        recording = open_running(args.file)
    else:
        summed = not (args.thread or args.html or args.open)  # these show single threads
        recording = open_recording(args.file, attempts(args, args.file), summed=summed)
    kind = of(recording).instead(given, recording)
    _refuse(args, kind)
    if args.only:
        from seismo.process.engine import only_expression

        args.where = only_expression(args.only, args.where)
    check_time(recording, args.time, args.file)
    options = _options(args)
    if args.live:
        return live.follow(kind, recording, args.file, options)
    if args.format:
        return _formatted(kind, recording, args, options)
    if args.html or args.open:
        from seismo.cli.pages import page
        from seismo.report.kind import page_at

        return page(args, lambda path: kind.page(recording, path, options), lambda path: page_at(kind, path))
    progress.begin("making the report")
    paper = paper_for(sys.stdout, args.color)
    status = kind.report(paper, recording, options)
    if recording.calls and args.file != "-":
        paper.line()
        paper.line((f"seismo view {shell_word(args.file)}   shows the timeline", "quiet"))
    return status
