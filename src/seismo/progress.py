"""Steps of long work, reported to a watcher that shows them; without one, nothing happens.

    for row in progress.over("writing calls", rows, total): ...
    progress.begin("reading the trace")

Only `seismo.cli.progress` sets a watcher, and only in commands that record no program. This module imports nothing,
because recorded programs load modules that report steps.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol, TypeVar

    Item = TypeVar("Item")

    class Watcher(Protocol):
        """An object that shows the steps."""

        def report(self, what: str, done: int, total: int) -> None:
            """Note the current work, and how much of it is done; a total of 0 is unknown. This has to be fast."""


STEP = 1024  # items between two reports, where there are many

watcher: Watcher | None = None


def begin(what: str) -> None:
    """Report work of unknown length."""
    report(what, 0, 0)


def report(what: str, done: int, total: int) -> None:
    """Report what is done of the current work."""
    if watcher is not None:
        watcher.report(what, done, total)


def over(what: str, items: Iterable[Item], total: int, done: int = 0) -> Iterable[Item]:
    """Return the items, and report how many were taken. total: all items, with the `done` ones before these."""
    return items if watcher is None else _counted(watcher, what, items, total, done)


def _counted(to: Watcher, what: str, items: Iterable[Item], total: int, done: int) -> Iterator[Item]:
    step = STEP if total > 10 * STEP else 1
    for item in items:
        if not done % step:
            to.report(what, done, total)
        yield item
        done += 1
    to.report(what, done, total)
