"""The calls of a trace as an Arrow stream that is decoded while it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo import _core

if TYPE_CHECKING:
    from collections.abc import Callable

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


class CallStream:
    """The calls of some time, for what reads Arrow streams; each reading decodes them again, batch by batch.

    The columns are those of a CallRow, in int64, and `id`: a number for each call, from 0, in the order of threads and
    of beginnings. `parent` and `call` are such ids, -1 for none; that of a call may be one that ended before the
    window. Rows come in the order of threads and of their ends, so that reading takes the memory of a batch.
    """

    columns = STREAM_COLUMNS

    def __init__(
        self, journal: _core.Journal | None, window: tuple[int, int, int], words: Callable[[dict[str, int]], list[str]]
    ) -> None:
        """window: the first time, that after the last, and the bytes to look back (Calls.window has all three)."""
        self._journal = journal
        self._window = window
        self._words = words
        self.problems: list[str] = []  # of the last reading that came to the end

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """One reading of the calls. The requested schema is not used."""
        if self._journal is None:
            nothing = memoryview(b"").cast("q")
            return _core.arrow_stream([(name, "l", nothing) for name in self.columns])
        return self._journal.batches(*self._window, self._told)

    def _told(self, wrong: dict[str, int]) -> None:
        self.problems = self._words(wrong)
