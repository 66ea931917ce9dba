"""The calls of a trace as an Arrow stream that is decoded while it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from seismo import _core
from seismo.model.enums import FOLDED
from seismo.model.recording import FOREVER
from seismo.model.trace.calls import CallRow, problem_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model.trace.calls import Calls

STREAM_COLUMNS = ("id", *CallRow._fields)
NO_TRACE = "it is not a trace: seismo trace records the times of calls"

# Columns that depend on all earlier events: the identities of calls, and which generator was suspended.
FROM_THE_BEGINNING = {"id", "parent", "call", "flags"}


class Times(NamedTuple):
    """Inclusive bounds on the start and end times (ns) of requested calls."""

    start_least: int = -FOREVER
    start_most: int = FOREVER
    end_least: int = -FOREVER
    end_most: int = FOREVER

    def and_also(self, other: Times) -> Times:
        """Return the intersection of both bounds."""
        bounds = zip((max, min, max, min), self, other, strict=True)
        return Times(*(tighter(mine, others) for tighter, mine, others in bounds))


ALL_TIMES = Times()


class CallStream:
    """The calls of a window for readers of Arrow streams. Each reading decodes the calls again, batch by batch.

    The columns are those of a CallRow, in int64, and `id`, a number for each call, from 0, in the order of threads and
    starts. `parent` and `call` are such ids, or -1 for none; `call` may refer to a call that ended before the window.
    Rows are sorted by thread and end, so that a reading needs the memory of one batch.
    """

    def __init__(self, calls: Calls, window: tuple[int, int, int]) -> None:
        """Initialize with the window: its start, its end (exclusive), and the bytes to look back (see Calls.window)."""
        self._calls = calls
        self._window = window
        self.problems: list[str] = []  # of the last reading that completed

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a reading of the calls. The requested schema is ignored."""
        return self.chosen()

    def chosen(self, times: Times = ALL_TIMES, columns: Sequence[str] = STREAM_COLUMNS) -> object:
        """Return a reading of only the calls with such times, and of these columns, in this order.

        If the stream covers all times and no column is in FROM_THE_BEGINNING, blocks without such calls are skipped.
        The rows are the same either way.
        """
        journal = self._calls._journal
        if journal is None:
            self.problems = [NO_TRACE]
            nothing = memoryview(b"").cast("q")
            return _core.arrow_stream([(name, "l", nothing) for name in columns])
        leaps = times != ALL_TIMES and FROM_THE_BEGINNING.isdisjoint(columns) and self._is_plain()
        numbers = bytes(map(STREAM_COLUMNS.index, columns))
        return journal.batches(*self._window, self._keep_problems, times, numbers, leaps)

    def _is_plain(self) -> bool:
        """Return True if the stream covers all times and no node is folded, so that blocks agree with the tree."""
        first, last, _ = self._window
        flags = self._calls._recording._raw["nodes"]["flags"]
        return first <= 0 and last >= FOREVER and not any(flag & FOLDED for flag in flags)

    def _keep_problems(self, wrong: dict[str, int]) -> None:
        self.problems = problem_sentences(wrong)
