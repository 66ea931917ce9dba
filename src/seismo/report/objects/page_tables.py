"""The tables of the page of objects: the columns of each, the report's cells as text, and numbers to sort by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.model.objects import groups as grouped
from seismo.model.objects import leaks as judged
from seismo.report import words
from seismo.report.objects.columns import (
    ALIVE,
    BY_LINE,
    BY_TYPE,
    CHURN,
    COLUMNS,
    CYCLES,
    IN_CALLS,
    LEAKS,
    ORDERS,
    Cells,
    led,
    ranked,
)
from seismo.report.objects.group_descriptions import median
from seismo.report.objects.holders import Holders
from seismo.report.objects.leak_descriptions import told
from seismo.report.objects.libraries import others_in_words
from seismo.report.objects.story import chain_of
from seismo.report.page.payload import doubles, shown

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterable, Sequence

    from seismo.model.objects.groups import ObjectGroup
    from seismo.model.objects.leaks import Leak
    from seismo.report.objects.group_descriptions import ObjectWords

    Row = tuple[str, str, float]  # a cell: the text, its style, and the number to sort by

ROWS = 500  # most rows of a table
_FUNCTIONS = 8  # most functions of a call path
_LIVES_ON = 1e18  # ns; longer than any life
_ABOUT = {
    "born": "objects that were made",
    "died": "objects that were freed",
    "gc": "freed by the cycle collector",
    "live": "alive at the end",
    "peak": "the most alive at once",
    "bytes": "bytes of those born",
    "live-bytes": "bytes of those alive at the end",
    "short": "part that died before 256 others were born, or within a millisecond",
    "short-lived": "died before 256 others were born, or within a millisecond",
    "share": "part of all births",
    "of-died": "part of those that died",
    "own": "own time of the function that made them, of all",
    "life": "median age at death: in objects born meanwhile, and in time",
}
# The columns for the chosen calls: the words for each, and True if it is left-aligned.
_OF_LEAKS = {
    "verdict": ("what the pattern of survivors over the calls means", True),
    "alive": ("alive at the end", False),
    "call": ("alive a call", False),
    "calls": ("calls that left some", False),
    "over": ("alive, by tenths of the calls", True),
    "inside": ("born in the calls", False),
    "escaped": ("outlived the call that they were born in", False),
    "each": ("born in a call", False),
}
_HEADS = {name: head for name, (head, _) in LEAKS.items()} | {
    "verdict": "verdict",
    "inside": "born inside",
    "escaped": "escaped",
    "each": "born a call",
}
_DEAD = ("inside", "escaped", "each")


class Tables:
    """All tables of a page: `described` for its head, and `columns` with the numbers to sort by."""

    def __init__(self, said: ObjectWords, types: Sequence[ObjectGroup]) -> None:
        self.described: list[dict[str, object]] = []
        self.columns: dict[str, tuple[str, array[Any]]] = {}
        self._said = said
        self._cells = Cells(said)
        recording = said.recording
        alive = led(ranked(said.lines, "live"), ORDERS["live"].key)
        self._holders = Holders(recording)
        if len(recording.object_spans):
            self._leaks()
        elif alive:
            self._groups("alive", "Alive at the end", "what lives on, and who holds it", alive, ALIVE)
        self._groups("types", "Types", "", types, BY_TYPE)
        others = others_in_words(said.libraries.others(said.lines, lambda group: group.born))
        remark = f"those of the program first; {others}" if others else "where objects were made"
        if said.lines:
            self._groups("lines", "Lines", remark, grouped.by_line(recording), BY_LINE)
            both = ("born", *CHURN, *(name for name in ALIVE if name not in ("born", *CHURN)))
            self._groups("kinds", "Lines by type", "each line's types apart", said.lines, both)
        if any(node >= 0 for node in recording.objects["node"]):
            self._groups("paths", "Call paths", "the innermost functions", grouped.by_path(recording), BY_LINE)
        cycles = ranked(said.lines, "gc")
        if cycles:
            remark = "objects in reference cycles, which only the cycle collector could free"
            self._groups("cycles", "Cycles", remark, cycles, CYCLES)

    def _groups(
        self, name: str, title: str, remark: str, groups: Sequence[ObjectGroup], columns: Sequence[str]
    ) -> None:
        """Add a table of groups with columns of the report."""
        kept = groups[:ROWS]
        cells = {
            column: [(COLUMNS[column][1](self._cells, group).strip(), "", self._value(column, group)) for group in kept]
            for column in columns
        }
        there = [one for one in columns if any(cell[0] for cell in cells[one])]
        heads = [(one, COLUMNS[one][0], _ABOUT[one], False) for one in there]
        rows = [[cells[one][number] for one in there] for number in range(len(kept))]
        self._add(
            name, title, remark, kept, heads, rows, len(groups) - len(kept), bar="born" if "born" in there else ""
        )

    def _value(self, column: str, group: ObjectGroup) -> float:
        """Return the number that a cell is sorted by."""
        if column == "life":
            return _LIVES_ON if 2 * group.live > group.born else median(group.in_ns) or 0.0
        if column == "own":
            return self._said.running_ns[group.function] if group.function >= 0 else 0.0
        if column == "of-died":
            return group.died_by_gc / max(1, group.died)
        if column == "short":
            return group.short_share
        key: Callable[[ObjectGroup], float] = ORDERS[{"share": "born", "short-lived": "short"}.get(column, column)].key
        return key(group)

    def _add(
        self,
        name: str,
        title: str,
        remark: str,
        groups: Sequence[ObjectGroup],
        heads: Sequence[tuple[str, str, str, bool]],
        rows: Sequence[Sequence[Row]],
        left: int,
        bar: str = "",
    ) -> None:
        said = self._said
        self.described.append(
            {
                "id": name,
                "title": title,
                "remark": shown(remark, 1_000),
                "heads": [
                    {"name": one, "title": head, "about": about, "left": aside} for one, head, about, aside in heads
                ],
                "names": [self._name(group, name) for group in groups],
                "foreign": [int(bool(said.libraries.of(group))) for group in groups],
                "cells": [[cell[0] for cell in row] for row in rows],
                "looks": {
                    str(number): [cell[1] for cell in row] for number, row in enumerate(rows) if any(c[1] for c in row)
                },
                "left": max(0, left),
                "bar": bar,
            }
        )
        for number, head in enumerate(heads):
            self.columns[f"{name}.{head[0]}"] = doubles([row[number][2] for row in rows])

    def _name(self, group: ObjectGroup, table: str) -> list[str]:
        """Return the name of a row: the type, the place, and the text of the line or the call path."""
        said = self._said
        if table == "types":
            return [shown(said.types(group)), "", ""]
        place = " ".join(part for part in (said.place(group), said.function(group.function)) if part)
        below = said.source(group)
        held = self._holders.of(group.rows) if table == "alive" else None
        if held is not None:
            below = f"{said.signs.held} {chain_of(held, said.signs)}"
        if table == "paths":
            below = f" {said.signs.arrow} ".join(said.path(group)[-_FUNCTIONS:])
        return [shown(said.types(group)), shown(place), shown(below)]

    # ---- Survivors of calls. ----

    def _leaks(self) -> None:
        said = self._said
        spans = judged.spans(said.recording)
        found = judged.leaks(said.recording, said.lines)
        alive = {leak.group.rows for leak in found}
        rest = [group for group in said.lines if group.span_born and group.rows not in alive]
        named = ", ".join(
            f"{words.number_of(one.calls, 'call')} of {said.function(one.function) or '?'}" for one in spans[:3]
        )
        born, died, live = (sum(getattr(one, figure) for one in spans) for figure in ("born", "died", "alive"))
        remark = f"{named}: {born:,} born inside, {died:,} died inside, {live:,} alive at the end"
        kept = found[:ROWS]
        rows = [self._leak(leak) for leak in kept]
        left = len(found) - len(kept)
        self._add(
            "leaks", "What the calls left behind", remark, [one.group for one in kept], _heads(_OF_LEAKS), rows, left
        )
        if rest:
            remark = f"nothing is left of what {words.number_of(len(rest), 'other line')} made in the calls"
            dead = rest[:ROWS]
            inside = [self._inside(group) for group in dead]
            self._add("dead", "Dead at the end", remark, dead, _heads(_DEAD), inside, len(rest) - len(dead), "inside")

    def _leak(self, leak: Leak) -> list[Row]:
        _, verdict, look = told(leak)
        order = judged.VERDICTS.index(leak.verdict) if leak.verdict in judged.VERDICTS else len(judged.VERDICTS)
        sorted_by = {"alive": leak.alive, "call": leak.per_call, "calls": leak.calls_with, "over": leak.alive}
        cells = [
            (LEAKS[name][1](self._cells, leak), "spark" if name == "over" else "", float(number))
            for name, number in sorted_by.items()
        ]
        return [(verdict, look, -order), *cells, *self._inside(leak.group)]

    def _inside(self, group: ObjectGroup) -> list[Row]:
        born, calls = group.span_born, max(1, self._cells.calls)
        sorted_by = {"inside": born, "escaped": born - group.span_died, "each": born / calls}
        return [(IN_CALLS[name][1](self._cells, group), "", float(number)) for name, number in sorted_by.items()]


def _heads(names: Iterable[str]) -> list[tuple[str, str, str, bool]]:
    return [(name, _HEADS[name], *_OF_LEAKS[name]) for name in names]
