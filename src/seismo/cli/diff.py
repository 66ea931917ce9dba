"""Ranks what changed between two recordings, or between two groups of them.

In time, with the error of the change: one within its error is said to be none.
In calls, which are exact. And which functions came and went. A function is the
same when its module, name and file's name are; it may move to other lines.
Of recordings of lines the same, line by line; of coverage, which lines ran on
one side only; of objects: births, what is alive, bytes, by type and by line.

Runs of one program differ by more than the error of measuring them. Give
several a side, and the diff uses how much they do:

  seismo diff --old A B C --new D E F

A count that differs between the runs of a side is a range, and has changed
where the ranges of the sides have nothing in common.

With one FILE it is compared with the newest recording here; with none, the
newest here is compared with the one before it.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from seismo.model import Recording
    from seismo.report.kind import Kind

SEVERAL = "seismo diff --old A B C --new D E F"


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `seismo diff`."""
    from seismo.cli.files import add_file
    from seismo.cli.parsing import add_color, add_time

    add_file(parser, "old", "the newest but one")
    add_file(parser, "new")
    several = "recordings of one side, instead of {}: the more, the more can be told"
    parser.add_argument("--old", dest="olds", metavar="FILE", nargs="*", help=several.format("OLD"))
    parser.add_argument("--new", dest="news", metavar="FILE", nargs="*", help=several.format("NEW"))
    parser.add_argument("--limit", metavar="N", type=int, default=15, help="rows of each table (default: 15; 0: all)")
    parser.add_argument("--json", action="store_true", help="all of it as one JSON object, for programs")
    add_time(parser)
    add_color(parser)


def run(args: Namespace) -> int:
    """Compares the two sides on standard output."""
    from seismo.cli.files import check_time, open_recording
    from seismo.report.paper import paper_for

    old, new = _sides(args)
    recordings = {path: open_recording(path) for path in (*old, *new)}
    kind = _kind(recordings)
    if kind.times:
        for path, recording in recordings.items():
            check_time(recording, args.time, path)
        recordings = {path: recording.timed(args.time or "cpu") for path, recording in recordings.items()}
    elif args.time:
        raise UsageError("--time is for recordings of calls and lines", old[0], "see: seismo info FILE")
    paper = None if args.json else paper_for(sys.stdout, args.color)
    sides = [recordings[path] for path in old], [recordings[path] for path in new]
    written = kind.changes(paper, sides, (old, new), args.limit if args.limit > 0 else None)
    if written:
        sys.stdout.write(written + "\n")
    return 0


def _sides(args: Namespace) -> tuple[list[str], list[str]]:
    """The files of either side. Raises UsageError where one is empty, or a file is given twice."""
    from seismo.cli.files import or_newest_two

    if args.olds is None and args.news is None:
        args.old, args.new = or_newest_two(args.old, args.new)
        old, new = [args.old], [args.new]
    else:
        if args.old is not None:
            raise UsageError(f"{args.old!a} is on neither side", "beside --old and --new", SEVERAL)
        for name, files in (("--old", args.olds), ("--new", args.news)):
            if not files:
                raise UsageError("one side has no recording", name, SEVERAL)
        old, new = args.olds, args.news
    seen: list[str] = []
    for path in (*old, *new):
        if any(_same(path, other) for other in seen):
            hint = "a run says nothing about itself: give each file once, on one side"
            raise UsageError("this recording is given twice", path, hint)
        seen.append(path)
    return old, new


def _same(path: str, other: str) -> bool:
    try:
        return path == other or os.path.samefile(path, other)
    except (OSError, ValueError):
        return False  # which of them cannot be read is told when they are


def _kind(recordings: dict[str, Recording]) -> Kind:
    """The kind of them all. Raises UsageError where they are of several."""
    from seismo.report.kind import of

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
