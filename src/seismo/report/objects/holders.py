"""The holders of survivors: trees from the survivors to the roots, in words.

The recording has a tree for each examined row of objects. The trees of one type and line (there is a row for each call
path) are merged: holders are equal if they have the same name and hold by the same name. Holders are on one line if
each is held by exactly one other that holds as many:

    1,000 app.Session  app.py:12  (100 of them asked)
    ├─ 990 ← ['…'] of dict ← .sessions of app.Store ← store of module app
    └─ 10 ← [0] of list ← local backlog of frame app:main

Read a line from left to right: each item is held by the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.model.enums import HOLDER_CYCLE, HOLDER_FAR, HOLDER_NONE, HOLDER_ROOT
from seismo.report import words as text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.model import Recording
    from seismo.report.paper import Paper
    from seismo.report.words import Signs

MOST = 4  # most holders of one thing to show
DEEPEST = 30  # most levels, as a file may be damaged or forged


@dataclass
class Held:
    """Survivors with their holders. `asked`: how many of them were asked about."""

    asked: int = 0
    held_by: dict[tuple[str, str], Holder] = field(default_factory=dict)

    def ranked(self) -> list[Holder]:
        """Those who hold them, those of most survivors first."""
        return sorted(self.held_by.values(), key=lambda one: (-one.count, one.name, one.by))


@dataclass
class Holder(Held):
    """A holder of survivors, and who holds it. `count`: the survivors that are held this way."""

    name: str = ""
    by: str = ""
    flags: int = 0
    count: int = 0

    def words(self) -> str:
        """Return the holder and the name it holds by: `.sessions of app.Store`."""
        if self.flags & HOLDER_NONE:
            return "no holder was found (it may be C code, or a local variable)"
        return printable(f"{self.by} of {self.name}" if self.by else self.name)

    def ending(self) -> str:
        """Return why no holder of it is shown, or "" if it is a root or has holders."""
        if self.flags & HOLDER_CYCLE:
            return "a cycle: it is on this path already"
        return "not followed further" if self.flags & HOLDER_FAR else ""

    @property
    def is_root(self) -> bool:
        """Return True for a holder that needs none itself: a module or a frame."""
        return bool(self.flags & HOLDER_ROOT)


class Holders:
    """All trees of a recording, by row of objects."""

    def __init__(self, recording: Recording) -> None:
        self._rows = list(recording.holders)
        self._above: dict[int, list[int]] = {}
        self._direct: dict[int, list[int]] = {}
        for row in self._rows:
            if row.parent >= 0:
                self._above.setdefault(row.parent, []).append(row.id)
            else:
                self._direct.setdefault(row.object, []).append(row.id)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def of(self, objects: Iterable[int]) -> Held | None:
        """Return the merged holders of these rows of objects, or None if none was examined."""
        held = Held()
        for number in objects:
            direct = self._direct.get(number, [])
            held.asked += max((self._rows[row].asked for row in direct), default=0)
            self._lay(direct, held.held_by, 0)
        return held if held.held_by else None

    def _lay(self, rows: list[int], on: dict[tuple[str, str], Holder], depth: int) -> None:
        if depth > DEEPEST:
            return
        for number in rows:
            row = self._rows[number]
            holder = on.setdefault((row.holder, row.by), Holder(name=row.holder, by=row.by))
            holder.flags |= row.flags
            holder.count += row.count
            self._lay(self._above.get(number, []), holder.held_by, depth + 1)


def write_holders(paper: Paper, held: Held, indent: int, alive: int) -> None:
    """Write the tree below the line of the survivors. alive: the number of survivors, examined or not."""
    blank = " " * indent
    asked = f" ({held.asked:,} of them asked):" if 0 < held.asked < alive else ""
    paper.line((f"{blank}held by{asked}", "quiet"))
    _write(paper, held.ranked(), blank)


def _write(paper: Paper, holders: list[Holder], before: str) -> None:
    signs = paper.signs
    shown = holders if len(holders) <= MOST + 1 else holders[:MOST]
    rest = holders[len(shown) :]
    for number, holder in enumerate(shown):
        last = number == len(shown) - 1 and not rest
        links = chain(holder)
        here, under = (signs.end, signs.below) if last else (signs.fork, signs.beside)
        *lines, end = _wrapped(links, paper.width - text.cells(before) - 12, signs)
        spans = [*((line, "") for line in lines), (end, "name" if links[-1].is_root else "")]
        count = f"{holder.count:,} "
        paper.line((before + here, "quiet"), (count, "strong"), spans[0])
        for span in spans[1:]:
            paper.line((before + under + " " * len(count), "quiet"), span)
        _write(paper, links[-1].ranked(), before + under)
    if rest:
        others = sum(holder.count for holder in rest)
        words = f"{others:,} {signs.held} {text.number_of(len(rest), 'other holder')}"
        paper.line((f"{before}{signs.end}{words}", "quiet"))


def chain(holder: Holder) -> list[Holder]:
    """Return the holder and its holders, as long as each is held by exactly one other that holds as many."""
    links = [holder]
    while len(links[-1].held_by) == 1:
        (above,) = links[-1].held_by.values()
        if above.count != links[-1].count:
            break
        links.append(above)
    return links


def _wrapped(chain: list[Holder], width: int, signs: Signs) -> list[str]:
    """Return the chain as lines, broken before an arrow."""
    pieces = [text.beginning(f"{signs.held} {holder.words()}", max(24, width), signs) for holder in chain]
    pieces += [f"({ending})"] if (ending := chain[-1].ending()) else []
    return text.filled(pieces, width)
