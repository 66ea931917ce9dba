"""Tables of columns, whose rows are made on demand."""

from __future__ import annotations

import array
import functools
from enum import EnumType
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, get_type_hints, overload

from seismo import _core, recording_kinds
from seismo.model import enums  # noqa: TC001  enums_of() looks them up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ALIASES = {"wait_ns": "own_waiting_ns"}  # names of columns in files and exports that tables take, too
Row = TypeVar("Row", bound="tuple[Any, ...]")


def readable(row: type[Row]) -> type[Row]:
    """Give a type of rows a repr and HTML for notebooks, with units."""
    row.__repr__ = lambda self: _shown("row_text", self)  # type: ignore[method-assign]
    row._repr_html_ = lambda self: _shown("row_html", self)  # type: ignore[attr-defined]
    return row


@functools.cache
def enums_of(row: type[Any]) -> dict[str, Any]:
    """Return the enums of the columns `kind` and `flags`, by column, as a type of rows declares them."""
    names = {"kind", "flags"} & set(row._fields)
    hints = get_type_hints(row) if names else {}
    return {name: hints[name] for name in names if isinstance(hints[name], EnumType)}


def _shown(how: str, *of: object) -> str:
    """Return the result of a function of seismo.report.rows, which is imported on first use."""
    text: str = recording_kinds.load(f"seismo.report.rows:{how}")(*of)
    return text


@readable
class FunctionRow(NamedTuple):
    """One function. Times are in ns; if `lower_bound` is set, it was called at least `calls` times.

    Own and total times are elapsed times. `own_ns` is the sum of `own_running_ns`, on the CPU, and `own_waiting_ns`,
    off the CPU. Two parts of the latter are known as far as the machine reports them (`ProcessRow.waits`): `ready_ns`
    is ready to run but without a CPU, and `lock_ns` is waiting for the GIL or for the locks in its place.
    `total_wait_ns` is the part of the total time off the CPU. `await_ns` is part of none of them.
    """

    id: int
    kind: enums.FunctionKind
    module: str
    qualname: str
    file: str
    line: int
    flags: enums.FunctionFlags
    calls: int
    resumes: int
    exceptions: int
    own_ns: float
    own_error_ns: float
    total_ns: float
    total_error_ns: float
    awaits: int
    await_ns: int
    own_running_ns: float
    own_waiting_ns: int
    ready_ns: int
    lock_ns: int
    total_wait_ns: float
    lower_bound: int

    @property
    def wait_ns(self) -> int:
        """The name of `own_waiting_ns` in files and exports."""
        return self.own_waiting_ns


@readable
class NodeRow(NamedTuple):
    """One node of the call tree: a path on one thread. `parent` is -1 for a root. Times are as in FunctionRow."""

    id: int
    parent: int
    thread: int
    function: int
    depth: int
    calls: int
    resumes: int
    exceptions: int
    own_ns: float
    own_error_ns: float
    total_ns: float
    total_error_ns: float
    awaits: int
    await_ns: int
    own_running_ns: float
    own_waiting_ns: int
    ready_ns: int
    lock_ns: int
    total_wait_ns: float
    flags: enums.NodeFlags

    @property
    def wait_ns(self) -> int:
        """The name of `own_waiting_ns` in files and exports."""
        return self.own_waiting_ns


@readable
class ThreadRow(NamedTuple):
    """One thread, or `folded` threads (0 for one). `cpu_ns` is -1 if unknown; start and end are Unix times in ns."""

    id: int
    process: int
    native_id: int
    name: str
    start_ns: int
    end_ns: int
    wall_ns: int
    cpu_ns: int
    main: int
    folded: int


