"""The table of functions: its rows, columns and widths.

The last column, the function's name, takes the remaining width, followed by the file and line if they fit. Only rows
that are shown become Python objects: filters and orders work on the columns of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from seismo.errors import UsageError, did_you_mean
from seismo.escape import printable
from seismo.report import words as text
from seismo.report.calls.sort_orders import ERRORS, ORDERS, in_order
from seismo.report.function_names import fitted, place, shown_name
from seismo.report.paper import ROOMY, Paper, Span
from seismo.report.tables import Grid
from seismo.report.waiting import LEAST, NOTABLE, WORDS, reasons

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from seismo.model import FunctionRow, NodeRow, Table
    from seismo.report.shown_functions import Modules

USUAL, FEWEST = 20, 10  # default rows of the table, and rows that are shown even if they are small
SMALL = 0.01  # share of the time; smaller rows are left out
# If the table is too wide; errors and shares are never dropped.
DROPPED_FIRST = ("resumes", "for", "at-once", "total", "waiting")
PARALLEL = 1.05  # threads at once; a table without as many has no column for them
NARROWEST_NAME = 24  # a shorter name is useless: the line gets too long instead


class FunctionCells:
    """The text of each cell of a recording's table of functions."""

    def __init__(
        self,
        functions: Table[FunctionRow],
        signs: text.Signs,
        times: str = "wall",
        known: Container[str] = (),
        at_once: Sequence[float] = (),
    ) -> None:
        """Prepare cells. times: as --time. known: the distinguished kinds of waiting. at_once: of threads_at_once()."""
        self.signs = signs
        self.at_once = at_once or [0.0] * len(functions)
        self.columns = functions
        self.whole_ns = sum(functions["own_ns"])
        self.times = times
        self.known = known
        self.roomy = False  # True if a cell may have several words
        everything = self.whole_ns + (sum(functions["wait_ns"]) if times == "cpu" else 0)
        self.notable_ns = NOTABLE * everything

    def time(self, column: str, row: int) -> str:
        """Return the cell of a time column with its unit aligned."""
        ns = self.columns[column][row]
        if self.times == "calls" and column in ERRORS:
            return text.count(ns)
        if column not in ERRORS:
            return text.aligned(text.duration(ns, self.signs))
        return text.aligned(text.time(ns, self.columns[ERRORS[column]][row], self.signs))

    def error(self, row: int) -> str:
        """Return the own time's relative error if it is notable, else ""."""
        return text.error(self.columns["own_error_ns"][row], self.columns["own_ns"][row], self.signs)

    def waiting(self, row: int) -> str:
        """Return the waiting within the own time if it is notable, else ""."""
        ns = self.columns["wait_ns"][row]
        return text.aligned(text.duration(ns, self.signs)) if ns > LEAST * self.notable_ns else ""

    def reasons(self, row: int) -> str:
        """Return the reasons of the waiting if they are known."""
        if self.columns["wait_ns"][row] < self.notable_ns:
            return ""
        wait, ready, lock = (self.columns[name][row] for name in ("wait_ns", "ready_ns", "lock_ns"))
        return reasons(wait, ready, lock, self.known, self.roomy)

    def threads(self, row: int) -> str:
        """Return how many threads ran at once while it did, or "" if unknown."""
        return f"{self.at_once[row]:.1f}" if self.at_once[row] else ""

    def heading(self, column: str) -> str:
        """Return the heading of a column."""
        return COLUMNS[column].others.get(self.times, COLUMNS[column].heading)

    def cell(self, column: str, row: int) -> str:
        """Return the text of a cell."""
        return FORMS[COLUMNS[column].form](self, COLUMNS[column].of, row)

    def calls(self, row: int) -> str:
        """Return the number of calls, marked if it is a lower bound."""
        return text.calls(self.columns["calls"][row], bool(self.columns["lower_bound"][row]), self.signs)

    def each(self, row: int) -> str:
        """Return the own time per call."""
        calls = self.columns["calls"][row]
        if not calls or self.times == "calls":
            return ""
        own, error = (self.columns[name][row] / calls for name in ("own_ns", "own_error_ns"))
        return text.aligned(text.time(own, error, self.signs))

    def count(self, column: str, row: int) -> str:
        """Return a count, or "" for 0: a column of zeros would hide the others."""
        number = self.columns[column][row]
        return text.count(number) if number else ""

    def share(self, column: str, row: int) -> str:
        """Return a time's share of all own time."""
        return text.share(self.columns[column][row], self.columns[ERRORS[column]][row], self.whole_ns)

    def name(self, row: int) -> str:
        """Return `module:qualname`, or `import module` for the body of an imported module."""
        return shown_name(*(self.columns[name][row] for name in ("kind", "module", "qualname", "file")))

    def where(self, row: int) -> str:
        """Return `file.py:line`, or that it is a C function."""
        return place(*(self.columns[name][row] for name in ("kind", "module", "file", "line")))


