"""What a program that still runs is doing: its functions and its paths of calls, by what they did since the last look.

A recording that is written has all from the start, so a look is compared with the one before it. What lies between two
flushes of the recorder, about a second, is not seen yet; a look at a file that has not been written since shows the
same again, and says how old it is.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from seismo.model.kinds import LOWER_BOUND
from seismo.report import words as text
from seismo.report.facts import command_line, cpu_ns, first_process, losses, thread_count, wall_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seismo.model import Recording
    from seismo.report.paper import Paper

K = TypeVar("K")
ORDERS = ("own", "total", "calls", "waiting")
SHOWN = ("both", "functions", "paths")
LEAST_NS = 1000
LEAST_PATHS = 3  # rows that are worth a heading of their own
HEAD = 5  # lines above the rows
WIDTHS = {"own": 10, "own %": 8, "waiting": 11, "total": 11, "calls": 13}  # cells of the columns
DROPPED_FIRST = ("own %", "waiting", "total", "calls")  # where there is no room for names
NARROWEST_NAME = 24
NARROWEST_PATH = 44
NARROWEST = 40  # cells of a terminal on which no line wraps


class Row(NamedTuple):
    """A function's times and calls, or a path's, from the start. own_ns: running. wait_ns: off the CPU."""

    name: str
    where: str
    own_ns: float
    total_ns: float
    wait_ns: float
    calls: int
    lower_bound: bool


class Look(NamedTuple):
    """A recording at one time. wall_ns: of its first process so far; cpu_ns: -1 where it is not known.

    paths: all threads together; a row has the name of its last function. above: of each path the one that it goes on.
    """

    command: str
    wall_ns: float
    cpu_ns: float
    threads: int
    losses: int
    rows: dict[tuple[str, str, str, int], Row]
    paths: dict[int, Row]
    above: dict[int, int]
    timeless: bool = False  # only calls are counted
    pid: int = 0  # of its first process
    ended: bool = False  # and whether that has ended in order


class Room(NamedTuple):
    """How many rows there may be."""

    functions: int
    paths: int


def divided(rows: int, show: str, functions: int) -> Room:
    """The rows of a screen among the functions and the paths. show: one of SHOWN. functions: how many there are."""
    if show == "paths":
        return Room(0, rows)
    paths = max((rows - 1) // 3, rows - 1 - functions)
    return Room(rows, 0) if show == "functions" or paths < LEAST_PATHS else Room(rows - 1 - paths, paths)


def look(recording: Recording) -> Look:
    """What there is to see of it now."""
    recording = recording.timed("cpu")
    functions = recording.functions
    names = ("kind", "module", "qualname", "file", "line", "own_ns", "total_ns", "wait_ns", "calls", "lower_bound")
    rows = {
        (module, qualname, file, line): Row(
            text.function_name(kind, module, qualname),
            text.location(kind, file, line),
            own,
            total,
            wait,
            calls,
            bool(lower_bound),
        )
        for kind, module, qualname, file, line, own, total, wait, calls, lower_bound in zip(
            *(functions[name] for name in names), strict=True
        )
    }
    found = len(losses(recording, text.Signs(plain=True)))
    return Look(
        command_line(recording),
        wall_ns(recording),
        cpu_ns(recording),
        thread_count(recording),
        found,
        rows,
        *_paths(recording),
        recording.timeless,
        *first_process(recording),
    )


def _paths(recording: Recording) -> tuple[dict[int, Row], dict[int, int]]:
    """The paths of all threads, and of each the one that it goes on; 0: none.

    A path is known by a hash of its functions, which is the same in the look after this one; that two of a million
    paths have the same hash of 64 bits is not to be expected.
    """
    functions, tree = recording.functions, recording.tree
    known = [
        hash(key) for key in zip(*(functions[name] for name in ("module", "qualname", "file", "line")), strict=True)
    ]
    titles = [
        text.function_name(*key)
        for key in zip(*(functions[name] for name in ("kind", "module", "qualname")), strict=True)
    ]
    paths: dict[int, Row] = {}
    above: dict[int, int] = {}
    keys: list[int] = []
    names = ("parent", "function", "own_ns", "total_ns", "wait_ns", "calls", "flags")
    for parent, function, own, total, wait, calls, flags in zip(*(tree[name] for name in names), strict=True):
        up = keys[parent] if parent >= 0 else 0
        key = hash((up, known[function]))
        keys.append(key)
        row = paths.get(key)
        if row is not None:  # on another thread
            own, total, wait, calls = own + row.own_ns, total + row.total_ns, wait + row.wait_ns, calls + row.calls
        lower = bool(flags & LOWER_BOUND) or (row is not None and row.lower_bound)
        paths[key] = Row(titles[function], "", own, total, wait, calls, lower)
        above[key] = up
    return paths, above


def path_name(found: Look, key: int, width: int, signs: text.Signs) -> str:
    """A path from its last function to its first, as much of it as fits into so many cells."""
    steps: list[list[Any]] = []  # name, how often one after the other
    room = width
    while key and room > 0:
        name = found.paths[key].name
        if steps:
            name = name.partition(":")[2] or name  # the module of the last one tells enough
        if steps and steps[-1][0] in (name, found.paths[key].name):
            steps[-1][1] += 1
        else:
            steps.append([name, 1])
            room -= text.cells(name) + len(signs.held) + 2
        key = found.above[key]
    words = [f"{name} {signs.times}{times}" if times > 1 else name for name, times in steps]
    return text.beginning(f" {signs.held} ".join(words), width, signs)


def _since(now: Mapping[K, Row], before: Mapping[K, Row]) -> dict[K, Row]:
    """What has been done since a look."""
    rows = {}
    for key, row in now.items():
        old = before.get(key)
        if old is not None:
            # Estimates of times move as more is known: what a function seems to have given back, it did not run.
            row = row._replace(
                own_ns=max(0.0, row.own_ns - old.own_ns),
                total_ns=max(0.0, row.total_ns - old.total_ns),
                wait_ns=max(0.0, row.wait_ns - old.wait_ns),
                calls=max(0, row.calls - old.calls),
            )
        # Where nothing was called, an estimate that moved by less than this is no sign that anything ran.
        if row.calls or row.own_ns + row.wait_ns >= (LEAST_NS if old is not None else 1):
            rows[key] = row
    return rows


def since(now: Look, before: Look | None) -> list[Row]:
    """The functions that did something since a look, with what they did; without a look, since the start."""
    return list(_since(now.rows, before.rows if before else {}).values())


def paths_since(now: Look, before: Look | None) -> dict[int, Row]:
    """The paths that did something since a look, as `since` has functions."""
    return _since(now.paths, before.paths if before else {})


def _size(row: Row, order: str) -> tuple[float, int, str]:
    column = {"own": "own_ns", "total": "total_ns", "calls": "calls", "waiting": "wait_ns"}[order]
    return (-getattr(row, column), -row.calls, row.name)


def ordered(rows: Sequence[Row], order: str) -> list[Row]:
    """The rows, the largest first."""
    return sorted(rows, key=lambda row: _size(row, order))


def write_look(
    paper: Paper, now: Look, before: Look | None, order: str, room: Room, state: str = "", keys: Sequence[str] = ()
) -> None:
    """Writes the head and as many rows as there is room for. state: how old this is. keys: what can be pressed."""
    signs = paper.signs
    span = now.wall_ns - (before.wall_ns if before else 0)
    title = text.shorten(now.command or "a program", max(10, paper.width - len(state) - 3), signs)
    paper.line((title, "title"), ("  " + state if state else "", "quiet"))
    facts = [f"{text.duration(now.wall_ns, signs)} so far"]
    facts += [f"{text.duration(now.cpu_ns, signs)} CPU"] if now.cpu_ns >= 0 else []
    facts += [text.number_of(now.threads, "thread")] if now.threads > 1 else []
    facts += [f"{text.number_of(now.losses, 'loss', 'losses')}: see seismo info"] if now.losses else []
    paper.line(("; ".join(facts)[: paper.width], ""))
    order = "calls" if now.timeless else order
    what = f"{'since the start' if before is None else f'in the last {text.duration(span, signs)}'}, by {order}"
    shown = ""
    for key in keys:
        if text.cells(what) + text.cells(shown) + 2 + text.cells(key) <= paper.width:
            shown += f"  {key}"
    paper.line((what[: paper.width], ""), (shown, "quiet"))
    if room.functions or not room.paths:
        table = _Table(paper, order, now.timeless, span, NARROWEST_NAME)
        _write_functions(table, ordered(since(now, before), order), room.functions)
    if room.paths:
        table = _Table(paper, order, now.timeless, span, NARROWEST_PATH)
        _write_paths(table, now, paths_since(now, before), room.paths)


def _write_functions(table: _Table, rows: Sequence[Row], limit: int) -> None:
    paper = table.paper
    table.head("function")
    whole = sum(row.own_ns for row in rows)
    for row in rows[:limit]:
        name = text.shorten(row.name, table.room, paper.signs)
        fits = text.cells(name) + text.cells(row.where) + 2 <= table.room
        table.row(row, whole, name, f"  {row.where}" if fits else "")
    if not rows:
        paper.line(("nothing has been called", "quiet"))
    elif len(rows) > limit:
        paper.line((f"and {text.number_of(len(rows) - limit, 'function')} more", "quiet"))


def _write_paths(table: _Table, now: Look, rows: Mapping[int, Row], limit: int) -> None:
    signs = table.paper.signs
    table.head(f"path {signs.held} called by")
    whole = sum(row.own_ns for row in rows.values())
    for key in heapq.nsmallest(limit, rows, key=lambda key: _size(rows[key], table.order)):
        last, _, callers = path_name(now, key, table.room, signs).partition(f" {signs.held} ")
        table.row(rows[key], whole, last, f" {signs.held} {callers}" if callers else "")


class _Table:
    """Rows of numbers with a name behind them. room: cells of a name. span: ns in which it was done."""

    def __init__(self, paper: Paper, order: str, timeless: bool, span: float, least: int) -> None:
        self.paper, self.order, self.span = paper, order, span
        self.columns = _fitting(paper.width, order, timeless, least)
        self.room = max(1, paper.width - sum(WIDTHS[name] for name in self.columns) - 2)

    def head(self, what: str) -> None:
        """What the columns are."""
        numbers = "".join(f"{name:>{WIDTHS[name]}}" for name in self.columns)
        self.paper.line((f"{numbers}  {text.beginning(what, self.room, self.paper.signs)}", "head"))

    def row(self, row: Row, whole: float, name: str, rest: str) -> None:
        """A row. whole: the own time of all."""
        signs = self.paper.signs
        cells = {
            "own": (text.duration(row.own_ns, signs), "time"),
            "own %": (text.percent(row.own_ns, whole), ""),
            "waiting": (text.duration(row.wait_ns, signs) if row.wait_ns > self.span / 1000 else "", "quiet"),
            "total": (text.duration(row.total_ns, signs), ""),
            "calls": (text.calls(row.calls, row.lower_bound, signs), ""),
        }
        numbers = [(f"{cells[column][0]:>{WIDTHS[column]}}", cells[column][1]) for column in self.columns]
        self.paper.line(*numbers, ("  ", ""), (name, "strong"), (rest, "quiet"))


def _fitting(width: int, order: str, timeless: bool, least: int) -> list[str]:
    """The columns that leave so many cells for names. The one that the rows are sorted by stays."""
    columns = ["calls"] if timeless else list(WIDTHS)
    for name in DROPPED_FIRST:
        if width - sum(WIDTHS[one] for one in columns) - 2 >= least:
            break
        columns = [one for one in columns if one != name or one == order]
    return columns
