"""The SQL tables, made of the tables of the recordings.

A SQL table is the union of one of the model's tables over all recordings, with four changes that simplify joins and
conditions:

- `recording` names the recording of a row.
- References hold the `id` of a row in another table, which is unique over all recordings, and NULL for the model's -1.
- Numbers that stand for a word are shown as the word.
- Each flag is a boolean column besides `flags`.

Nothing is copied: DuckDB reads the recording's own columns as Arrow streams, and the calls of a trace while they are
decoded.
"""

from __future__ import annotations

import array
import json
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from seismo import recording_kinds
from seismo.model import Recording
from seismo.model import table as rows
from seismo.model.objects import rows as object_rows
from seismo.model.recording import FOREVER
from seismo.model.table import StringColumn, Strings, Table, enums_of
from seismo.model.trace.calls import CallRow, GapRow, InstantRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from enum import IntEnum

# The calls of a trace are not counted before they are read, so each recording gets a fixed range of call ids.
CALLS_APART = 1 << 40
# The columns that hold ids of another table.
_IDS = {name: f"{name}s" for name in ("thread", "function", "call", "context", "type", "object")}
_IDS |= {"process": "processes", "node": "paths", "span": "object_spans"}
# In these tables, a column holds other ids, or none.
_OTHER_IDS = {("ran_in", "line"): "lines", ("instants", "span"): ""}
RESERVED = {"column", "offset", "by"}


class Source:
    """A recording with the name of its rows in the column `recording`. start_ns, end_ns: the window of a trace."""

    def __init__(self, name: str, recording: Recording, start_ns: int = 0, end_ns: int = FOREVER) -> None:
        self.name = name.encode("utf-8", "backslashreplace").decode()  # the name of a file may not be valid UTF-8
        self.recording = recording
        self.window = (start_ns, end_ns)


class _Meta(NamedTuple):
    key: str
    value: str


class _Problem(NamedTuple):
    problem: str


class _Given(NamedTuple):
    kind: str
    times: str
    calls: int
    start_ns: int


class _RanIn(NamedTuple):
    context: int
    line: int


class Entry(NamedTuple):
    """A SQL table.

    row: the model's row type, whose columns it has; the next field describes the table in one line
    made: returns its rows, if it is computed on demand; attribute: else the recording's, if its name differs
    nothing: the columns in which -1 stands for an unknown value
    truths: the columns of 0 and 1
    """

    row: type[Any]
    description: str
    made: Callable[[Source], Iterable[Sequence[Any]]] | None = None
    attribute: str = ""
    nothing: tuple[str, ...] = ()
    truths: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the model's columns."""
        fields: tuple[str, ...] = self.row._fields
        if self.row is InstantRow:
            return fields[:-1]  # without `call`, a row of a window
        return ("id", *fields) if self.row is CallRow else fields


def given(name: str, source: Source) -> Any:
    """Return the columns of a table, for a reader of Arrow."""
    entry = TABLES[name]
    if name == "calls":
        return source.recording.calls.stream(*source.window)
    if entry.made is not None:
        return table_of(entry.row, entry.made(source))
    return getattr(source.recording, entry.attribute or name)


def count(name: str, source: Source) -> int:
    """Return the number of rows of a table, or an estimate if they have to be made."""
    if name == "calls":
        tree = source.recording.tree
        return sum(tree["calls"]) + sum(tree["resumes"]) if source.recording.calls else 0
    return 1000 if TABLES[name].made is not None else len(given(name, source))


def table_of(row: type[Any], given: Iterable[Sequence[Any]]) -> Table[Any]:
    """Return a table of rows of ints and strings."""
    columns: dict[str, Any] = {}
    types = get_type_hints(row)
    values = list(zip(*given, strict=True)) or [()] * len(row._fields)
    for name, column in zip(row._fields, values, strict=True):
        if types[name] is int:
            columns[name] = memoryview(array.array("q", column))
        else:
            indexes = memoryview(array.array("q", range(1, len(column) + 1)))
            columns[name] = StringColumn(Strings.of(["", *column]), indexes)
    return Table(row, columns, len(values[0]))


def _meta(source: Source) -> list[tuple[str, str]]:
    meta = source.recording.meta
    return [(str(key), value if isinstance(value, str) else json.dumps(value)) for key, value in meta.items()]


def _given(source: Source) -> list[tuple[str, str, int, int]]:
    recording = source.recording
    kind, times = recording_kinds.entry(recording.kind).what, "none" if recording.timeless else recording.times
    return [(kind, times, sum(recording.tree["calls"]), min(recording.processes["start_ns"], default=0))]


def _instants(source: Source) -> list[InstantRow]:
    rows = source.recording.calls.window(*source.window, limit=0).instants
    return [row._replace(data="" if row.data is None else json.dumps(row.data)) for row in rows]


def _gaps(source: Source) -> list[GapRow]:
    start, end = source.window
    return [gap for gap in source.recording.calls.gaps if gap.end_ns >= start and gap.start_ns < end]


def _ran(source: Source) -> list[tuple[int, int]]:
    return [(context, line) for context, kind, line in source.recording.context_rows() if kind == 0]


