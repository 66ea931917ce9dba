"""The columns of tables of objects, each declared once: for the terminal, documents, the page, the editor, the summary.

Births are exact. Bytes are what the types say of the sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.report import words as text
from seismo.report.objects.group_descriptions import ObjectWords, each, median
from seismo.report.tables import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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


def _share(part: str, whole: str) -> Callable[[ObjectWords, ObjectGroup], str]:
    """Return a cell with one number of a group as a part of another, or "" for 0."""
    return lambda _, group: text.percent(getattr(group, part), getattr(group, whole)) if getattr(group, part) else ""


def _of(name: str) -> Callable[[ObjectWords, Any], float]:
    return lambda _, about: getattr(about, name)


def _life(_: ObjectWords, group: ObjectGroup) -> float:
    return _LIVES_ON if 2 * group.live > group.born else median(group.in_ns) or 0.0


def _gc_share(_: ObjectWords, group: ObjectGroup) -> float:
    return group.died_by_gc / max(1, group.died)


_SHORT = "died before 256 others were born, or within a millisecond"
_LIFE = "median age at death: in objects born meanwhile, and in time"
_OWN = "own time of the function that made them, of all"
# The columns of a group. A column without a value function is sorted by the order of its name.
COLUMNS: Columns = {
    "born": Column("born", lambda _, group: f"{group.born:,}", "objects that were made"),
    "died": Column("died", ObjectWords.died, "objects that were freed"),
    "gc": Column("by gc", lambda words, group: words.some(group.died_by_gc, group), "freed by the cycle collector"),
    "live": Column("live", ObjectWords.live, "alive at the end"),
    "peak": Column("peak", ObjectWords.peak, "the most alive at once"),
    "bytes": Column("bytes", lambda words, group: words.size(group.bytes, group.at_least), "bytes of those born"),
    "live-bytes": Column("live bytes", ObjectWords.live_bytes, "bytes of those alive at the end"),
    "short": Column("short", _share("short", "born"), f"part that {_SHORT}", _of("short_share")),
    "short-lived": Column("short-lived", lambda words, group: words.count(group.short, group), _SHORT, _of("short")),
    "share": Column(
        "of all", lambda words, row: text.percent(row.born, words.whole), "part of all births", _of("born")
    ),
    "of-died": Column("of died", _share("died_by_gc", "died"), "part of those that died", _gc_share),
    "own": Column("own time", ObjectWords.own, _OWN, ObjectWords.own_ns),
    "life": Column("life", lambda words, group: text.aligned(words.life(group)), _LIFE, _life),
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
    "alive": Column("alive", lambda words, leak: words.count(leak.alive, leak.group), "alive at the end", _of("alive")),
    "call": Column(
        "a call",
        lambda words, leak: each(leak.alive, leak.calls, leak.group.approximate, words.signs),
        "alive a call",
        _of("per_call"),
    ),
    "calls": Column(
        "in calls",
        lambda words, leak: f"{words.signs.at_most if leak.at_most else ''}{leak.calls_with:,}",
        "calls that left some",
        _of("calls_with"),
    ),
    "over": Column(
        "over calls",
        lambda words, leak: text.sparkline(leak.parts, words.signs),
        "alive, by tenths of the calls",
        _of("alive"),
    ),
}
# The columns of a group born in the chosen calls.
IN_CALLS: Columns = {
    "each": Column(
        "a call",
        lambda words, group: each(group.span_born, words.calls, False, words.signs),
        "born in a call",
        _of("span_born"),
    ),
    "inside": Column("born", lambda _, group: f"{group.span_born:,}", "born in the calls", _of("span_born")),
    "died": Column("died inside", lambda words, group: words.count(group.span_died, group)),
    "escaped": Column(
        "escaped",
        lambda words, group: words.count(group.span_born - group.span_died, group),
        "outlived the call that they were born in",
        lambda _, group: group.span_born - group.span_died,
    ),
    "alive": Column("alive", lambda words, group: words.count(group.span_live, group)),
}


class Table(NamedTuple):
    """The content of a table. names: its columns. rows: the number shown beside other tables. weight: of the first row.

    leads: types of the program come before plain ones (led), and rows with too little are left out.
    """

    title: str
    names: Iterable[str]
    rows: int
    weight: float
    columns: Columns = COLUMNS
    leads: bool = False


# The tables of the report, the page and the summary.
TABLES = {
    "leaks": Table("Alive after the calls they were born in", LEAKS, 8, 0.96, LEAKS),
    "born": Table("Born in the calls", IN_CALLS, 8, 0.55, IN_CALLS),
    "alive": Table("Alive at the end", ALIVE, 6, 0.9, leads=True),
    "churn": Table("Made and dropped at once", CHURN, 6, 0.7, leads=True),
    "types": Table("Types", BY_TYPE, 15, 0.8),
    "lines": Table("Lines", BY_LINE, 10, 0.75),
    "cycles": Table("Cycles", CYCLES, 6, 0.6),
    "type": Table("Types", BY_TYPE, 20, 0.8),  # from here on by themselves
    "line": Table("Lines", BY_LINE, 20, 0.8),
    "path": Table("Call paths", BY_LINE, 20, 0.8),
    "all": Table("Types, lines and call paths", BY_LINE, 20, 0.8),
}
