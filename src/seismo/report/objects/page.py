"""The page of births and deaths of objects.

It shows objects over time, those that calls left alive, tables by type, line and path, lifetimes, and holders. This
module makes the page's data; web/src draws it. The cells of the tables are the report's texts
(seismo.report.objects.columns), with numbers to sort each column by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.model.objects import groups as grouped
from seismo.model.objects import leaks as judged
from seismo.model.objects.leaks import Leak
from seismo.report import facts, words
from seismo.report.objects import facts as object_facts
from seismo.report.objects.columns import BY_LINE, COLUMNS, IN_CALLS, LEAKS, ORDERS, TABLES, led, ranked
from seismo.report.objects.group_descriptions import ObjectWords, style, verdict_words
from seismo.report.objects.holders import Holder, Holders, chain
from seismo.report.objects.options import check_page
from seismo.report.objects.story import chain_of
from seismo.report.page.document import drawn
from seismo.report.page.payload import counts, doubles, shown, shown_facts
from seismo.report.tables import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from seismo.model import Recording
    from seismo.model.objects.groups import ObjectGroup
    from seismo.report.options import Options
    from seismo.report.page.payload import Columns as Sorted
    from seismo.report.tables import Columns

PARTS = 240  # parts of the timeline
_CARDS = 12  # most types with a drawing of lifetimes
_HELD = 40  # most kinds of survivors with holders
_HOLDERS = 12  # most holders of one thing
_DEEPEST = 30
_MARKS = 200
ROWS = 500  # most rows of a table
_FUNCTIONS = 8  # most functions of a call path
_SIGNS = words.Signs()


def page(recording: Recording, options: Options) -> str:
    """Return the page as text. Raises UsageError for options that it does not take."""
    check_page(options)
    title = facts.command_line(recording) or "Objects"
    descriptions = ObjectWords(recording, _SIGNS)
    types = grouped.by_type(recording)
    timeline, columns = _timeline(recording)
    holders = Holders(recording)
    tables = _Tables(descriptions, types, holders)
    columns |= tables.columns
    head: dict[str, object] = {
        "kind": "objects",
        "facts": shown_facts(facts.header(recording, _SIGNS)),
        "tiles": _tiles(descriptions, grouped.totals(recording)),
        "timeline": timeline,
        "tables": tables.described,
        "lives": _lives(types),
        "held": _held(descriptions, holders),
    }
    return drawn(title, head, columns)


def _tiles(descriptions: ObjectWords, totals: ObjectGroup) -> list[tuple[str, str]]:
    recording = descriptions.recording
    about = _SIGNS.about if totals.approximate else ""
    most, exact = object_facts.peak(recording)
    died, live = object_facts.bounded(totals.died, totals.live, recording, _SIGNS)
    return [
        ("born", words.count(totals.born)),
        ("died", died),
        ("by the cycle collector", about + words.count(totals.died_by_gc)),
        ("live at the end", live),
        ("peak", ("" if exact else _SIGNS.at_least) + words.count(most)),
        ("bytes born", descriptions.size(totals.bytes, totals.at_least).strip() or "0"),
        ("bytes live", descriptions.size(totals.bytes_live, totals.live_at_least).strip() or "0"),
        ("types", words.count(grouped.types_in(recording))),
    ]


def _timeline(recording: Recording) -> tuple[dict[str, object] | None, Sorted]:
    """Return live objects and births in equal parts of the time, or None if there are too few points."""
    timeline = object_facts.Timeline(recording, PARTS)
    if len(timeline.live) < 2:
        return None, {}
    marks = [(row.name, (row.time_ns - timeline.start_ns) / timeline.took_ns) for row in recording.marks]
    columns: Sorted = {
        "time.live": counts(max(0, live) for live in timeline.live),
        "time.births": doubles(timeline.births),
    }
    head: dict[str, object] = {
        "took": timeline.took_ns,
        "highest": max(0, timeline.highest),
        "marks": [[shown(name, 80), at] for name, at in marks if 0 <= at <= 1][:_MARKS],
    }
    return head, columns


def _lives(types: Sequence[ObjectGroup]) -> list[dict[str, object]]:
    """Return the lifetimes of the types with the most births: deaths by age, in buckets that grow by four."""
    known = [group for group in types if any(group.in_ns) or any(group.in_births)][:_CARDS]
    return [
        {"type": shown(one.type), "live": max(0, one.live), "ns": one.in_ns, "births": one.in_births} for one in known
    ]


def _held(descriptions: ObjectWords, holders: Holders) -> dict[str, object] | None:
    if not holders:
        return None
    groups = sorted(descriptions.lines, key=lambda group: -group.live)
    kinds = [(group, held) for group in groups if (held := holders.of(group.rows)) is not None]
    return {
        "asked": sum(held.asked for _, held in kinds),
        "more": max(0, len(kinds) - _HELD),
        "kinds": [
            {
                "type": shown(group.type),
                "place": shown(descriptions.place(group)),
                "live": group.live,
                "asked": held.asked,
                **_those(held.ranked(), 0),
            }
            for group, held in kinds[:_HELD]
        ],
    }


def _those(holders: Sequence[Holder], depth: int) -> dict[str, object]:
    """Return the holders of one thing, and how many smaller ones are left out."""
    kept = holders[:_HOLDERS] if depth < _DEEPEST else []
    return {"by": [_holder(one, depth) for one in kept], "left": len(holders) - len(kept)}


def _holder(holder: Holder, depth: int) -> dict[str, object]:
    """Return a holder with its chain (see chain()) and the holders of its end."""
    links = chain(holder)
    return {
        "count": holder.count,
        "words": [shown(one.words()) for one in links],
        "ending": links[-1].ending(),
        "root": links[-1].is_root,
        **_those(links[-1].ranked(), depth + len(links)),
    }


# ---- Tables. ----


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


class _Tables:
    """All tables of a page: `described` for its head, and `columns` with the numbers to sort by."""

    def __init__(self, descriptions: ObjectWords, types: Sequence[ObjectGroup], holders: Holders) -> None:
        self.described: list[dict[str, object]] = []
        self.columns: Sorted = {}
        self._descriptions, self._holders = descriptions, holders
        recording = descriptions.recording
        alive = led(ranked(descriptions.lines, "live"), ORDERS["live"].key)
        if len(recording.object_spans):
            self._leaks()
        elif alive:
            self._groups("alive", "Alive at the end", "what lives on, and who holds it", alive, TABLES["alive"].names)
        self._groups("types", "Types", "", types, TABLES["type"].names)
        others = descriptions.of_libraries(descriptions.lines, ORDERS["born"].key)
        remark = f"those of the program first; {others}" if others else "where objects were made"
        if descriptions.lines:
            self._groups("lines", "Lines", remark, grouped.by_line(recording), BY_LINE)
            both = dict.fromkeys(("born", *TABLES["churn"].names, *TABLES["alive"].names))
            self._groups("kinds", "Lines by type", "each line's types apart", descriptions.lines, both)
        if any(node >= 0 for node in recording.objects["node"]):
            self._groups("paths", "Call paths", "the innermost functions", grouped.by_path(recording), BY_LINE)
        cycles = ranked(descriptions.lines, "gc")
        if cycles:
            remark = "objects in reference cycles, which only the cycle collector could free"
            self._groups("cycles", "Cycles", remark, cycles, TABLES["cycles"].names)

    def _groups(
        self, name: str, title: str, remark: str, groups: Sequence[ObjectGroup], columns: Iterable[str]
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
