"""The tables about lines, merged and subtracted: lines, arcs, branches, contexts, instructions, sources.

Rows of different recordings that are about the same place are one, and their numbers are sums. The order of the result
follows from its contents alone, so that any engine may merge any number in any order.
"""

from __future__ import annotations

import array
import operator
from typing import TYPE_CHECKING, Any

from seismo import _core
from seismo.model.enums import RAN_ONLY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from seismo.model.recording import Columns, Recording, Tables

SCHEMA: dict[str, list[tuple[str, str]]] = _core.schema()
LINES, ARCS = 0, 1  # kinds of context_hits

# What makes two rows the same one. The other columns are summed, but flags are joined.
PLACES = {
    "lines": ("function", "line"),
    "arcs": ("function", "from_line", "to_line"),
    "branches": ("function", "offset", "kind", "line", "column", "end_line", "end_column"),
    "instructions": ("function", "offset", "line", "text"),
    "sources": ("file", "path", "size", "mtime_ns", "crc"),
}
OF_FUNCTIONS = tuple(kind for kind, place in PLACES.items() if "function" in place)
_LARGEST = 2**63 - 1
_MASK = 2**64 - 1


def ints(values: Iterable[int]) -> memoryview:
    """A column."""
    return memoryview(array.array("q", values))


def rows_of(recording: Recording, kind: str) -> Iterator[tuple[Any, ...]]:
    """A table's rows without their ids; strings as text."""
    raw, strings = recording._raw[kind], recording._strings
    columns = [
        [strings[i] for i in raw[name].tolist()] if code == "s" else raw[name].tolist()
        for name, code in SCHEMA[kind]
        if name != "id"
    ]
    return zip(*columns, strict=True)


def empty(kind: str) -> Columns:
    """A table without rows."""
    return {name: memoryview(array.array("d" if code == "d" else "q")) for name, code in SCHEMA[kind]}


def merged(parts: Sequence[Recording], function_maps: Sequence[Sequence[int]], texts: Any) -> Tables:
    """The tables of all. function_maps: for each part its functions' new ids. texts: the new strings, with add()."""
    tables: Tables = {}
    row_maps: dict[str, list[list[int]]] = {}
    for kind in PLACES:
        tables[kind], row_maps[kind] = _merged_places(kind, parts, function_maps, texts)
    names = sorted({name for part in parts for (name,) in rows_of(part, "contexts")})
    tables["contexts"] = columns_of("contexts", [(name,) for name in names], texts)
    numbers = {name: number for number, name in enumerate(names)}
    tables["context_hits"] = _merged_contexts(parts, numbers, row_maps)
    return tables


def _merged_places(
    kind: str, parts: Sequence[Recording], function_maps: Sequence[Sequence[int]], texts: Any
) -> tuple[Columns, list[list[int]]]:
    names = [name for name, _ in SCHEMA[kind] if name != "id"]
    place = [names.index(name) for name in PLACES[kind]]
    rest = [(i, operator.or_ if name == "flags" else _clamped_sum) for i, name in enumerate(names) if i not in place]
    function = names.index("function") if "function" in names else -1
    known: dict[tuple[Any, ...], list[Any]] = {}
    keys_of: list[list[tuple[Any, ...]]] = []
    for part, functions in zip(parts, function_maps, strict=True):
        keys = []
        for values in rows_of(part, kind):
            row = list(values)
            if function >= 0:
                row[function] = functions[row[function]]
            key = tuple(row[i] for i in place)
            keys.append(key)
            have = known.get(key)
            if have is None:
                known[key] = row
                continue
            for i, join in rest:
                have[i] = join(have[i], row[i])
        keys_of.append(keys)
    order = {key: number for number, key in enumerate(sorted(known))}
    table = columns_of(kind, [known[key] for key in order], texts)
    return table, [[order[key] for key in keys] for keys in keys_of]


def clamped(total: Any) -> Any:
    """A sum of what is not negative as a column can hold it."""
    return min(total, _LARGEST)


def _clamped_sum(a: Any, b: Any) -> Any:
    return clamped(a + b)


def columns_of(kind: str, rows: Sequence[Sequence[Any]], texts: Any) -> Columns:
    """A table of rows without ids. texts: the strings, with add(); not asked for a table that has none."""
    table: Columns = {"id": memoryview(array.array("q", range(len(rows))))}
    for i, (name, code) in enumerate(SCHEMA[kind][1:]):
        values = [row[i] for row in rows]
        if code == "s":
            values = [texts.add(value) for value in values]
        table[name] = memoryview(array.array("d" if code == "d" else "q", values))
    return table


def context_rows(recording: Recording) -> Iterator[tuple[int, int, int]]:
    """(context, kind, row) for all that ran in a context: rows of lines (kind 0) and arcs (1)."""
    for context, kind, base, bits in rows_of(recording, "context_hits"):
        bits &= _MASK
        while bits:
            low = bits & -bits
            yield context, kind, base + low.bit_length() - 1
            bits ^= low


