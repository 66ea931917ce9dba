"""Whole sources in a page: every line safe to show, up to a size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.report.page.payload import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOM = 6_000_000  # most characters of the sources of a page; deflated, about a sixth
LONGEST = 400  # most characters of a line


def safe(lines: Sequence[str]) -> list[str]:
    """Return the lines of a source for a page: tabs as blanks, nothing invisible, very long ones cut in the middle."""
    if lines and not lines[-1]:
        lines = lines[:-1]  # the empty text after the last line's end is no line
    return [shown(line[: 4 * LONGEST].expandtabs(), LONGEST) for line in lines]


class Room:
    """The space that is left for sources in a page."""

    def __init__(self, characters: int = ROOM) -> None:
        self._left = characters

    def take(self, lines: Sequence[str]) -> list[str] | None:
        """Return the lines for a page, or None if there is no space left for them."""
        if sum(map(len, lines)) > self._left:
            return None
        kept = safe(lines)
        self._left -= sum(map(len, kept))
        return kept
