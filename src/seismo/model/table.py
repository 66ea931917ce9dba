"""Tables of columns, and the rows they give on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, overload

from seismo import _core
from seismo.model.enums import (
    OF_ROWS,
    BranchFlags,
    BranchKind,
    FunctionFlags,
    FunctionKind,
    LineFlags,
    NodeFlags,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# What a column is in memory: int64 or float64 values outside Python's heap.
Numbers = memoryview


class FunctionRow(NamedTuple):
    """One function. Times in ns; `lower_bound` 1: it was called at least `calls` times.

    Own and total times are those of the wall. `wait_ns`: of the own time, off the CPU; of that, as far as this machine
    told (`ProcessRow.waits`), `ready_ns`: it could have run and had no processor, `lock_ns`: it waited for the
    interpreter's lock. `total_wait_ns`: of the total time, off the CPU. `await_ns` is in none of them.
    """

    id: int
    kind: FunctionKind
    module: str
    qualname: str
    file: str
    line: int
    flags: FunctionFlags
    calls: int
    resumes: int
    exceptions: int
    own_ns: float
    own_error_ns: float
    total_ns: float
    total_error_ns: float
    awaits: int
    await_ns: int
    wait_ns: int
    ready_ns: int
    lock_ns: int
    total_wait_ns: float
    lower_bound: int


class NodeRow(NamedTuple):
    """One node of the call tree: a distinct path on one thread. `parent` -1: a root. Times as a function's."""

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
    wait_ns: int
    ready_ns: int
    lock_ns: int
    total_wait_ns: float
    flags: NodeFlags


class ThreadRow(NamedTuple):
    """One thread, or several in one row: `folded`, 0 for one. `cpu_ns` -1: unknown. Start and end in unix ns."""

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


