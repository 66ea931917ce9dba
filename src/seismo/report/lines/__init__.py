"""Reports of recordings of lines' times."""

from __future__ import annotations

from seismo import recording_kinds
from seismo.report.kind import Kind


class Lines(Kind):
    """Recordings of the times of lines."""

    name = recording_kinds.LINES
    rows = "lines"
    rest = "the sources with their times"
    others_are_in = "the lines that called them"
    compared = "seismo.report.changes:OF_LINES"
    also = ("limit", "min", "module", "exclude_module", "where", "only", "libraries")


KIND = Lines()