TABLES = {
    "recordings": Entry(
        _Given, "the recordings that are queried: kind, which times they show, number of calls, start (unix ns)", _given
    ),
    "functions": Entry(rows.FunctionRow, "the functions, with the sums over all their calls", truths=("lower_bound",)),
    "paths": Entry(
        rows.NodeRow,
        "the call tree: a row for each distinct path of functions on each thread; parent: the path that called it",
        attribute="tree",
    ),
    "threads": Entry(
        rows.ThreadRow, "the threads, with their start and end (unix ns)", nothing=("cpu_ns",), truths=("main",)
    ),
    "processes": Entry(rows.ProcessRow, "the processes, with the cost of seismo's probes in them (ns a call)"),
    "calls": Entry(
        CallRow,
        "of a trace, every call in time, and every step of a generator or coroutine; node: its path. "
        "calls_between(FROM, TO) has those of some time (ns), and reads only that part of the file",
        nothing=("start_bound_ns", "end_bound_ns"),
    ),
    "instants": Entry(
        InstantRow,
        "of a trace, the program's marks, counters and spans (begin and end), and pauses of the collector",
        _instants,
        nothing=("bound_ns",),
    ),
    "gaps": Entry(GapRow, "of a trace, intervals of threads in which events are missing", _gaps),
    "lines": Entry(rows.LineRow, "the lines that were executed, with their times if they were measured"),
    "arcs": Entry(rows.ArcRow, "the steps from line to line; -N: into or out of the code that begins at line N"),
    "branches": Entry(rows.BranchRow, "the conditional jumps, with the number of times each fell through and jumped"),
    "contexts": Entry(rows.ContextRow, "the contexts that the program named, such as tests"),
    "ran_in": Entry(_RanIn, "which lines ran in which context", _ran),
    "instructions": Entry(rows.InstructionRow, "single instructions, with their numbers of executions"),
    "sources": Entry(
        rows.SourceRow,
        "the source files of functions, as they were when the recording ended",
        nothing=("size", "mtime_ns", "crc"),
    ),
    "types": Entry(object_rows.TypeRow, "the types whose objects were born or died; sizes in bytes"),
    "objects": Entry(object_rows.ObjectRow, "the objects by type, creating line and path"),
    "lifetimes": Entry(
        object_rows.LifetimeRow,
        "the numbers of objects by lifetime: bucket b is from 4^(b-1) to 4^b - 1 births (unit 0) or ns (unit 1)",
    ),
    "object_times": Entry(object_rows.ObjectTimeRow, "objects born and died until a time (unix ns)"),
    "object_spans": Entry(object_rows.ObjectSpanRow, "the watched calls, with the objects born in each"),
    "object_survivors": Entry(object_rows.ObjectSurvivorRow, "objects that were born in a span and alive at the end"),
    "holders": Entry(object_rows.HolderRow, "the holders of survivors; parent: the holder that this one holds"),
    "marks": Entry(
        object_rows.MarkRow, "the moments that the program named, with the objects born until then (unix ns)"
    ),
    "losses": Entry(rows.LossRow, "the data that the recordings lack or estimate; thread NULL: of all threads"),
    "problems": Entry(
        _Problem,
        "the problems of the files, as sentences",
        lambda source: [(problem,) for problem in source.recording.problems],
    ),
    "meta": Entry(_Meta, "other metadata of the files: versions, platform", _meta),
}


def described(name: str) -> list[str]:
    """Return the names of a table's columns in SQL."""
    return ["recording", *(column for column, _ in expressions(name, 0, lambda _: 0))]


def in_sql(column: str) -> str:
    """Return a column name for SQL, quoted if it is a reserved word."""
    return quoted(column, '"') if column in RESERVED else column


def quoted(text: str, mark: str = "'") -> str:
    """Return text as a SQL literal, or as a quoted name if the mark is '"'."""
    return mark + text.replace(mark, 2 * mark) + mark


def expressions(name: str, number: int, before: Callable[[str], int]) -> list[tuple[str, str]]:
    """Return the columns of a table in SQL, each with the SQL expression over the model's columns.

    number: the position of the recording
    before: returns the number of rows that the previous recordings have in a table
    """
    entry = TABLES[name]
    enums = enums_of(entry.row)  # type: ignore[arg-type]  # mypy takes no type[Any] for hashable
    ids = {**_IDS, "id": name, "parent": name}
    found = []
    for column in entry.columns:
        at = quoted(column, '"')
        to = _OTHER_IDS.get((name, column), ids.get(column, ""))
        if to:
            first = number * CALLS_APART if to == "calls" else before(to)
            shifted = f"{at} + {first}" if first else at
            found.append((column, shifted if column == "id" else f"case when {at} >= 0 then {shifted} end"))
        elif column in entry.nothing:
            found.append((column, f"case when {at} >= 0 then {at} end"))
        elif column in entry.truths:
            found.append((column, f"{at} <> 0"))
        elif column == "kind" and column in enums:
            words = " ".join(f"when {kind.value} then {quoted(_word(kind))}" for kind in enums[column])
            found.append((column, f"case {at} {words} else {at}::varchar end"))
        else:
            found.append((column, at))
            if column in enums:
                found += [(_word(flag), f"({at} & {flag.value}) <> 0") for flag in enums[column]]
    return found


def _word(member: IntEnum) -> str:
    return member.name.lower()
