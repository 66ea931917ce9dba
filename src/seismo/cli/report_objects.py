"""`seismo report` of a recording of objects: its options, and what it shows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from seismo.model import Recording

# The options, with what they are when they are not given.
OPTIONS: dict[str, object] = {"by": None, "type": []}


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of `seismo report` that are about objects."""
    add = parser.add_argument_group("of objects").add_argument
    add(
        "--by",
        choices=("type", "line", "path", "all"),
        help="one table only: of types, of lines, of call paths, or of types with their lines and paths",
    )
    add(
        "--type",
        metavar="GLOB",
        action="append",
        default=[],
        help="only objects of types that match, such as 'app.*' or dict; may be given several times",
    )


def run(args: Namespace, recording: Recording) -> int:
    """Shows the recording."""
    from seismo.report.objects.text import ORDERS, ObjectsView, write_report
    from seismo.report.paper import paper_for

    if args.sort and args.sort not in ORDERS:
        raise UsageError(f"objects cannot be sorted by {args.sort}", hint=f"it is one of {', '.join(ORDERS)}")
    if args.html:
        if args.by or args.type or args.sort:
            given = next(name for name in ("by", "type", "sort") if getattr(args, name))
            raise UsageError(f"--{given} is not for the HTML page", hint="its tables can be sorted and filtered there")
        from seismo.cli.files import check_pages
        from seismo.report.objects.page import write_objects

        check_pages(args.html, args.force)
        write_objects(recording, args.html)
        return 0
    if args.by in ("line", "path") and not len(recording.objects):
        hint = "record it without --types to know the lines"
        raise UsageError("the recording has births and deaths by type only", f"--by {args.by}", hint)
    if args.by == "path" and not any(node >= 0 for node in recording.objects["node"]):
        hint = "record it with seismo refs --paths"
        raise UsageError("the recording has no call paths", "--by path", hint)
    if args.type:
        _match(recording, args.type)
    view = ObjectsView(
        by=args.by or "",
        order=args.sort or "",
        limit=args.limit,
        everything=args.all,
        types=tuple(args.type),
        libraries=args.libraries,
    )
    write_report(paper_for(sys.stdout, args.color), recording, view)
    return 0


def _match(recording: Recording, globs: list[str]) -> None:
    """Raises UsageError when a glob matches no type."""
    from seismo.model.objects.groups import by_type
    from seismo.report.objects.text import ObjectsView, chosen

    groups = by_type(recording)
    for glob in globs:
        if not chosen(groups, ObjectsView(types=(glob,))):
            names = [group.type for group in groups[:6]]
            raise UsageError(f"there is no type {glob!a}", "--type", f"those of most objects are {', '.join(names)}")
