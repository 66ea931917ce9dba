"""JSON lists of objects, written row by row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seismo import progress
from seismo.formats.function_names import json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from seismo.formats.base import TextSink
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