@readable
class ProcessRow(NamedTuple):
    """One process, with the cost of its probes (`cost_error` is relative). `argv` is a JSON list.

    Costs are in ns: those of an untimed call or resume, in its own and in its caller's time, and that of an exact
    piece. In a recording of lines, `python_inside` is the cost of a hit. `deep_ns` is a call's additional cost after
    deep calls below it.

    `waits` is the method that distinguishes waiting from running, or "" if there was none. `boot` identifies the boot
    of the system, or is "" if unknown; `boot_ns` is the time from boot to `start_ns`. `unix_bound_ns` is the error
    bound of `start_ns`, and `time_bound_ns` that of `start_ns` plus the time since, as long as the process ran.
    """

    id: int
    pid: int
    ppid: int
    host: str
    argv: str
    interpreter: str
    start_ns: int
    end_ns: int
    exit: str
    clock: str
    source: str
    python_inside: float
    python_outside: float
    c_inside: float
    c_outside: float
    resume_inside: float
    resume_outside: float
    piece_ns: float
    clock_ns: float
    cost_error: float
    waits: str
    boot: str
    boot_ns: int
    unix_bound_ns: int
    deep_ns: float
    time_bound_ns: int

    @property
    def words(self) -> list[str]:
        """The words of the command line, or only `argv` itself if it is not a list; empty if it is unknown."""
        import json  # not at the start, because the end of a recorded program waits for it

        try:
            words = json.loads(self.argv) if self.argv else []
        except (ValueError, RecursionError):
            return [self.argv]
        return [str(word) for word in words] if isinstance(words, list) else [self.argv]


@readable
class LineRow(NamedTuple):
    """A line of a function. Times are in ns, 0 in a recording without times.

    Own time is spent in the line itself and the C functions that it called; its parts are as in FunctionRow. Inner time
    is spent in Python functions that it called; under recursion, only its outermost activation counts. With flag 1, a
    positive `hits` only means that it ran. Errors are 95 % half-widths.
    """

    id: int
    function: int
    line: int
    hits: int
    flags: enums.LineFlags
    own_ns: float
    own_error_ns: float
    inner_ns: float
    inner_error_ns: float
    total_ns: float
    total_error_ns: float
    awaits: int
    await_ns: int
    own_running_ns: float
    own_waiting_ns: int
    ready_ns: int
    lock_ns: int

    @property
    def wait_ns(self) -> int:
        """The name of `own_waiting_ns` in files and exports."""
        return self.own_waiting_ns


@readable
class ArcRow(NamedTuple):
    """An arc taken from line to line. -N is the entry (from) or the exit (to) of the code that begins at line N."""

    id: int
    function: int
    from_line: int
    to_line: int
    hits: int
    flags: enums.LineFlags


@readable
class BranchRow(NamedTuple):
    """A conditional jump: its position in the source (columns in bytes of UTF-8), and the count of each direction.

    `kind` is the condition under which it jumps: 0 false, 1 true, 2 None, 3 not None, 4 exhausted, 5 another. With flag
    1, positive counts only mean that the direction was taken; with flag 2, the counts may be too low.
    """

    id: int
    function: int
    offset: int
    kind: enums.BranchKind
    line: int
    column: int
    end_line: int
    end_column: int
    fell: int
    jumped: int
    flags: enums.BranchFlags


@readable
class ContextRow(NamedTuple):
    """A context that the program named, such as a test."""

    id: int
    name: str


@readable
class InstructionRow(NamedTuple):
    """An instruction of a function, as the interpreter disassembles it, with its execution count.

    `offset` is in bytes into its code; `line` is 0 if there is none; `text` is "" if unknown.
    """

    id: int
    function: int
    offset: int
    line: int
    text: str
    hits: int


@readable
class SourceRow(NamedTuple):
    """A source file of functions, as the recording ended. `path` is "" if there is none; numbers are -1 if unknown."""

    id: int
    file: str
    path: str
    size: int
    mtime_ns: int
    crc: int


@readable
class LossRow(NamedTuple):
    """A fact that the recording lacks or estimates. `thread` is -1 if it concerns all threads."""

    kind: str
    count: int  # type: ignore[assignment]  # shadows tuple.count, which rows do not need
    thread: int
    detail: str