class Column(NamedTuple):
    """A column of the table in the terminal, in documents and on the page, which receives it unchanged.

    form: the kind of cell, a key of FORMS here and in web/src/table/functions.ts. of: the value; for a time, its name
    without "_ns". about: text of a tooltip. others: headings for other values of --time.
    """

    heading: str
    form: str
    of: str
    about: str
    style: str = ""
    others: Mapping[str, str] = {}


FORMS: dict[str, Callable[[FunctionCells, str, int], str]] = {
    "time": lambda cells, of, row: cells.time(f"{of}_ns", row),
    "error": lambda cells, _, row: text.left(cells.error(row), 6),
    "share": lambda cells, of, row: cells.share(f"{of}_ns", row),
    "waiting": lambda cells, _, row: cells.waiting(row),
    "reasons": lambda cells, _, row: cells.reasons(row),
    "threads": lambda cells, _, row: cells.threads(row),
    "each": lambda cells, _, row: cells.each(row),
    "calls": lambda cells, _, row: cells.calls(row),
    "count": lambda cells, of, row: cells.count(of, row),
    "span": lambda cells, of, row: cells.time(f"{of}_ns", row) if cells.columns[f"{of}_ns"][row] else "",
}

# By the names of --columns. Blanks after a heading align it with numbers that have a unit.
COLUMNS = {
    "own": Column(
        "own  ", "time", "own", "time that the function itself took", "time", {"wait": "waiting  ", "calls": "calls"}
    ),
    "error": Column("", "error", "own", "error of the own time, in 19 of 20 cases", "quiet"),
    "percent": Column(
        "own %", "share", "own", "share of all own time", others={"wait": "waiting %", "calls": "calls %"}
    ),
    "waiting": Column("waiting  ", "waiting", "wait", "time of its own in which it did not run"),
    "for": Column("for", "reasons", "wait", "what it mostly waited for", "quiet"),
    "at-once": Column("at once", "threads", "own", "threads that ran at once while it ran, estimated"),
    "total": Column(
        "total  ",
        "time",
        "total",
        "time that the function and all that it called took",
        others={"calls": "total calls"},
    ),
    "total-percent": Column("total %", "share", "total", "share of all own time that the total is"),
    "each": Column("own/call  ", "each", "own", "own time of a call"),
    "calls": Column("calls", "calls", "calls", "how often it was called"),
    "resumes": Column("resumes", "count", "resumes", "how often a generator or coroutine went on"),
    "exceptions": Column("raised", "count", "exceptions", "how often it ended with an exception"),
    "awaiting": Column("awaiting  ", "span", "await", "time between a coroutine's suspensions and resumptions"),
    "awaits": Column("awaits", "count", "awaits", "how often it was suspended to await something"),
}

# The columns of the page, in its order; the page leaves out those that would be empty.
OF_PAGE = ("own", "error", "percent", "waiting", "for", "total", "calls", "resumes", "exceptions", "awaiting")


def page_columns() -> list[dict[str, object]]:
    """Return the columns in the form that the page receives."""
    return [
        {
            "name": name,
            "form": column.form,
            "of": column.of,
            "about": column.about,
            "title": column.heading.strip() or "±",
            "waiting": column.others.get("wait", column.heading).strip() or "±",
        }
        for name, column in ((name, COLUMNS[name]) for name in OF_PAGE)
    ]


def chosen_columns(words: str) -> list[str]:
    """Return the columns that `--columns` names. Raises UsageError for an unknown name."""
    names = [word.strip() for word in words.split(",") if word.strip() and word.strip() != "function"]
    for name in names:
        if name not in COLUMNS:
            raise UsageError(
                f"there is no column {name!a}",
                "--columns",
                did_you_mean(name, COLUMNS) + f"the columns are {', '.join(COLUMNS)}, and always function",
            )
    return names


def usual_columns(cells: FunctionCells, rows: Sequence[int], order: str, roomy: bool) -> list[str]:
    """Return the default columns for these rows, without empty ones. roomy: allow more columns."""
    columns = cells.columns
    names = ["own", "error", "percent", "total", "calls"]
    if cells.times == "calls":
        names = ["percent", "calls", "total"]
        names += ["exceptions"] if any(columns["exceptions"][row] for row in rows) else []
        return names + (["resumes"] if any(columns["resumes"][row] for row in rows) else [])
    if not any(map(cells.error, rows)):
        names.remove("error")
    if not any(columns["calls"]):  # a format without calls
        names.remove("calls")
    if any(columns["resumes"][row] for row in rows):
        names.append("resumes")
    waits = cells.times != "wait" and any(columns["wait_ns"][row] >= max(1, cells.notable_ns) for row in rows)
    if waits or cells.times == "wait":
        at = names.index("total")
        names[at:at] = ["waiting"] * waits + ["for"] * any(map(cells.reasons, rows))
    if any(cells.at_once[row] >= PARALLEL for row in rows):
        names.insert(names.index("total"), "at-once")
    if order == "awaiting" or (roomy and any(columns["await_ns"][row] for row in rows)):
        names.insert(names.index("total"), "awaiting")
    return names


