"""The calls of a trace with their times."""

from __future__ import annotations

import array
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo import _core
from seismo.model.enums import CallFlags  # noqa: TC001  enums_of() looks it up
from seismo.model.recording import FOREVER
from seismo.model.table import Row, Table, readable
from seismo.model.trace.process_clocks import starts
from seismo.pure.numbers import uvarint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from seismo.model.recording import Recording
    from seismo.model.trace.arrow_stream import CallStream
    from seismo.model.trace.runtime_events import Pause, Span

MOST_DEPTH = 2**32 - 1
UNSUMMED = 16384  # bytes of a stream's events, below which the stream is read without levels
MOST = 5_000_000
"""The most rows of a window by default, which take half a gigabyte."""
LOOK_BACK = 4 << 20
"""The bytes of a thread's journal before a window in which its calls may begin: some million events."""


@readable
class CallRow(NamedTuple):
    """A call, or a step of a generator or coroutine.

    Times are ns since the start of the recording's first process. Each may be wrong by its bound, or by an unknown
    amount if the bound is -1. `parent` is the row of the caller, or -1 if it is not in the table. `call` is the row of
    the first step of the same call (the row itself unless it is a later step), or -1 if it is not in the table.
    """

    start_ns: int
    end_ns: int
    start_bound_ns: int
    end_bound_ns: int
    thread: int
    stream: int
    function: int
    node: int
    parent: int
    call: int
    depth: int
    flags: CallFlags


@readable
class RunRow(NamedTuple):
    """One call, or calls of one depth that are too close together to distinguish in a picture: within a column's width.

    `busy_ns` is the time in which any of them was open; at least `most_ns` of it was in `function`, which has the
    largest share, and mostly in its `node`. `bound_ns` is the error bound of a single call's times, or -1 if it is
    unknown or there are several calls. `flags` are those of a single call.
    """

    start_ns: int
    end_ns: int
    busy_ns: int
    most_ns: int
    bound_ns: int
    calls: int
    thread: int
    stream: int
    function: int
    node: int
    depth: int
    flags: CallFlags


class Overview(NamedTuple):
    """The data for a picture of a window. `runs` are sorted by thread, stream, depth and start."""

    runs: Table[RunRow]
    gaps: list[GapRow]
    problems: list[str]


@readable
class InstantRow(NamedTuple):
    """An event of the journal other than a call.

    The program emits "mark", "counter", "begin" and "end" (of a span). seismo emits "collect" and "collected", a pause
    of the cycle collector (see `pauses`), and the kinds that `landmarks` lists.
    """

    time_ns: int
    bound_ns: int
    thread: int
    stream: int
    kind: str
    span: int
    name: str
    data: Any
    call: int


@readable
class GapRow(NamedTuple):
    """An interval of a thread in which events are missing."""

    start_ns: int
    end_ns: int
    thread: int
    stream: int


@readable
class BlockRow(NamedTuple):
    """A block of a thread's journal, which can be decoded alone, with its first time and the bytes of its events."""

    thread: int
    stream: int
    time_ns: int
    size: int
    after_gap: bool


class Window(NamedTuple):
    """The contents of a window. `more` is True if the limit left out some calls."""

    calls: Table[CallRow]
    instants: list[InstantRow]
    gaps: list[GapRow]
    problems: list[str]
    more: bool


class Sums(NamedTuple):
    """Sums over a whole journal. `calls`, `resumes` and `exceptions` are by node; `longest` has one call per function.

    `left_out` counts calls, resumes and exceptions that a filter left out of the journal. Each node has those below it
    that no deeper node has; after the nodes, each thread has its remaining ones.
    """

    calls: memoryview
    resumes: memoryview
    exceptions: memoryview
    steps: int
    longest: Table[CallRow]
    gaps: list[GapRow]
    problems: list[str]
    left_out: tuple[memoryview, ...]


_NOTHING = memoryview(array.array("q"))
_COUNTS = ("calls", "resumes", "exceptions")
_KINDS = {1: "mark", 2: "counter", 3: "begin", 4: "end", 5: "collect", 6: "collected"}


