"""Ranks what changed between two recordings.

In time, with the error of the change: one within its error is said to be none.
In calls, which are exact. And which functions came and went. A function is the
same when its module, name and file's name are; it may move to other lines.
Of recordings of objects: births, what is alive, bytes, by type and by line.

With one FILE it is compared with the newest recording here; with none, the
newest here is compared with the one before it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from seismo.model import Recording


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `seismo diff`."""
    from seismo.cli.files import add_file
    from seismo.cli.parsing import add_color

    add_file(parser, "old", "the newest but one")
    add_file(parser, "new")
    parser.add_argument("--limit", metavar="N", type=int, default=15, help="rows of each table (default: 15; 0: all)")
    parser.add_argument("--json", action="store_true", help="all functions as one JSON object, for programs")
    add_color(parser)


def run(args: Namespace) -> int:
    """Compares the two on standard output."""
    from seismo import model
    from seismo.cli.files import open_recording, or_newest_two
    from seismo.report.changes import as_json, write_changes
    from seismo.report.paper import paper_for

    args.old, args.new = or_newest_two(args.old, args.new)
    old, new = open_recording(args.old), open_recording(args.new)
    for path, recording in ((args.old, old), (args.new, new)):
        if recording.kind == "coverage":
            hint = "for what changed and was not executed: seismo report FILE --changed-since REV"
            raise UsageError("a recording of coverage has no calls to compare", path, hint)
    limit = args.limit if args.limit > 0 else None
    if "lifetimes" in (old.kind, new.kind):
        return _objects(args, old, new, limit)
    rows = list(model.diff(old, new))
    if args.json:
        sys.stdout.write(as_json(rows, args.old, args.new) + "\n")
    else:
        paper = paper_for(sys.stdout, args.color)
        write_changes(paper, old, new, rows, limit=limit)
    return 0


def _objects(args: Namespace, old: Recording, new: Recording, limit: int | None) -> int:
    from seismo.report.object_changes import as_json, write_changes
    from seismo.report.paper import paper_for

    for path, recording in ((args.old, old), (args.new, new)):
        if recording.kind != "lifetimes":
            raise UsageError("a recording of objects can only be compared with another", path, "see: seismo info FILE")
    if args.json:
        sys.stdout.write(as_json(old, new, (args.old, args.new)) + "\n")
    else:
        write_changes(paper_for(sys.stdout, args.color), old, new, limit)
    return 0
