"""The table of functions: its rows, columns and widths.

The last column, the function's name, takes the remaining width, followed by the file and line if they fit. Only rows
that are shown become Python objects: filters and orders work on the columns of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.errors import UsageError, did_you_mean
from seismo.escape import printable
from seismo.model.recording import BY_CALLS
from seismo.report import words as text
from seismo.report.calls.sort_orders import ERRORS, ORDERS, in_order
from seismo.report.function_names import fitted, is_compiled, place, shown_name
from seismo.report.paper import ROOMY, Paper, Span
from seismo.report.sources import Sources
from seismo.report.story import Name, rounded, share
from seismo.report.tables import Column, Grid
from seismo.report.waiting import LEAST, NOTABLE, WORDS, known_waits, reasons

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model import FunctionRow, NodeRow, Recording, Table
    from seismo.report.shown_functions import Modules
    from seismo.report.tables import Columns

KINDS = {text.PYTHON: "python", text.C: "c", text.SYNTHETIC: "synthetic"}
USUAL, FEWEST = 20, 10  # default rows of the table, and rows that are shown even if they are small
SMALL = 0.01  # share of the time; smaller rows are left out
# If the table is too wide; errors and shares are never dropped.
DROPPED_FIRST = ("resumes", "for", "at-once", "total", "waiting")
PARALLEL = 1.05  # threads at once; a table without as many has no column for them
NARROWEST_NAME = 24  # a shorter name is useless: the line gets too long instead


class FunctionCells:
    """The functions of a recording: the text of each cell of a table, and as data."""

    def __init__(
        self,
        recording: Recording,
        signs: text.Signs,
        table: Table[FunctionRow] | None = None,
        at_once: Sequence[float] = (),
    ) -> None:
        """Prepare cells. table: the functions, if not the recording's own. at_once: of threads_at_once()."""
        self.recording, self.signs, self.times = recording, signs, recording.times
        self.sources = Sources(recording)
        self.known = known_waits(recording)
        self.columns = functions = recording.functions if table is None else table
        self.at_once = at_once or [0.0] * len(functions)
        self.whole_ns = sum(functions["own_ns"])
        self.roomy = False  # True if there is room for more columns, and for cells of several words
        everything = self.whole_ns + (sum(functions["wait_ns"]) if self.times == "cpu" else 0)
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
        """Return the own time's relative error if it is notable, else blanks."""
        return text.left(text.error(self.columns["own_error_ns"][row], self.columns["own_ns"][row], self.signs), 6)

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

    def awaiting(self, row: int) -> str:
        """Return the time at awaits, or "" if there were none."""
        return self.time("await_ns", row) if self.columns["await_ns"][row] else ""

    def share(self, column: str, row: int) -> str:
        """Return a time's share of all own time."""
        return text.share(self.columns[column][row], self.columns[ERRORS[column]][row], self.whole_ns)

    def name(self, row: int) -> str:
        """Return `module:qualname`, or `import module` for the body of an imported module."""
        return shown_name(*(self.columns[name][row] for name in ("kind", "module", "qualname", "file")))

    def where(self, row: int) -> str:
        """Return `file.py:line`, or that it is a C function."""
        return place(*(self.columns[name][row] for name in ("kind", "module", "file", "line")))

    def place(self, row: int) -> dict[str, Any]:
        """Return the name and the place of a function."""
        names = ("kind", "module", "qualname", "file", "line")
        kind, module, name, file, line = (self.columns[column][row] for column in names)
        return {
            "function": self.called(row),
            "kind": KINDS.get(kind, "synthetic"),
            "compiled": is_compiled(kind, module),
            "module": module,
            "qualname": name,
            "file": self.sources.path(file) if kind == text.PYTHON else "",
            "line": line if kind == text.PYTHON else 0,
        }

    def called(self, row: int) -> str:
        """Return `module:qualname` as options such as --callers take it."""
        kind, module, name = (self.columns[column][row] for column in ("kind", "module", "qualname"))
        return f"{module}:{name}" if module and kind != text.SYNTHETIC else name

    def definition(self, row: int) -> str:
        """Return the line that defines it, or "" if unknown."""
        kind, file, line = (self.columns[column][row] for column in ("kind", "file", "line"))
        return self.sources.definition(file, line) if kind == text.PYTHON else ""

    def data(self, row: int) -> dict[str, Any]:
        """Return all data of a function."""
        columns = self.columns
        return {
            **self.place(row),
            "calls": columns["calls"][row],
            "calls_at_least": bool(columns["lower_bound"][row]),
            **{name: columns[name][row] for name in ("resumes", "exceptions", "awaits")},
            **self.all_times(row),
            "own_share": share(columns["own_ns"][row], self.whole_ns),
            "threads_at_once": round(self.at_once[row], 2) or None,
            "source": self.definition(row),
        }

    def all_times(self, row: int) -> dict[str, Any]:
        """Return the times of a function as data."""
        names = ("own_ns", "own_error_ns", "total_ns", "total_error_ns", "wait_ns", "await_ns")
        return amounts(lambda name: self.columns[name][row], names, self.times)

    def names(self, row: int) -> list[str]:
        """Return the cells for the name, the place and the definition."""
        return [Name(self.name(row)), Name(self.where(row)), Name(self.definition(row))]