class ProcessRow(NamedTuple):
    """One process, with what its probes cost (`cost_error` relative). `argv` is a JSON list.

    Costs are ns of a call or resume that was only counted, in its own time and its caller's, and of an exact piece; of
    a recording of lines `python_inside` is that of a hit. `deep_ns`: what a call costs more if calls below
    it went deep.

    `waits`: how waiting was told from running; "": it was not. `boot`: which start of the system it ran on; `boot_ns`:
    from then to `start_ns`, and `unix_bound_ns`: by how much `start_ns` may be wrong; "" and 0: not known.
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


class LineRow(NamedTuple):
    """A line of a function. Times in ns, 0 in a recording that has none.

    own: in the line itself and the C functions it called, `wait_ns` of it off the CPU (as a function's); inner: in
    Python functions that it called, under recursion those of its outermost activation. `flags` 1: `hits` says only that
    it ran. Errors are 95 % half-widths.
    """

    id: int
    function: int
    line: int
    hits: int
    flags: LineFlags
    own_ns: float
    own_error_ns: float
    inner_ns: float
    inner_error_ns: float
    total_ns: float
    total_error_ns: float
    awaits: int
    await_ns: int
    wait_ns: int
    ready_ns: int
    lock_ns: int


class ArcRow(NamedTuple):
    """A step from one line to another that was taken. -N: into (from) or out of (to) the code that begins at line N."""

    id: int
    function: int
    from_line: int
    to_line: int
    hits: int
    flags: LineFlags


class BranchRow(NamedTuple):
    """A conditional jump: where in the source it stands (columns in bytes of UTF-8), how often it went either way.

    `kind`: it jumps if its value is 0 false, 1 true, 2 None, 3 not None, 4 exhausted, 5 something else. `flags` 1: fell
    and jumped say only whether; 2: they may be too few.
    """

    id: int
    function: int
    offset: int
    kind: BranchKind
    line: int
    column: int
    end_line: int
    end_column: int
    fell: int
    jumped: int
    flags: BranchFlags


class ContextRow(NamedTuple):
    """What the program said that it was doing, such as a test."""

    id: int
    name: str


class InstructionRow(NamedTuple):
    """An instruction of a function, as the interpreter disassembles it, and how often it was executed.

    `offset`: bytes into its code; `line` 0: none; `text` "": not known.
    """

    id: int
    function: int
    offset: int
    line: int
    text: str
    hits: int


class SourceRow(NamedTuple):
    """A file that functions name, as it was when the recording ended. `path` "": it is no file; -1: unknown."""

    id: int
    file: str
    path: str
    size: int
    mtime_ns: int
    crc: int


class LossRow(NamedTuple):
    """Something the recording lacks or estimates. `thread` -1: all."""

    kind: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody wants of a row
    thread: int
    detail: str


Row = TypeVar("Row", bound="tuple[Any, ...]")


class _Column(Protocol):
    """A column that is not plain numbers yet."""

    def strings(self) -> list[str]: ...

    def arrow(self) -> tuple[bytes, memoryview]: ...


class Table(Generic[Row]):
    """Columns of equal length.

    `table["own_ns"]` is a column (memoryview of 'q' or 'd', or a list of str), `table[7]` a row, iteration gives rows.
    `kind` and `flags` are numbers in a column, and in a row the enums of seismo.model.enums, which equal the numbers.
    pyarrow, pandas, Polars and DuckDB take a table through the Arrow PyCapsule interface (`__arrow_c_stream__`).
    """

    def __init__(self, row: type[Row], columns: dict[str, memoryview | _Column], length: int) -> None:
        self._row = row
        self._columns = columns
        self._length = length
        self._enums = OF_ROWS.get(row.__name__, {})

    @property
    def columns(self) -> list[str]:
        """The columns' names, in order."""
        return list(self._columns)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._length} rows: {', '.join(self._columns)}>"

    def __iter__(self) -> Iterator[Row]:
        values = [self._values(name) for name in self._columns]
        make: Any = self._row
        return map(make._make, zip(*values, strict=True))

    def _values(self, name: str) -> list[Any]:
        """A column as its rows have it."""
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
        """A column by its name (KeyError), or a row by its number (IndexError)."""
        if isinstance(key, str):
            column = self._columns[key]
            return column if isinstance(column, memoryview) else column.strings()
        if not -self._length <= key < self._length:
            raise IndexError(f"row {key} of {self._length}")
        enums: dict[str, Any] = self._enums
        return self._row(
            *(enums[name](self[name][key]) if name in enums else self[name][key] for name in self._columns)
        )

    def numbers(self, name: str) -> memoryview:
        """A column of numbers. KeyError: there is none of this name; TypeError: use one of strings."""
        column = self._columns[name]
        if not isinstance(column, memoryview):
            raise TypeError(f"column '{name}' has strings")
        return column

    def strings(self, name: str) -> list[str]:
        """A column of strings. KeyError: there is none of this name; TypeError: use one of numbers."""
        column = self._columns[name]
        if isinstance(column, memoryview):
            raise TypeError(f"column '{name}' has numbers")
        return column.strings()

    def sort(self, by: str, descending: bool = True) -> list[int]:
        """The rows' numbers in the order of a column; equal ones stay in their order."""
        values = self.strings(by) if not isinstance(self._columns[by], memoryview) else self.numbers(by).tolist()
        return sorted(range(self._length), key=values.__getitem__, reverse=descending)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as an Arrow stream of one batch over the same memory.

        The requested schema is not used: the interface allows to give what one has.
        """
        columns: list[tuple[str, str, Any] | tuple[str, str, Any, Any]] = []
        for name, column in self._columns.items():
            if isinstance(column, memoryview):
                columns.append((name, "g" if column.format == "d" else "l", column))
            else:
                columns.append((name, "u", *column.arrow()))
        return _core.arrow_stream(columns)


class Strings:
    """A recording's string table; decodes on demand. Damaged text is shown with backslashes."""

    def __init__(self, data: bytes, offsets: memoryview) -> None:
        self._data = data
        self._offsets = offsets
        self._decoded: dict[int, str] = {0: ""}

    @classmethod
    def of(cls, texts: Sequence[str]) -> Strings:
        """A table of the given strings; the first must be ''."""
        import array

        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = array.array("q", [0])
        for piece in encoded:
            offsets.append(offsets[-1] + len(piece))
        return cls(b"".join(encoded), memoryview(offsets))

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
        """The column as a list of str, made once."""
        if self._list is None:
            self._list = list(map(self._strings.__getitem__, self._indexes.tolist()))
        return self._list

    def arrow(self) -> tuple[bytes, memoryview]:
        """UTF-8 text and its int64 offsets. Lone surrogates, which Arrow does not allow, become '?'."""
        import array

        pieces = [text.encode("utf-8", "replace") for text in self.strings()]
        offsets = array.array("q", [0])
        end = 0
        for piece in pieces:
            end += len(piece)
            offsets.append(end)
        return b"".join(pieces), memoryview(offsets)
