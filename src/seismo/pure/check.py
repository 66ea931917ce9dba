"""The reader, second half: makes the contents of the chunks sound, in the order of native/file/reader_check.c.

Ids become dense. Impossible values become 0. What refers to a missing process, thread, function or type gets a
stand-in, since its counts are still valid; what else refers to missing rows is dropped.
"""

from __future__ import annotations

import array
import zlib
from itertools import count
from typing import TYPE_CHECKING

from seismo.pure.tables import COUNT, REAL, STR

if TYPE_CHECKING:
    from seismo.pure.reader import RawRecording, RawTable

_LONGEST_STRING = (1 << 14) + 128  # bytes
_LARGEST = 1e40  # beyond the square of any time in ns
_LAST_BUCKET = 32  # of lifetimes
# References whose missing targets get a stand-in: table, column, target, and whether it may be -1.
_REFERENCES = (
    ("nodes", "thread", "threads", False),
    ("nodes", "function", "functions", False),
    ("threads", "process", "processes", False),
    *((kind, "function", "functions", False) for kind in ("lines", "arcs", "branches")),
    ("context_hits", "context", "contexts", False),
    ("instructions", "function", "functions", False),
    ("objects", "type", "types", False),
    ("objects", "function", "functions", True),
    ("object_spans", "function", "functions", True),
    ("object_spans", "process", "processes", False),
    ("marks", "process", "processes", False),
)
_NAMED = {"functions": "qualname", "types": "name"}


def made_sound(found: RawRecording) -> dict[str, int]:
    """Make the tables sound. Return the number of first nodes and threads that have kept their ids."""
    tables = found.tables
    for name, table in tables.items():
        _order(table)
        _check_values(found, name, table)
    _cut_strings(found)
    for name, column, target, optional in _REFERENCES:
        _check_references(found, name, column, target, optional)
    for name, column in (("losses", "count"), ("object_spans", "calls"), ("object_survivors", "count")):
        # Rows that the writer withdrew have a 0 there.
        tables[name].keep([row for row, value in enumerate(tables[name][column]) if value])
    _check_contexts(found)
    _check_parents(found)
    _check_objects(found)
    return {name: next(i for i in count() if tables[name].row_of.get(i) != i) for name in ("nodes", "threads")}


def _order(table: RawTable) -> None:
    ids = sorted(table.row_of)
    if any(table.row_of[number] != row for row, number in enumerate(ids)):
        table.keep([table.row_of[number] for number in ids])
    table.columns["id"] = array.array("q", range(len(ids)))
    table.row_of = {number: row for row, number in enumerate(ids)}


def _check_values(found: RawRecording, name: str, table: RawTable) -> None:
    limits = {REAL: _LARGEST, COUNT: 2**63, STR: found.strings}
    for title, kind in table.kinds.items():
        column = table[title]
        if title == "id" or kind not in limits:
            continue
        wrong = [row for row, value in enumerate(column) if not 0 <= value < limits[kind]]
        for row in wrong:
            column[row] = 0
        if wrong:
            found.problem(found.size, f"{name}.{title}: {len(wrong)} impossible values were made 0")


def _cut_strings(found: RawRecording) -> None:
    """Cut names that are too long to read. Arguments and details of losses are few and stay."""
    offsets = found.string_offsets
    long = {i for i in range(found.strings) if offsets[i + 1] - offsets[i] > _LONGEST_STRING}
    cut: dict[int, int] = {}
    for name, table in found.tables.items():
        texts = [table[title] for title, kind in table.kinds.items() if kind == STR]
        for column in texts if long and name not in ("processes", "losses") else ():
            for row, string in enumerate(column):
                if string in long:
                    if string not in cut:
                        text = bytes(found.string_data[offsets[string] : offsets[string + 1]])
                        cut[string] = found.add_string(_shortened(text))
                    column[row] = cut[string]
    if cut:
        found.problem(found.size, f"{len(cut)} names of more than {_LONGEST_STRING} bytes were cut")


def _shortened(text: bytes) -> bytes:
    kept = _LONGEST_STRING
    while kept > 0 and text[kept - 1] & 0xC0 == 0x80:  # keep characters whole
        kept -= 1
    kept -= kept > 0 and text[kept - 1] >= 0xC0
    mark = f"\N{HORIZONTAL ELLIPSIS}[+{len(text) - kept} bytes, {zlib.crc32(text):08x}]"
    return text[:kept].replace(b"\0", b" ") + mark.encode()