def selected_rows(
    functions: Table[FunctionRow], order: str, modules: Modules, tree: Table[NodeRow] | None = None, times: str = "wall"
) -> list[int]:
    """Return all rows that the modules' filter lets through, in one of ORDERS. tree: as in in_order().

    With --thread, some functions never ran, and with --time wait, most never waited: both are left out.
    """
    about: tuple[str, ...] = ("calls", "resumes", "own_ns")
    if times == "wait":
        about = ("total_ns", "total_error_ns") if order == "total" else ("own_ns", "own_error_ns")
    columns = [functions[name] for name in about]
    left_out = modules.left_out(functions)
    return [
        row
        for row in in_order(functions, order, tree)
        if row not in left_out and any(column[row] for column in columns)
    ]


def write_functions(
    paper: Paper,
    cells: FunctionCells,
    order: str,
    modules: Modules,
    limit: int | None,
    columns: list[str] | None = None,
    tree: Table[NodeRow] | None = None,
) -> None:
    """Write the table with its heading.

    limit: how many rows, None for all, or 0 for the relevant ones. columns: names, or None for the default. tree: the
    recording's tree, for an order that needs it.
    """
    functions, times = cells.columns, cells.times
    rows = selected_rows(functions, order, modules, tree, times)
    shown = rows[: _relevant(cells, rows, order)] if limit == 0 else rows[:limit]
    whole = whole_words(functions, times, cells.known, paper.signs)
    remark = f" ({'; '.join(words for words in (modules.words(), whole) if words)})"
    by = order_words(order, times)
    paper.line((f"Functions by {by}", "title"), (printable(remark), "quiet"))
    if not rows:
        paper.line(("  none matches the filter" if modules and len(functions) else "  none", "quiet"))
        return
    cells.roomy = paper.width >= ROOMY
    usual = usual_columns(cells, shown, order, cells.roomy)
    _write_table(paper, cells, shown, columns or usual, () if columns else DROPPED_FIRST)
    if len(shown) < len(rows):
        own = functions["own_ns"]
        rest = text.percent(sum(own[row] for row in rows[len(shown) :]), cells.whole_ns)
        more = text.number_of(len(rows) - len(shown), "more function")
        what = {"calls": "calls", "wait": "waiting"}.get(times, "own time")
        paper.line((f"  {paper.signs.cut} {more}, {rest or '0 %'} of the {what} ({paper.more_all})", "quiet"))


def _relevant(cells: FunctionCells, rows: Sequence[int], order: str) -> int:
    """Return how many rows to show by default: those with a notable share of the time."""
    if order != "own":
        return USUAL
    own = cells.columns["own_ns"]
    large: int = sum(own[row] >= SMALL * cells.whole_ns for row in rows[:USUAL])
    return large if cells.times == "wait" else max(large, FEWEST)


def whole_words(functions: Table[FunctionRow], times: str, known: Container[str], signs: text.Signs) -> str:
    """Return what the percentages refer to: `100 % is 1.83 s of running`."""
    if times == "calls":
        return f"100 % is {text.number_of(sum(functions['calls']), 'call')}"
    divided = "ready" in known or "lock" in known or any(functions["wait_ns"])
    where = "in functions" if not divided else f"of {WORDS[times]}"
    return f"100 % is {text.duration(sum(functions['own_ns']), signs)} {where}"


def order_words(order: str, times: str) -> str:
    """Return the name of one of ORDERS for these times."""
    words = {"wait": {"own": "time waiting"}, "calls": {"own": "calls", "total": "calls made in all"}}
    return words.get(times, {}).get(order, ORDERS[order][1])


def _write_table(
    paper: Paper, cells: FunctionCells, rows: Sequence[int], columns: Sequence[str], narrow: Sequence[str]
) -> None:
    """Write headings and rows, each row one line of the paper's width. narrow: the columns to drop if it is too small.

    Numbers align right, words left. An error is close to its time.
    """
    lines = [[cells.heading(name) for name in columns], *([cells.cell(name, row) for name in columns] for row in rows)]
    if "for" in columns:
        at = columns.index("for")
        width = max(text.cells(line[at]) for line in lines)
        lines = [[*line[:at], text.left(line[at], width), *line[at + 1 :]] for line in lines]
    close = [at for at, name in enumerate(columns) if at == 0 or name in ("error", "for")]
    dropped = [cells.heading(name).strip() for name in narrow]
    grid = Grid(lines[0], lines[1:], paper.width, dropped, NARROWEST_NAME, close)
    paper.line((f"{grid.head}function", "quiet"))
    for row, line in zip(rows, lines[1:], strict=True):
        spans = [(part, COLUMNS[columns[at]].style) for at, part in grid.parts(line)]
        paper.line(*spans, "  ", *name_spans(cells, row, max(NARROWEST_NAME, grid.room)))


def name_spans(cells: FunctionCells, row: int, width: int, style: str = "name") -> list[Span | str]:
    """Return the name, and its place if it fits, in at most `width` columns."""
    name, where = fitted(cells.name(row), cells.where(row), width, cells.signs)
    return [(name, style), "  ", (where, "quiet")] if where else [(name, style)]
