"""Births and deaths of objects on a terminal or a pipe: by type, by line, what was short-lived, what lives on and why.

born    objects made while recorded; exact
short   share of them that died before 256 others were born, or within a millisecond
by gc   of those that died: freed by the cycle collector, not by their last reference's end
live    alive at the end of the recording
peak    the most that were alive at once
bytes   of all that were born: what the type says of their size
life    the median age at death: other objects born meanwhile / time
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from seismo.escape import printable
from seismo.model.objects import groups as grouped
from seismo.report import words as text
from seismo.report.facts import header, write_facts
from seismo.report.objects.facts import by_type_only
from seismo.report.objects.group_descriptions import ObjectWords
from seismo.report.objects.holders import Holders, write_holders
from seismo.report.objects.libraries import others_in_words

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.model.objects.groups import ObjectGroup
    from seismo.report.paper import Paper, Span

NARROWEST_TYPE, NARROWEST_LINE = 26, 40  # columns left for the name: a type's, a line's with its types
BELOW = 6  # columns that what stands below a row is indented
TYPES, LINES, FEW = 15, 10, 6  # rows of the tables of a report that shows all of them
PATH = 6  # functions of a call path that are shown

LIFE = "life: median age at death, in births meanwhile / in time"

BYS = ("type", "line", "path", "all")


@dataclass
class ObjectsView:
    """What of a recording of objects to show.

    by: one table only, of BYS ("all": by type, line and path); "": the tables that answer most questions, few rows
    each. order: of ORDERS, "": what suits the table. limit: rows of a table; None: what suits it, all when everything.
    types: globs of the types to show; (): all. libraries: lines of the standard library and of installed packages, too.
    """

    by: str = ""
    order: str = ""
    limit: int | None = None
    everything: bool = False
    types: Sequence[str] = ()
    libraries: bool = False

    def rows(self, usual: int) -> int | None:
        """How many rows of a table are shown; None: all."""
        return self.limit or (None if self.everything else usual)


class Order(NamedTuple):
    """A way to sort groups: largest first, by the key; `words` name it."""

    key: Callable[[ObjectGroup], float]
    words: str


# What --sort takes.
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


class Cells:
    """The text of each cell of the tables."""

    def __init__(self, words: ObjectWords) -> None:
        recording = words.recording
        self.words = words
        self.signs = words.signs
        self.whole = sum(recording.types["born"])
        # Signs of how many died, and of how many are alive at the end or were at once.
        types_only = by_type_only(recording)
        self.died_at, self.live_at = (self.signs.at_most, self.signs.at_least) if types_only else ("", "")
        self.running_ns = words.running_ns
        self.whole_ns = sum(self.running_ns)

    def count(self, number: int, group: ObjectGroup, estimated: bool = True) -> str:
        """A count that is an estimate where the group's are, unless it is known not to be."""
        return f"{self.signs.about if group.approximate and number and estimated else ''}{number:,}"

    def live(self, group: ObjectGroup) -> str:
        """How many are alive at the end; empty for none, unless there may be some."""
        if self.live_at:
            return f"{self.live_at}{group.live:,}"
        return self.count(group.live, group) if group.live else ""

    def peak(self, group: ObjectGroup) -> str:
        """The peak: of several lines together it is at most the sum of theirs."""
        if self.live_at:
            return f"{self.live_at}{group.peak:,}"
        sign = self.signs.at_most if group.peak_at_most else self.signs.about if group.approximate else ""
        return f"{sign}{group.peak:,}"

    def size(self, number: int, at_least: bool) -> str:
        """A number of bytes, its unit aligned; a lower bound where the types keep memory elsewhere."""
        if not number:
            return ""
        shown = text.size(number)
        return (self.signs.at_least if at_least else "") + (shown + " " if shown.endswith(" B") else shown)

    def own(self, group: ObjectGroup) -> str:
        """What the function that made them ran itself, as a share of all; only with a call tree beside."""
        return text.percent(self.running_ns[group.function], self.whole_ns) if group.function >= 0 else ""


Cell = Callable[[Cells, "ObjectGroup"], str]

