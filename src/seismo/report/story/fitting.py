"""A story in a limited length: as many rows as fit.

Rows are added in the order of their weights, so their number is found by bisection. That works because one more row
never makes the text shorter: at best it replaces the line that mentions the missing row. A row that then does not fit
is skipped, since a lighter row may be shorter: a block of source lines must not keep out a row of one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from seismo.report.story import Story

PASSED_OVER = 12  # rows to skip before the document counts as full


def fitting(story: Story, write: Callable[[Story], str], fits: Callable[[str], bool]) -> str:
    """Return the text of as many rows of the story as fit, or of its title alone if none does."""
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
