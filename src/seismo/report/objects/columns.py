"""The columns of tables of objects, each declared once: for the terminal, documents, the page, the editor, the summary.

born    objects made while recorded; exact
by gc   of those that died: freed by the cycle collector, not by their last reference's end
live    alive at the end of the recording
peak    the most that were alive at once
bytes   of all that were born: what the type says of their size

MEANINGS has the others.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.model.objects import leaks as judged
from seismo.report import words as text
from seismo.report.objects.facts import by_type_only
from seismo.report.objects.group_descriptions import ObjectWords, each, median
from seismo.report.tables import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model.objects.groups import ObjectGroup
    from seismo.report.tables import Columns


# Plain values and the interpreter's internal types. They count, but do not lead a table of suspects.
PLAIN = ("bool", "bytes", "cell", "code", "complex", "float", "int", "str", "types.CodeType")
PLAIN_WEIGHT = 0.25
_LIVES_ON = 1e18  # ns: longer than any life


class Order(NamedTuple):
    """A way to sort groups, the largest first. key: returns the number. words: its name."""

    key: Callable[[ObjectGroup], float]
    words: str


# The values of --sort.
ORDERS = {
    "born": Order(lambda group: group.born, "births"),
    "died": Order(lambda group: group.died, "deaths"),
    "gc": Order(lambda group: group.died_by_gc, "deaths by the cycle collector"),
    "live": Order(lambda group: group.live, "objects alive at the end"),
    "peak": Order(lambda group: group.peak, "the most alive at once"),
    "bytes": Order(lambda group: group.bytes, "bytes born"),
    "live-bytes": Order(lambda group: group.bytes_live, "bytes alive at the end"),
    "short": Order(lambda group: group.short, "short-lived objects"),
}


def ranked(groups: Sequence[ObjectGroup], order: str) -> list[ObjectGroup]:
    """Return the groups with a number above 0 for this order, the largest first."""
    key = ORDERS[order].key
    return sorted((group for group in groups if key(group) > 0), key=lambda group: -key(group))


def led(groups: Sequence[ObjectGroup], key: Callable[[ObjectGroup], float]) -> list[ObjectGroup]:
    """Return the groups, largest first, with plain types behind others of about the same number."""
    return sorted(groups, key=lambda group: -key(group) * (PLAIN_WEIGHT if group.type in PLAIN else 1))


class Cells:
    """The text of each cell of the tables."""

    def __init__(self, words: ObjectWords) -> None:
        recording = words.recording
        self.words = words
        self.signs = words.signs
        self.whole = sum(recording.types["born"])
        # Signs before the number of dead and of live objects if these are only bounds.
        types_only = by_type_only(recording)
        self.died_at, self.live_at = (self.signs.at_most, self.signs.at_least) if types_only else ("", "")
        self.calls = sum(one.calls for one in judged.spans(recording))

    def count(self, number: int, group: ObjectGroup) -> str:
        """Return a count, marked as an estimate if the group's are."""
        return f"{self.signs.about if group.approximate and number else ''}{number:,}"

    def some(self, number: int, group: ObjectGroup) -> str:
        """Return a count, or "" for 0."""
        return self.count(number, group) if number else ""

    def died(self, group: ObjectGroup) -> str:
        """Return the number that died."""
        return f"{self.died_at}{group.died:,}" if self.died_at else self.count(group.died, group)

    def live(self, group: ObjectGroup) -> str:
        """Return the number alive at the end, or "" if there are surely none."""
        return f"{self.live_at}{group.live:,}" if self.live_at else self.some(group.live, group)

    def peak(self, group: ObjectGroup) -> str:
        """Return the peak; of several lines together it is at most the sum of theirs."""
        sign = self.signs.at_most if group.peak_at_most else self.signs.about if group.approximate else ""
        return f"{self.live_at or sign}{group.peak:,}"

    def size(self, number: int, at_least: bool) -> str:
        """Return a number of bytes with its unit aligned; a lower bound if the types keep memory elsewhere."""
        if not number:
            return ""
        shown = text.size(number)
        return (self.signs.at_least if at_least else "") + (shown + " " if shown.endswith(" B") else shown)

    def live_bytes(self, group: ObjectGroup) -> str:
        """Return the bytes of the objects alive at the end."""
        return self.size(group.bytes_live, group.live_at_least or bool(self.live_at))

    def own_ns(self, group: ObjectGroup) -> float:
        """Return the own time of the function that made them, or 0 without a call tree."""
        return self.words.running_ns[group.function] if group.function >= 0 else 0.0

    def own(self, group: ObjectGroup) -> str:
        """Return the share of that time in the own time of all functions."""
        return text.percent(self.own_ns(group), self.whole_ns) if group.function >= 0 else ""

    @functools.cached_property
    def whole_ns(self) -> float:
        """Return the own running time of all functions."""
        return sum(self.words.running_ns)

    def each(self, number: int, calls: int, approximate: bool = False) -> str:
        """Return the mean number per call."""
        return each(number, calls, approximate, self.signs)


