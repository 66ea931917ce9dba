"""JSON lists of objects: tables written row by row, and rows read with type checks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seismo import progress
from seismo.formats.base import TextSink, json_object, json_string, whole
from seismo.formats.function_names import json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from seismo.model import Table


def write_table(
    out: TextSink,
    title: str,
    table: Table[Any] | Mapping[str, Sequence[Any]],
    columns: Sequence[str] = (),
    special: Mapping[str, Callable[[object], str]] | None = None,
    last: bool = False,
) -> None:
    """Write a list of objects, row by row, without creating all rows in memory.

    columns: by default all of a Table; special: the formatters of some columns
    """
    columns = columns or table.columns  # type: ignore[union-attr]
    row_format = "{" + ",".join(f'"{column}":%s' for column in columns) + "}"
    values = [map((special or {}).get(column) or _printer(table[column]), table[column]) for column in columns]
    comma = f'"{title}":[\n'
    for row in progress.over(f"writing {title}", zip(*values, strict=True), len(table[columns[0]])):
        out.write(comma + row_format % row)
        comma = ",\n"
    out.write("]" if comma == ",\n" else f'"{title}":[]')
    out.write("\n" if last else ",\n")


def _printer(column: Iterable[object]) -> Callable[[object], str]:
    """Return the formatter of a column's values, which all have the same type."""
    first = next(iter(column), 0)
    if isinstance(first, float):
        return _float
    return str if isinstance(first, int) else json_text


def _float(value: object) -> str:
    """Return a time to a thousandth of a nanosecond, or null if it is not finite."""
    if not isinstance(value, float) or not math.isfinite(value):
        return "null"
    return str(int(value)) if value == int(value) else f"{value:.3f}"


def truth(value: object) -> str:
    """Return a number as true or false."""
    return "true" if value else "false"


class Row:
    """An object of one of the lists, whose values are checked as they are read."""

    def __init__(self, value: object, what: str) -> None:
        self._value = json_object(value, what)
        self._what = what

    def count(self, key: str) -> int:
        """Return a count or a time, or 0 if it is missing."""
        return whole(self._value.get(key, 0), f"{self._what}: {key}")

    def number_of(self, key: str) -> int:
        """Return a count that must be above 0."""
        value = self.count(key)
        if value == 0:
            raise ValueError(f"{self._what}: {key} must be above 0")
        return value

    def integer(self, key: str, default: int = 0) -> int:
        """Return a number that may be negative."""
        value = self._value.get(key, default)
        if type(value) is not int or abs(value) >= 1 << 62:
            raise ValueError(f"{self._what}: {key} is not a whole number")
        return value

    def value(self, key: str) -> object:
        """Return any value, or None if it is missing."""
        return self._value.get(key)

    def text(self, key: str) -> str:
        """Return a text, or "" if it is missing."""
        return json_string(self._value.get(key, ""), f"{self._what}: {key}")

    def texts(self, key: str) -> list[str]:
        """Return a list of texts, or [] if it is missing."""
        value = self._value.get(key, [])
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise ValueError(f"{self._what}: {key} is not a list of texts")
        return value

    def id_in(self, key: str, ids: dict[int, int]) -> int:
        """Return the model's id for the id in `key`. Raise ValueError if it is unknown."""
        value = self._value.get(key)
        if type(value) is not int or value not in ids:
            raise ValueError(f"{self._what}: {key} is an unknown id")
        return ids[value]
