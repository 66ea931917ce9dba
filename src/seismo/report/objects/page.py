"""The page of births and deaths of objects.

It shows objects over time, those that calls left alive, tables by type, line and path, lifetimes, and holders. This
module makes the page's data; web/src draws it. The cells of the tables are the report's texts
(seismo.report.objects.columns), with numbers to sort each column by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.model.objects import groups as grouped
from seismo.report import facts, words
from seismo.report.objects import facts as object_facts
from seismo.report.objects.group_descriptions import ObjectWords
from seismo.report.objects.holders import Holder, Holders, chain
from seismo.report.objects.options import check_page
from seismo.report.objects.page_tables import Tables
from seismo.report.page.document import drawn
from seismo.report.page.payload import counts, doubles, shown, shown_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Recording
    from seismo.model.objects.groups import ObjectGroup
    from seismo.report.options import Options
    from seismo.report.page.payload import Columns

PARTS = 240  # parts of the timeline
_CARDS = 12  # most types with a drawing of lifetimes
_HELD = 40  # most kinds of survivors with holders
_HOLDERS = 12  # most holders of one thing
_DEEPEST = 30
_MARKS = 200
_SIGNS = words.Signs()


def page(recording: Recording, options: Options) -> str:
    """Return the page as text. Raises UsageError for options that it does not take."""
    check_page(options)
    title = facts.command_line(recording) or "Objects"
    descriptions = ObjectWords(recording, _SIGNS)
    types = grouped.by_type(recording)
    timeline, columns = _timeline(recording)
    tables = Tables(descriptions, types)
    columns |= tables.columns
    head: dict[str, object] = {
        "kind": "objects",
        "facts": shown_facts(facts.header(recording, _SIGNS)),
        "tiles": _tiles(recording, grouped.totals(recording)),
        "timeline": timeline,
        "tables": tables.described,
        "lives": _lives(types),
        "held": _held(descriptions),
    }
    return drawn(title, head, columns)


def _tiles(recording: Recording, totals: ObjectGroup) -> list[tuple[str, str]]:
    about = _SIGNS.about if totals.approximate else ""
    most, exact = object_facts.peak(recording)
    died, live = object_facts.bounded(totals.died, totals.live, recording, _SIGNS)

    def size(number: int, at_least: bool) -> str:
        return (_SIGNS.at_least if at_least else "") + words.size(number) if number else "0"

    return [
        ("born", words.count(totals.born)),
        ("died", died),
        ("by the cycle collector", about + words.count(totals.died_by_gc)),
        ("live at the end", live),
        ("peak", ("" if exact else _SIGNS.at_least) + words.count(most)),
        ("bytes born", size(totals.bytes, totals.at_least)),
        ("bytes live", size(totals.bytes_live, totals.live_at_least)),
        ("types", words.count(grouped.types_in(recording))),
    ]


def _timeline(recording: Recording) -> tuple[dict[str, object] | None, Columns]:
    """Return live objects and births in equal parts of the time, or None if there are too few points."""
    timeline = object_facts.Timeline(recording, PARTS)
    if len(timeline.live) < 2:
        return None, {}
    marks = [(row.name, (row.time_ns - timeline.start_ns) / timeline.took_ns) for row in recording.marks]
    columns: Columns = {
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


def _held(descriptions: ObjectWords) -> dict[str, object] | None:
    """Return the holders of survivors, kinds with the most survivors first."""
    holders = Holders(descriptions.recording)
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
