"""The lists of a JSON file: how one is written, and those that only recordings of objects have.

Of these, `types`, `objects`, `lifetimes`, `spans`, `survivors`, `holders`, `marks` and `timeline` are the model's
tables. So that scripts need no joins, objects also have the names of their type, function, file and line, and types and
objects have bytes. `leaks` lists objects left behind by the calls of spans.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TextIO

from seismo import progress
from seismo.formats.base import separated
from seismo.formats.function_names import json_text
from seismo.model.enums import OBJECT_ESTIMATED, TYPE_ESTIMATED
from seismo.model.objects.groups import sizes
from seismo.model.objects.leaks import leaks
from seismo.model.objects.rows import IN_NS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from seismo.model import Recording, Table


def write_table(
    out: TextIO,
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
    count = len(table[columns[0]])
    rows = progress.over(f"writing {title}", zip(*values, strict=True), count)
    out.write(f'"{title}":[' + ("\n" if count else ""))
    out.writelines(separated(row_format % row for row in rows))
    out.write("]\n" if last else "],\n")


def _printer(column: Iterable[object]) -> Callable[[object], str]:
    """Return the formatter of a column's values, which all have the same type."""
    first = next(iter(column), 0)
    if isinstance(first, float):
        return _float
    return str if isinstance(first, int) else json_text


def _float(value: Any) -> str:
    """Return a time to a thousandth of a nanosecond, or null if it is not finite."""
    if not math.isfinite(value):
        return "null"
    return str(int(value)) if value == int(value) else f"{value:.3f}"


def truth(value: object) -> str:
    """Return a number as true or false."""
    return "true" if value else "false"


# ---- of objects ----

_COUNTS = ("born", "died", "died_by_gc", "live", "peak", "unseen", "item_bytes")
_BYTES = ("bytes", "at_least", "bytes_live", "live_at_least", "approximate")
_TYPES = ("id", "type", "module", "name", "flags", "size", "item_size", *_COUNTS, "before", "resurrected", *_BYTES)
_SPAN_COUNTS = ("span_born", "span_died", "span_live")
_PLACE = ("type", "type_id", "function", "qualname", "file", "line")
_OBJECTS = ("id", *_PLACE, "node", "flags", *_COUNTS, *_SPAN_COUNTS, *_BYTES)
_LEAKS = ("type", "function", "qualname", "file", "line", "alive", "calls", "calls_with", "at_most", "per_call")
_TRUTHS = dict.fromkeys(("at_least", "live_at_least", "approximate", "at_most"), truth)


def write_objects(out: TextIO, recording: Recording) -> None:
    """Write the lists, each with a comma after it."""
    types = _with(recording.types, TYPE_ESTIMATED, [row.id for row in recording.types], recording)
    write_table(out, "types", types, _TYPES, _TRUTHS)
    functions = recording.functions
    objects = _with(recording.objects, OBJECT_ESTIMATED, recording.objects["type"], recording)
    of = recording.objects["function"].tolist()
    for name in ("qualname", "file"):
        texts = functions[name]
        objects[name] = [texts[function] if function >= 0 else "" for function in of]
    write_table(out, "objects", objects, _OBJECTS, _TRUTHS)
    write_table(
        out,
        "lifetimes",
        recording.lifetimes,
        recording.lifetimes.columns[1:],
        {"unit": lambda value: '"ns"' if value == IN_NS else '"births"'},
    )
    write_table(out, "spans", recording.object_spans)
    write_table(out, "survivors", recording.object_survivors, recording.object_survivors.columns[1:])
    write_table(out, "holders", recording.holders)
    write_table(out, "marks", recording.marks, recording.marks.columns[1:])
    write_table(out, "timeline", recording.object_times, recording.object_times.columns[1:])
    _write_leaks(out, recording)


def _with(table: Any, estimated: int, types: Iterable[int], recording: Recording) -> dict[str, Any]:
    """Return the columns of types or objects with derived ones. types: the type's row for each row."""
    columns: dict[str, Any] = {name: table[name] for name in table.columns}
    rows = list(recording.types)
    of = [rows[number] for number in types]
    found = [sizes(row, type_) for row, type_ in zip(table, of, strict=True)]
    for place, name in enumerate(_BYTES[:4]):
        columns[name] = [row[place] for row in found]
    columns["approximate"] = [bool(flags & estimated) for flags in table["flags"]]
    columns["type"] = [type_.full_name for type_ in of]
    columns["type_id"] = [type_.id for type_ in of]
    return columns


def _write_leaks(out: TextIO, recording: Recording) -> None:
    found = leaks(recording)
    columns: dict[str, list[Any]] = {
        name: [getattr(leak if hasattr(leak, name) else leak.group, name) for leak in found]
        for name in (*_LEAKS, "bytes", "live_at_least", "parts", "rows", "verdict")
    }
    columns |= {"at_least": columns.pop("live_at_least"), "objects": columns.pop("rows")}
    names = (*_LEAKS, "bytes", "at_least", "parts", "objects", "verdict")
    write_table(out, "leaks", columns, names, {**_TRUTHS, "parts": json_text, "objects": json_text})
