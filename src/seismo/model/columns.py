"""Raw tables: dicts of columns by name, made from rows and read back as rows."""

from __future__ import annotations

import array
from collections import defaultdict
from itertools import count
from typing import TYPE_CHECKING, Any

from seismo import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from seismo.model.recording import Recording
    from seismo.model.table import Strings

Columns = dict[str, memoryview]
Tables = dict[str, Columns]

SCHEMA: dict[str, list[tuple[str, str]]] = _core.schema()
# The columns that identify a function across recordings, the first ones of its table.
KEY = ("kind", "module", "qualname", "file", "line")
LARGEST = 2**63 - 1  # damaged files contain such counts
# The tables to which columns refer, and the lowest value: -1 stands for none. A table follows those that it refers to.
REFERENCES: dict[str, dict[str, tuple[str, int]]] = {
    "processes": {},
    "threads": {"process": ("processes", 0)},
    "functions": {},
    "nodes": {"parent": ("nodes", -1), "thread": ("threads", 0), "function": ("functions", 0)},
    **{kind: {"function": ("functions", 0)} for kind in ("lines", "arcs", "branches", "instructions")},
    "types": {},
    "objects": {"type": ("types", 0), "function": ("functions", -1), "node": ("nodes", -1)},
    "lifetimes": {"object": ("objects", 0)},
    "object_spans": {"function": ("functions", -1)},
    "object_survivors": {"span": ("object_spans", 0), "object": ("objects", 0)},
    "holders": {"object": ("objects", 0), "parent": ("holders", -1)},
    "marks": {},
}


def ints(values: Iterable[int]) -> memoryview:
    """Return a column of int64 values."""
    return memoryview(array.array("q", values))


def floats(values: Iterable[float]) -> memoryview:
    """Return a column of float64 values."""
    return memoryview(array.array("d", values))


def zeros(count: int, code: str = "q") -> memoryview:
    """Return a column of zeros of this type ("q" or "d")."""
    return memoryview(array.array(code, bytes(8 * count)))


def clamped(total: Any) -> Any:
    """Return a sum, limited to the range of a column."""
    return max(-LARGEST, min(total, LARGEST))


def names_of(kind: str) -> list[str]:
    """Return the names of a table's columns without `id`."""
    return [name for name, _ in SCHEMA[kind] if name != "id"]


def rows_of(recording: Recording, kind: str) -> Iterator[tuple[Any, ...]]:
    """Return a table's rows without their ids; strings are decoded."""
    raw, strings = recording._raw[kind], recording._strings
    columns = [
        [strings[i] for i in raw[name].tolist()] if code == "s" else raw[name].tolist()
        for name, code in SCHEMA[kind]
        if name != "id"
    ]
    return zip(*columns, strict=True)


def keys_of_functions(recording: Recording) -> list[tuple[Any, ...]]:
    """Return what identifies each function across recordings."""
    return [row[: len(KEY)] for row in rows_of(recording, "functions")]


def named_rows(recording: Recording, kind: str) -> list[dict[str, Any]]:
    """Return a small table's rows as dicts, with their ids; strings are decoded."""
    names = ("id", *names_of(kind))
    return [dict(zip(names, (row, *values), strict=True)) for row, values in enumerate(rows_of(recording, kind))]


def columns_of(kind: str, rows: Iterable[Sequence[Any]], texts: Texts | None = None) -> Columns:
    """Return a table of rows without ids. `texts` collects its strings, if it has any."""
    names = names_of(kind)
    values = dict(zip(names, zip(*rows, strict=True), strict=False)) or dict.fromkeys(names, ())
    table: Columns = {}
    for name, code in SCHEMA[kind]:
        if name == "id":
            table[name] = ints(range(len(values[names[0]])))
        elif code == "s" and texts is not None:
            table[name] = ints(map(texts.add, values[name]))
        else:
            table[name] = memoryview(array.array("d" if code == "d" else "q", values[name]))
    return table


def columns_of_named(kind: str, rows: Iterable[dict[str, Any]], texts: Texts) -> Columns:
    """Return a table of rows that are dicts; their ids are replaced by the rows' numbers."""
    names = names_of(kind)
    return columns_of(kind, ([row[name] for name in names] for row in rows), texts)


