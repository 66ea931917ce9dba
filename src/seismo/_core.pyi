# The native core: the engine records, the reading part works on columns. native/module documents each function.

from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType
from typing import Any, ParamSpec, Self, TypeAlias, TypedDict, TypeVar, final, overload

_P = ParamSpec("_P")
_R = TypeVar("_R")

# ---- the engine (engine.c); start raises RuntimeError with the reason if it is not possible ----

# settings: seismo.options has those of recorders; tests of coverage: a context for each function test* or runTest,
# MODULE.QUALNAME. fd: -1 for memory.
def start(
    *,
    recorder: str = "calltree",
    fd: int = -1,
    flush_ms: int = ...,
    hide: str = "",
    meta: str = "{}",
    calibrate: bool = True,
    interpreter: str = ...,
    host: str = ...,
    argv: str = ...,
    running: bool = True,
    where: Filter | None = None,
    span: Filter | None = None,
    **settings: Any,
) -> None: ...

DEFAULTS: dict[str, int]  # flush_ms, max_paths, max_live

# Of two recordings, which run at the same time: that of coverage, and the main one, of the other recorders.
def stop(exit: str = "", recorder: str = "calltree") -> None: ...  # noqa: A002  # the C function's keyword
def snapshot(recorder: str = "calltree", /) -> bytes: ...
def write(fd: int, content: bytes | memoryview, /) -> int: ...
def file(recorder: str = "calltree", /) -> tuple[int, int]: ...
def flush(recorder: str = "calltree", since: int = 0, /) -> None: ...
def paths() -> int: ...
def quietly(function: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
def move(fd: int, recorder: str = "calltree", /) -> bool: ...
def ahead(exit: str, recorder: str = "calltree", /) -> None: ...  # noqa: A002
def after_fork(fd: int, meta: str, recorder: str = "calltree", /) -> None: ...  # fd: -2 to stop
def status(recorder: str = "calltree", /) -> dict[str, Any]: ...
def sources() -> list[dict[str, Any]]: ...
def clock_info() -> dict[str, Any]: ...
def waits_told() -> str: ...
def check() -> bool: ...

# ---- the journal of a trace (journal.c) ----

def journaling() -> bool: ...  # True while a recording with a journal runs

# Records an event of the program, as described in docs/format.md. Returns False if this thread is not recorded or the
# event is too long.
def instant(kind: int, span: int, name: str, json: str, /) -> bool: ...

# ---- births and deaths of objects (lifetimes.c), for the running or the last recording ----

# A site is the number of a row of objects. Births are numbered from 1; an interval is first < number <= last, and -1 as
# last means now.
def objects_quiet(on: bool, /) -> None: ...  # disables recording of this thread's births; nests
def objects_mark(name: str, /) -> int: ...  # returns the births so far
def objects_end() -> None: ...  # ends the program's timeline, unless more objects are born
def objects_alive(first: int = 0, last: int = -1) -> dict[int, int]: ...  # by site; estimates if sampled
def objects_addresses(  # by site; at most limit per site, 100,000 in all
    sites: tuple[int, ...], first: int = 0, last: int = -1, limit: int = 100, spans: bool = False
) -> dict[int, list[int]]: ...

# Module and name of the type; module, qualified name and file of the function; line; node (-1 if none).
def objects_site(id: int, /) -> tuple[str, str, str, str, str, int, int]: ...  # noqa: A002

# Each row: object, parent (an index into rows, or -1), flags, count, asked, holder, by.
def objects_objection() -> str | None: ...
def objects_add_holders(rows: Iterable[tuple[int, int, int, int, int, str, str]], /) -> None: ...

# wanted: {id: empty list}, to be filled with referrers of the object, or with the object itself; None is an end.
def objects_referrers(objects: list[object], wanted: dict[int, list[object]], of_a_type: int, most: int, /) -> None: ...
def objects_holders(heap: list[object], wanted: dict[int, list[object] | None], /) -> list[object]: ...

# ---- holders of the interpreter's hooks (holders.c, hooks.c) ----

def slots_taken() -> dict[str, bool]: ...
def hub_status() -> dict[str, Any]: ...

# ---- bytecode (bytecode.c) ----

class _Branch(TypedDict):
    offset: int  # bytes
    also: tuple[int, int]
    to: tuple[int, int]  # not jumped, jumped
    to_line: tuple[int, int]
    line_events: tuple[int, int]
    from_line: int
    line: int
    column: int
    end_line: int
    end_column: int
    kind: int
    silent: int

def code_branches(code: CodeType, /) -> list[_Branch]: ...

# ---- coverage (coverage.c) ----

def cover_context(name: str, /) -> None: ...
def cover_executed() -> int: ...  # executions of lines; 0 without counts

# ---- the end of the process (exitstatus.c) ----

def exit_with(status: int, /) -> None: ...
def at_end(function: Callable[[], _R], /) -> _R: ...
def hear_signals() -> None: ...

# Compiles the text of a program, which must not contain null bytes (ValueError): compiling.c.
def compile_program(text: bytes | str, filename: str, /) -> CodeType: ...

# Sets a function to call before the process exits at once, execs or, if starts, starts a process: processes.c.
def set_process_receiver(
    hearer: Callable[[str, tuple[Any, ...] | None, tuple[str, ...]], tuple[Any, ...] | None] | None, starts: bool, /
) -> None: ...
def set_first_path(path: str, /) -> None: ...  # the first entry of sys.path in other interpreters

# Runs code in its globals, or a function with arguments, at the bottom of the stack: no frame of the caller is visible
# or counts towards the recursion limit.
@overload
def run_at_bottom(what: CodeType, namespace: dict[str, Any], /) -> None: ...
@overload
def run_at_bottom(what: Callable[..., object], arguments: tuple[Any, ...], /) -> object: ...
def run_program(
    what: CodeType | Callable[..., object], namespace_or_arguments: dict[str, Any] | tuple[Any, ...], /
) -> object: ...

# ---- filters (filter.c) ----

# An expression in the core, made of seismo.expression.Expression.program. Raises ValueError for an invalid program.
@final
class Filter:
    kinds: int  # bit set, numbered as expression.KINDS, of events that can match
    def __new__(cls, program: bytes) -> Self: ...
    def of_code(self, code: CodeType, globals: dict[str, Any] | None = None, /) -> tuple[int, int]: ...  # noqa: A002
    def of_event(
        self,
        kind: int,
        module: str,
        qualname: str,
        file: str,
        callee: tuple[str | None, str | None],
        line: int,
        facts: tuple[Any, ...],
        /,
    ) -> tuple[bool | None, int, int]: ...
    @staticmethod
    def _glob(pattern: bytes, text: bytes, /) -> bool: ...

# ---- reading (reader*.c, model_functions.c, arrow.c) ----

# An array of int64 ('q') or float64 ('d') outside Python's heap, for memoryview().
@final
class Column:
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

# Writes a recording to a descriptor, which the caller owns, or to memory. Raises OSError if writing fails.
class Writer:
    def __new__(cls, fd: int | None = None) -> Self: ...
    def string(self, text: str, /) -> int: ...
    def meta(self, json: str, /) -> None: ...
    def table(self, name: str, columns: Mapping[str, Any], /) -> None: ...
    def chunk(self, kind: str, payload: bytes | memoryview, /) -> None: ...
    def finish(self) -> bytes | None: ...

@final
class Journal:
    def __new__(
        cls, columns: Mapping[str, Any], functions: int, sound_nodes: int, sound_threads: int
    ) -> Self: ...  # raises ValueError for invalid columns
    def read(self, start: int, end: int, thread: int, limit: int, look_back: int, /) -> dict[str, Any]: ...
    def overview(
        self, start: int, end: int, columns: int, first: int, last: int, threads: bytes | None, /
    ) -> dict[str, Any]: ...
    def cut(
        self,
        start: int,
        end: int,
        choice: Mapping[str, Any] | None,
        counts: Mapping[str, Any] | None,
        tree: Mapping[str, Any] | None,
        receiver: Callable[[bytes], object] | None,
        /,
    ) -> dict[str, int]: ...
    def batches(
        self,
        start: int,
        end: int,
        look_back: int,
        report: Callable[[dict[str, int]], object],
        times: tuple[int, int, int, int],
        columns: bytes,
        leaps: bool,
        /,
    ) -> object: ...
    def sums(self) -> dict[str, Any]: ...
    def build(self, least: int, /) -> int: ...
    def made(self) -> list[bytes]: ...
    def longest(self) -> dict[str, Any]: ...
    def gaps(self) -> list[tuple[int, int, int, int]]: ...
    def blocks(self) -> list[tuple[int, int, int, int, bool]]: ...

def read(
    data: bytes | bytearray | memoryview, /
) -> dict[str, Any]: ...  # raises ValueError if it is not a recording or of a later version
def schema() -> dict[str, list[tuple[str, str]]]: ...  # {table: [(column, 'q' | 's' | 'd')]}
def estimate(tables: Mapping[str, Mapping[str, Any]], distorted: bool = True, /) -> dict[str, Column]: ...
def aggregate(nodes: Mapping[str, Any], estimated: Mapping[str, Any], functions: int, /) -> dict[str, Column]: ...
def combine(nodes: Mapping[str, Any], chosen: bytes, /) -> dict[str, Column]: ...
def sum_by(columns: Mapping[str, Any], rows: int, code: str, is_or: bool = False, /) -> Column: ...
def take(columns: Mapping[str, Any], code: str, /) -> Column: ...
def arrow_stream(columns: list[Any], /) -> object: ...

# ---- hooks (hooks.c), for seismo.hooks; raise RuntimeError with the reason if unavailable ----

_Function: TypeAlias = Callable[[FrameType, str, Any], object]

@final
class Hook:
    @property
    def active(self) -> bool: ...
    @property
    def function(self) -> _Function | None: ...
    def remove(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *reason: object) -> None: ...

def set_profile(func: _Function, *, threads: str = "current", where: str | None = None) -> Hook: ...
def set_trace(func: _Function, *, threads: str = "current", where: str | None = None) -> Hook: ...
def get_profile() -> _Function | None: ...
def get_trace() -> _Function | None: ...
def setprofile(function: _Function | None, /) -> None: ...
def settrace(function: _Function | None, /) -> None: ...
def getprofile() -> _Function | None: ...
def gettrace() -> _Function | None: ...
def _setprofile_everywhere(function: _Function | None, /) -> None: ...
def _settrace_everywhere(function: _Function | None, /) -> None: ...

# ---- reference tracing (reftracer.c); seismo.hooks.references describes a batch ----

# Raises RuntimeError with the reason if it is not possible.
@final
class RefTracer:
    def __new__(
        cls,
        callback: Callable[[list[tuple[type | None, int, int, Any]]], object],
        current: bool = False,
        size: int = 32768,
    ) -> Self: ...
    @property
    def active(self) -> bool: ...
    @property
    def callback(self) -> Callable[..., object]: ...
    def flush(self) -> None: ...
    def remove(self) -> None: ...
    def status(self) -> dict[str, Any]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...

def get_ref_tracer() -> Callable[..., object] | None: ...
def ref_objection() -> str | None: ...

# ---- flat call statistics (callstats.c) ----

@final
class profiler_entry(tuple[Any, ...]):  # noqa: N801  # cProfile's name
    code: CodeType | str
    callcount: int
    reccallcount: int
    totaltime: float
    inlinetime: float
    calls: list[profiler_subentry] | None

@final
class profiler_subentry(tuple[Any, ...]):  # noqa: N801
    code: CodeType | str
    callcount: int
    reccallcount: int
    totaltime: float
    inlinetime: float

# Raises RuntimeError if no hook is available, or if it was called from its own timer.
class Profiler:
    def __init__(
        self,
        timer: Callable[[], float] | None = None,
        timeunit: float = 0.0,
        subcalls: bool = True,
        builtins: bool = True,
        *,
        threads: str = "all",
    ) -> None: ...
    def enable(self, subcalls: bool = ..., builtins: bool = ...) -> None: ...
    def disable(self) -> None: ...
    def clear(self) -> None: ...
    def getstats(self) -> list[profiler_entry]: ...

# ---- watching (watch.c) ----

# Passes events that match a Filter to report(moment, kind, how, frame, arg, line, duration_ns, own_ns, call, nesting,
# calls, depth, module, qualname): see native/hub/watch.h. evaluate(term, frame) evaluates Python terms.
def keep(function: Callable[[str], int] | None, /) -> None: ...

@final
class Watch:
    def __new__(
        cls,
        filter: Filter,  # noqa: A002  # the C function's keyword
        kinds: int,
        report: Callable[..., object] | None = None,
        evaluate: Callable[[int, Any], bool | None] | None = None,
        *,
        ends: bool = False,
        lines: bool = False,
        tracks: bool = False,
        all: bool = False,  # noqa: A002
        times: bool = False,
        limit: int = ...,
        hide: str | None = None,
        this_thread: bool = False,
        machinery: bool = False,
    ) -> Self: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def functions(
        self,
    ) -> list[tuple[str, str, str, int, bool, int, int, int, float, float, float, tuple[int, ...], float]]: ...
    @property
    def matched(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def running(self) -> bool: ...

def frame_locals(frame: Any, /) -> dict[str, Any]: ...
def instance_dict(value: object, /) -> dict[Any, Any] | None: ...
def where_am_i() -> tuple[str, str]: ...  # names of the thread and the task
def interpreters() -> tuple[int, int]: ...  # interpreters that have ended, and all so far
def watch_bucket(number: int, /) -> float: ...  # lower end, ns
