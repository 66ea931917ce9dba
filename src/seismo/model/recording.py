"""A recording: its tables, strings, metadata and journal."""

from __future__ import annotations

import functools
import io
import json
import math
import os
from typing import TYPE_CHECKING, Any, Generic

from seismo import _core
from seismo import recording_kinds as kinds
from seismo.errors import RecordingError
from seismo.model import table as rows
from seismo.model.columns import SCHEMA, Columns, Tables, bits_of, floats, ints, rows_of, taken
from seismo.model.enums import LOWER_BOUND
from seismo.model.objects import rows as object_rows
from seismo.model.table import Row, StringColumn, Strings, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO

    from seismo.expression import Expression
    from seismo.model.trace.calls import Calls
    from seismo.model.trace.file_chunks import Pieces

MAPPED = 16 << 20  # bytes
MAGIC = b"\x8fseismo\n"
TIMES = ("cpu", "wall", "wait")
BY_CALLS = "calls"  # replaces times where a recording is ranked by its calls: see Recording.timed
FOREVER = 2**63 - 1  # ns: later than any time
UNENDED = "cut-short"  # the loss that a recorder writes at every flush and removes at its end
BEHIND = "cut off: its last writes failed, and the data after them is missing"  # a problem of a file
OLD_TIMES = "older-times"  # the loss of a file whose times were measured in another way


def begins(start: bytes) -> bool:
    """Return True if these bytes, at least one, are a prefix of a recording or start with its magic number."""
    return bool(start) and MAGIC.startswith(start[: len(MAGIC)])


def read(source: str | os.PathLike[str] | bytes | bytearray | memoryview, *, running: bool = False) -> Recording:
    """Read a recording from a path or from its bytes. With `running`, a missing end is not a loss.

    The intact parts of a damaged or truncated file are kept; `Recording.problems` describes the rest. Raise
    RecordingError if it cannot be opened, is not a recording, or has a later version.
    """
    data: Any = source
    where = "the given bytes"
    try:
        if not isinstance(source, (bytes, bytearray, memoryview)):
            where = os.fspath(source)
            with io.open(source, "rb") as stream:  # noqa: UP020  the program may have replaced the builtin
                data = _contents(stream)
        if not len(data):
            hint = "was the program killed before its first flush? record it again"
            raise RecordingError("the file is empty", where, hint)
        raw = _core.read(data)
    except OSError as error:
        what = f"the recording cannot be opened: {error.strerror or error}"
        raise RecordingError(what, where, "check the path and its permissions") from None
    except ValueError as error:
        hint = "give a recording: a file that a command such as `seismo profile` has written"
        raise RecordingError(str(error), where, "install a newer seismo" if "version" in str(error) else hint) from None
    except MemoryError:
        raise RecordingError("the recording does not fit into memory", where, "read it on a larger machine") from None
    recording = _from_core(raw, data)
    if running:
        kept = [row for row, kind in enumerate(recording._table("losses")["kind"].strings()) if kind != UNENDED]
        recording._raw = {**recording._raw, "losses": taken(recording._raw["losses"], kept)}
    else:
        recording.problems += _unended(recording, raw["finished"], raw["behind"])
        if not raw["finished"] and recording._journal is not None:
            from seismo.model.trace.crash_recovery import recovered

            recording = recovered(recording)
    return recording


def _contents(stream: BinaryIO) -> Any:
    """Return the file's contents. A large file is mapped, because most of it is a journal that is rarely read."""
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
    return ["cut off after its last write: its process was killed, could not write, or is still running"]


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
            problems.append("a part of the metadata is not a JSON object and is left out")
    tables: Tables = {
        name: {column: memoryview(table[column]) for column, _ in SCHEMA[name]} for name, table in raw["tables"].items()
    }
    strings = Strings(raw["string_data"], memoryview(raw["string_offsets"]))
    recording = Recording(tables, strings, meta, problems, journal=_trace_pieces(raw, data))
    if _lacks_trace(recording):
        recording.problems.append("the journal of this trace is missing: only its counts and times are left")
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
    from seismo.model.trace.file_chunks import Pieces

    sound = raw["sound"]
    journal, levels, longest, heads = (memoryview(raw[name]) for name in ("journal", "levels", "longest", "heads"))
    return Pieces(data, journal, sound["nodes"], sound["threads"], levels, longest, raw["finished"], heads)


class _TableOf(Generic[Row]):
    """A table of a recording with the columns of its raw table, made on first use."""

    def __init__(self, row: type[Row], doc: str) -> None:
        self._row, self.__doc__ = row, doc

    def __set_name__(self, owner: type[Recording], name: str) -> None:
        self._name = name

    def __get__(self, recording: Recording | None, owner: type[Recording]) -> Table[Row]:
        if recording is None:
            return self  # type: ignore[return-value]  # for help(), which shows the docstring
        table = recording.__dict__[self._name] = _made(self._row, recording._table(self._name))
        return table


