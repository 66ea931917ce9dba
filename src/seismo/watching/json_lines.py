"""Matches as JSON lines: one object per match, in ASCII."""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process.engine import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.watching.match import Match


def is_ours(begin: bytes) -> bool:
    """Return True if a file that begins with these bytes holds such lines."""
    return begin.startswith(b'{"moment": "')


def line(match: Match) -> str:
    """Return one match as a line, with its line end."""
    fields = match.fields()
    fields["time"] = round(match.time, 6)
    return json_text(fields) + "\n"
