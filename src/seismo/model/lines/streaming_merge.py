"""Streaming merge of contexts: which lines and arcs ran in which context, for many recordings.

A context that occurs in only one recording (a worker's tests, a child's request) has all its rows there. These rows are
not kept in memory: a first pass counts them, which fixes the row numbers of every context, and a second reading of the
recording writes them. Contexts of several recordings are united in memory, 16 bytes for 64 rows.
"""

from __future__ import annotations

import array
from itertools import accumulate
from typing import TYPE_CHECKING

from seismo.model.columns import columns_of, ints, rows_of
from seismo.model.lines.merge import PLACES, block, moved_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seismo.model.columns import Columns, Tables
    from seismo.model.recording import Recording

_SHARED = -1
_NAMES = ("lines", "arcs")
_Blocks = dict[tuple[int, int], int]  # (kind, number of a group of 64 rows) -> bit set of those that ran


class Contexts:
    """The contexts of many recordings. Each step (adding, counting, reading) covers all of them in one order."""

    def __init__(self) -> None:
        self._part_of: dict[str, int] = {}
        self._ids: dict[str, int] = {}
        self._rows: tuple[dict[tuple[int, ...], int], ...] = ()
        self._sizes: list[int] = []
        self._shared: dict[int, tuple[array.array[int], array.array[int], array.array[int]]] = {}

    def add(self, number: int, part: Recording) -> bool:
        """Add the names of a recording's contexts. Return True if it has any."""
        names = {name for (name,) in rows_of(part, "contexts")}
        for name in names:
            if self._part_of.setdefault(name, number) != number:
                self._part_of[name] = _SHARED
        return bool(names)

    def names(self, tables: Tables) -> list[str]:
        """Return the names, sorted. Later counts and rows refer to `tables`, the tables of the result."""
        names = sorted(self._part_of)
        self._ids = {name: number for number, name in enumerate(names)}
        self._sizes = [0] * len(names)
        places = (zip(*(tables[kind][name].tolist() for name in PLACES[kind]), strict=True) for kind in _NAMES)
        self._rows = tuple({key: row for row, key in enumerate(keys)} for keys in places)
        return names

    def count(self, part: Recording, functions: Sequence[int]) -> None:
        """Count the rows of the contexts that only this recording has, and unite those that it shares."""
        for name, blocks in self._blocks(part, functions):
            number = self._ids[name]
            if self._part_of[name] == _SHARED:
                self._unite(number, blocks)
            else:
                self._sizes[number] = len(blocks)

    def _blocks(self, part: Recording, functions: Sequence[int]) -> Iterator[tuple[str, _Blocks]]:
        """Yield each context of a recording with its blocks, in row numbers of the result."""
        maps = []
        for table, rows in zip(_NAMES, self._rows, strict=True):
            of, *rest = (part._raw[table][name].tolist() for name in PLACES[table])
            maps.append([rows[key] for key in zip(map(functions.__getitem__, of), *rest, strict=True)])
        names = [name for (name,) in rows_of(part, "contexts")]
        found: dict[str, _Blocks] = {name: {} for name in names}
        for context, bits, place in moved_blocks(part, maps):
            blocks = found[names[context]]
            blocks[place] = blocks.get(place, 0) | bits
        return iter(found.items())

    def _unite(self, number: int, blocks: _Blocks) -> None:
        kinds, bases, masks = self._shared.get(number, ((), (), ()))
        known = dict(zip(zip(kinds, bases, strict=True), masks, strict=True))
        before = sum(map(int.bit_count, known.values()))
        for key, bits in blocks.items():
            known[key] = known.get(key, 0) | bits
        if number in self._shared and sum(map(int.bit_count, known.values())) == before:
            return
        keys = sorted(known)
        self._shared[number] = (
            array.array("b", [kind for kind, _ in keys]),
            array.array("i", [base for _, base in keys]),
            array.array("Q", [known[key] for key in keys]),
        )
        self._sizes[number] = len(keys)

    def starts(self) -> list[int]:
        """Return the first row of each context, and the number of all rows."""
        return [0, *accumulate(self._sizes)]

    def shared_rows(self) -> Iterator[Columns]:
        """Yield the rows of contexts that several recordings share. All recordings must be counted first."""
        starts = self.starts()
        for number, (kinds, bases, masks) in sorted(self._shared.items()):
            yield _columns(starts[number], number, list(map(block, zip(kinds, bases, strict=True), masks)))

    def own_rows(self, part: Recording, functions: Sequence[int]) -> Iterator[Columns]:
        """Yield the rows of contexts that only this recording has. All recordings must be counted first."""
        starts = self.starts()
        for name, blocks in self._blocks(part, functions):
            number = self._ids[name]
            if self._part_of[name] != _SHARED:
                yield _columns(starts[number], number, [block(*of) for of in sorted(blocks.items())])


def _columns(first: int, context: int, rows: Sequence[tuple[int, int, int]]) -> Columns:
    table = columns_of("context_hits", [(context, *row) for row in rows])
    return {**table, "id": ints(range(first, first + len(rows)))}
