"""Subtraction of the tables about objects: less those of an earlier snapshot of the same recording.

Births and deaths count from the earlier snapshot on. Live objects are those alive now, whenever they were born, so born
= died + live + unseen does not hold for the difference. The peak since the earlier snapshot was not recorded. The peak
of the whole time is kept as an upper bound and marked as such.

Rows are matched by contents rather than by ids, because the ids of a damaged file differ from those written.
"""

from __future__ import annotations

from itertools import compress, count
from operator import gt
from typing import TYPE_CHECKING, Any

from seismo.errors import RecordingError
from seismo.model.columns import distinct, ints, keys_of_functions, less, rows_of, taken
from seismo.model.enums import OBJECT_AT_MOST, TYPE_AT_MOST
from seismo.model.objects.merge import type_key

if TYPE_CHECKING:
    from seismo.model.columns import Columns, Tables
    from seismo.model.recording import Recording

# Columns that are cumulative since the start of a recording; the other numbers are current values.
GROWING = {
    "types": ("born", "died", "died_by_gc", "before", "unseen", "resurrected", "item_bytes"),
    "objects": ("born", "died", "died_by_gc", "unseen", "item_bytes", "span_born", "span_died"),
    "lifetimes": ("count",),
}
AT_MOST = {"types": TYPE_AT_MOST, "objects": OBJECT_AT_MOST}
_Keys = list[tuple[Any, ...]]


def subtracted(later: Recording, earlier: Recording) -> tuple[Tables, dict[str, list[int]]]:
    """Return the tables about objects of `later` less those of `earlier`, and the rows of them that remain.

    Types and objects without a birth or death since then and without live objects are left out. So are calls that had
    ended, and marks that were set, by the earlier snapshot. Raise RecordingError if `earlier` is not an earlier
    snapshot.
    """
    new, old = _keys(later), _keys(earlier)
    now, before = later._raw, earlier._raw
    tables: Tables = {kind: _less(kind, later, earlier, new[kind], old[kind]) for kind in GROWING}
    tables["object_times"] = _times(now["object_times"], before["object_times"])
    objects = list(compress(count(), _busy(tables["objects"])))
    of_objects = tables["objects"]["type"].tolist()
    types = {of_objects[row] for row in objects} | set(compress(count(), _busy(tables["types"])))
    known = set(rows_of(earlier, "marks"))
    return tables, {
        "types": sorted(types),
        "objects": objects,
        "lifetimes": list(compress(count(), tables["lifetimes"]["count"])),
        "object_spans": _calls(now["object_spans"], before["object_spans"]),
        "marks": [row for row, mark in enumerate(rows_of(later, "marks")) if mark not in known],
    }


def _keys(recording: Recording) -> dict[str, _Keys]:
    """Return the key of each row of each cumulative table: decoded contents, and node ids, which do not change."""
    types = distinct(type_key(row) for row in rows_of(recording, "types"))
    functions = keys_of_functions(recording)
    objects = distinct(
        (types[row.type], functions[row.function] if row.function >= 0 else (), row.line, row.node)
        for row in recording.objects
    )
    lifetimes = distinct((objects[row.object], row.unit, row.bucket) for row in recording.lifetimes)
    return {"types": types, "objects": objects, "lifetimes": lifetimes}


def _less(kind: str, later: Recording, earlier: Recording, new: _Keys, old: _Keys) -> Columns:
    """Return the rows of `later` with the cumulative columns less their earlier values."""
    now, before = later._raw[kind], earlier._raw[kind]
    row_of = {key: row for row, key in enumerate(new)}
    rows = [row_of.get(key, -1) for key in old]
    if -1 in rows or ("born" in now and any(map(gt, before["born"], map(now["born"].__getitem__, rows)))):
        raise RecordingError(
            "one recording is not an earlier snapshot of the other", "", "subtract snapshots of one session"
        )
    table = less(now, before, GROWING[kind], rows)
    if kind in AT_MOST:
        flags = table["flags"].tolist()
        for row in rows:
            flags[row] |= AT_MOST[kind]
        table["flags"] = ints(flags)
    return table


def _busy(table: Columns) -> list[bool]:
    """Return, for each row, True if any object was born, died or is alive."""
    names = ("born", "died", "live", "unseen", "before", "resurrected")
    columns = [table[name].tolist() for name in names if name in table]
    return [any(row) for row in zip(*columns, strict=True)]


def _times(now: Columns, before: Columns) -> Columns:
    """Return births and deaths over time since the last row of an earlier timeline."""
    if not len(before["id"]):
        return now
    end, born, died = (before[name][-1] for name in ("time_ns", "born", "died"))
    table = taken(now, [row for row, time in enumerate(now["time_ns"].tolist()) if time > end])
    for name, past in (("born", born), ("died", died)):
        table[name] = ints(max(0, value - past) for value in table[name].tolist())
    return table


def _calls(now: Columns, before: Columns) -> list[int]:
    """Return the rows of calls that had not ended in an earlier recording; a row of several counts as its last call."""
    places = ("process", "first", "calls", "end_ns")
    ended: set[tuple[int, int, int]] = set()
    begun: dict[int, int] = {}  # for each process, the number of the first call that had not begun
    running: dict[int, int] = {}  # for each process, the number of the first call still running
    for process, first, calls, end in zip(*(before[name].tolist() for name in places), strict=True):
        begun[process] = max(begun.get(process, 0), first + calls)
        if end:
            ended.add((process, first, calls))
        else:
            running[process] = min(running.get(process, first), first)
    rows = []
    for row, (process, first, calls, _) in enumerate(zip(*(now[name].tolist() for name in places), strict=True)):
        over = running.get(process, begun.get(process, 0))
        if first + calls > over and (process, first, calls) not in ended:
            rows.append(row)
    return rows