class Calls:
    """The calls of a recording with their times, read on demand. False if the recording has no journal."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._pieces = recording._journal

    def __bool__(self) -> bool:
        return self._pieces is not None

    def __repr__(self) -> str:
        return f"<Calls in {len(self.blocks)} blocks>" if self else "<Calls: none>"

    @cached_property
    def start_ns(self) -> int:
        """The Unix time that is the origin of all times here."""
        return min(self._starts, default=0)

    @cached_property
    def _starts(self) -> list[int]:
        return starts(self._recording)

    @cached_property
    def _ends(self) -> list[int]:
        raw = self._recording._raw
        later = [
            mine - of_day for mine, of_day in zip(self._starts, raw["processes"]["start_ns"].tolist(), strict=True)
        ]
        threads = zip(raw["threads"]["end_ns"].tolist(), raw["threads"]["process"].tolist(), strict=True)
        ends = [end + later[process] if process < len(later) and end else end for end, process in threads]
        return [end - self.start_ns if end >= self.start_ns else -1 for end in ends]

    @cached_property
    def _journal(self) -> _core.Journal | None:
        if self._pieces is None:
            return None
        recording = self._recording
        raw = recording._raw
        nodes, began = raw["nodes"], self._starts
        origin = [
            min(max(began[process] - self.start_ns, 0), 1 << 61) if began else 0
            for process in raw["threads"]["process"].tolist()
        ]
        columns = {
            **{name: getattr(self._pieces, name) for name in ("data", "places", "heads", "levels", "longest")},
            **{name: nodes[name] for name in ("parent", "thread", "function", "calls", "resumes")},
            "own_ns": recording.timed("wall").tree["own_ns"],  # a trace has one kind of times only
            "origin": memoryview(array.array("q", origin)),
            "end": memoryview(array.array("q", self._ends)),
        }
        functions = len(raw["functions"]["id"])
        return _core.Journal(columns, functions, self._pieces.nodes, self._pieces.threads)

    @cached_property
    def _summed(self) -> _core.Journal | None:
        """The journal, with levels for all streams that are large enough; older recordings may lack some."""
        if self._journal is not None:
            self._journal.build(UNSUMMED)
        return self._journal

    @cached_property
    def blocks(self) -> list[BlockRow]:
        """The blocks of the journal, from its headers, without decoding it."""
        return [BlockRow(*block) for block in self._journal.blocks()] if self._journal else []

    @cached_property
    def last_ns(self) -> dict[int, int]:
        """The last known time of each thread with a journal."""
        newest = {block.thread: block.time_ns for block in sorted(self.blocks, key=lambda block: block.time_ns)}
        return {
            thread: max([time, *self.window(time, thread=thread).calls["end_ns"]]) for thread, time in newest.items()
        }

    @cached_property
    def end_ns(self) -> int:
        """The end of the last thread or, if the program was killed, of the last known call."""
        finished = self._pieces is None or self._pieces.finished
        return max(
            [*self._ends, *((block.time_ns for block in self.blocks) if finished else self.last_ns.values())], default=0
        )

    def window(
        self,
        start_ns: int = 0,
        end_ns: int = FOREVER,
        *,
        thread: int | None = None,
        limit: int = MOST,
        look_back: int = LOOK_BACK,
    ) -> Window:
        """Return the contents of a window on one thread or all, including calls that only overlap it.

        Calls are sorted by thread and start, so that parents come first. At most `limit` calls are read; with 0, the
        result still has all instants and gaps. A call that began before the window has its true start if that is within
        `look_back` bytes of the thread's journal. Otherwise it has the flag BEFORE and the time at which reading began.
        """
        if self._journal is None:
            return Window(_table(CallRow), [], [], [], False)
        first, last = (max(-FOREVER, min(when, FOREVER)) for when in (start_ns, end_ns))
        found = self._journal.read(first, last, -1 if thread is None else thread, limit, look_back)
        instants = [row for row in map(_instant, found["instants"]) if row is not None]
        gaps = [GapRow(*gap) for gap in found["gaps"]]
        return Window(_table(CallRow, found["calls"]), instants, gaps, problem_sentences(found["wrong"]), found["more"])

    def overview(
        self,
        start_ns: int = 0,
        end_ns: int | None = None,
        columns: int = 1000,
        threads: Iterable[int] | None = None,
        depths: tuple[int, int] | None = None,
    ) -> Overview:
        """Return the data for a picture of a window that is `columns` wide: runs of calls for each stream and depth.

        A call wider than a column is a run by itself; others are summed, so that each depth has at most two runs per
        column. Calls that only overlap the window keep their own times. `threads` are ids, all by default. `depths` is
        a range (first, last) that excludes the last. Times are ns as in `window`; end_ns defaults to the end of the
        recording.
        """
        end_ns = self.end_ns + 1 if end_ns is None else end_ns
        first, last = (max(0, min(when, FOREVER)) for when in (start_ns, end_ns))
        low, high = depths or (0, MOST_DEPTH)
        journal = self._summed
        if journal is None or last <= first or high <= low or columns < 1:
            return Overview(_table(RunRow), [], [])
        chosen = None
        if threads is not None:
            wanted = set(threads)
            chosen = bytes(number in wanted for number in range(len(self._ends)))
        found = journal.overview(first, last, columns, max(low, 0), min(high, MOST_DEPTH), chosen)
        gaps = [GapRow(*gap) for gap in found["gaps"]]
        return Overview(_table(RunRow, found["runs"]), gaps, problem_sentences(found["wrong"]))

    def stream(self, start_ns: int = 0, end_ns: int = FOREVER, *, look_back: int = LOOK_BACK) -> CallStream:
        """Return the calls of a window (as in `window`) as an Arrow stream that is decoded while it is read.

        For readers such as DuckDB, pyarrow and Polars; memory does not grow with the trace.
        """
        from seismo.model.trace.arrow_stream import CallStream

        first, last = (max(-FOREVER, min(when, FOREVER)) for when in (start_ns, end_ns))
        return CallStream(self, (first, last, look_back))

    def __iter__(self) -> Iterator[CallRow]:
        return iter(self.window().calls)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return all calls as an Arrow stream of one batch. Use `window(...).calls` for a window."""
        return self.window(limit=FOREVER).calls.__arrow_c_stream__(requested_schema)

    @cached_property
    def instants(self) -> list[InstantRow]:
        """The journal's events other than calls, by thread: marks, counters, spans and pauses of the collector."""
        return self.window(limit=0).instants

    @cached_property
    def pauses(self) -> list[Pause]:
        """The pauses of the cycle collector, sorted by time."""
        from seismo.model.trace.runtime_events import pauses

        return pauses(self.instants)

    @cached_property
    def spans(self) -> list[Span]:
        """The spans that the program named, sorted by start."""
        from seismo.model.trace.runtime_events import spans

        return spans(self._recording, self.instants)

    @cached_property
    def landmarks(self) -> list[InstantRow]:
        """The starts and ends of threads, the starts of children, and imports of modules, sorted by time."""
        from seismo.model.trace.runtime_events import landmarks

        return landmarks(self._recording) if self else []

    @cached_property
    def gaps(self) -> list[GapRow]:
        """The intervals of threads with missing events, found without decoding the rest."""
        return [GapRow(*gap) for gap in self._journal.gaps()] if self._journal else []

    @cached_property
    def longest(self) -> Table[CallRow] | None:
        """The longest call of each function as the recorder noted it, or None if it did not or was killed.

        Times are those of the surrounding marks, and their bounds are unknown. `sums` finds the same calls by reading
        the whole journal.
        """
        return self.noted if self._pieces is not None and self._pieces.finished else None

    @cached_property
    def noted(self) -> Table[CallRow] | None:
        """The same as `longest`, also for an unfinished recording, where calls of the last second may be missing."""
        if self._journal is None or self._pieces is None or not len(self._pieces.longest):
            return None
        return _table(CallRow, self._journal.longest())

    @cached_property
    def sums(self) -> Sums:
        """The sums over the whole journal, computed in one pass with bounded memory."""
        if self._journal is None:
            return Sums(_NOTHING, _NOTHING, _NOTHING, 0, self.window().calls, [], [], (_NOTHING,) * 3)
        found = self._journal.sums()
        calls, resumes, exceptions = (memoryview(found[name]) for name in _COUNTS)
        left = tuple(memoryview(found[f"left_{name}"]) for name in _COUNTS)
        gaps, problems = [GapRow(*gap) for gap in found["gaps"]], problem_sentences(found["wrong"])
        return Sums(calls, resumes, exceptions, found["steps"], _table(CallRow, found["longest"]), gaps, problems, left)