class Table(Generic[Row]):
    """Columns of equal length.

    `table["own_ns"]` is a column (memoryview of 'q' or 'd', or a list of str), `table[7]` is a row, and iteration
    yields rows. `kind` and `flags` are numbers in a column; in a row they are enums of seismo.model.enums, which equal
    the numbers. pyarrow, pandas, Polars and DuckDB read a table through the Arrow PyCapsule interface
    (`__arrow_c_stream__`).
    """

    def __init__(
        self, row: type[Row], columns: dict[str, memoryview | StringColumn | Callable[[], memoryview]], length: int
    ) -> None:
        """Initialize with a column for each field of the row, or a function that returns it, called on first use."""
        self._row = row
        self._columns = columns
        self._length = length
        self._enums = enums_of(row)

    @property
    def columns(self) -> list[str]:
        """The columns' names, in order."""
        return list(self._columns)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return _shown("table_text", self, self._row.__name__)

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        return _shown("table_html", self, self._row.__name__)

    def __iter__(self) -> Iterator[Row]:
        values = [self._values(name) for name in self._columns]
        make: Any = self._row
        return map(make._make, zip(*values, strict=True))

    def _column(self, name: str) -> memoryview | StringColumn:
        name = ALIASES.get(name, name)
        column = self._columns[name]
        if callable(column):
            column = self._columns[name] = column()
        return column

    def _values(self, name: str) -> list[Any]:
        """Return the values of a column as they appear in rows."""
        column = self[name]
        if isinstance(column, list):
            return column
        numbers: list[Any] = column.tolist()
        enum = self._enums.get(name)
        if enum is None:
            return numbers
        named = {number: enum(number) for number in set(numbers)}
        return [named[number] for number in numbers]

    @overload
    def __getitem__(self, key: str) -> Any: ...

    @overload
    def __getitem__(self, key: int) -> Row: ...

    def __getitem__(self, key: str | int) -> Any:
        """Return a column by its name (or raise KeyError), or a row by its number (or raise IndexError)."""
        if isinstance(key, str):
            column = self._column(key)
            return column if isinstance(column, memoryview) else column.strings()
        if not -self._length <= key < self._length:
            raise IndexError(f"row {key} of {self._length}")
        of = self._enums
        return self._row(*(of[name](self[name][key]) if name in of else self[name][key] for name in self._columns))

    def numbers(self, name: str) -> memoryview:
        """Return a column of numbers. Raise KeyError if there is no such column, TypeError if it holds strings."""
        column = self._column(name)
        if not isinstance(column, memoryview):
            raise TypeError(f"column '{name}' has strings")
        return column

    def strings(self, name: str) -> list[str]:
        """Return a column of strings. Raise KeyError if there is no such column, TypeError if it holds numbers."""
        column = self._column(name)
        if isinstance(column, memoryview):
            raise TypeError(f"column '{name}' has numbers")
        return column.strings()

    def sort(self, by: str, descending: bool = True) -> list[int]:
        """Return the rows' numbers sorted by a column; the sort is stable."""
        column = self[by]
        values = column if isinstance(column, list) else column.tolist()
        return sorted(range(self._length), key=values.__getitem__, reverse=descending)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as an Arrow stream of one batch over the same memory. The requested schema is ignored."""
        columns: list[tuple[str, str, Any] | tuple[str, str, Any, Any]] = []
        for name in self._columns:
            column = self._column(name)
            if isinstance(column, memoryview):
                columns.append((name, "g" if column.format == "d" else "l", column))
            else:
                columns.append((name, "u", *column.arrow()))
        return _core.arrow_stream(columns)


class Strings:
    """A recording's string table, decoded on demand. Invalid UTF-8 is shown with backslash escapes."""

    def __init__(self, data: bytes, offsets: memoryview) -> None:
        self._data = data
        self._offsets = offsets
        self._decoded: dict[int, str] = {0: ""}

    @classmethod
    def of(cls, texts: Sequence[str]) -> Strings:
        """Return a table of the given strings; the first must be ''."""
        return cls(*_packed([text.encode("utf-8", "surrogatepass") for text in texts]))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> str:
        text = self._decoded.get(index)
        if text is None:
            piece = self._data[self._offsets[index] : self._offsets[index + 1]]
            try:
                text = piece.decode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                text = piece.decode("utf-8", "backslashreplace")
            self._decoded[index] = text
        return text


class StringColumn:
    """A column of indexes into a string table."""

    def __init__(self, strings: Strings, indexes: memoryview) -> None:
        self._strings = strings
        self._indexes = indexes
        self._list: list[str] | None = None

    def strings(self) -> list[str]:
        """Return the column as a list of str, which is made once."""
        if self._list is None:
            self._list = list(map(self._strings.__getitem__, self._indexes.tolist()))
        return self._list

    def arrow(self) -> tuple[bytes, memoryview]:
        """Return UTF-8 text and its int64 offsets. Lone surrogates, which Arrow does not allow, become '?'."""
        return _packed([text.encode("utf-8", "replace") for text in self.strings()])


def _packed(texts: list[bytes]) -> tuple[bytes, memoryview]:
    """Return the texts as one, and the offsets of their ends, with 0 before the first."""
    return b"".join(texts), memoryview(array.array("q", accumulate(map(len, texts), initial=0)))