def moved_blocks(
    recording: Recording, maps: Sequence[Sequence[int | None]]
) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """(context, bits, (kind, number of 64 rows)) for what ran in contexts: which of these 64 rows of another table did.

    maps: for lines and for arcs, each row's number in that table, or None where it has none; a block may come in
    several pieces. Neighbours mostly stay neighbours, so that rows are moved by the run, not one by one.
    """
    runs_of: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    for context, kind, base, bits in rows_of(recording, "context_hits"):
        if kind > ARCS:
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


def _runs(rows: Sequence[int | None]) -> list[tuple[int, int, int, int]]:
    """(mask, first bit, number of 64 rows, place in them) of each run of rows that follow one another in both."""
    runs: list[tuple[int, int, int, int]] = []
    last = None
    for bit, row in enumerate(rows):
        if row is not None:
            if last is not None and row == last + 1:
                mask, first, word, place = runs[-1]
                runs[-1] = (mask | 1 << bit, first, word, place)
            else:
                runs.append((1 << bit, bit, row >> 6, row & 63))
        last = row
    return runs


def _merged_contexts(
    parts: Sequence[Recording], numbers: dict[str, int], row_maps: dict[str, list[list[int]]]
) -> Columns:
    blocks: dict[tuple[int, tuple[int, int]], int] = {}
    for index, part in enumerate(parts):
        contexts = [numbers[name] for (name,) in rows_of(part, "contexts")]
        for context, bits, place in moved_blocks(part, (row_maps["lines"][index], row_maps["arcs"][index])):
            key = (contexts[context], place)
            blocks[key] = blocks.get(key, 0) | bits
    return _columns_of_blocks(blocks)


def _columns_of_blocks(blocks: dict[tuple[int, tuple[int, int]], int]) -> Columns:
    """The table of what ran in contexts: blocks are which of 64 rows ran, by (context, (kind, number of 64 rows))."""
    rows = [(context, *block(place, bits)) for (context, place), bits in sorted(blocks.items())]
    return columns_of("context_hits", rows, None)


def block(place: tuple[int, int], bits: int) -> tuple[int, int, int]:
    """(kind, base, bits) as columns hold them, of (kind, number of 64 rows) and which of these rows ran."""
    kind, word = place
    return kind, word << 6, bits - (1 << 64) if bits >> 63 else bits


def within(recording: Recording, contexts: set[int]) -> Tables:
    """The tables with only those lines and arcs that ran in one of the contexts, and those contexts alone.

    Hits say only that it ran, then. Of branches nobody knows in which context they went where: they are left out.
    """
    same = [range(len(recording._raw[name]["id"])) for name in ("lines", "arcs")]
    ran: dict[tuple[int, int], int] = {}
    for context, bits, place in moved_blocks(recording, same):
        if context in contexts:
            ran[place] = ran.get(place, 0) | bits
    tables: Tables = {"branches": empty("branches")}
    new_rows: list[list[int | None]] = []
    for kind, name in enumerate(("lines", "arcs")):
        kept = [row for row in same[kind] if ran.get((kind, row >> 6), 0) >> (row & 63) & 1]
        numbers: list[int | None] = [None] * len(same[kind])
        for number, row in enumerate(kept):
            numbers[row] = number
        new_rows.append(numbers)
        tables[name] = taken(recording._raw[name], kept)
        flags = [flags | RAN_ONLY for flags in tables[name]["flags"].tolist()]
        tables[name]["flags"] = memoryview(array.array("q", flags))
    kept = sorted(contexts)
    tables["contexts"] = taken(recording._raw["contexts"], kept)
    new_names = {context: number for number, context in enumerate(kept)}
    blocks: dict[tuple[int, tuple[int, int]], int] = {}
    for context, bits, place in moved_blocks(recording, new_rows):
        if context in contexts:
            key = (new_names[context], place)
            blocks[key] = blocks.get(key, 0) | bits
    tables["context_hits"] = _columns_of_blocks(blocks)
    return tables


def taken(table: Columns, rows: Sequence[int]) -> Columns:
    """The given rows of a table, with new ids."""
    taken = {}
    for name, column in table.items():
        values = column.tolist()
        taken[name] = memoryview(array.array(column.format, [values[row] for row in rows]))
    taken["id"] = memoryview(array.array("q", range(len(rows))))
    return taken


def subtracted(later: Recording, earlier: Recording) -> Tables:
    """What the tables of an earlier snapshot lack. Rows keep their ids, so what ran in contexts stays as it is."""
    tables: Tables = {}
    for kind in OF_FUNCTIONS:
        now = later._raw[kind]
        columns = dict(now)
        before = earlier._raw[kind]
        growing = [name for name, _ in SCHEMA[kind] if name not in (*PLACES[kind], "id", "flags")]
        for name in growing:
            values = now[name].tolist()
            old = before[name].tolist()
            for row in range(min(len(old), len(values))):
                values[row] = max(0, values[row] - old[row])
            columns[name] = memoryview(array.array(now[name].format, values))
        tables[kind] = columns
    return tables