def _share(part: str, whole: str) -> Callable[[Cells, ObjectGroup], str]:
    """Return a cell with one number of a group as a part of another, or "" for 0."""
    return lambda _, group: text.percent(getattr(group, part), getattr(group, whole)) if getattr(group, part) else ""


def _of(name: str) -> Callable[[Cells, Any], float]:
    return lambda _, about: getattr(about, name)


def _life(_: Cells, group: ObjectGroup) -> float:
    return _LIVES_ON if 2 * group.live > group.born else median(group.in_ns) or 0.0


def _gc_share(_: Cells, group: ObjectGroup) -> float:
    return group.died_by_gc / max(1, group.died)


_SHORT = "died before 256 others were born, or within a millisecond"
_LIFE = "median age at death: in objects born meanwhile, and in time"
_OWN = "own time of the function that made them, of all"
# The columns of a group. A column without a value function is sorted by the order of its name.
COLUMNS: Columns = {
    "born": Column("born", lambda _, group: f"{group.born:,}", "objects that were made"),
    "died": Column("died", Cells.died, "objects that were freed"),
    "gc": Column("by gc", lambda cells, group: cells.some(group.died_by_gc, group), "freed by the cycle collector"),
    "live": Column("live", Cells.live, "alive at the end"),
    "peak": Column("peak", Cells.peak, "the most alive at once"),
    "bytes": Column("bytes", lambda cells, group: cells.size(group.bytes, group.at_least), "bytes of those born"),
    "live-bytes": Column("live bytes", Cells.live_bytes, "bytes of those alive at the end"),
    "short": Column("short", _share("short", "born"), f"part that {_SHORT}", _of("short_share")),
    "short-lived": Column("short-lived", lambda cells, group: cells.count(group.short, group), _SHORT, _of("short")),
    "share": Column(
        "of all", lambda cells, row: text.percent(row.born, cells.whole), "part of all births", _of("born")
    ),
    "of-died": Column("of died", _share("died_by_gc", "died"), "part of those that died", _gc_share),
    "own": Column("own time", Cells.own, _OWN, Cells.own_ns),
    "life": Column("life", lambda cells, group: text.aligned(cells.words.life(group)), _LIFE, _life),
}
BY_TYPE: Sequence[str] = ("born", "died", "gc", "live", "peak", "bytes", "live-bytes", "life")
BY_LINE: Sequence[str] = ("born", "gc", "short", "live", "bytes", "live-bytes", "life")
CHURN = ("short-lived", "share", "own", "bytes", "life")
ALIVE = ("live", "live-bytes", "born", "peak")
CYCLES = ("gc", "of-died", "born", "life")
MEANINGS = {"short": _SHORT, "short-lived": _SHORT, "life": "median age at death: other objects born meanwhile / time"}
NARROW = ("peak", "died", "live bytes", "life", "bytes", "by gc")  # headings to drop first on a narrow paper

# The columns of a Leak: the objects that calls left alive.
LEAKS: Columns = {
    "alive": Column("alive", lambda cells, leak: cells.count(leak.alive, leak.group), "alive at the end", _of("alive")),
    "call": Column(
        "a call",
        lambda cells, leak: cells.each(leak.alive, leak.calls, leak.group.approximate),
        "alive a call",
        _of("per_call"),
    ),
    "calls": Column(
        "in calls",
        lambda cells, leak: f"{cells.signs.at_most if leak.at_most else ''}{leak.calls_with:,}",
        "calls that left some",
        _of("calls_with"),
    ),
    "over": Column(
        "over calls",
        lambda cells, leak: text.sparkline(leak.parts, cells.signs),
        "alive, by tenths of the calls",
        _of("alive"),
    ),
}
# The columns of a group born in the chosen calls.
IN_CALLS: Columns = {
    "each": Column(
        "a call", lambda cells, group: cells.each(group.span_born, cells.calls), "born in a call", _of("span_born")
    ),
    "inside": Column("born", lambda _, group: f"{group.span_born:,}", "born in the calls", _of("span_born")),
    "died": Column("died inside", lambda cells, group: cells.count(group.span_died, group)),
    "escaped": Column(
        "escaped",
        lambda cells, group: cells.count(group.span_born - group.span_died, group),
        "outlived the call that they were born in",
        lambda _, group: group.span_born - group.span_died,
    ),
    "alive": Column("alive", lambda cells, group: cells.count(group.span_live, group)),
}
