"""The columns of tables of objects, shared by the terminal, documents, the page, the editor and the summary.

- born: objects made while recorded; exact
- short: the share of them that died before 256 others were born, or within a millisecond
- by gc: those of the dead that the cycle collector freed, not the end of their last reference
- live: objects alive at the end of the recording
- peak: the most alive at once
- bytes: of all that were born, as far as the type knows their size
- life: the median age at death, as births of other objects meanwhile / time
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from seismo.model.objects import leaks as judged
from seismo.report import words as text
from seismo.report.objects.facts import by_type_only
from seismo.report.objects.leak_descriptions import each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model.objects.groups import ObjectGroup
    from seismo.report.objects.group_descriptions import ObjectWords
    from seismo.report.tables import Columns


# Plain values and the interpreter's internal types. They count, but do not lead a table of suspects.
PLAIN = ("bool", "bytes", "cell", "code", "complex", "float", "int", "str", "types.CodeType")
PLAIN_WEIGHT = 0.25


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

    def count(self, number: int, group: ObjectGroup, estimated: bool = True) -> str:
        """Return a count, marked as an estimate if the group's counts are, unless this one is exact."""
        return f"{self.signs.about if group.approximate and number and estimated else ''}{number:,}"

    def live(self, group: ObjectGroup) -> str:
        """Return the number alive at the end, or "" if it is certainly 0."""
        if self.live_at:
            return f"{self.live_at}{group.live:,}"
        return self.count(group.live, group) if group.live else ""

    def peak(self, group: ObjectGroup) -> str:
        """Return the peak; the peak of several lines is at most the sum of theirs."""
        if self.live_at:
            return f"{self.live_at}{group.peak:,}"
        sign = self.signs.at_most if group.peak_at_most else self.signs.about if group.approximate else ""
        return f"{sign}{group.peak:,}"

    def size(self, number: int, at_least: bool) -> str:
        """Return a number of bytes with its unit aligned; a lower bound if the types keep memory elsewhere."""
        if not number:
            return ""
        shown = text.size(number)
        return (self.signs.at_least if at_least else "") + (shown + " " if shown.endswith(" B") else shown)

    def own(self, group: ObjectGroup) -> str:
        """Return the own running time of the creating function as a share of all; needs a recorded call tree."""
        running_ns = self.words.running_ns
        return text.percent(running_ns[group.function], self.whole_ns) if group.function >= 0 else ""

    @functools.cached_property
    def whole_ns(self) -> float:
        """Return the own running time of all functions."""
        return sum(self.words.running_ns)


COLUMNS: Columns = {
    "born": ("born", lambda _, group: f"{group.born:,}"),
    "died": ("died", lambda cells, group: cells.died_at + cells.count(group.died, group, not cells.died_at)),
    "gc": ("by gc", lambda cells, group: cells.count(group.died_by_gc, group) if group.died_by_gc else ""),
    "live": ("live", lambda cells, group: cells.live(group)),
    "peak": ("peak", lambda cells, group: cells.peak(group)),
    "bytes": ("bytes", lambda cells, group: cells.size(group.bytes, group.at_least)),
    "live-bytes": (
        "live bytes",
        lambda cells, group: cells.size(group.bytes_live, group.live_at_least or bool(cells.live_at)),
    ),
    "short": ("short", lambda _, group: text.percent(group.short, group.born) if group.short else ""),
    "short-lived": ("short-lived", lambda cells, group: cells.count(group.short, group)),
    "share": ("of all", lambda cells, group: text.percent(group.born, cells.whole)),
    "of-died": ("of died", lambda _, group: text.percent(group.died_by_gc, group.died)),
    "own": ("own time", lambda cells, group: cells.own(group)),
    "life": ("life", lambda cells, group: text.aligned(cells.words.life(group))),
}
BY_TYPE: Sequence[str] = ("born", "died", "gc", "live", "peak", "bytes", "live-bytes", "life")
BY_LINE: Sequence[str] = ("born", "gc", "short", "live", "bytes", "live-bytes", "life")
CHURN = ("short-lived", "share", "own", "bytes", "life")
ALIVE = ("live", "live-bytes", "born", "peak")
CYCLES = ("gc", "of-died", "born", "life")
_SHORT = "died before 256 others were born, or within a millisecond"
MEANINGS = {
    "short": _SHORT,
    "short-lived": _SHORT,
    "life": "median age at death: other objects born meanwhile / time",
}
NARROW = ("peak", "died", "live bytes", "life", "bytes", "by gc")  # headings to drop first on a narrow paper

# The columns for what calls left alive; cells are made from a Leak.
LEAKS: Columns = {
    "alive": ("alive", lambda cells, leak: cells.count(leak.alive, leak.group)),
    "call": ("a call", lambda cells, leak: each(leak.alive, leak.calls, leak.group.approximate, cells.signs)),
    "calls": ("in calls", lambda cells, leak: f"{cells.signs.at_most if leak.at_most else ''}{leak.calls_with:,}"),
    "over": ("over calls", lambda cells, leak: text.sparkline(leak.parts, cells.signs)),
}
# The columns for what was born in the chosen calls.
IN_CALLS: Columns = {
    "each": ("a call", lambda cells, group: each(group.span_born, cells.calls, False, cells.signs)),
    "inside": ("born", lambda _, group: f"{group.span_born:,}"),
    "died": ("died inside", lambda cells, group: cells.count(group.span_died, group)),
    "escaped": ("escaped", lambda cells, group: cells.count(group.span_born - group.span_died, group)),
    "alive": ("alive", lambda cells, group: cells.count(group.span_live, group)),
}