COLUMNS: dict[str, tuple[str, Cell]] = {
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
DROPPED_FIRST = ("peak", "died", "live-bytes", "life", "bytes", "gc")  # where the width is short
MAY_BE_EMPTY = ("gc", "live-bytes", "bytes", "short", "own", "life")


class Table(NamedTuple):
    """A table: its heading and a remark to it, the rows, the columns, and whether lines are shown with their text."""

    title: str
    remark: str
    rows: Sequence[ObjectGroup]
    columns: Sequence[str]
    limit: int | None
    lines: bool = True
    holders: Holders | None = None
    others: str = ""


def write_report(paper: Paper, recording: Recording, view: ObjectsView) -> None:
    """Writes the report: the facts, then the tables, the cheap ones first."""
    from seismo.report.objects.leaks import write_leaks

    write_facts(paper, header(recording, paper.signs))
    paper.flush()
    words = ObjectWords(recording, paper.signs)
    if view.by:
        write_one(paper, words, view)
    else:
        if len(recording.object_spans):
            write_leaks(paper, words, view)
        _write_all(paper, words, view)
    for file in words.changed()[:3]:
        paper.line()
        paper.line((f"{file} has changed since it ran: its lines' texts are not shown", "warning"))


def chosen(groups: Sequence[ObjectGroup], view: ObjectsView) -> Sequence[ObjectGroup]:
    """The groups whose type matches a glob of the view. Groups of several types are never chosen so: there is one."""
    if not view.types:
        return groups
    return [group for group in groups if group.type and any(_is_called(group.type, glob) for glob in view.types)]


def _is_called(name: str, glob: str) -> bool:
    """Whether a glob matches a type's name, with its module or without."""
    return fnmatchcase(name, glob) or fnmatchcase(name.rpartition(".")[2], glob) or glob == f"builtins.{name}"


def sorted_by(groups: Sequence[ObjectGroup], order: str) -> list[ObjectGroup]:
    """The groups that have any of what they are sorted by, the most first."""
    key = ORDERS[order].key
    return sorted((group for group in groups if key(group) > 0), key=lambda group: -key(group))


def write_one(paper: Paper, words: ObjectWords, view: ObjectsView) -> None:
    """One table, as large as is asked for."""
    recording = words.recording
    order = view.order or "born"
    if view.by == "type":
        groups, columns = grouped.by_type(recording), BY_TYPE
    elif view.by == "line":
        groups, columns = words.lines if view.types else grouped.by_line(recording), BY_LINE
    else:
        groups, columns = grouped.by_path(recording), BY_LINE
    titles = {"type": "Types", "line": "Lines", "path": "Call paths", "all": "Types, lines and call paths"}
    remark = printable(f"types {', '.join(view.types)}") if view.types else ""
    title = f"{titles[view.by]} by {ORDERS[order].words}"
    shown = chosen(groups, view)
    if view.by == "type":
        table = Table(title, remark, sorted_by(shown, order), columns, view.rows(20), lines=False)
    else:
        table = _of_lines(words, view, title, remark, shown, order, columns, 20)
    write_table(paper, words, table)


def _of_lines(
    words: ObjectWords,
    view: ObjectsView,
    title: str,
    remark: str,
    groups: Sequence[ObjectGroup],
    order: str,
    columns: Sequence[str],
    usual: int,
) -> Table:
    """A table of lines: the program's own, and what others have in one remark, unless all are wanted."""
    others = ""
    if not (view.libraries or view.everything or view.types):
        number = ORDERS[order].key
        counted = text.size if "bytes" in order else "{:,.0f}".format
        others = others_in_words(words.libraries.others(groups, number), counted)
        groups = words.libraries.own(groups)
    return Table(title, remark, sorted_by(groups, order), columns, view.rows(usual), others=others)


def _write_all(paper: Paper, words: ObjectWords, view: ObjectsView) -> None:
    """The tables that answer: what is made, where, what is thrown away, what lives on and why."""
    for _, table in all_tables(words, view):
        write_table(paper, words, table)


def all_tables(words: ObjectWords, view: ObjectsView) -> Iterator[tuple[str, Table]]:
    """The tables of a report without a choice, by what each is called in documents for programs."""
    recording = words.recording
    order = view.order or "born"
    by = ORDERS[order].words
    types = sorted_by(chosen(grouped.by_type(recording), view), order)
    yield "types", Table(f"Types by {by}", "", types, BY_TYPE, view.rows(TYPES), lines=False)
    if not len(recording.objects):
        return
    both = chosen(words.lines, view)
    lines = both if view.types else grouped.by_line(recording)
    yield "lines", _of_lines(words, view, f"Lines by {by}", "", lines, order, BY_LINE, LINES)
    born = f"short-lived objects; 100 % is {sum(recording.types['born']):,} births"
    yield "churn", _of_lines(words, view, "Made and dropped at once", born, both, "short", CHURN, FEW)
    if not len(recording.object_spans):  # else the leaks have told it
        most = "live-bytes" if view.order == "live-bytes" else "live"
        alive = _of_lines(words, view, "Alive at the end", "", both, most, ALIVE, FEW)
        yield "alive", alive._replace(holders=Holders(recording) or None)
    remark = "objects in reference cycles: only the cycle collector could free them"
    cycles = _of_lines(words, view, "Cycles", remark, both, "gc", CYCLES, FEW)
    if cycles.rows or cycles.others:
        yield "cycles", cycles


# ---- a table ----


def write_table(paper: Paper, words: ObjectWords, table: Table) -> None:
    """Writes a table with its heading; below each row the line's text, and who holds what is alive."""
    if not table.rows:
        _write_heading(paper, table.title, table.remark)
        paper.line(("  none", "quiet"))
        _write_others(paper, table.others)
        return
    shown = table.rows if table.limit is None else table.rows[: table.limit]
    cells = Cells(words)
    texts = {name: [COLUMNS[name][1](cells, group) for group in shown] for name in table.columns}
    columns = [name for name in table.columns if name not in MAY_BE_EMPTY or any(map(str.strip, texts[name]))]
    widths = {name: max(map(text.cells, [COLUMNS[name][0], *texts[name]])) for name in columns}
    narrowest = NARROWEST_LINE if table.lines else NARROWEST_TYPE
    for name in DROPPED_FIRST:
        if paper.width - sum(widths.values()) - 2 * len(widths) >= narrowest:
            break
        widths.pop(name, None)
    used = sum(widths.values()) + 2 * len(widths)
    remarks = [table.remark] if table.remark else []
    _write_heading(paper, table.title, "; ".join([*remarks, *([LIFE] if "life" in widths and not table.lines else [])]))
    head = "  ".join(text.right(COLUMNS[name][0], width) for name, width in widths.items())
    paper.line((f"{head}  {'line and types' if table.lines else 'type'}", "quiet"))
    room = max(NARROWEST_TYPE, paper.width - used)
    for number, group in enumerate(shown):
        paper.line(
            "  ".join(text.right(texts[name][number], width) for name, width in widths.items()) + "  ",
            *(name_of(words, group, room) if table.lines else [(_cut(words.types(group), room, words), "name")]),
        )
        if table.lines:
            write_below(paper, words, group, BELOW)
        held = table.holders.of(group.rows) if table.holders else None
        if held is not None:
            write_holders(paper, held, BELOW, group.live)
    paper.cut_short(len(table.rows) - len(shown))
    _write_others(paper, table.others)
    paper.flush()


def _write_others(paper: Paper, others: str) -> None:
    for number, line in enumerate(text.wrapped(f"besides, {others} (--libraries)", paper.width - 4) if others else ()):
        paper.line((f"{'    ' if number else '  '}{line}", "quiet"))


def _write_heading(paper: Paper, title: str, remark: str) -> None:
    paper.line()
    if len(title) + text.cells(remark) + 3 <= paper.width:
        paper.line((title, "title"), (f" ({remark})" if remark else "", "quiet"))
        return
    paper.line((title, "title"))
    for line in text.wrapped(remark, paper.width - 2):
        paper.line((f"  {text.beginning(line, paper.width - 2, paper.signs)}", "quiet"))


def _cut(name: str, width: int, words: ObjectWords) -> str:
    return text.shorten(name, width, words.signs)


def name_of(words: ObjectWords, group: ObjectGroup, width: int) -> list[Span]:
    """Where they were made, then their types, in at most `width` columns."""
    place = _cut(words.place(group), max(16, width - max(12, width // 3)), words)
    room = width - text.cells(place) - 2
    types = words.types(group)
    if room < 8:
        return [(place, "name")]
    types = _cut(types, room, words) if group.type else text.beginning(types, room, words.signs)
    return [(place, "quiet"), ("  " + types, "name")]


def write_below(paper: Paper, words: ObjectWords, group: ObjectGroup, indent: int) -> None:
    """What stands below a row: the function and the line's text, or the call path."""
    if group.function < 0:
        return
    room = paper.width - indent
    name = words.function(group.function)
    path = words.path(group)
    if len(path) > 1:
        cut = [paper.signs.cut, *path[-PATH:]] if len(path) > PATH else path
        joined = f" {paper.signs.arrow} ".join(cut)
        for line in text.wrapped(joined, room):
            paper.line((" " * indent + _cut(line, room, words), "quiet"))
    source = words.source(group)
    if not source:
        if len(path) < 2:
            paper.line((" " * indent + _cut(name, room, words), "quiet"))
        return
    if text.cells(name) + text.cells(source) + 2 > room:
        name = name.rpartition(":")[2].rpartition(".")[2]
    shown = f"{name}: {source}" if len(path) < 2 and text.cells(name) + 2 <= room // 3 else source
    paper.line((" " * indent + text.beginning(shown, room, paper.signs), "quiet"))
