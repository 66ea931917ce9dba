"""Whole sources in a page: every line safe to show, up to a size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.report.page.payload import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOM = 6_000_000  # characters of the sources of a page: deflated, about a sixth
LONGEST = 400  # characters of a line


def safe(lines: Sequence[str]) -> list[str]:
    """The lines of a source as a page shows them: tabs as blanks, nothing invisible, very long ones by their ends."""
    if lines and not lines[-1]:
        lines = lines[:-1]  # what stands behind the last line's end is no line
    return [shown(line[: 4 * LONGEST].expandtabs(), LONGEST) for line in lines]


class Room:
    """How much of the sources a page can still have."""

    def __init__(self, characters: int = ROOM) -> None:
        self._left = characters

    def take(self, lines: Sequence[str]) -> list[str] | None:
        """The lines as a page shows them; None: there is no room for them."""
        if sum(map(len, lines)) > self._left:
            return None
        kept = safe(lines)
        self._left -= sum(map(len, kept))
        return kept