def amounts(value: Callable[[str], float], names: Sequence[str], by: str) -> dict[str, Any]:
    """Return these times as data; if `by` is calls, these take their place. value: returns one by its name."""
    if by == BY_CALLS:
        return {**dict.fromkeys(names), "total_calls": round(value("total_ns"))}
    return {name: rounded(value(name)) for name in names}


def _of(cell: Callable[[FunctionCells, str, int], str], column: str) -> Callable[[FunctionCells, int], str]:
    return lambda cells, row: cell(cells, column, row)


# By the names of --columns. Blanks after a heading align it with numbers that have a unit.
COLUMNS: Columns = {
    "own": Column("own  ", _of(FunctionCells.time, "own_ns"), "time that the function itself took", style="time"),
    "error": Column("±", FunctionCells.error, "error of the own time, in 19 of 20 cases", style="quiet"),
    "percent": Column("own %", _of(FunctionCells.share, "own_ns"), "share of all own time"),
    "waiting": Column("waiting  ", FunctionCells.waiting, "time of its own in which it did not run"),
    "for": Column("for", FunctionCells.reasons, "what it mostly waited for", style="quiet"),
    "at-once": Column("at once", lambda cells, row: f"{cells.at_once[row]:.1f}" if cells.at_once[row] else ""),
    "total": Column(
        "total  ", _of(FunctionCells.time, "total_ns"), "time that the function and all that it called took"
    ),
    "total-percent": Column("total %", _of(FunctionCells.share, "total_ns")),
    "each": Column("own/call  ", FunctionCells.each),
    "calls": Column("calls", FunctionCells.calls, "how often it was called"),
    "resumes": Column("resumes", _of(FunctionCells.count, "resumes"), "how often a generator or coroutine went on"),
    "exceptions": Column("raised", _of(FunctionCells.count, "exceptions"), "how often it ended with an exception"),
    "awaiting": Column("awaiting  ", FunctionCells.awaiting, "time between a coroutine's suspensions and resumptions"),
    "awaits": Column("awaits", _of(FunctionCells.count, "awaits")),
}
# The headings that differ by --time.
HEADS = {
    "wait": {"own": "waiting  ", "percent": "waiting %"},
    "calls": {"own": "calls", "percent": "calls %", "total": "total calls"},
}
# The columns of the page, in its order, with the kind of cell (a key of FORMS in web/src/table/functions.ts) and the
# value that it shows; of a time without "_ns". The page leaves out those that would be empty.
OF_PAGE = {
    "own": ("time", "own"),
    "error": ("error", "own"),
    "percent": ("share", "own"),
    "waiting": ("waiting", "wait"),
    "for": ("reasons", "wait"),
    "total": ("time", "total"),
    "calls": ("calls", "calls"),
    "resumes": ("count", "resumes"),
    "exceptions": ("count", "exceptions"),
    "awaiting": ("span", "await"),
}


def head(name: str, times: str) -> str:
    """Return the heading of a column for a value of --time."""
    return HEADS.get(times, {}).get(name, COLUMNS[name].head)


