"""Shows what changed between two recordings, or between two groups of them.

For calls: exact numbers of calls, functions that were added or removed, and
times that changed by more than equal runs differ. A function is the same if
its module, name and file name are the same; it may move to other lines.

For lines: the same, line by line. For coverage: lines that were executed on one
side only. For objects: births, living objects and bytes, by type and by line.

With one run a side, a model estimates how much equal runs differ, and only
large changes of a time are found. Several runs a side show smaller changes:

  seismo diff --old A B C --new D E F

A count that differs between runs of one side is shown as a range. Such a count has changed if the ranges of the two
sides do not overlap.

The recordings of a dataset are compared by a label:

  seismo diff DIR --by label=version

A single FILE is compared with the newest recording in the current folder.
Without FILE, the two newest recordings there are compared.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from seismo import progress
from seismo.cli.files import add_file, check_time, open_recording, or_newest_two, same
from seismo.cli.options import FORCE, JSON, OPEN
from seismo.cli.parsing import add_color, add_time
from seismo.errors import UsageError
from seismo.report.kind import of
from seismo.report.paper import paper_for

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from seismo.model import Recording
    from seismo.report.kind import Kind

SEVERAL = "seismo diff --old A B C --new D E F"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `seismo diff`."""
    add_file(parser, "old", "the newest but one")
    add_file(parser, "new")
    several = "all recordings of this side, instead of {}; more of them show smaller changes"
    parser.add_argument("--old", dest="olds", metavar="FILE", nargs="*", help=several.format("OLD"))
    parser.add_argument("--new", dest="news", metavar="FILE", nargs="*", help=several.format("NEW"))
    by = "of a dataset: compare the recordings by their values of a label; with more than two: --old A --new B"
    parser.add_argument("--by", metavar="label=NAME", help=by)
    limit = "show at most N rows of each table (default: 15; 0: all rows)"
    parser.add_argument("--limit", metavar="N", type="count", default=15, help=limit)
    parser.add_argument("--json", action="store_true", help=JSON)
    page = "calls: write an HTML page to OUT instead: a flame graph of both sides, and the functions"
    parser.add_argument("--html", metavar="OUT", help=page)
    parser.add_argument("--open", action="store_true", help=OPEN)
    parser.add_argument("--force", action="store_true", help=FORCE.format("OUT"))
    add_time(parser, default="cpu")
    add_color(parser)


def run(args: Namespace) -> int:
    """Compare the two sides and write the result to standard output."""
    if args.json and (args.html or args.open):
        raise UsageError("--json and a page cannot both be written", "--json", "leave one of them out")
    if args.by:
        from seismo.cli.dataset import diff_sides

        old, new, recordings = diff_sides(args)
    else:
        old, new = _sides(args)
        files = progress.over("reading recordings", (*old, *new), len(old) + len(new))
        recordings = {path: open_recording(path, summed=not (args.html or args.open)) for path in files}
    kind = _kind(recordings)
    if kind.times:
        for path, recording in recordings.items():
            check_time(recording, args.time, path)
        recordings = {path: recording.timed(args.time or "cpu") for path, recording in recordings.items()}
    elif args.time:
        raise UsageError("--time applies to recordings of calls and lines only", old[0], "see: seismo info FILE")
    progress.begin("comparing")
    paper = None if args.json else paper_for(sys.stdout, args.color)
    sides = [recordings[path] for path in old], [recordings[path] for path in new]
    if args.html or args.open:
        from seismo.cli.pages import page
        from seismo.report.kind import changes_page

        page(args, lambda path: changes_page(kind, sides, path, (old, new)))
        return 0
    written = kind.changes(paper, sides, (old, new), args.limit if args.limit > 0 else None)
    if written:
        sys.stdout.write(written + "\n")
    return 0


def _sides(args: Namespace) -> tuple[list[str], list[str]]:
    """Return the files of both sides. Raise UsageError if a side is empty or a file occurs twice."""
    if args.olds is None and args.news is None:
        args.old, args.new = or_newest_two(args.old, args.new)
        old, new = [args.old], [args.new]
    else:
        if args.old is not None:
            raise UsageError(f"{args.old!a} is on neither side", "--old and --new must name all files", SEVERAL)
        for name, files in (("--old", args.olds), ("--new", args.news)):
            if not files:
                raise UsageError("one side has no recording", name, SEVERAL)
        old, new = args.olds, args.news
    both = [*old, *new]
    for number, path in enumerate(both):
        if any(same(path, other) for other in both[:number]):
            raise UsageError("this recording is given twice", path, "give each file once, on one side only")
    return old, new


def _kind(recordings: dict[str, Recording]) -> Kind:
    """Return the common kind of all recordings. Raise UsageError if they differ."""
    kinds = {path: of(recording) for path, recording in recordings.items()}
    first, *others = kinds.items()
    for path, kind in others:
        if kind is not first[1]:
            raise UsageError(
                f"a recording of {kind.what} cannot be compared with one of {first[1].what}",
                f"{path} and {first[0]}",
                "see: seismo info FILE",
            )
    return first[1]
