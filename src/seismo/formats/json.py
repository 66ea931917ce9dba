"""JSON: the whole recording, for jq, pandas and scripts; the schema is docs/json-schema.json.

The top level is one object: `format`, `version`, `meta`, `processes`, `threads`, `functions`, `tree`, `losses`. Each
list has one object per row and one row per line, so that a million nodes can be written, and read by line-based tools,
in pieces. The tree is a flat list; `parent` is the id of an earlier node, or -1.

Recordings of objects have more lists. Of these, `types`, `objects`, `lifetimes`, `spans`, `survivors`, `holders`,
`marks` and `timeline` are the model's tables. So that scripts need no joins, objects also have the names of their type,
function, file and line, and types and objects have bytes. `leaks` lists objects left behind by the calls of spans.

It is for scripts, and is not read back: the recording itself holds more. What is read are reports of other tools with
the same suffix.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TextIO

from seismo import progress
from seismo.formats import coverage_json, speedscope
from seismo.formats.base import Format, separated
from seismo.formats.function_names import PYTHON, SYNTHETIC, C, json_text
from seismo.model.enums import OBJECT_ESTIMATED, TYPE_ESTIMATED
from seismo.model.objects.groups import sizes
from seismo.model.objects.leaks import leaks
from seismo.model.objects.rows import IN_NS
from seismo.recording_kinds import CALLS, OBJECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from seismo.model import Recording, Table

VERSION = 1

KINDS = {PYTHON: "python", C: "c", SYNTHETIC: "synthetic"}

_COUNTS = ("calls", "resumes", "exceptions")
_TIMES = ("own_ns", "own_error_ns", "total_ns", "total_error_ns", "awaits", "await_ns")
_WAITS = ("wait_ns", "ready_ns", "lock_ns", "total_wait_ns")
_FUNCTIONS = ("id", "kind", "module", "qualname", "file", "line", "flags", *_COUNTS, *_TIMES, *_WAITS, "lower_bound")
_TREE = ("id", "parent", "thread", "function", *_COUNTS, *_TIMES, *_WAITS, "flags")


def _write(recording: Recording, out: TextIO) -> None:
    out.write(f'{{"format":"seismo","version":{VERSION},\n"meta":{_meta(recording.meta)},\n')
    _write_table(out, "processes", recording.processes, special={"argv": _argv})
    _write_table(out, "threads", recording.threads, special={"main": _truth})
    kinds = {number: json_text(kind) for number, kind in KINDS.items()}
    special = {"kind": lambda kind: kinds.get(kind, kinds[PYTHON]), "lower_bound": _truth}
    _write_table(out, "functions", recording.functions, _FUNCTIONS, special)
    _write_table(out, "tree", recording.tree, _TREE)
    if recording.kind in _MORE:
        _MORE[recording.kind](out, recording)
    _write_table(out, "losses", recording.losses, last=True)
    out.write("}\n")


def _argv(value: object) -> str:
    """Return the command line, which the model stores as JSON, as a JSON list."""
    try:
        return json_text(json.loads(str(value)))
    except ValueError:
        return json_text([str(value)] if value else [])


def _meta(value: object) -> str:
    """Return the meta object, or an object with its text if it is not valid JSON (from a damaged file)."""
    try:
        return json_text(value)
    except (ValueError, TypeError, RecursionError):
        return json_text({"text": str(value)})


def _read(data: bytes) -> Recording:
    """Read a report of another tool that has the plain suffix .json."""
    document = json.loads(data)
    if isinstance(document, dict) and document.get("$schema") == speedscope.SCHEMA:
        return speedscope.read_document(document)
    if coverage_json.is_report(document):
        return coverage_json.read_document(document)
    what = _not_read(document)
    raise ValueError(f"it is {what}, which is not read" if what else "it is no report of speedscope or coverage.py")


def _not_read(document: object) -> str:
    """Return what a parsed file is that seismo does not read, or "" if it is unknown."""
    if isinstance(document, dict) and document.get("format") == "seismo":
        return "seismo's own JSON"
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if isinstance(events, list) and events and isinstance(events[0], dict) and "ph" in events[0]:
        return "a trace in Chrome's format"
    meta = document.get("meta") if isinstance(document, dict) else None
    if isinstance(meta, dict) and "preprocessedProfileVersion" in meta:
        return "a profile of the Firefox profiler"
    return ""


def _write_table(
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


def _truth(value: object) -> str:
    """Return a number as true or false."""
    return "true" if value else "false"


# ---- of objects ----

_BIRTHS = ("born", "died", "died_by_gc", "live", "peak", "unseen", "item_bytes")
_BYTES = ("bytes", "at_least", "bytes_live", "live_at_least", "approximate")
_TYPES = ("id", "type", "module", "name", "flags", "size", "item_size", *_BIRTHS, "before", "resurrected", *_BYTES)
_SPAN_COUNTS = ("span_born", "span_died", "span_live")
_PLACE = ("type", "type_id", "function", "qualname", "file", "line")
_OBJECTS = ("id", *_PLACE, "node", "flags", *_BIRTHS, *_SPAN_COUNTS, *_BYTES)
_LEAKS = ("type", "function", "qualname", "file", "line", "alive", "calls", "calls_with", "at_most", "per_call")
_TRUTHS = dict.fromkeys(("at_least", "live_at_least", "approximate", "at_most"), _truth)


def _write_objects(out: TextIO, recording: Recording) -> None:
    """Write the lists, each with a comma after it."""
    types = _with(recording.types, TYPE_ESTIMATED, [row.id for row in recording.types], recording)
    _write_table(out, "types", types, _TYPES, _TRUTHS)
    functions = recording.functions
    objects = _with(recording.objects, OBJECT_ESTIMATED, recording.objects["type"], recording)
    of = recording.objects["function"].tolist()
    for name in ("qualname", "file"):
        texts = functions[name]
        objects[name] = [texts[function] if function >= 0 else "" for function in of]
    _write_table(out, "objects", objects, _OBJECTS, _TRUTHS)
    units = {"unit": lambda value: '"ns"' if value == IN_NS else '"births"'}
    _write_table(out, "lifetimes", recording.lifetimes, recording.lifetimes.columns[1:], units)
    _write_table(out, "spans", recording.object_spans)
    _write_table(out, "survivors", recording.object_survivors, recording.object_survivors.columns[1:])
    _write_table(out, "holders", recording.holders)
    _write_table(out, "marks", recording.marks, recording.marks.columns[1:])
    _write_table(out, "timeline", recording.object_times, recording.object_times.columns[1:])
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
    _write_table(out, "leaks", columns, names, {**_TRUTHS, "parts": json_text, "objects": json_text})


# The writers of further lists, by kind of recording.
_MORE = {OBJECTS: _write_objects}

FORMAT = Format(
    name="json",
    description="all of the model as JSON, for scripts; docs/json-schema.json",
    suffixes=(".json",),
    counts=True,
    writer=_write,
    reader=_read,
    lost="only the measurements from which the errors are computed",
    kept="nothing of seismo's own JSON; of speedscope's and coverage.py's, what their formats keep",
    of=(CALLS, OBJECTS),
    all_times=True,
    mark=b'{"format":"seismo"',
    lists_losses=True,
)
