"""What changed between two recordings, ranked.

Calls are exact, so any difference is a change; those of functions whose calls are a lower bound on either side are not,
and are left out. Times have errors: a difference within the combined error of both sides is no finding, and is counted
but not listed. That error is of the measuring only: two runs of one program may differ by more, and the report says so.
Functions that only one side has are listed apart, because there is nothing to compare them with.
"""

from __future__ import annotations

import json
from ntpath import basename  # splits at both slashes, as the model's diff does
from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.report import text
from seismo.report.facts import command_line, unended
from seismo.report.terminal import write_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model import DiffRow, Recording
    from seismo.report.paper import Paper, Span

NARROWEST_NAME = 24


def write_changes(paper: Paper, old: Recording, new: Recording, rows: Sequence[DiffRow], limit: int | None) -> None:
    """Writes what changed in time and in calls, and which functions came and went. limit: rows a table; None: all."""
    both = [row for row in rows if row.calls_old and row.calls_new]
    came = [row for row in rows if row.calls_new and not row.calls_old]
    went = [row for row in rows if row.calls_old and not row.calls_new]
    facts = [("old", _described(old, paper.signs)), ("new", _described(new, paper.signs))]
    inexact = _lower_bounds(old) | _lower_bounds(new)
    overall = _overall(rows, paper.signs) + (" (some of them lower bounds)" if inexact else "")
    write_facts(paper, [*facts, ("change", overall), *unended(paper.signs, ("old", old), ("new", new))])
    slower = sorted((row for row in both if row.significant), key=lambda row: -abs(row.own_new - row.own_old))
    within = sum(1 for row in both if not row.significant and row.own_new != row.own_old)
    remark = f"{text.number_of(within, 'other function')} changed within the error: no finding" if within else ""
    if within:
        remark += "; "
    remark += f"{paper.signs.error} is the error of measuring: runs of the same program may differ by more"
    _Section(paper, "Changed in own time", _time_cells, ("change  ", "", "old  ", "new  ")).write(slower, limit, remark)
    moved = [row for row in both if row.calls_new != row.calls_old]
    busier = sorted((row for row in moved if row.key not in inexact), key=lambda row: -_moved(row))
    unknown = text.number_of(len(moved) - len(busier), "other function")
    remark = f"{unknown} left out: their calls are lower bounds" if len(moved) > len(busier) else ""
    _Section(paper, "Changed in calls", _call_cells, ("change", "", "old", "new")).write(busier, limit, remark)
    came.sort(key=lambda row: -row.own_new)
    _Section(paper, "New functions", _new_cells, ("own  ", "calls")).write(came, limit)
    went.sort(key=lambda row: -row.own_old)
    _Section(paper, "Functions that are gone", _gone_cells, ("own  ", "calls")).write(went, limit)


def _lower_bounds(recording: Recording) -> set[tuple[int, str, str, str]]:
    """The keys, as in DiffRow, of the functions whose calls are at least what is recorded."""
    columns = (recording.functions[name] for name in ("lower_bound", "kind", "module", "qualname", "file"))
    rows = zip(*columns, strict=True)
    return {(kind, module, name, basename(file)) for bound, kind, module, name, file in rows if bound}


def _moved(row: DiffRow) -> int:
    return abs(row.calls_new - row.calls_old)


def _described(recording: Recording, signs: text.Signs) -> str:
    calls = text.number_of(sum(recording.functions["calls"]), "call")
    own = text.duration(sum(recording.functions["own_ns"]), signs)
    program = command_line(recording)
    return f"{own} in {calls} of {text.number_of(len(recording.functions), 'function')}" + (
        f": {program}" if program else ""
    )


def _overall(rows: Sequence[DiffRow], signs: text.Signs) -> str:
    old_ns, new_ns = sum(row.own_old for row in rows), sum(row.own_new for row in rows)
    old_calls, new_calls = sum(row.calls_old for row in rows), sum(row.calls_new for row in rows)
    calls = f"{new_calls - old_calls:+,} calls{_relative(new_calls, old_calls)}" if new_calls != old_calls else ""
    time = f"{_signed(new_ns - old_ns, signs)} own time{_relative(new_ns, old_ns)}"
    return f"{time}, {calls or 'the same number of calls'}"


def _relative(new: float, old: float) -> str:
    words = growth(new, old)
    return f" ({words})" if words else ""


def growth(new: float, old: float) -> str:
    """How new compares to old: `+12 %`, `-3.4 %`, from twice on `x2.5`; empty when there is no old."""
    if old <= 0:
        return ""
    if new >= 2 * old:
        ratio = new / old
        return f"x{ratio:.1f}" if ratio < 99.95 else f"x{ratio:,.0f}"
    share = 100 * (new - old) / old
    return f"{share:+.0f} %" if 9.95 <= abs(share) < 98.5 else f"{share:+.1f} %"


