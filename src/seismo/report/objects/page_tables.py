"""The tables of the page of objects: the columns of each, the report's cells as text, and numbers to sort by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.model.objects import groups as grouped
from seismo.model.objects import leaks as judged
from seismo.model.objects.leaks import Leak
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
    led,
    ranked,
)
from seismo.report.objects.group_descriptions import style, verdict_words
from seismo.report.objects.holders import Holders
from seismo.report.objects.story import chain_of
from seismo.report.page.payload import doubles, shown
from seismo.report.tables import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model.objects.groups import ObjectGroup
    from seismo.report.objects.group_descriptions import ObjectWords
    from seismo.report.page.payload import Columns as Sorted
    from seismo.report.tables import Columns

ROWS = 500  # most rows of a table
_FUNCTIONS = 8  # most functions of a call path


def _of_group(column: Column) -> Column:
    value = column.value
    return column._replace(
        cell=lambda words, leak: column.cell(words, leak.group),
        value=(lambda words, leak: value(words, leak.group)) if value else None,
    )


_INSIDE: Columns = {
    "inside": IN_CALLS["inside"]._replace(head="born inside"),
    "escaped": IN_CALLS["escaped"],
    "each": IN_CALLS["each"]._replace(head="born a call"),
}
_LEFT: Columns = {
    "verdict": Column(
        "verdict",
        lambda _, leak: verdict_words(leak),
        "what the pattern of survivors over the calls means",
        lambda _, leak: -judged.VERDICTS.index(leak.verdict),  # the more alarming, the larger
    ),
    **LEAKS,
    **{name: _of_group(column) for name, column in _INSIDE.items()},
}


class Tables:
    """All tables of a page: `described` for its head, and `columns` with the numbers to sort by."""

    def __init__(self, descriptions: ObjectWords, types: Sequence[ObjectGroup]) -> None:
        self.described: list[dict[str, object]] = []
        self.columns: Sorted = {}
        self._descriptions = descriptions
        recording = descriptions.recording
        alive = led(ranked(descriptions.lines, "live"), ORDERS["live"].key)
        self._holders = Holders(recording)
        if len(recording.object_spans):
            self._leaks()
        elif alive:
            self._groups("alive", "Alive at the end", "what lives on, and who holds it", alive, ALIVE)
        self._groups("types", "Types", "", types, BY_TYPE)
        others = descriptions.of_libraries(descriptions.lines, ORDERS["born"].key)
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
        """Add a table of groups with those columns of the report that are not empty."""
        there = {
            one: COLUMNS[one]
            for one in columns
            if any(COLUMNS[one].cell(self._descriptions, group).strip() for group in groups[:ROWS])
        }
        self._add(name, title, remark, groups, there, "live" if name == "alive" else "born" if "born" in there else "")

    def _leaks(self) -> None:
        """Add the survivors of calls, and what the calls made of which nothing is left."""
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
        self._add("leaks", "What the calls left behind", remark, found, _LEFT)
        if rest:
            remark = f"nothing is left of what {words.number_of(len(rest), 'other line')} made in the calls"
            self._add("dead", "Dead at the end", remark, rest, _INSIDE, "inside")

    def _add(self, name: str, title: str, remark: str, found: Sequence[Any], columns: Columns, bar: str = "") -> None:
        kept = found[:ROWS]
        groups = [one.group if isinstance(one, Leak) else one for one in kept]
        self.described.append(
            {
                "id": name,
                "title": title,
                "remark": shown(remark, 1_000),
                "heads": [
                    {"name": one, "title": column.head, "about": column.about, "left": one in ("verdict", "over")}
                    for one, column in columns.items()
                ],
                "names": [self._name(group, name) for group in groups],
                "foreign": [int(bool(self._descriptions.library(group))) for group in groups],
                "cells": [
                    [column.cell(self._descriptions, one).strip() for column in columns.values()] for one in kept
                ],
                "looks": {
                    str(number): [
                        style(leak.verdict) if one == "verdict" else "spark" if one == "over" else "" for one in columns
                    ]
                    for number, leak in enumerate(kept)
                    if isinstance(leak, Leak)
                },
                "left": len(found) - len(kept),
                "bar": bar,
            }
        )
        for one, column in columns.items():
            values = (column.value(self._descriptions, row) if column.value else ORDERS[one].key(row) for row in kept)
            self.columns[f"{name}.{one}"] = doubles(map(float, values))

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
