"""What people read of a recording of births and deaths of objects."""

from __future__ import annotations

from seismo import kinds
from seismo.report.kind import MOST, Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from typing import TextIO

    from seismo.model import Recording
    from seismo.report.gutter import Gutter
    from seismo.report.kind import Facts, Sides
    from seismo.report.paper import Paper
    from seismo.report.story import Story
    from seismo.report.words import Signs


class Objects(Kind):
    """Births and deaths of objects."""

    name = kinds.OBJECTS
    rows = "objects"
    others_are_in = "their callers' own time"
    also = ("limit", "libraries")
    tables = (
        ("types", ("type",)),
        ("objects", ("creating line of a type", "creating lines of types")),
        ("object_spans", ("span",)),
        ("holders", ("holder of survivors", "holders of survivors")),
        ("marks", ("mark",)),
    )

    def unseen(self) -> str:
        from seismo.report.objects.facts import UNTOLD

        return UNTOLD

    def orders(self) -> Sequence[str]:
        from seismo.report.objects.text import ORDERS

        return list(ORDERS)

    def add_options(self, parser: ArgumentParser) -> None:
        from seismo.report.objects.options import add

        add(parser)

    def instead(self, args: Namespace, recording: Recording) -> Kind:
        """The calls that were recorded beside, if the options are about calls."""
        if len(recording.tree) and (args.tree or args.callers or args.callees):
            from seismo.report.kind import named

            return named(kinds.CALLS)
        return self

    def report(self, paper: Paper, recording: Recording, args: Namespace) -> int:
        from seismo.report.objects.options import view
        from seismo.report.objects.text import write_report

        write_report(paper, recording, view(args, self.order(args.sort or "", "--sort"), recording))
        return 0

    def show(self, paper: Paper, recording: Recording, order: str, limit: int | None, times: str) -> None:
        from seismo.errors import UsageError
        from seismo.report.objects.text import ObjectsView, write_report

        if times:
            raise UsageError("there is no choice of times in a recording of objects", "time")
        write_report(paper, recording, ObjectsView(order=order, limit=limit))

    def summary(self, recording: Recording, stream: TextIO, path: str = "", coloured: bool = False) -> None:
        from seismo.report.objects.summary import write

        write(recording, stream, path, coloured)

    def page(self, recording: Recording, path: str | os.PathLike[str], args: Namespace | None = None) -> int:
        from seismo.report.objects.options import check_page
        from seismo.report.objects.page import write_objects

        if args is not None:
            check_page(args)
        write_objects(recording, path)
        return 0

    def story(self, recording: Recording, file: str = "FILE", most: int = MOST, args: Namespace | None = None) -> Story:
        from seismo.report.objects.story import story

        return story(recording, file, most, args)

    def gutter(self, recording: Recording, file: str = "FILE", args: Namespace | None = None) -> Gutter:
        from seismo.report.objects.gutter import gutter

        return gutter(recording, file, args)

    def changes(self, paper: Paper | None, sides: Sides, files: tuple[list[str], list[str]], limit: int | None) -> str:
        from seismo.report.objects.changes import as_json, write_changes

        if paper is None:
            return as_json(*sides, files)
        write_changes(paper, *sides, limit)
        return ""

    def facts(self, recording: Recording, signs: Signs) -> Facts:
        from seismo.report.objects.facts import facts

        return facts(recording, signs)

    def measured(self, recording: Recording, signs: Signs) -> str:
        from seismo.report.objects.facts import measured

        return measured(recording, signs)

    def notes(self, recording: Recording) -> list[str]:
        from seismo.report.objects.facts import notes

        return notes(recording)


KIND = Objects()
