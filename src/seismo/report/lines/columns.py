"""The columns of lines and functions, each declared once: for tables, sources, the gutter and the summary.

heat     how the line's own time compares to the hottest line's
hits     how often the line began; exact
own      time in the line itself and the C functions that it called
±        the error of that, from 1 % on; `< 6 ms`: no more is known of it than that
waiting  time on the wall in which it did not run, and what for
awaiting time in which it was suspended at an await

MEANINGS has the others. The summary uses all of this: no import that it could not afford.
"""

from __future__ import annotations

from seismo.report.tables import Column
from seismo.report.waiting import LEAST, reasons
from seismo.report.words import Signs, aligned, count, error, left, percent, share, time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo.report.tables import Columns

WHY = "for" + " " * 6  # the heading of what was waited for
NARROW = ("for", "each", "own %")  # the columns that go first where there is little width
HEAT = 5  # columns
MEANINGS = {
    "inner": "time in Python functions that the line called",
    "each": "own and inner time a hit",
    "<": "no more is known of a time than that it is less",
}


class LineCells:
    """What the cells are made with. notable_ns: the least wait that is worth a column; 0: there is none."""

    def __init__(self, signs: Signs, whole_ns: float, notable_ns: float = 0, known: Any = (), roomy: bool = True):
        self.signs, self.whole_ns = signs, whole_ns
        self.notable_ns, self.known, self.roomy = notable_ns, known, roomy

    def time(self, ns: float, error_ns: float = 0.0) -> str:
        """A time; empty where none is known."""
        return aligned(time(ns, error_ns, self.signs)) if ns > 0 or error_ns > 0 else ""

    def error(self, row: Any) -> str:
        """The error of a line's or a function's own time."""
        words = error(row.own_error_ns, row.own_ns, self.signs)
        return left(words, 6) if words else ""

    def each(self, line: Any) -> str:
        """Own and inner time a hit."""
        return self.time(line.total_ns / line.hits, line.total_error_ns / line.hits) if line.hits else ""

    def waiting(self, line: Any) -> str:
        """What of its wall it did not run, beside waits that are notable."""
        return self.time(line.wait_ns) if 0 < LEAST * self.notable_ns < line.wait_ns else ""

    def why(self, line: Any) -> str:
        """What it waited for."""
        if not 0 < self.notable_ns <= line.wait_ns:
            return ""
        words = reasons(line.wait_ns, line.ready_ns, line.lock_ns, self.known, self.roomy)
        return left(words, 16 if self.roomy else 9) if words else ""

    def hottest(self, function: Any) -> str:
        """The line of a function with the most own time, and what it has of the function's."""
        line = hottest(function)
        return f"{line.number} ({percent(line.own_ns, function.own_ns) or '0 %'})"


def hottest(function: Any) -> Any:
    """The line of a function with the most own time."""
    return max(function.lines.values(), key=lambda line: line.own_ns)


COLUMNS: Columns = {
    "own": Column("own  ", lambda cells, row: cells.time(row.own_ns, row.own_error_ns)),
    "error": Column("±", LineCells.error),
    "share": Column("own %", lambda cells, row: share(row.own_ns, row.own_error_ns, cells.whole_ns)),
    "waiting": Column("waiting  ", LineCells.waiting),
    "why": Column(WHY, LineCells.why),
    "inner": Column("inner  ", lambda cells, line: cells.time(line.inner_ns, line.inner_error_ns)),
    "each": Column("each  ", LineCells.each),
    "hits": Column("hits", lambda _, line: count(line.hits) if line.hits else ""),
    "awaiting": Column("awaiting  ", lambda cells, line: cells.time(line.await_ns)),
    "lines": Column("lines", lambda _, function: count(len(function.lines))),
    "hottest": Column("hottest", LineCells.hottest),
}
OF_LINES = ("own", "error", "share", "waiting", "why", "inner", "each", "hits", "awaiting")
OF_SOURCES = ("hits", "own", "error", "waiting", "why", "inner", "each", "awaiting")
OF_FUNCTIONS = ("own", "error", "share", "lines", "hottest")
OF_SUMMARY = ("own", "error", "share", "inner", "hits")


def of_times(times: str) -> Columns:
    """The columns as they are called where own times are those of --time."""
    return {**COLUMNS, "own": Column("waiting  ", COLUMNS["own"].cell)} if times == "wait" else COLUMNS