def page_columns() -> list[dict[str, object]]:
    """Return the columns in the form that the page receives."""
    return [
        {
            "name": name,
            "form": form,
            "of": of,
            "about": COLUMNS[name].about,
            "title": COLUMNS[name].head.strip(),
            "waiting": head(name, "wait").strip(),
        }
        for name, (form, of) in OF_PAGE.items()
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


def usual_columns(cells: FunctionCells, rows: Sequence[int], order: str) -> list[str]:
    """Return the default columns for these rows, without empty ones."""
    columns, times = cells.columns, cells.times

    def any_is(name: str, least: float = 1) -> bool:
        return any(columns[name][row] >= least for row in rows)

    if times == "calls":
        shown = dict.fromkeys(("percent", "calls", "total"), True)
        shown |= {name: any_is(name) for name in ("exceptions", "resumes")}
    else:
        waits = times != "wait" and any_is("wait_ns", max(1, cells.notable_ns))
        shown = {
            "own": True,
            "error": any(cells.error(row).strip() for row in rows),
            "percent": True,
            "waiting": waits,
            "for": (waits or times == "wait") and any(map(cells.reasons, rows)),
            "at-once": any(cells.at_once[row] >= PARALLEL for row in rows),
            "awaiting": order == "awaiting" or (cells.roomy and any_is("await_ns")),
            "total": True,
            "calls": any(columns["calls"]),  # some formats have none
            "resumes": any_is("resumes"),
        }
    return [name for name, wanted in shown.items() if wanted]


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
) -> None:
    """Write the table with its heading.

    limit: how many rows, None for all, or 0 for the relevant ones. columns: names, or None for the default.
    """
    functions, times = cells.columns, cells.times
    rows = selected_rows(functions, order, modules, cells.recording.tree, times)
    shown = rows[: _relevant(cells, rows, order)] if limit == 0 else rows[:limit]
    whole = whole_words(cells)
    remark = f" ({'; '.join(words for words in (modules.words(), whole) if words)})"
    by = order_words(order, times)
    paper.line((f"Functions by {by}", "title"), (printable(remark), "quiet"))
    if not rows:
        paper.line(("  none matches the filter" if modules and len(functions) else "  none", "quiet"))
        return
    cells.roomy = paper.width >= ROOMY
    wanted = columns or usual_columns(cells, shown, order)
    _write_table(paper, cells, shown, wanted, () if columns else DROPPED_FIRST)
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


def whole_words(cells: FunctionCells) -> str:
    """Return what the percentages refer to: `100 % is 1.83 s of running`."""
    if cells.times == "calls":
        return f"100 % is {text.number_of(sum(cells.columns['calls']), 'call')}"
    divided = cells.known & {"ready", "lock"} or any(cells.columns["wait_ns"])
    where = f"of {WORDS[cells.times]}" if divided else "in functions"
    return f"100 % is {text.duration(cells.whole_ns, cells.signs)} {where}"


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
    heads = [head(name, cells.times) for name in columns]
    lines = [heads, *([COLUMNS[name].cell(cells, row) for name in columns] for row in rows)]
    if "for" in columns:
        at = columns.index("for")
        width = max(text.cells(line[at]) for line in lines)
        lines = [[*line[:at], text.left(line[at], width), *line[at + 1 :]] for line in lines]
    close = [at for at, name in enumerate(columns) if at == 0 or name in ("error", "for")]
    dropped = [head(name, cells.times).strip() for name in narrow]
    grid = Grid(lines[0], lines[1:], paper.width, dropped, NARROWEST_NAME, close)
    paper.line((f"{grid.head}function", "quiet"))
    for row, line in zip(rows, lines[1:], strict=True):
        spans = [(part, COLUMNS[columns[at]].style) for at, part in grid.parts(line)]
        paper.line(*spans, "  ", *name_spans(cells, row, max(NARROWEST_NAME, grid.room)))


def name_spans(cells: FunctionCells, row: int, width: int, style: str = "name") -> list[Span | str]:
    """Return the name, and its place if it fits, in at most `width` columns."""
    name, where = fitted(cells.name(row), cells.where(row), width, cells.signs)
    return [(name, style), "  ", (where, "quiet")] if where else [(name, style)]
