"""A recording: its tables, strings, metadata and journal."""

from __future__ import annotations

import array
import functools
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seismo import _core
from seismo import recording_kinds as kinds
from seismo.errors import RecordingError
from seismo.model.enums import LOWER_BOUND
from seismo.model.objects.rows import (
    HolderRow,
    LifetimeRow,
    MarkRow,
    ObjectRow,
    ObjectSpanRow,
    ObjectSurvivorRow,
    ObjectTimeRow,
    TypeRow,
)
from seismo.model.table import (
    ArcRow,
    BranchRow,
    ContextRow,
    FunctionRow,
    InstructionRow,
    LineRow,
    LossRow,
    NodeRow,
    ProcessRow,
    SourceRow,
    StringColumn,
    Strings,
    Table,
    ThreadRow,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO

    from seismo.expression import Expression
    from seismo.model.trace.calls import Calls
    from seismo.model.trace.pieces import Pieces

Columns = dict[str, memoryview]
Tables = dict[str, Columns]

SCHEMA: dict[str, list[tuple[str, str]]] = _core.schema()
MAPPED = 16 << 20  # bytes
MAGIC = b"\x8fseismo\n"
TIMES = ("cpu", "wall", "wait")
BY_CALLS = "calls"  # replaces times where a recording is ranked by its calls: see Recording.timed
FOREVER = 2**63 - 1  # ns: later than any time
UNENDED = "cut-short"  # the loss that a recorder writes with every flush and takes back at its end
BEHIND = "cut off: its last writes failed, and all that came after them is missing"  # the problem of such a file
OLD_TIMES = "older-times"  # the loss of a file whose times were measured in another way
# The name of a function's place: what makes two functions of different recordings the same one.
KEY = ("kind", "module", "qualname", "file", "line")


def begins(start: bytes) -> bool:
    """Return True if these bytes, at least one, are a prefix of a recording or start with its magic number."""
    return bool(start) and MAGIC.startswith(start[: len(MAGIC)])


def read(source: str | os.PathLike[str] | bytes | bytearray | memoryview, *, running: bool = False) -> Recording:
    """Read a recording from a path or from its bytes. With `running`, a missing end is not a loss.

    The intact parts of a damaged or truncated file are kept; `Recording.problems` describes the rest. Raise
    RecordingError if it cannot be opened, is not a recording, or has a later version.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        data: Any = source
        where = "the given bytes"
    else:
        where = os.fspath(source)
        try:
            with Path(source).open("rb") as stream:
                data = _contents(stream)
        except OSError as error:
            raise RecordingError(
                f"the recording cannot be opened: {error.strerror or error}",
                where,
                "check the path and its permissions",
            ) from None
        except MemoryError:
            raise RecordingError(
                "the recording does not fit into memory", where, "read it on a larger machine"
            ) from None
    if not len(data):
        raise RecordingError(
            "the file is empty", where, "was the program killed before its first flush? record it again"
        )
    try:
        raw = _core.read(data)
    except ValueError as error:
        future = "version" in str(error)
        hint = (
            "install a newer seismo"
            if future
            else "give a recording: a file that a command such as `seismo profile` has written"
        )
        raise RecordingError(str(error), where, hint) from None
    except MemoryError:
        raise RecordingError("the recording does not fit into memory", where, "read it on a larger machine") from None
    recording = _from_core(raw, data)
    if running:
        recording._take_back(UNENDED)
    else:
        recording.problems += _unended(recording, raw["finished"], raw["behind"])
        if not raw["finished"] and recording._journal is not None:
            from seismo.model.trace.crash_recovery import recovered

            recording = recovered(recording)
    return recording


def _contents(stream: BinaryIO) -> Any:
    """Return the file's contents.

    A large file is mapped, because most of it is a journal that is rarely read in full.
    """
    data = stream.read(16)  # only the header: a foreign file need not be read, and a device may have no end
    if not data.startswith(MAGIC):
        return data
    if os.fstat(stream.fileno()).st_size >= MAPPED:
        try:
            import mmap

            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (ImportError, OSError, ValueError):
            pass  # fall back to reading
    return data + stream.read()


def _unended(recording: Recording, finished: bool, behind: bool) -> list[str]:
    """Return the problems of a file without an end, in addition to the loss that its recorder left in it."""
    if finished or any("cut off" in problem for problem in recording.problems):
        return []
    if behind:
        return [BEHIND]
    if UNENDED in recording.losses["kind"]:
        return []
    return ["cut off after its last write: what wrote it was killed, could not write, or still runs"]


def _from_core(raw: dict[str, Any], data: Any) -> Recording:
    problems = [f"byte {offset}: {text}" for offset, text in raw["problems"]]
    meta: dict[str, Any] = {}
    for text in raw["meta"]:
        try:
            part = json.loads(text)
        except (ValueError, RecursionError):
            part = None
        if isinstance(part, dict):
            meta.update(part)
        else:
            problems.append("a piece of the meta data is no JSON object; it is left out")
    tables: Tables = {
        name: {column: memoryview(table[column]) for column, _ in SCHEMA[name]} for name, table in raw["tables"].items()
    }
    strings = Strings(raw["string_data"], memoryview(raw["string_offsets"]))
    recording = Recording(tables, strings, meta, problems, journal=_trace_pieces(raw, data))
    if _lacks_trace(recording):
        recording.problems.append("the journal of this trace is missing: what is left are its counts and times")
    if raw["version"] == 1 and (recording._holds("nodes", "id") or recording._holds("lines", "sampled")):
        from seismo.model.combine import with_losses

        recording = with_losses(recording, [{"kind": OLD_TIMES, "count": 1, "thread": -1, "detail": ""}])
        recording.problems = problems
    return recording


def _lacks_trace(recording: Recording) -> bool:
    """Return True for a trace that has calls but neither a journal nor a loss that explains its absence."""
    settings = recording.meta.get("settings")
    if recording._journal is not None or not isinstance(settings, dict) or not settings.get("journal"):
        return False
    kinds = {row.kind for row in recording.losses}
    return any(recording._raw["nodes"]["calls"]) and "journal-left-out" not in kinds


def _trace_pieces(raw: dict[str, Any], data: Any) -> Pieces | None:
    if not len(raw["journal"]):
        return None
    from seismo.model.trace.pieces import Pieces

    sound = raw["sound"]
    journal, levels, longest, heads = (memoryview(raw[name]) for name in ("journal", "levels", "longest", "heads"))
    return Pieces(data, journal, sound["nodes"], sound["threads"], levels, longest, raw["finished"], heads)


class Recording:
    """A recording: tables of functions, call-tree nodes, threads, processes and losses.

    It is created by `read`, `merge` or `Builder.build` and never changes. Times are estimated once, on first use.
    """

    threads_are_summed = False  # True: a node is of many threads, and its thread is any of them

    def __init__(
        self,
        tables: Tables,
        strings: Strings,
        meta: dict[str, Any],
        problems: Iterable[str] = (),
        times: str = "wall",
        journal: Pieces | None = None,
    ) -> None:
        """Initialize with raw tables as `_core.read` returns them, which must be sound: dense ids, references in range.

        For use inside the model.
        """
        self._raw = tables
        self._strings = strings
        self.meta = meta
        self.problems = list(problems)
        self.times = times
        self._journal = journal

    def __repr__(self) -> str:
        raw = self._raw
        return f"<Recording: {len(raw['nodes']['id'])} nodes, {len(raw['functions']['id'])} functions>"

    @property
    def kind(self) -> str:
        """The kind of recording: "calltree", "watch", "coverage", "linetimes", "lifetimes", or "" if it is empty."""
        named = self.meta.get("recorder")
        if isinstance(named, str) and named:
            return named
        return kinds.found(self._holds)

    def _holds(self, table: str, column: str) -> bool:
        """Return True if the table has a row (column `id`), or the column a number other than 0."""
        values = self._raw[table][column]
        return bool(len(values)) if column == "id" else any(values)

    @property
    def timeless(self) -> bool:
        """True if any part of it was recorded without times (`seismo profile --timing none`), so its times are 0."""
        merged = self.meta.get("merged")
        parts = [part for part in merged if isinstance(part, dict)] if isinstance(merged, list) else []
        settings = [part.get("settings") for part in parts or [self.meta]]
        return any(isinstance(one, dict) and one.get("timing") == "none" for one in settings)

    @property
    def timed_rows(self) -> Table[LineRow] | Table[FunctionRow]:
        """The rows that have times: lines if lines were timed, else functions."""
        rows: Table[LineRow] | Table[FunctionRow] = getattr(self, kinds.entry(self.kind).times or "functions")
        return rows

    # ---- tables ----

    def _take_back(self, loss: str) -> None:
        """Remove the losses of this kind. Call it before the first use of the table `losses`."""
        kinds = self._plain(LossRow, "losses")["kind"]
        kept = [row for row in range(len(kinds)) if kinds[row] != loss]
        raw = {
            name: memoryview(array.array("q", [column[row] for row in kept]))
            for name, column in self._raw["losses"].items()
        }
        raw["id"] = memoryview(array.array("q", range(len(kept))))
        self._raw = {**self._raw, "losses": raw}

    def _table(self, kind: str) -> dict[str, Any]:
        raw = self._raw[kind]
        return {
            name: StringColumn(self._strings, raw[name]) if code == "s" else raw[name] for name, code in SCHEMA[kind]
        }

    @functools.cached_property
    def _estimated(self) -> Columns:
        from seismo.model.wait_times import estimated

        return estimated(self._raw, self.times)

    @functools.cached_property
    def functions(self) -> Table[FunctionRow]:
        """The functions, with the sums over their nodes."""
        raw, estimated = self._table("functions"), self._estimated
        count = len(raw["id"])
        sums = _core.aggregate(self._raw["nodes"], estimated, count)
        columns = {name: memoryview(column) for name, column in sums.items()}
        flags = columns["node_flags"].tolist()
        columns["own_ns"] = estimated["function_own_ns"]
        columns |= self._own_parts("functions", columns)
        columns["own_error_ns"] = estimated["function_own_error_ns"]
        columns["lower_bound"] = memoryview(array.array("q", [flag & LOWER_BOUND for flag in flags]))
        return Table(FunctionRow, _pick(FunctionRow, raw, columns), count)

    @functools.cached_property
    def tree(self) -> Table[NodeRow]:
        """The call tree: a row for each distinct path on each thread, parents before children."""
        raw = self._table("nodes")
        columns = {**raw, **self._estimated}
        return Table(NodeRow, _pick(NodeRow, columns, self._own_parts("tree", columns)), len(raw["id"]))

    def _own_parts(self, table: str, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns own_running_ns and own_waiting_ns of the table, given the columns that it has anyway."""

        def running() -> memoryview:
            if self.times == "wall":
                pairs = zip(columns["own_ns"], columns["wait_ns"], strict=True)
                return memoryview(array.array("d", [max(0.0, own - waiting) for own, waiting in pairs]))
            of_cpu: memoryview = (
                columns["own_ns"] if self.times == "cpu" else getattr(self.timed("cpu"), table)["own_ns"]
            )
            return of_cpu

        if "wait_ns" not in columns:
            return {}  # _pick() reports it
        return {"own_running_ns": running, "own_waiting_ns": columns["wait_ns"]}

    def total_error(self, nodes: Sequence[int]) -> float:
        """Return the error of the sum of these nodes' total times. No node may be below another.

        Nodes of a function share most of their errors, so the result lies between the root of the sum of squares and
        the plain sum.
        """
        names = ("total_error_ns", "total_square", "total_distortion")
        error, square, distortion = (sum(map(self._estimated[name].__getitem__, nodes)) for name in names)
        return min(error, math.hypot(math.sqrt(square), distortion))

    def total_doubts(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the error components of each node's total that total_error() combines.

        They are the squares of the independent errors, and the shared errors (ns).
        """
        return self._estimated["total_square"], self._estimated["total_distortion"]

    @functools.cached_property
    def threads(self) -> Table[ThreadRow]:
        """The threads of the recording."""
        raw = self._table("threads")
        return Table(ThreadRow, _pick(ThreadRow, raw, {}), len(raw["id"]))

    @functools.cached_property
    def processes(self) -> Table[ProcessRow]:
        """The processes; more than one after a merge."""
        raw = self._table("processes")
        return Table(ProcessRow, _pick(ProcessRow, raw, {}), len(raw["id"]))

    @functools.cached_property
    def losses(self) -> Table[LossRow]:
        """The events and data dropped, capped, missed or repaired while recording."""
        raw = self._table("losses")
        return Table(LossRow, _pick(LossRow, raw, {}), len(raw["id"]))

    @functools.cached_property
    def calls(self) -> Calls:
        """Every call of a trace with its times; empty for other recordings."""
        from seismo.model.trace.calls import Calls

        return Calls(self)

    # ---- tables about lines: what coverage and line times record ----

    @functools.cached_property
    def lines(self) -> Table[LineRow]:
        """The executed lines by function, with their times if they were measured."""
        from seismo.model.lines.times import estimated

        raw = self._table("lines")
        columns = {**raw, **estimated(self._raw, self.times)}
        return Table(LineRow, _pick(LineRow, columns, self._own_parts("lines", columns)), len(raw["id"]))

    @functools.cached_property
    def arcs(self) -> Table[ArcRow]:
        """The arcs taken from lines that have several successors."""
        return self._plain(ArcRow, "arcs")

    @functools.cached_property
    def branches(self) -> Table[BranchRow]:
        """The conditional jumps, with the number of times each direction was taken."""
        return self._plain(BranchRow, "branches")

    @functools.cached_property
    def contexts(self) -> Table[ContextRow]:
        """The contexts that the program named, mostly tests."""
        return self._plain(ContextRow, "contexts")

    @functools.cached_property
    def instructions(self) -> Table[InstructionRow]:
        """Single instructions with their execution counts."""
        return self._plain(InstructionRow, "instructions")

    @functools.cached_property
    def sources(self) -> Table[SourceRow]:
        """The source files of functions, as they were when the recording ended."""
        return self._plain(SourceRow, "sources")

    # ---- tables about objects: what lifetimes record ----

    @functools.cached_property
    def types(self) -> Table[TypeRow]:
        """The types whose objects were born or died, with the counts of all their objects."""
        return self._plain(TypeRow, "types")

    @functools.cached_property
    def objects(self) -> Table[ObjectRow]:
        """The objects by type, creating line and call path; seismo.model.objects.groups sums them."""
        return self._plain(ObjectRow, "objects")

    @functools.cached_property
    def lifetimes(self) -> Table[LifetimeRow]:
        """The lifetimes of the objects of each row of `objects`, as a histogram."""
        return self._plain(LifetimeRow, "lifetimes")

    @functools.cached_property
    def object_times(self) -> Table[ObjectTimeRow]:
        """The objects born and died over time, cumulative since the start."""
        return self._plain(ObjectTimeRow, "object_times")

    @functools.cached_property
    def object_spans(self) -> Table[ObjectSpanRow]:
        """The watched calls, with the number of objects born in each and their fates."""
        return self._plain(ObjectSpanRow, "object_spans")

    @functools.cached_property
    def object_survivors(self) -> Table[ObjectSurvivorRow]:
        """The objects that were born in a span and alive at the end of the recording."""
        return self._plain(ObjectSurvivorRow, "object_survivors")

    @functools.cached_property
    def holders(self) -> Table[HolderRow]:
        """The holders of survivors; a holder comes after the object it holds."""
        return self._plain(HolderRow, "holders")

    @functools.cached_property
    def marks(self) -> Table[MarkRow]:
        """The moments that the program named."""
        return self._plain(MarkRow, "marks")

    def context_rows(self) -> Iterator[tuple[int, int, int]]:
        """Yield (context, kind, row) for each row of lines (kind 0) and arcs (kind 1) that ran in a context."""
        from seismo.model.lines.tables import context_rows

        return context_rows(self)

    def within(self, contexts: Iterable[int]) -> Recording:
        """Return the recording with only the lines and arcs that ran in one of the contexts (ids)."""
        from seismo.model.lines.tables import within

        tables = {**self._raw, **within(self, set(contexts))}
        return Recording(tables, self._strings, self.meta, self.problems, self.times)

    def of_first_process(self) -> Recording:
        """Return the recording with all its processes as the first one, for intervals of a single process."""
        from seismo.model.objects.tables import of_one_process

        processes = self._raw["processes"]
        if len(processes["id"]) < 2:
            return self
        first = {name: column[:1] for name, column in processes.items()}
        first["end_ns"] = memoryview(array.array("q", [max(processes["end_ns"])]))
        threads = {name: column[:0] for name, column in self._raw["threads"].items()}
        tables = {**self._raw, "processes": first, "threads": threads}
        tables = {**tables, **of_one_process(tables)}
        return Recording(tables, self._strings, self.meta, self.problems, self.times)

    def _plain(self, row: type[Any], kind: str) -> Table[Any]:
        raw = self._table(kind)
        return Table(row, _pick(row, raw, {}), len(raw["id"]))

    # ---- what is done with whole recordings ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a file, whole or not at all. Raise RecordingError if it cannot be written."""
        from seismo.model.save import save

        save(self, path)

    def to_bytes(self) -> bytes:
        """Return the recording as the contents of a .seismo file."""
        from seismo.model.save import to_bytes

        return to_bytes(self)

    def merge(self, *others: Recording) -> Recording:
        """Return the merge of this recording and others; order and grouping do not matter."""
        from seismo.model.combine import merge

        return merge([self, *others])

    def cut(self, start_ns: int = 0, end_ns: int = FOREVER, *, where: str | Expression | None = None) -> Recording:
        """Return a window of a trace as a recording: its journal, and the tree that results from it.

        Times are ns from the start of the first process, both in the arguments and in the result. `where` is an
        expression about calls (docs/expressions.md). Chosen calls are kept with their callees and callers. Raise
        UsageError if there is no journal, if nothing is chosen, or if the expression uses terms that a journal lacks.
        `seismo.model.trace.excerpt.cut_into` writes to a file instead, in memory that does not grow with the trace.
        """
        from seismo.model.trace.excerpt import cut

        return cut(self, start_ns, end_ns, where=where)

    def subtract(self, earlier: Recording) -> Recording:
        """Return the activity between an earlier snapshot and this one.

        Raise RecordingError if it is not a snapshot of it.
        """
        from seismo.model.combine import subtract

        return subtract(self, earlier)

    def timed(self, by: str) -> Recording:
        """Return the recording with times of another sort: "wall" (the default), "cpu" (running) or "wait" (waiting).

        With "cpu", time off the CPU counts only as waiting. `own_running_ns`, `own_waiting_ns` and its parts are the
        same with all of them. If running and waiting were not distinguished, all time counts as running. With "calls",
        the columns of own and total times hold numbers of calls, so that code that ranks and draws times does so by
        calls. Raise ValueError for another `by`.
        """
        if by not in (*TIMES, BY_CALLS):
            raise ValueError(f"times are one of {', '.join(TIMES)}, not {by!r}")
        if by == self.times:
            return self
        return Recording(self._raw, self._strings, self.meta, self.problems, by, self._journal)

    def _with(self, tables: Tables) -> Recording:
        return Recording(tables, self._strings, self.meta, self.problems, self.times, self._journal)

    def restricted(self, threads: Iterable[int]) -> Recording:
        """Return the recording with only the given threads (ids), renumbered in order.

        Raise ValueError for unknown ids.
        """
        from seismo.model.combine import restricted

        return restricted(self, set(threads))

    def combined(self, threads: Iterable[int] | None = None) -> Recording:
        """Return the given threads (ids; all by default) as one: their trees overlaid, equal paths summed."""
        from seismo.model.combine import combined

        return combined(self, threads)


def _pick(row: Any, *sources: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row type's columns, each from the last source that has it. Raise RecordingError if none has it.

    The core returns every column of its schema for every file, so a missing column means a core of another version.
    """
    found = {name: source[name] for source in sources for name in row._fields if name in source}
    missing = [name for name in row._fields if name not in found]
    if missing:
        raise RecordingError(
            f"seismo's native core is of another version than the rest of seismo: it knows no {', '.join(missing)} of "
            f"a {row.__name__}",
            _core.__file__,
            "install or build seismo again",
        )
    return {name: found[name] for name in row._fields}
