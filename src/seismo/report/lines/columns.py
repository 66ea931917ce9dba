"""The columns of lines and functions, shared by tables, sources, the gutter and the summary.

Own time includes C functions that the line called, and hits are exact. The summary uses all of this: no import that it
could not afford.
"""

from __future__ import annotations

from seismo.report.tables import Column
from seismo.report.waiting import LEAST, reasons
from seismo.report.words import Signs, aligned, count, error, left, percent, share, time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo.report.tables import Columns

WHY = "for" + " " * 6  # the heading of the reasons for waiting
NARROW = ("for", "each", "own %")  # columns to drop first on a narrow paper
HEAT = 5  # columns of a bar
MEANINGS = {
    "inner": "time in Python functions that the line called",
    "each": "own and inner time a hit",
    "<": "no more is known of a time than that it is less",
}


class LineCells:
    """The context for making cells. notable_ns: the least wait worth a column, or 0 for no such column."""

    def __init__(self, signs: Signs, whole_ns: float, notable_ns: float = 0, known: Any = (), roomy: bool = True):
        self.signs, self.whole_ns = signs, whole_ns
        self.notable_ns, self.known, self.roomy = notable_ns, known, roomy

    def time(self, ns: float, error_ns: float = 0.0) -> str:
        """Return a time, or "" if there is none."""
        return aligned(time(ns, error_ns, self.signs)) if ns > 0 or error_ns > 0 else ""

    def error(self, row: Any) -> str:
        """Return the error of a line's or a function's own time."""
        words = error(row.own_error_ns, row.own_ns, self.signs)
        return left(words, 6) if words else ""

    def each(self, line: Any) -> str:
        """Return own and inner time per hit."""
        return self.time(line.total_ns / line.hits, line.total_error_ns / line.hits) if line.hits else ""

    def waiting(self, line: Any) -> str:
        """Return the waiting if it is notable beside the largest waits, else ""."""
        return self.time(line.wait_ns) if 0 < LEAST * self.notable_ns < line.wait_ns else ""

    def why(self, line: Any) -> str:
        """Return the reasons of the waiting."""
        if not 0 < self.notable_ns <= line.wait_ns:
            return ""
        words = reasons(line.wait_ns, line.ready_ns, line.lock_ns, self.known, self.roomy)
        return left(words, 16 if self.roomy else 9) if words else ""

    def hottest(self, function: Any) -> str:
        """Return the line of a function with the most own time, and its share of the function's."""
        line = hottest(function)
        return f"{line.line} ({percent(line.own_ns, function.own_ns) or '0 %'})"


def hottest(function: Any) -> Any:
    """Return the line of a function with the most own time."""
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
    """Return the columns with the headings that own times of --time need."""
    return {**COLUMNS, "own": COLUMNS["own"]._replace(head="waiting  ")} if times == "wait" else COLUMNS
