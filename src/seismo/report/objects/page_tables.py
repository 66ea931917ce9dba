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
from seismo.report.objects.holders import Holders
from seismo.report.objects.leak_descriptions import verdict_words
from seismo.report.objects.libraries import others_in_words
from seismo.report.objects.story import chain_of
from seismo.report.page.payload import doubles, shown

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

    from seismo.model.objects.groups import ObjectGroup
    from seismo.model.objects.leaks import Leak
    from seismo.report.objects.group_descriptions import ObjectWords
    from seismo.report.tables import Column

    Row = tuple[str, str, float]  # a cell: the text, its style, and the number to sort by

ROWS = 500  # most rows of a table
_FUNCTIONS = 8  # most functions of a call path
_DEAD = {
    "inside": ("born inside", IN_CALLS["inside"]),
    "escaped": ("escaped", IN_CALLS["escaped"]),
    "each": ("born a call", IN_CALLS["each"]),
}


class Tables:
    """All tables of a page: `described` for its head, and `columns` with the numbers to sort by."""

    def __init__(self, descriptions: ObjectWords, types: Sequence[ObjectGroup]) -> None:
        self.described: list[dict[str, object]] = []
        self.columns: dict[str, tuple[str, array[Any]]] = {}
        self._descriptions = descriptions
        self._cells = Cells(descriptions)
        recording = descriptions.recording
        alive = led(ranked(descriptions.lines, "live"), ORDERS["live"].key)
        self._holders = Holders(recording)
        if len(recording.object_spans):
            self._leaks()
        elif alive:
            self._groups("alive", "Alive at the end", "what lives on, and who holds it", alive, ALIVE)
        self._groups("types", "Types", "", types, BY_TYPE)
        others = others_in_words(descriptions.libraries.others(descriptions.lines, lambda group: group.born))
        remark = f"those of the program first; {others}" if others else "where objects were made"
        if descriptions.lines:
            self._groups("lines", "Lines", remark, grouped.by_line(recording), BY_LINE)
            both = ("born", *CHURN, *(name for name in ALIVE if name not in ("born", *CHURN)))
            self._groups("kinds", "Lines by type", "each line's types apart", descriptions.lines, both)
        if any(node >= 0 for node in recording.objects["node"]):
            self._groups("paths", "Call paths", "the innermost functions", grouped.by_path(recording), BY_LINE)
        cycles = ranked(descriptions.lines, "gc")
        if cycles:
            remark = "objects in reference cycles, which only the cycle collector could free"
            self._groups("cycles", "Cycles", remark, cycles, CYCLES)

    def _groups(
        self, name: str, title: str, remark: str, groups: Sequence[ObjectGroup], columns: Sequence[str]
    ) -> None:
        """Add a table of groups with columns of the report."""
        kept = groups[:ROWS]
        cells = {column: [self._cell(column, COLUMNS[column], group) for group in kept] for column in columns}
        there = [one for one in columns if any(cell[0] for cell in cells[one])]
        heads = [(one, COLUMNS[one].head, COLUMNS[one].about, False) for one in there]
        rows = [[cells[one][number] for one in there] for number in range(len(kept))]
        bar = "live" if name == "alive" else "born" if "born" in there else ""
        self._add(name, title, remark, kept, heads, rows, len(groups) - len(kept), bar)

    def _cell(self, name: str, column: Column, about: Any) -> Row:
        """Return the text of a cell, its style, and its sort key."""
        value = column.value(self._cells, about) if column.value else ORDERS[name].key(about)
        return column.cell(self._cells, about).strip(), "spark" if name == "over" else "", float(value)

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
        descriptions = self._descriptions
        self.described.append(
            {
                "id": name,
                "title": title,
                "remark": shown(remark, 1_000),
                "heads": [
                    {"name": one, "title": head, "about": about, "left": aside} for one, head, about, aside in heads
                ],
                "names": [self._name(group, name) for group in groups],
                "foreign": [int(bool(descriptions.libraries.of(group))) for group in groups],
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
        descriptions = self._descriptions
        if table == "types":
            return [shown(descriptions.types(group)), "", ""]
        place = " ".join(part for part in (descriptions.place(group), descriptions.function(group.function)) if part)
        below = descriptions.source(group)
        held = self._holders.of(group.rows) if table == "alive" else None
        if held is not None:
            below = f"{descriptions.signs.held} {chain_of(held, descriptions.signs)}"
        if table == "paths":
            below = f" {descriptions.signs.arrow} ".join(descriptions.path(group)[-_FUNCTIONS:])
        return [shown(descriptions.types(group)), shown(place), shown(below)]

    # ---- Survivors of calls. ----

    def _leaks(self) -> None:
        descriptions = self._descriptions
        spans = judged.spans(descriptions.recording)
        found = judged.leaks(descriptions.recording, descriptions.lines)
        alive = {leak.group.rows for leak in found}
        rest = [group for group in descriptions.lines if group.span_born and group.rows not in alive]
        named = ", ".join(
            f"{words.number_of(one.calls, 'call')} of {descriptions.function(one.function) or '?'}" for one in spans[:3]
        )
        born, died, live = (sum(getattr(one, figure) for one in spans) for figure in ("born", "died", "alive"))
        remark = f"{named}: {born:,} born inside, {died:,} died inside, {live:,} alive at the end"
        kept = found[:ROWS]
        dead_heads = [(name, head, column.about, False) for name, (head, column) in _DEAD.items()]
        heads = [("verdict", "verdict", "what the pattern of survivors over the calls means", True)]
        heads += [(name, column.head, column.about, name == "over") for name, column in LEAKS.items()] + dead_heads
        rows = [self._leak(leak) for leak in kept]
        left = len(found) - len(kept)
        groups = [one.group for one in kept]
        self._add("leaks", "What the calls left behind", remark, groups, heads, rows, left)
        if rest:
            remark = f"nothing is left of what {words.number_of(len(rest), 'other line')} made in the calls"
            dead = rest[:ROWS]
            inside = [self._inside(group) for group in dead]
            self._add("dead", "Dead at the end", remark, dead, dead_heads, inside, len(rest) - len(dead), "inside")

    def _leak(self, leak: Leak) -> list[Row]:
        _, verdict, look = verdict_words(leak)
        order = judged.VERDICTS.index(leak.verdict) if leak.verdict in judged.VERDICTS else len(judged.VERDICTS)
        cells = [self._cell(name, column, leak) for name, column in LEAKS.items()]
        return [(verdict, look, -order), *cells, *self._inside(leak.group)]

    def _inside(self, group: ObjectGroup) -> list[Row]:
        return [self._cell(name, column, group) for name, (_, column) in _DEAD.items()]
