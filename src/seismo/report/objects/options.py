"""The options of `seismo report` that are about objects, and what they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from seismo.model import Recording
    from seismo.report.objects.text import ObjectsView


def add(parser: ArgumentParser) -> None:
    """Declares the options of `seismo report` that are about objects."""
    declare = parser.add_argument_group("of objects").add_argument
    declare(
        "--by",
        choices=("type", "line", "path", "all"),
        help="one table only: of types, of lines, of call paths, or of types with their lines and paths",
    )
    declare(
        "--type",
        metavar="GLOB",
        action="append",
        default=[],
        help="only objects of types that match, such as 'app.*' or dict; may be given several times",
    )


def check_page(args: Namespace) -> None:
    """Raises UsageError for options of tables: the page has tables that can be sorted and filtered."""
    given = next((name for name in ("by", "type", "sort") if getattr(args, name)), "")
    if given:
        raise UsageError(f"--{given} is not for the HTML page", hint="its tables can be sorted and filtered there")


def view(args: Namespace, order: str, recording: Recording) -> ObjectsView:
    """What to show of the recording. Raises UsageError for what it does not have."""
    from seismo.report.objects.text import ObjectsView

    if args.by in ("line", "path") and not len(recording.objects):
        hint = "record it without --types to know the lines"
        raise UsageError("the recording has births and deaths by type only", f"--by {args.by}", hint)
    if args.by == "path" and not any(node >= 0 for node in recording.objects["node"]):
        hint = "record it with seismo objects --paths"
        raise UsageError("the recording has no call paths", "--by path", hint)
    if args.type:
        _match(recording, args.type)
    return ObjectsView(
        by=args.by or "",
        order=order,
        limit=args.limit,
        everything=args.all,
        types=tuple(args.type),
        libraries=args.libraries,
    )


def _match(recording: Recording, globs: list[str]) -> None:
    """Raises UsageError when a glob matches no type."""
    from seismo.model.objects.groups import by_type
    from seismo.report.objects.text import ObjectsView, chosen

    groups = by_type(recording)
    for glob in globs:
        if not chosen(groups, ObjectsView(types=(glob,))):
            names = [group.type for group in groups[:6]]
            raise UsageError(f"there is no type {glob!a}", "--type", f"those of most objects are {', '.join(names)}")