class Recording:
    """A recording: tables of functions, call-tree nodes, threads, processes and losses.

    It is created by `read`, `merge` or `Builder.build` and never changes. Times are estimated once, on first use.
    """

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
        settings = [part.get("settings") for part in self.parts]
        return any(isinstance(one, dict) and one.get("timing") == "none" for one in settings)

    @property
    def threads_are_summed(self) -> bool:
        """True for a sum of recordings, in which a node is of many threads and has the thread of any of them."""
        return bool(self.meta.get("summed"))

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The metadata of the recordings that were merged into this one, or its own; at least one."""
        merged = self.meta.get("merged")
        parts = [part for part in merged if isinstance(part, dict)] if isinstance(merged, list) else []
        return parts or [self.meta]

    @property
    def timed_rows(self) -> Table[rows.LineRow] | Table[rows.FunctionRow]:
        """The rows that have times: lines if lines were timed, else functions."""
        timed: Table[rows.LineRow] | Table[rows.FunctionRow] = getattr(
            self, kinds.entry(self.kind).times or "functions"
        )
        return timed

    # ---- tables ----

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
    def functions(self) -> Table[rows.FunctionRow]:
        """The functions, with the sums over their nodes."""
        raw, estimated = self._table("functions"), self._estimated
        sums = _core.aggregate(self._raw["nodes"], estimated, len(raw["id"]))
        columns = {name: memoryview(column) for name, column in sums.items()}
        flags = columns["node_flags"].tolist()
        columns["own_ns"] = estimated["function_own_ns"]
        columns |= self._own_parts("functions", columns)
        columns["own_error_ns"] = estimated["function_own_error_ns"]
        columns["lower_bound"] = ints(flag & LOWER_BOUND for flag in flags)
        return _made(rows.FunctionRow, raw, columns)

    @functools.cached_property
    def tree(self) -> Table[rows.NodeRow]:
        """The call tree: a row for each distinct path on each thread, parents before children."""
        columns = {**self._table("nodes"), **self._estimated}
        return _made(rows.NodeRow, columns, self._own_parts("tree", columns))

    def _own_parts(self, table: str, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns own_running_ns and own_waiting_ns of the table, given the columns that it has anyway."""

        def running() -> memoryview:
            if self.times == "wall":
                pairs = zip(columns["own_ns"], columns["wait_ns"], strict=True)
                return floats(max(0.0, own - waiting) for own, waiting in pairs)
            of_cpu: Mapping[str, memoryview] = columns if self.times == "cpu" else getattr(self.timed("cpu"), table)
            return of_cpu["own_ns"]

        return {"own_running_ns": running, "own_waiting_ns": columns["wait_ns"]}

    @property
    def path_count(self) -> int:
        """The number of distinct call paths, whatever thread they are of."""
        nodes, threads = self._raw["nodes"], len(self._raw["threads"]["id"])
        return len(nodes["id"]) if threads < 2 else len(_core.combine(nodes, b"\1" * threads)["parent"])

    def total_error(self, nodes: Sequence[int]) -> float:
        """Return the error of the sum of these nodes' total times. No node may be below another.

        Nodes of a function share most of their errors, so the result lies between the root of the sum of squares and
        the plain sum.
        """
        names = ("total_error_ns", "total_square", "total_distortion")
        error, square, distortion = (sum(map(self._estimated[name].__getitem__, nodes)) for name in names)
        return min(error, math.hypot(math.sqrt(square), distortion))

    def total_doubts(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the squares of the independent errors of each node's total, and the shared errors (ns)."""
        return self._estimated["total_square"], self._estimated["total_distortion"]

    threads = _TableOf(rows.ThreadRow, "The threads of the recording.")
    processes = _TableOf(rows.ProcessRow, "The processes; more than one after a merge.")
    losses = _TableOf(rows.LossRow, "The events and data dropped, capped, missed or repaired while recording.")

    @property
    def thread_labels(self) -> list[dict[str, str]]:
        """The host of each thread, by row, if it is known: `host`. A dataset that is read by tasks has `task`, too."""
        if self.threads_are_summed:
            return [{} for _ in self.threads]
        hosts = self.processes["host"]
        return [{"host": hosts[process]} if hosts[process] else {} for process in self.threads["process"]]

    @functools.cached_property
    def calls(self) -> Calls:
        """Every call of a trace with its times; empty for other recordings."""
        from seismo.model.trace.calls import Calls

        return Calls(self)

    # ---- tables of coverage and line times ----

    @functools.cached_property
    def lines(self) -> Table[rows.LineRow]:
        """The executed lines by function, with their times if they were measured."""
        from seismo.model.lines.times import estimated

        columns = {**self._table("lines"), **estimated(self._raw, self.times)}
        return _made(rows.LineRow, columns, self._own_parts("lines", columns))

    arcs = _TableOf(rows.ArcRow, "The arcs taken from lines that have several successors.")
    branches = _TableOf(rows.BranchRow, "The conditional jumps, with the number of times each direction was taken.")
    contexts = _TableOf(rows.ContextRow, "The contexts that the program named, mostly tests.")
    instructions = _TableOf(rows.InstructionRow, "Single instructions with their execution counts.")
    sources = _TableOf(rows.SourceRow, "The source files of functions, as they were when the recording ended.")
    # ---- tables of object lifetimes ----
    types = _TableOf(object_rows.TypeRow, "The types whose objects were born or died, with the counts of all of them.")
    objects = _TableOf(object_rows.ObjectRow, "The objects by type, creating line and call path.")
    lifetimes = _TableOf(object_rows.LifetimeRow, "The lifetimes of objects of each row of `objects`, as a histogram.")
    object_times = _TableOf(object_rows.ObjectTimeRow, "The objects born and died since the start, over time.")
    object_spans = _TableOf(object_rows.ObjectSpanRow, "The watched calls, with the objects born in each.")
    object_survivors = _TableOf(object_rows.ObjectSurvivorRow, "The objects born in a span and alive at the end.")
    holders = _TableOf(object_rows.HolderRow, "The holders of survivors; a holder comes after the object it holds.")
    marks = _TableOf(object_rows.MarkRow, "The moments that the program named.")

    def context_rows(self) -> Iterator[tuple[int, int, int]]:
        """Yield (context, kind, row) for each row of lines (kind 0) and arcs (kind 1) that ran in a context."""
        for context, kind, base, bits in rows_of(self, "context_hits"):
            for bit in bits_of(bits):
                yield context, kind, base + bit

    def within(self, contexts: Iterable[int]) -> Recording:
        """Return the recording with only the lines and arcs that ran in one of the contexts (ids)."""
        from seismo.model.lines.merge import within

        tables = {**self._raw, **within(self, set(contexts))}
        return Recording(tables, self._strings, self.meta, self.problems, self.times)

    def of_first_process(self) -> Recording:
        """Return the recording with all its processes as the first one, for intervals of a single process."""
        from seismo.model.objects.merge import of_one_process

        processes = self._raw["processes"]
        if len(processes["id"]) < 2:
            return self
        first = {name: column[:1] for name, column in processes.items()}
        first["end_ns"] = ints([max(processes["end_ns"])])
        threads = {name: column[:0] for name, column in self._raw["threads"].items()}
        tables = {**self._raw, "processes": first, "threads": threads}
        tables = {**tables, **of_one_process(tables)}
        return Recording(tables, self._strings, self.meta, self.problems, self.times)

    # ---- operations on whole recordings ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a file, whole or not at all. Raise RecordingError if it cannot be written."""
        from seismo.model.save import write_file, write_recording

        write_file(path, lambda fd: write_recording(self, fd))

    def to_bytes(self) -> bytes:
        """Return the recording as the contents of a .seismo file."""
        from seismo.model.save import write_recording

        data = write_recording(self, None)
        assert data is not None
        return data

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
        """Return the activity since an earlier snapshot. Raise RecordingError if `earlier` is not a snapshot of it."""
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
        return self._with(self._raw, by)

    def _with(self, tables: Tables, times: str = "") -> Recording:
        return Recording(tables, self._strings, self.meta, self.problems, times or self.times, self._journal)

    def restricted(self, threads: Iterable[int]) -> Recording:
        """Return the recording with only these threads (ids), renumbered in order. Raise ValueError for unknown ids."""
        from seismo.model.combine import restricted

        return restricted(self, set(threads))

    def combined(self, threads: Iterable[int] | None = None) -> Recording:
        """Return the given threads (ids; all by default) as one: their trees overlaid, equal paths summed."""
        from seismo.model.combine import combined

        return combined(self, threads)


def _made(row: type[Row], columns: Mapping[str, Any], more: Mapping[str, Any] | None = None) -> Table[Row]:
    """Return a table of such rows with these columns, those in `more` first."""
    found = {**columns, **(more or {})}
    fields: tuple[str, ...] = row._fields  # type: ignore[attr-defined]
    return Table(row, {name: found[name] for name in fields}, len(columns["id"]))
