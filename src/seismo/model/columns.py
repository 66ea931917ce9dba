"""Raw tables: dicts of columns by name, made from rows and read back as rows."""

from __future__ import annotations

import array
from typing import TYPE_CHECKING, Any

from seismo import _core

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from seismo.model.recording import Recording
    from seismo.model.table import Strings

Columns = dict[str, memoryview]
Tables = dict[str, Columns]

SCHEMA: dict[str, list[tuple[str, str]]] = _core.schema()
# The columns that identify a function across recordings.
KEY = ("kind", "module", "qualname", "file", "line")
LARGEST = 2**63 - 1  # damaged files contain such counts


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


def empty(kind: str) -> Columns:
    """Return a table without rows."""
    return columns_of(kind, ())


def take(column: memoryview, rows: memoryview) -> memoryview:
    """Return the values of a column at these rows."""
    return memoryview(_core.take({"values": column, "rows": rows}, column.format))


def taken(table: Columns, rows: Sequence[int]) -> Columns:
    """Return the given rows of a table, with new ids."""
    places = ints(rows)
    return {**{name: take(column, places) for name, column in table.items()}, "id": ints(range(len(rows)))}


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
