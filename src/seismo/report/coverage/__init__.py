"""What people read of a recording of coverage."""

from __future__ import annotations

from seismo import kinds
from seismo.report.kind import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from seismo.model import Recording
    from seismo.report.kind import Facts, Sides
    from seismo.report.paper import Paper
    from seismo.report.words import Signs


class Coverage(Kind):
    """Which lines and branches were executed."""

    name = kinds.COVERAGE
    rows = "files"

    def orders(self) -> Sequence[str]:
        from seismo.report.coverage.text import ORDERS

        return list(ORDERS)

    def add_options(self, parser: ArgumentParser) -> None:
        from seismo.report.coverage.options import add

        add(parser)

    def report(self, paper: Paper, recording: Recording, args: Namespace) -> int:
        from seismo.report.coverage.options import write

        return write(paper, recording, args)

    def page_at(self, path: str) -> str:
        return f"{path.rstrip('/')}/index.html"

    def page(self, recording: Recording, path: str | os.PathLike[str], args: Namespace | None = None) -> int:
        from seismo.report.coverage.options import write_pages

        assert args is not None, "a session writes its pages by its own settings"
        return write_pages(recording, path, args)

    def changes(self, paper: Paper | None, sides: Sides, files: tuple[list[str], list[str]], limit: int | None) -> str:
        from seismo.report.coverage.changes import as_json, write_changes

        if paper is None:
            return as_json(*sides, files)
        write_changes(paper, *sides, limit)
        return ""

    def facts(self, recording: Recording, signs: Signs) -> Facts:
        from seismo.report.coverage.facts import facts

        return facts(recording, signs)

    def measured(self, recording: Recording, signs: Signs) -> str:  # noqa: ARG002
        from seismo.report.coverage.facts import measured

        return measured(recording)


KIND = Coverage()
