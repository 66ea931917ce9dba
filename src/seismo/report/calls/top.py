"""What a program that still runs is doing: its functions by what they ran for since the last look.

A recording that is written has all from the start, so a look is compared with the one before it. What lies between two
flushes of the recorder, about a second, is not seen yet; a look at a file that has not been written since shows the
same again, and says how old it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from seismo.report import words as text
from seismo.report.facts import command_line, cpu_ns, losses, thread_count, wall_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Recording
    from seismo.report.paper import Paper

ORDERS = ("own", "total", "calls", "waiting")
HEAD = 5  # lines above the rows
WIDTHS = {"own": 10, "own %": 8, "waiting": 11, "total": 11, "calls": 13}  # cells of the columns
DROPPED_FIRST = ("own %", "waiting", "total", "calls")  # where there is no room for names
NARROWEST_NAME = 24
NARROWEST = 40  # cells of a terminal on which no line wraps


class Row(NamedTuple):
    """A function's times and calls, from the start. own_ns: running. wait_ns: off the CPU."""

    name: str
    where: str
    own_ns: float
    total_ns: float
    wait_ns: float
    calls: int
    lower_bound: bool


class Look(NamedTuple):
    """A recording at one time. wall_ns: of its first process so far; cpu_ns: -1 where it is not known."""

    command: str
    wall_ns: float
    cpu_ns: float
    threads: int
    losses: int
    rows: dict[tuple[str, str, str, int], Row]
    timeless: bool = False  # only calls are counted


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
        recording.timeless,
    )


def since(now: Look, before: Look | None) -> list[Row]:
    """The functions that did something since a look, with what they did; without a look, since the start."""
    earlier = before.rows if before else {}
    rows = []
    for key, row in now.rows.items():
        old = earlier.get(key)
        if old is not None:
            # Estimates of times move as more is known: what a function seems to have given back, it did not run.
            row = row._replace(
                own_ns=max(0.0, row.own_ns - old.own_ns),
                total_ns=max(0.0, row.total_ns - old.total_ns),
                wait_ns=max(0.0, row.wait_ns - old.wait_ns),
                calls=max(0, row.calls - old.calls),
            )
        if row.own_ns or row.wait_ns or row.calls:
            rows.append(row)
    return rows


def ordered(rows: Sequence[Row], order: str) -> list[Row]:
    """The rows, the largest first."""
    column = {"own": "own_ns", "total": "total_ns", "calls": "calls", "waiting": "wait_ns"}[order]
    return sorted(rows, key=lambda row: (-getattr(row, column), -row.calls, row.name))


def write_look(paper: Paper, now: Look, before: Look | None, order: str, limit: int, state: str, keys: str) -> None:
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
    room = paper.width - text.cells(what) - 2
    paper.line((what[: paper.width], ""), (f"  {keys[:room]}" if keys and room > 0 else "", "quiet"))
    rows = ordered(since(now, before), order)
    columns = _fitting(paper.width, order, now.timeless)
    paper.line(("".join(f"{name:>{WIDTHS[name]}}" for name in columns) + "  function", "head"))
    room = max(1, paper.width - sum(WIDTHS[name] for name in columns) - 2)
    whole = sum(row.own_ns for row in rows) or 1.0
    for row in rows[:limit]:
        cells = {
            "own": (text.duration(row.own_ns, signs), "time"),
            "own %": (f"{100 * row.own_ns / whole:.1f}%", ""),
            "waiting": (text.duration(row.wait_ns, signs) if row.wait_ns > span / 1000 else "", "quiet"),
            "total": (text.duration(row.total_ns, signs), ""),
            "calls": (text.calls(row.calls, row.lower_bound, signs), ""),
        }
        name = text.shorten(row.name, room, signs)
        where = f"  {row.where}" if text.cells(name) + text.cells(row.where) + 2 <= room else ""
        spans = [(f"{cells[column][0]:>{WIDTHS[column]}}", cells[column][1]) for column in columns]
        paper.line(*spans, ("  ", ""), (name, "strong"), (where, "quiet"))
    if not rows:
        paper.line(("nothing has been called", "quiet"))
    elif len(rows) > limit:
        paper.line((f"and {text.number_of(len(rows) - limit, 'function')} more", "quiet"))


def _fitting(width: int, order: str, timeless: bool) -> list[str]:
    """The columns that leave room for names. The one that the rows are sorted by stays."""
    columns = ["calls"] if timeless else list(WIDTHS)
    for name in DROPPED_FIRST:
        if width - sum(WIDTHS[one] for one in columns) - 2 >= NARROWEST_NAME:
            break
        columns = [one for one in columns if one != name or one == order]
    return columns
