"""Merging and subtraction of the tables about lines: lines, arcs, branches, contexts, instructions and sources.

Rows of different recordings with the same key become one, and their numbers are summed. Rows are sorted by contents
alone, so any engine may merge any number of recordings in any order.
"""

from __future__ import annotations

import array
import functools
import zlib
from itertools import chain
from typing import TYPE_CHECKING, Any

from seismo.model.columns import (
    Columns,
    Tables,
    Texts,
    columns_of,
    distinct,
    empty,
    ints,
    keys_of_functions,
    less,
    merged_rows,
    names_of,
    new_numbers,
    rows_of,
    taken,
)
from seismo.model.enums import RAN_ONLY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from seismo.model.recording import Recording

_KINDS = ("lines", "arcs")  # the kinds of context_hits by their numbers

# The columns that identify a row. A merge sums the other columns, except that it ORs flags.
PLACES = {
    "lines": ("function", "line"),
    "arcs": ("function", "from_line", "to_line"),
    "branches": ("function", "offset", "kind", "line", "column", "end_line", "end_column"),
    "instructions": ("function", "offset", "line", "text"),
    "sources": ("file", "path", "size", "mtime_ns", "crc"),
}
OF_FUNCTIONS = tuple(kind for kind, place in PLACES.items() if "function" in place)
_MASK = 2**64 - 1


def merged(parts: Sequence[Recording], function_maps: Sequence[Sequence[int]], texts: Texts) -> Tables:
    """Return the merged tables. `function_maps` has each part's new function ids; `texts` collects the strings."""
    tables: Tables = {}
    for kind, place in PLACES.items():
        tables[kind], _ = merged_rows(kind, place, parts, texts, function=function_maps)
    contexts = PackedContexts((name for part in parts for (name,) in rows_of(part, "contexts")), tables)
    for part, functions in zip(parts, function_maps, strict=True):
        if len(part._raw["contexts"]["id"]):
            contexts.add(part, functions)
    tables["contexts"] = columns_of("contexts", [(name,) for name in contexts.names], texts)
    tables["context_hits"] = columns_of("context_hits", contexts.rows())
    return tables


