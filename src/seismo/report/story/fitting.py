"""A story in a length: the most rows with which what is written is no longer than that.

Rows are added in the order of their weights, so "the most rows" is one number, found by halving. A row more may at best
take the place of the line that said of it that it is missing: what is written never gets shorter by a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from seismo.report.story import Story


def fitting(story: Story, write: Callable[[Story], str], fits: Callable[[str], bool]) -> str:
    """What `write` makes of as much of the story as fits; of nothing but its title where not even that does."""
    whole = write(story)
    if fits(whole):
        return whole
    least, most = 0, story.rows
    best = write(story.kept(0))
    while least < most:
        number = (least + most + 1) // 2
        shown = write(story.kept(number))
        if fits(shown):
            least, best = number, shown
        else:
            most = number - 1
    return best