def _table(row: type[Row], columns: Mapping[str, Any] | None = None) -> Table[Row]:
    """Return a table of such rows with the core's columns, or an empty one."""
    fields: tuple[str, ...] = row._fields  # type: ignore[attr-defined]
    table = {name: memoryview(columns[name]) if columns else _NOTHING for name in fields}
    return Table(row, {**table}, len(table["start_ns"]))


def problem_sentences(wrong: dict[str, int]) -> list[str]:
    """Return what was wrong with a journal, given the core's counts."""
    words = {
        "dropped": "{} chunks of the journal are invalid or lack their beginning; they are left out",
        "damaged": "{} blocks of the journal end early: chunks are missing or damaged",
        "unknown": "{} blocks of the journal end early: they refer to paths that are not in the file",
        "reserved": "{} blocks of the journal end early: their bytes are invalid",
        "deep": "{} blocks of the journal end early: too many calls are open in them",
        "below": "{} calls have an end but no beginning",
        "unlisted": "{} blocks of the journal have marks, spans or pauses that lists lack, as its index lacks them",
    }
    return [text.format(f"{wrong[name]:,}") for name, text in words.items() if wrong[name]]


def _instant(raw: tuple[Any, ...]) -> InstantRow | None:
    """Return a decoded instant, or None if it is malformed or of a later version."""
    time, bound, thread, stream, kind, row, data = raw
    name = _KINDS.get(kind)
    if name is None:
        return None
    span = at = 0
    try:
        if kind >= 3:
            span, at = uvarint(data, at, len(data))
        length, at = uvarint(data, at, len(data))
        if at + length > len(data):
            return None
        rest = data[at + length :]
        value = json.loads(rest) if rest else None
    except (ValueError, RecursionError):
        return None
    text = data[at : at + length].decode("utf-8", "backslashreplace")
    return InstantRow(time, bound, thread, stream, name, span, text, value, row)