def _resolve(found: RawRecording, name: str, column: str, to: str, optional: bool = False) -> list[int]:
    """Convert a column from ids of the file to rows, or -1. Return the rows whose target is missing.

    optional: a negative value is no reference
    """
    values, row_of, missing = found.tables[name][column], found.tables[to].row_of, []
    for row, value in enumerate(values):
        values[row] = row_of.get(value, -1)
        if values[row] < 0 and not (optional and value < 0):
            missing.append(row)
    return missing


def _check_references(found: RawRecording, name: str, column: str, to: str, optional: bool) -> None:
    """Convert a column as `_resolve` does, with a stand-in for what is missing."""
    if missing := _resolve(found, name, column, to, optional):
        other = _stand_in(found, to)
        for row in missing:
            found.tables[name][column][row] = other
        text = f"{name}: {len(missing)} rows name one of {to} that is missing; a nameless one stands in"
        found.problem(found.size, text)


def _stand_in(found: RawRecording, name: str) -> int:
    table = found.tables[name]
    row = table.rows
    for column in table.columns.values():
        column.append(0)
    table["id"][row] = row
    if name in _NAMED:
        table[_NAMED[name]][row] = found.add_string(b"<missing>")
    if name == "functions":
        table["kind"][row] = 2  # synthetic
    return row


def _check_contexts(found: RawRecording) -> None:
    """Drop what contexts say of lines or arcs if some are missing: they refer to them by number."""
    hits = found.tables["context_hits"]
    for kind, name in enumerate(("lines", "arcs")):
        table = found.tables[name]
        if table.ids == table.rows and (table.rows or not table.is_written):
            continue
        kept = [row for row, value in enumerate(hits["kind"]) if value != kind]
        if len(kept) < hits.rows:
            found.problem(found.size, f"what ran in which context is dropped: some {name} are missing")
            hits.keep(kept)


def _check_parents(found: RawRecording) -> None:
    """Drop nodes without a valid parent, and those below them."""
    nodes = found.tables["nodes"]
    rows = _held(nodes, "thread")
    if lost := nodes.rows - len(rows):
        found.problem(found.size, f"{lost} nodes of the call tree were dropped: their parents are missing")
        nodes.keep(rows)


def _held(table: RawTable, column: str) -> list[int]:
    """Convert parents to rows. Return the rows with a valid parent, which has the same value in the column, or none."""
    parents, values = table["parent"], table[column]
    new: dict[int, int] = {}  # ids of the file: new rows
    rows: list[int] = []
    for number, row in table.row_of.items():
        above = new.get(parents[row], -1)
        if parents[row] == -1 or (above >= 0 and values[rows[above]] == values[row]):
            parents[row] = above
            new[number] = len(rows)
            rows.append(row)
    return rows


# ---- objects ----


def _check_objects(found: RawRecording) -> None:
    if lost := _resolve(found, "objects", "node", "nodes", optional=True):
        found.problem(found.size, f"objects: the call paths of {len(lost)} rows are missing")
    lifetimes = found.tables["lifetimes"]
    units = zip(lifetimes["unit"], lifetimes["bucket"], strict=True)
    kept = [row for row, (unit, bucket) in enumerate(units) if unit <= 1 and bucket <= _LAST_BUCKET]
    _drop(found, "lifetimes", kept, "nothing lives that long")
    _drop_orphans(found, "lifetimes", "object", "objects")
    _drop_orphans(found, "object_survivors", "span", "object_spans")
    _drop_orphans(found, "object_survivors", "object", "objects")
    _check_holders(found)


def _drop(found: RawRecording, name: str, kept: list[int], why: str) -> None:
    table = found.tables[name]
    if len(kept) < table.rows:
        found.problem(found.size, f"{name}: {table.rows - len(kept)} rows were dropped: {why}")
        table.keep(kept)


def _drop_orphans(found: RawRecording, name: str, column: str, to: str) -> None:
    """Convert a column, and drop the rows that refer to a missing row."""
    _resolve(found, name, column, to)
    kept = [row for row, value in enumerate(found.tables[name][column]) if value >= 0]
    _drop(found, name, kept, "they name rows that are missing")


def _check_holders(found: RawRecording) -> None:
    """Drop holders whose parent or row of objects is missing, or whose parent is of another row of objects."""
    holders, object_of = found.tables["holders"], found.tables["objects"].row_of
    holders.row_of = {number: row for number, row in holders.row_of.items() if holders["object"][row] in object_of}
    _drop(found, "holders", _held(holders, "object"), "what they hold is missing")
    _drop_orphans(found, "holders", "object", "objects")
