"""The calls of a trace as an Arrow stream that is decoded while it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from seismo import _core
from seismo.model.enums import NodeFlags
from seismo.model.recording import FOREVER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model import Recording

STREAM_COLUMNS = (
    "id",
    "start_ns",
    "end_ns",
    "start_bound_ns",
    "end_bound_ns",
    "thread",
    "stream",
    "function",
    "node",
    "parent",
    "call",
    "depth",
    "flags",
)


NO_TRACE = "it has no calls in time: seismo trace records them"

# Columns that hang on all that came before: which call it is, and which generator was paused.
FROM_THE_BEGINNING = {"id", "parent", "call", "flags"}


class Times(NamedTuple):
    """Which calls are wanted by their times, ns; all of these are included."""

    start_least: int = -FOREVER
    start_most: int = FOREVER
    end_least: int = -FOREVER
    end_most: int = FOREVER

    def and_also(self, other: Times) -> Times:
        """The calls that both want."""
        return Times(
            max(self.start_least, other.start_least),
            min(self.start_most, other.start_most),
            max(self.end_least, other.end_least),
            min(self.end_most, other.end_most),
        )


ALL_TIMES = Times()


class CallStream:
    """The calls of some time, for what reads Arrow streams; each reading decodes them again, batch by batch.

    The columns are those of a CallRow, in int64, and `id`: a number for each call, from 0, in the order of threads and
    of beginnings. `parent` and `call` are such ids, -1 for none; that of a call may be one that ended before the
    window. Rows come in the order of threads and of their ends, so that reading takes the memory of a batch.
    """

    columns = STREAM_COLUMNS

    def __init__(
        self,
        journal: _core.Journal | None,
        recording: Recording,
        window: tuple[int, int, int],
        words: Callable[[dict[str, int]], list[str]],
    ) -> None:
        """window: the first time, that after the last, and the bytes to look back (Calls.window has all three)."""
        self._journal = journal
        self._recording = recording
        self._window = window
        self._words = words
        self.problems: list[str] = []  # of the last reading that came to the end

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """One reading of the calls. The requested schema is not used."""
        return self.chosen()

    def chosen(self, times: Times = ALL_TIMES, columns: Sequence[str] = STREAM_COLUMNS) -> object:
        """One reading of the calls with such times alone, and of these columns, in this order.

        What has none of these calls is not read if the stream is of all times, and the columns are none of
        FROM_THE_BEGINNING. Rows are the same either way.
        """
        if self._journal is None:
            self.problems = [NO_TRACE]
            nothing = memoryview(b"").cast("q")
            return _core.arrow_stream([(name, "l", nothing) for name in columns])
        leaps = times != ALL_TIMES and FROM_THE_BEGINNING.isdisjoint(columns) and self._is_plain()
        numbers = bytes(map(STREAM_COLUMNS.index, columns))
        return self._journal.batches(*self._window, self._told, times, numbers, leaps)

    def _is_plain(self) -> bool:
        """Whether the stream is of all times, and each call hangs in the tree below its caller, as blocks have it."""
        first, last, _ = self._window
        return (
            first <= 0
            and last >= FOREVER
            and not any(flags & NodeFlags.FOLDED for flags in self._recording.tree["flags"])
        )

    def _told(self, wrong: dict[str, int]) -> None:
        self.problems = self._words(wrong)
