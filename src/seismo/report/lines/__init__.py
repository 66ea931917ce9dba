"""Reports of recordings of lines' times."""

from __future__ import annotations

from seismo import recording_kinds
from seismo.report.kind import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.report.kind import Sides
    from seismo.report.paper import Paper


class Lines(Kind):
    """Recordings of the times of lines."""

    name = recording_kinds.LINES
    rows = "lines"
    rest = "the sources with their times"
    others_are_in = "the lines that called them"
    also = ("limit", "min", "module", "exclude_module", "where", "only", "libraries")

    def changes(self, paper: Paper | None, sides: Sides, files: tuple[list[str], list[str]], limit: int | None) -> str:
        from seismo.model.difference import difference_of_lines
        from seismo.report.changes import OF_LINES, show_changes

        return show_changes(paper, sides, difference_of_lines(*sides), OF_LINES, files, limit)


KIND = Lines()
