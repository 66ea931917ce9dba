"""The comparison of two sides of one or several recordings: exact differences first, then times.

Calls are exact, so any difference is a change unless the runs of one side differ as much. Functions whose calls are a
lower bound on either side are not compared. Functions that only one side has are listed separately. Times of equal runs
differ (seismo.model.run_variance): a difference within that range is counted but not listed. Lines and their hits are
compared in the same way.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seismo.escape import printable
from seismo.model.difference import Difference, FunctionKey, difference, difference_of_lines, keys
from seismo.model.run_variance import RunGroup, error_of_change
from seismo.report import words as text
from seismo.report.facts import command_line, incomplete, write_facts
from seismo.report.function_names import fitted, place
from seismo.report.tables import Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from seismo.model import DiffRow, Recording
    from seismo.report.kind import Sides
    from seismo.report.paper import Paper, Span

NARROWEST_NAME = 24
FEW = 6  # runs of a side; with fewer, a remark suggests more
TYPICAL = 0.5  # share of the time for which _typical() finds the relative error


@dataclass(frozen=True)
class Compared:
    """A comparison of functions and their calls, or of lines and their hits: its nouns, headings and function."""

    one: str
    count: str
    came: str
    went: str
    difference: Callable[..., Difference]


OF_FUNCTIONS = Compared("function", "call", "New functions", "Functions that are gone", difference)
OF_LINES = Compared("line", "hit", "Lines that ran only now", "Lines that ran only before", difference_of_lines)


def show_changes(
    paper: Paper | None,
    sides: Sides,
    found: Difference,
    words: Compared,
    files: tuple[list[str], list[str]],
    limit: int | None,
) -> str:
    """Write the changes in calls, the rows that appeared or vanished, and the changes in time.

    Return "", or all rows as JSON if there is no paper. limit: the most rows of a table, or None for all.
    """
    if paper is None:
        return as_json(found, *files)
    old, new = sides
    signs, rows = paper.signs, found.rows
    both, came, went, sometimes = ([row for row in rows if state(row) == one] for one in STATES)
    write_facts(paper, overview(old, new, found, words, signs))
    moved = sorted((row for row in both if row.calls_change), key=lambda row: (-abs(row.calls_change), row.key))
    known = [row for row in moved if not row.bound]
    remarks = []
    if bound := sum(row.bound for row in both):
        unknown = text.number_of(bound, f"other {words.one}")
        remarks.append(f"{unknown} left out: their calls are lower bounds, and their own time is in their callers'")
    varied = sum(1 for row in both if not row.calls_change and row.calls_old_range != row.calls_new_range)
    if varied:
        verb = "differs" if varied == 1 else "differ"
        other = text.number_of(varied, f"other {words.one}")
        remarks.append(f"{other} {verb} by as many {words.count}s among the runs of a side: no finding")
    heads: tuple[str, ...] = ("change", "", "old", "new")
    _write(paper, words, f"Changed in {words.count}s", call_cells, heads, known, limit, "; ".join(remarks))
    timeless = without_times([*old, *new])
    came.sort(key=lambda row: (-row.own_new, -row.calls_new, row.key))
    remark = (
        f"{text.number_of(len(sometimes), f'other {words.one}')} ran in some runs of one side only" if sometimes else ""
    )
    heads = (f"{words.count}s",) if timeless else ("own  ", f"{words.count}s")

    def cells(row: DiffRow, signs: text.Signs) -> list[str]:
        own, counts = (row.own_new, row.calls_new_range) if row.calls_new else (row.own_old, row.calls_old_range)
        return [*([] if timeless else [text.aligned(text.duration(own, signs))]), ranged(counts)]

    _write(paper, words, words.came, cells, heads, came, limit, remark)
    went.sort(key=lambda row: (-row.own_old, -row.calls_old, row.key))
    _write(paper, words, words.went, cells, heads, went, limit)
    if not timeless:
        significant = [row for row in both if row.significant]
        heads, remark = ("change  ", "", "old  ", "new  "), _time_remark(both, (len(old), len(new)), words, signs)
        _write(paper, words, "Changed in own time", time_cells, heads, significant, limit, remark)
    return ""


STATES = ("both", "new", "gone", "sometimes")  # on which sides a row is


def state(row: DiffRow) -> str:
    """Return one of STATES: "sometimes" if only some runs of one side have the row."""
    if row.calls_old_range[1] and row.calls_new_range[1]:
        return "both"
    if row.calls_new and not row.calls_old_range[1]:
        return "new"
    return "gone" if row.calls_old and not row.calls_new_range[1] else "sometimes"


def overview(
    old: Sequence[Recording], new: Sequence[Recording], found: Difference, words: Compared, signs: text.Signs
) -> list[tuple[str, str]]:
    """Return the facts above the rows: the two sides, the overall change, and what is incomplete."""
    timeless = without_times([*old, *new])
    change = _calls_change(found.rows, words)
    change = change if timeless else f"{_time_change(*found.whole, signs)}, {change}"
    bound = any(any(one.functions["lower_bound"]) for one in (*old, *new))
    change += " (some of them lower bounds)" if bound else ""
    sides = [("old", described(old, words, signs)), ("new", described(new, words, signs))]
    some = timeless and not all(one.timeless for one in (*old, *new))
    note = "some of the recordings were made without times, so that no times are compared"
    return [
        *sides,
        ("change", change),
        *[("pace", pace) for pace in _paces(found) if pace],
        *[("note", note)][: int(some)],
        *[("note", STRANGERS)][: int(_strangers(old, new))],
        *lacking(old, new, signs),
    ]


def _paces(found: Difference) -> Iterator[str]:
    """Yield a remark if times were scaled to those of a mean run."""
    paces = [*found.paces[0], *found.paces[1]]
    if any(pace != 1 for pace in paces):
        low, high = min(paces), max(paces)
        yield f"the runs took {low:.2f} to {high:.2f} times as long as their mean; times below are those of a mean run"


STRANGERS = "no function of one side's own code is on the other: they are recordings of different programs"


def _strangers(old: Sequence[Recording], new: Sequence[Recording]) -> bool:
    """Return True if each side has functions of its own code and none in common."""
    from seismo.report.libraries import of_functions

    sides: list[set[FunctionKey]] = [set(), set()]
    for side, recordings in zip(sides, (old, new), strict=True):
        for one in recordings:
            names = keys(one)
            own = [names[row] for row, library in of_functions(one).items() if not library]
            side.update(key for key in own if key.file)
    return all(sides) and sides[0].isdisjoint(sides[1])


def without_times(recordings: Sequence[Recording]) -> bool:
    """Return True if only calls can be compared because a recording was made without times."""
    return any(one.timeless for one in recordings)


def lacking(old: Sequence[Recording], new: Sequence[Recording], signs: text.Signs) -> list[tuple[str, str]]:
    """Return facts on recordings of the sides that are damaged or have no end, numbered if a side has several."""
    named = [
        (f"{name} {number}" if len(side) > 1 else name, one)
        for name, side in (("old", old), ("new", new))
        for number, one in enumerate(side, 1)
    ]
    return incomplete(signs, *named)


def described(side: Sequence[Recording], words: Compared, signs: text.Signs) -> str:
    """Return one side in words: the number of runs, their time, their calls, and the program."""
    tables: list[Any] = [one.lines if words is OF_LINES else one.functions for one in side]
    name = "hits" if words is OF_LINES else "calls"
    calls = [sum(table[name]) for table in tables]
    owns = sorted(sum(table["own_ns"]) for table in tables)
    time = text.duration(owns[0], signs)
    if text.duration(owns[-1], signs) != time:
        time += f" to {text.duration(owns[-1], signs)}"
    number = text.number_of(max(map(len, tables)), words.one)
    description = f"{len(side):,} runs, " if len(side) > 1 else ""
    noun = words.count if max(calls) == 1 else words.count + "s"
    description += "" if without_times(side) else f"{time} in "
    description += f"{ranged((min(calls), max(calls)))} {noun} of {number}"
    programs = list(dict.fromkeys(filter(None, map(command_line, side))))
    others = f" and {text.number_of(len(programs) - 1, 'other program')}" if len(programs) > 1 else ""
    return description + (f": {programs[0]}{others}" if programs else "")


def ranged(most: tuple[int, int]) -> str:
    """Return a count, or its range: `1,000-1,234`."""
    return f"{most[0]:,}" if most[0] == most[1] else f"{most[0]:,}-{most[1]:,}"


def _time_change(before: RunGroup, after: RunGroup, signs: text.Signs) -> str:
    change = after.mean - before.mean
    words = f"{_signed(change, signs)} own time{relative(after.mean, before.mean)}"
    error = error_of_change(before, after)
    if change and abs(change) <= error:
        words += f", which is within what equal runs differ by ({signs.error}{text.duration(error, signs)})"
    return words


def _calls_change(rows: Sequence[DiffRow], words: Compared) -> str:
    old = sum(row.calls_old for row in rows), sum(row.calls_old_range[1] for row in rows)
    new = sum(row.calls_new for row in rows), sum(row.calls_new_range[1] for row in rows)
    if old[0] != old[1] or new[0] != new[1]:
        return f"{words.count}s that differ between the runs of a side"
    if old == new:
        return f"the same number of {words.count}s"
    return f"{new[0] - old[0]:+,} {words.count}s{relative(new[0], old[0])}"


def _time_remark(rows: Sequence[DiffRow], number: tuple[int, int], words: Compared, signs: text.Signs) -> str:
    """Return the remark below the times: insignificant changes, the meaning of ±, and the smallest detectable change.

    rows: those that ran on both sides.
    """
    within = [row for row in rows if not row.significant and row.own_new != row.own_old]
    remark = ""
    if within:
        small = " or too small a part of the time" if any(abs(one.own_change) > one.own_error for one in within) else ""
        remark = f"{text.number_of(len(within), f'other {words.one}')} changed within the error{small}: no finding; "
    remark += f"{signs.error} is of measuring and of how equal runs differ, for all rows together in 19 of 20 diffs"
    smallest = _typical(rows)
    if smallest:
        old, new = number
        runs = f"{text.number_of(old, 'run')} a side" if old == new else f"{old} old and {new} new runs"
        remark += f"; with {runs} a change below some {smallest} may be chance"
        remark += ": more runs show smaller changes (--old A B C --new D E F)" if min(number) < FEW else ""
    return remark


def _typical(rows: Sequence[DiffRow]) -> str:
    """Return the relative error that covers the most precise rows with half of the time, or "" if there are none."""
    known = sorted((row.own_error / row.own_old, row.own_old) for row in rows if row.own_old > 0 and row.own_new > 0)
    left = TYPICAL * sum(own for _, own in known)
    for error, own in known:
        left -= own
        if left <= 0:
            return f"{100 * error:,.0f} %" if error >= 0.01 else "1 %"
    return ""


def relative(new: float, old: float) -> str:
    """Return the growth from old to new in parentheses, or "" if there is no old value."""
    words = growth(new, old)
    return f" ({words})" if words else ""


def growth(new: float, old: float) -> str:
    """Return the growth from old to new: `+12 %`, `-3.4 %`, `x2.5` from twice on, or "" if there is no old value."""
    if old <= 0:
        return ""
    if new >= 2 * old:
        ratio = new / old
        return f"x{ratio:.1f}" if ratio < 99.95 else f"x{ratio:,.0f}"
    share = 100 * (new - old) / old
    return f"{share:+.0f} %" if 9.95 <= abs(share) < 98.5 else f"{share:+.1f} %"


def _signed(ns: float, signs: text.Signs) -> str:
    return ("+" if ns > 0 else "-" if ns < 0 else "") + text.duration(abs(ns), signs)


def time_cells(row: DiffRow, signs: text.Signs) -> list[str]:
    """Return the cells of a change in own time: the change, its error, both times, and the growth."""
    change = text.aligned(_signed(row.own_change, signs))
    error = text.error(row.own_error, abs(row.own_change), signs)
    times = [text.aligned(text.duration(ns, signs)) for ns in (row.own_old, row.own_new)]
    return [change, text.left(error, 6) if error else "", *times, growth(row.own_new, row.own_old)]


def call_cells(row: DiffRow, signs: text.Signs) -> list[str]:
    """Return the cells of a change in calls: the change, an empty cell, both counts, and the growth."""
    old, new = row.calls_old_range, row.calls_new_range
    if old[0] == old[1] and new[0] == new[1]:
        return [f"{row.calls_change:+,}", "", ranged(old), ranged(new), growth(new[0], old[0])]
    return [f"{signs.at_least}{row.calls_change:+,}", "", ranged(old), ranged(new), ""]


def _write(
    paper: Paper,
    words: Compared,
    title: str,
    cells: Callable[[DiffRow, text.Signs], list[str]],
    heads: Sequence[str],
    rows: Sequence[DiffRow],
    limit: int | None,
    remark: str = "",
) -> None:
    """Write a ranked list and the remark below it, or ": none" if there are no rows."""
    paper.line()
    shown = rows[:limit]
    if not shown:
        paper.line((title, "title"), (": none", "quiet"))
    else:
        paper.line((title, "title"))
        texts = [cells(row, paper.signs) for row in shown]
        grid = Grid([*heads, *[""] * (len(texts[0]) - len(heads))], texts, paper.width, least=NARROWEST_NAME)
        paper.line((grid.head + words.one, "quiet"))
        for row, numbers in zip(shown, texts, strict=True):
            # More time is bad; more calls may be either.
            style = {"+": "bad", "-": "good"}.get(numbers[0][0], "") if cells is time_cells else ""
            head, first = grid.line(numbers), grid.widths[0]
            paper.line((head[:first], style), head[first:], *_name(paper, row, grid.room))
    paper.cut_short(len(rows) - len(shown), words.one, paper.more)
    for line in text.wrapped(remark, paper.width - 2) if remark else []:
        paper.line((f"  {line}", "quiet"))


def _name(paper: Paper, row: DiffRow, width: int) -> list[Span | str]:
    name = text.function_name(row.key.kind, row.key.module, row.key.qualname)
    where = printable(row.key.file)
    if row.line:
        where = text.shorten(f"{where}:{row.line}", width, paper.signs)
        room = width - text.cells(where) - 2
        return [(where, "name"), *([("  " + name, "quiet")] if text.cells(name) <= room else [])]
    if row.key.kind == text.C:
        where = place(row.key.kind, row.key.module, "", 0)
    name, where = fitted(name, where, width, paper.signs)
    return [(name, "name"), *([("  " + where, "quiet")] if where else [])]


def files_of_sides(old: Sequence[str], new: Sequence[str]) -> dict[str, Any]:
    """Return the files of each side for JSON: one is a string, several are a list."""
    several = len(old) > 1 or len(new) > 1
    return {name: list(files) if several else files[0] for name, files in (("old", old), ("new", new))}


def as_json(found: Difference, old: Sequence[str], new: Sequence[str]) -> str:
    """Return all rows as one JSON object, the largest change in own time first; times in ns, means of several runs.

    old, new: the files of each side. With several, calls are [fewest, most].
    """
    rows = found.rows
    several = len(old) > 1 or len(new) > 1
    of_lines = any(not isinstance(row.key, FunctionKey) for row in rows)
    count = "hits" if of_lines else "calls"
    members = [
        {
            **({} if of_lines else {"kind": row.key.kind}),
            "module": row.key.module,
            "qualname": row.key.qualname,
            "file": row.key.file,
            **({"line": row.line} if of_lines else {}),
            f"{count}_old": list(row.calls_old_range) if several else row.calls_old,
            f"{count}_new": list(row.calls_new_range) if several else row.calls_new,
            "own_old_ns": row.own_old,
            "own_new_ns": row.own_new,
            "own_error_ns": row.own_error,
            "total_old_ns": row.total_old,
            "total_new_ns": row.total_new,
            "significant": row.significant,
        }
        for row in rows
    ]
    sides = files_of_sides(old, new)
    if any(pace != 1 for side in found.paces for pace in side):
        sides |= {"slower_old": found.paces[0], "slower_new": found.paces[1]}
    return json.dumps({**sides, "lines" if of_lines else "functions": members}, indent=2)