def bits_of(bits: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set in a word of 64 bits, which may be signed, the lowest first."""
    bits &= 2**64 - 1
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def empty(kind: str) -> Columns:
    """Return a table without rows."""
    return columns_of(kind, ())


def taken(table: Columns, rows: Sequence[int]) -> Columns:
    """Return the given rows of a table, with new ids."""
    places = ints(rows)
    found = {name: _core.take({"values": column, "rows": places}, column.format) for name, column in table.items()}
    return {**{name: memoryview(column) for name, column in found.items()}, "id": ints(range(len(rows)))}


def sum_by(values: memoryview, to: memoryview, rows: int, is_or: bool = False) -> memoryview:
    """Return a column of so many rows: for each, the sum, or the bitwise or, of the values whose `to` is that row."""
    return memoryview(_core.sum_by({"to": to, "values": values}, rows, values.format, is_or))


def new_numbers(rows: Iterable[int], size: int) -> array.array[int]:
    """Return the new number of each of `size` rows, of which `rows` are kept in this order, or -1 if it is left out."""
    numbers = array.array("q", [-1]) * size
    for number, row in enumerate(rows):
        numbers[row] = number
    return numbers


def translated(table: Columns, **maps: Mapping[int, int] | Sequence[int]) -> Columns:
    """Return the table with other ids in the given columns; -1 stays."""
    result = dict(table)
    for name, of in maps.items():
        values: Any = of
        if isinstance(of, dict):
            values = (of.get(number, -1) for number in range(max(table[name], default=-1) + 1))
        result[name] = memoryview(_core.take({"values": ints(values), "rows": table[name]}, "q"))
    return result


def with_rows(tables: Tables, chosen: Mapping[str, Sequence[int]]) -> Tables:
    """Return the tables with only the chosen rows of some of them, in this order and with new ids.

    Rows that refer to a removed row are removed as well, except that its children in a tree become roots.
    """
    result = dict(tables)
    numbers: dict[str, array.array[int]] = {}  # by table, the new id of each row, or -1
    for kind, references in REFERENCES.items():
        maps = {column: numbers[to] for column, (to, _) in references.items() if to in numbers}
        if kind not in tables or not (maps or kind in chosen):
            continue
        table = tables[kind]
        size = len(table["id"])
        rows = list(chosen.get(kind, range(size)))
        for column, new in maps.items():
            of = table[column].tolist()
            rows = [row for row in rows if of[row] < 0 or new[of[row]] >= 0]
        if not maps and rows == list(range(size)):
            result[kind] = {**table, "id": ints(range(size))}
            continue
        numbers[kind] = new_numbers(rows, size)
        trees = {"parent": numbers[kind]} if "parent" in references else {}
        result[kind] = translated(taken(table, rows), **maps, **trees)
    return result


def distinct(keys: Iterable[Any]) -> list[tuple[Any, int]]:
    """Return the keys, each with the number of equal ones before it."""
    counts: defaultdict[Any, Iterator[int]] = defaultdict(count)
    return [(key, next(counts[key])) for key in keys]


def less(now: Columns, before: Columns, names: Iterable[str], rows: Sequence[int | None]) -> Columns:
    """Return the table with these columns less those of an earlier snapshot, and not below 0; -1 is unknown and stays.

    `rows` has the row in `now` of each row in `before`, or None.
    """
    table = dict(now)
    for name in names:
        values = now[name].tolist()
        for row, past in zip(rows, before[name].tolist(), strict=True):
            if row is not None and past >= 0 and values[row] >= 0:
                values[row] = max(0, values[row] - past)
        table[name] = memoryview(array.array(now[name].format, values))
    return table


class Texts:
    """A string table under construction."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        """Return the index of a string, which is added if it is new."""
        return self.index.setdefault(text, len(self.index))

    def column(self, strings: Strings | Sequence[str], indexes: memoryview) -> memoryview:
        """Return a column of another table's string indexes, translated to this table."""
        known = {index: self.add(strings[index]) for index in dict.fromkeys(indexes.tolist())}
        return ints(map(known.__getitem__, indexes.tolist()))

    def table(self, kind: str, table: Columns, strings: Strings | Sequence[str]) -> Columns:
        """Return a table whose string columns have indexes into `strings`, translated to this table."""
        return {name: self.column(strings, table[name]) if code == "s" else table[name] for name, code in SCHEMA[kind]}


def renumbered(kind: str, rows: Iterable[tuple[Any, ...]], **maps: Any) -> Iterator[list[Any]]:
    """Yield rows with translated references. `maps` has the new values for a column's values other than -1."""
    places = [(i, maps[name]) for i, name in enumerate(names_of(kind)) if name in maps]
    for values in rows:
        row = list(values)
        for i, of in places:
            if row[i] != -1:
                row[i] = of[row[i]]
        yield row


def merged_rows(
    kind: str,
    place: Sequence[str],
    parts: Sequence[Recording],
    texts: Texts | None = None,
    *,
    flag: int = 0,
    key_of: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None,
    **maps: Sequence[Any],
) -> tuple[Columns, list[list[int]]]:
    """Return the merged table of all parts, sorted by keys, and the new id of each row of each part.

    Rows with equal columns `place`, or with equal results of `key_of`, become one: `flags` are united, and get `flag`,
    and the other numbers are summed. `maps` has for each part the new ids to which a column refers.
    """
    names = names_of(kind)
    at = [names.index(name) for name in place]
    flags = names.index("flags") if "flags" in names else -1
    summed = [i for i in range(len(names)) if i not in at and i != flags]
    rows: dict[tuple[Any, ...], list[Any]] = {}
    keys: list[list[tuple[Any, ...]]] = [[] for _ in parts]
    for number, part in enumerate(parts):
        ids = {name: of[number] for name, of in maps.items()}
        for row in renumbered(kind, rows_of(part, kind), **ids):
            key = key_of(row) if key_of else tuple(row[i] for i in at)
            keys[number].append(key)
            have = rows.setdefault(key, row)
            if have is row:
                continue
            if flags >= 0:
                have[flags] |= row[flags] | flag
            for i in summed:
                have[i] = clamped(have[i] + row[i])
    order = sorted(rows)
    table = columns_of(kind, [rows[key] for key in order], texts)
    new = {key: row for row, key in enumerate(order)}
    return table, [[new[key] for key in of_part] for of_part in keys]