def moved_blocks(recording: Recording, maps: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield (context, bits, (kind, group of 64 rows)): the bit set of rows that ran, in another table's numbering.

    `maps` gives each row of lines and of arcs its number in that table, or -1. A block may come in several pieces.
    Neighbours mostly stay neighbours, so rows are moved by the run and not one by one.
    """
    runs_of: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    for context, kind, base, bits in rows_of(recording, "context_hits"):
        if kind >= len(_KINDS):
            continue  # a damaged file
        runs = runs_of.get((kind, base))
        if runs is None:
            runs = runs_of[kind, base] = _runs(maps[kind][base : base + 64])
        for mask, first, word, place in runs:
            moved = (bits & mask) >> first << place
            if moved & _MASK:
                yield context, moved & _MASK, (kind, word)
            if moved >> 64:
                yield context, moved >> 64, (kind, word + 1)


def _runs(rows: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Return (mask, first bit, new group of 64 rows, bit in it) for each run of rows consecutive in both tables."""
    runs: list[tuple[int, int, int, int]] = []
    last = -1
    for bit, row in enumerate(rows):
        if row >= 0:
            if last >= 0 and row == last + 1:
                mask, first, word, place = runs[-1]
                runs[-1] = (mask | 1 << bit, first, word, place)
            else:
                runs.append((1 << bit, bit, row >> 6, row & 63))
        last = row
    return runs


def columns_of_blocks(blocks: Iterable[tuple[int, int, tuple[int, int]]]) -> Columns:
    """Return the table context_hits of pieces of blocks, as moved_blocks() yields them."""
    united: dict[tuple[int, tuple[int, int]], int] = {}
    for context, bits, place in blocks:
        united[context, place] = united.get((context, place), 0) | bits
    rows = [(context, *block(place, bits)) for (context, place), bits in sorted(united.items())]
    return columns_of("context_hits", rows)


def block(place: tuple[int, int], bits: int) -> tuple[int, int, int]:
    """Return the columns (kind, base, bits) for the bit set of a (kind, group of 64 rows); bits as a signed number."""
    kind, word = place
    return kind, word << 6, bits - (1 << 64) if bits >> 63 else bits


class PackedContexts:
    """The lines and arcs of many recordings' contexts, in row numbers of the result: a few bytes for 64 rows."""

    def __init__(self, names: Iterable[str], tables: Tables) -> None:
        """Begin with the names of all contexts and with the tables of the result, which have all lines and arcs."""
        self.names = sorted(set(names))
        self._tables = tables
        self._packed = dict.fromkeys(self.names, zlib.compress(b""))

    @functools.cached_property
    def _rows(self) -> list[dict[tuple[int, ...], int]]:
        """The row of each line and of each arc; most recordings have no contexts, and need none of this."""
        places = (zip(*(self._tables[kind][name].tolist() for name in PLACES[kind]), strict=True) for kind in _KINDS)
        return [{key: row for row, key in enumerate(keys)} for keys in places]

    def add(self, part: Recording, functions: Sequence[int]) -> None:
        """Add a recording. functions: the new id of each of its functions."""
        maps = []
        for table, rows in zip(_KINDS, self._rows, strict=True):
            of, *rest = (part._raw[table][name].tolist() for name in PLACES[table])
            maps.append([rows[key] for key in zip(map(functions.__getitem__, of), *rest, strict=True)])
        names = [name for (name,) in rows_of(part, "contexts")]
        found = {name: dict(self._blocks(name)) for name in names}
        for context, bits, place in moved_blocks(part, maps):
            blocks = found[names[context]]
            blocks[place] = blocks.get(place, 0) | bits
        for name, blocks in found.items():
            numbers = chain.from_iterable((*place, bits) for place, bits in sorted(blocks.items()))
            self._packed[name] = zlib.compress(array.array("Q", numbers).tobytes(), 1)

    def _blocks(self, name: str) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield the bit set of each (kind, group of 64 rows), sorted."""
        numbers = array.array("Q", zlib.decompress(self._packed[name]))
        return zip(zip(numbers[::3], numbers[1::3], strict=True), numbers[2::3], strict=True)

    def rows(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield the rows of context_hits without their ids, sorted."""
        for number, name in enumerate(self.names):
            for place, bits in self._blocks(name):
                yield number, *block(place, bits)


def within(recording: Recording, contexts: set[int]) -> Tables:
    """Return the tables with only the given contexts, and the lines and arcs that ran in one of them.

    Hits then only record that a line ran. Branches are left out, because their contexts are not recorded.
    """
    same = [range(len(recording._raw[name]["id"])) for name in _KINDS]
    ran: dict[tuple[int, int], int] = {}
    for context, bits, place in moved_blocks(recording, same):
        if context in contexts:
            ran[place] = ran.get(place, 0) | bits
    tables: Tables = {"branches": empty("branches")}
    new_rows: list[Sequence[int]] = []
    for kind, name in enumerate(_KINDS):
        kept = [row for row in same[kind] if ran.get((kind, row >> 6), 0) >> (row & 63) & 1]
        new_rows.append(new_numbers(kept, len(same[kind])))
        tables[name] = taken(recording._raw[name], kept)
        tables[name]["flags"] = ints(flags | RAN_ONLY for flags in tables[name]["flags"].tolist())
    kept = sorted(contexts)
    tables["contexts"] = taken(recording._raw["contexts"], kept)
    new_names = {context: number for number, context in enumerate(kept)}
    moved = moved_blocks(recording, new_rows)
    tables["context_hits"] = columns_of_blocks(
        (new_names[context], bits, place) for context, bits, place in moved if context in contexts
    )
    return tables


def subtracted(later: Recording, earlier: Recording) -> Tables:
    """Return the tables less the counts of an earlier snapshot. Rows keep their ids, so context_hits is unchanged."""
    tables: Tables = {}
    for kind in OF_FUNCTIONS:
        row_of = {place: row for row, place in enumerate(_places(later, kind))}
        rows = list(map(row_of.get, _places(earlier, kind)))
        growing = [name for name in names_of(kind) if name not in (*PLACES[kind], "flags")]
        tables[kind] = less(later._raw[kind], earlier._raw[kind], growing, rows)
    return tables


def _places(recording: Recording, kind: str) -> list[tuple[Any, int]]:
    """Return the place of each row of a table, with its function by its key."""
    functions = keys_of_functions(recording)
    at = [names_of(kind).index(name) for name in PLACES[kind][1:]]
    return distinct((functions[row[0]], *(row[i] for i in at)) for row in rows_of(recording, kind))
