"""A story in a length: the most rows with which what is written is no longer than that.

Rows are added in the order of their weights, so "the most rows" is one number, found by halving. A row more may at best
take the place of the line that said of it that it is missing: what is written never gets shorter by a row. What then
does not fit is passed over, since a lighter row may be a shorter one: a block of source lines must not keep out what
needs a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from seismo.report.story import Story

PASSED_OVER = 12  # rows, until it is full


def fitting(story: Story, write: Callable[[Story], str], fits: Callable[[str], bool]) -> str:
    """What `write` makes of as much of the story as fits; of nothing but its title where not even that does."""
    best = write(story)
    if fits(best):
        return best
    order = story.order()
    best = write(story.only(set()))
    least, most = 0, len(order)
    while least < most:
        number = (least + most + 1) // 2
        shown = write(story.only(set(order[:number])))
        if fits(shown):
            least, best = number, shown
        else:
            most = number - 1
    chosen = set(order[:least])
    passed = 0
    for place in order[least:]:
        if passed == PASSED_OVER:
            break
        shown = write(story.only({*chosen, place})) if story.stands(place, chosen) else ""
        if shown and fits(shown):
            chosen.add(place)
            best = shown
        else:
            passed += 1
    return best