def _signed(ns: float, signs: text.Signs) -> str:
    return ("+" if ns > 0 else "-" if ns < 0 else "") + text.duration(abs(ns), signs)


def _time_cells(row: DiffRow, signs: text.Signs) -> list[str]:
    change = text.aligned(_signed(row.own_new - row.own_old, signs))
    error = text.error(row.own_error, abs(row.own_new - row.own_old), signs)
    times = [text.aligned(text.duration(ns, signs)) for ns in (row.own_old, row.own_new)]
    return [change, text.left(error, 6), *times, growth(row.own_new, row.own_old)]


def _call_cells(row: DiffRow, signs: text.Signs) -> list[str]:  # noqa: ARG001 (all makers of cells are called alike)
    change = f"{row.calls_new - row.calls_old:+,}"
    return [change, "", f"{row.calls_old:,}", f"{row.calls_new:,}", growth(row.calls_new, row.calls_old)]


def _new_cells(row: DiffRow, signs: text.Signs) -> list[str]:
    return [text.aligned(text.duration(row.own_new, signs)), f"{row.calls_new:,}"]


def _gone_cells(row: DiffRow, signs: text.Signs) -> list[str]:
    return [text.aligned(text.duration(row.own_old, signs)), f"{row.calls_old:,}"]


class _Section:
    """One ranked list with its heading."""

    def __init__(
        self, paper: Paper, title: str, cells: Callable[[DiffRow, text.Signs], list[str]], heads: Sequence[str]
    ) -> None:
        self._paper = paper
        self._title = title
        self._cells = cells
        self._heads = heads
        self._colour = cells is _time_cells  # more time is bad; more calls may be either

    def write(self, rows: Sequence[DiffRow], limit: int | None, remark: str = "") -> None:
        """Writes the rows, or that there is none; a list of which there is neither row nor remark says so in a line."""
        paper = self._paper
        paper.line()
        if not rows:
            paper.line((self._title, "title"), (": none", "quiet"))
            for line in text.wrapped(remark, paper.width - 2) if remark else []:
                paper.line((f"  {line}", "quiet"))
            return
        paper.line((self._title, "title"))
        shown = rows if limit is None else rows[:limit]
        texts = [self._cells(row, paper.signs) for row in shown]
        heads = [*self._heads, *[""] * (len(texts[0]) - len(self._heads))]
        widths = [max(map(text.cells, column)) for column in zip(heads, *texts, strict=True)]
        paper.line((self._row(heads, widths) + "  function", "quiet"))
        for row, cells in zip(shown, texts, strict=True):
            head = self._row(cells, widths)
            style = {"+": "bad", "-": "good"}.get(cells[0][0], "") if self._colour else ""
            paper.line(
                (head[: widths[0]], style),
                head[widths[0] :],
                "  ",
                *self._name(row, max(NARROWEST_NAME, paper.width - text.cells(head) - 2)),
            )
        if len(shown) < len(rows):
            paper.line((f"  {paper.signs.cut} {len(rows) - len(shown):,} more (--limit N)", "quiet"))
        if remark:
            for line in text.wrapped(remark, paper.width - 2):
                paper.line((f"  {line}", "quiet"))

    def _row(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        shown = ((cell, width) for cell, width in zip(cells, widths, strict=True) if width)
        return "  ".join(text.right(cell, width) for cell, width in shown)

    def _name(self, row: DiffRow, width: int) -> list[Span | str]:
        name = text.function_name(row.key.kind, row.key.module, row.key.qualname)
        where = "(C)" if row.key.kind == text.C else printable(row.key.file)
        if where and text.cells(name) + 2 + text.cells(where) <= width:
            return [(name, "name"), "  ", (where, "quiet")]
        return [(text.shorten(name, width, self._paper.signs), "name")]


def as_json(rows: Sequence[DiffRow], old: str, new: str) -> str:
    """All rows as one JSON object, by size of the change; times in ns."""
    ranked = sorted(rows, key=lambda row: -abs(row.own_new - row.own_old))
    functions = [
        {
            "kind": row.key.kind,
            "module": row.key.module,
            "qualname": row.key.qualname,
            "file": row.key.file,
            "calls_old": row.calls_old,
            "calls_new": row.calls_new,
            "own_old_ns": row.own_old,
            "own_new_ns": row.own_new,
            "own_error_ns": row.own_error,
            "total_old_ns": row.total_old,
            "total_new_ns": row.total_new,
            "significant": row.significant,
        }
        for row in ranked
    ]
    return json.dumps({"old": old, "new": new, "functions": functions}, indent=2)
