"""The comparison of recordings of objects, one or several a side: births, live objects and bytes, by type and line.

Births are exact, so each difference is a change in behaviour. It need not come from a change of the source: hash order,
time and threads change births, too. Rows are ranked by the change in births, then by the live objects; the lines of
libraries follow the program's own. Estimates keep their sign. For two bounds only both values are shown, without a
difference.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from seismo.escape import printable
from seismo.model.difference import sure_change
from seismo.model.objects.difference import ObjectDiffRow, diff_objects
from seismo.model.objects.groups import totals, types_in
from seismo.report import words as text
from seismo.report.changes import files_of_sides, growth, lacking, ranged, relative
from seismo.report.facts import command_line, write_facts
from seismo.report.libraries import file_key, libraries
from seismo.report.objects.group_descriptions import place
from seismo.report.paper import ROOMY, Paper
from seismo.report.tables import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Recording
    from seismo.model.objects.groups import ObjectGroup
    from seismo.report.words import Signs

NARROWEST_NAME = 24


def write_changes(paper: Paper, old: Sequence[Recording], new: Sequence[Recording], limit: int | None) -> None:
    """Write the changes by type and by line. limit: rows of a table, or None for all."""
    sides = [[totals(one) for one in side] for side in (old, new)]
    facts = [("old", _described(old, sides[0])), ("new", _described(new, sides[1]))]
    names = {"born": "born", "died_by_gc": "freed by the cycle collector", "live": "live at the end"}
    moved = []
    for name, what in names.items():
        before, after = ([getattr(one, name) for one in side] for side in sides)
        moved.append(_moved_by(what, before, after, paper.signs))
    facts.append(("change", ", ".join(moved)))
    write_facts(paper, [*facts, *lacking(old, new, paper.signs)])
    for by, title in (("type", "Types"), ("type and line", "Lines")):
        if by == "type" or any(len(one.objects) for one in (*old, *new)):
            rows = _own_first(diff_objects(old, new, by))
            changed = [row for row in rows if row.born_change or row.live_change or row.bytes_change]
            _write(paper, title, changed, len(rows), limit)


def _own_first(rows: Sequence[ObjectDiffRow]) -> list[ObjectDiffRow]:
    """Return the rows of the program's own lines, then those of libraries, each in unchanged order."""
    keys = {row: file_key(row.file, row.key.module) for row in rows}
    files: dict[str, tuple[str, set[str]]] = {}
    for row, key in keys.items():
        files.setdefault(key, (row.file, set()))[1].add(row.key.module)
    whose = libraries((key, file, modules) for key, (file, modules) in files.items())
    return sorted(rows, key=lambda row: bool(whose[keys[row]]))


def _moved_by(what: str, old: Sequence[int], new: Sequence[int], signs: Signs) -> str:
    """Return `+12 born (+4.0 %)`; with several runs, the change that is sure, or that there is none."""
    ranges = (min(old), max(old)), (min(new), max(new))
    change = sure_change(*ranges)
    if all(low == high for low, high in ranges):
        growth_of_all = "" if what.startswith("freed") or not change else relative(new[0], old[0])
        return f"{change:+,} {what}{growth_of_all}"
    return f"{signs.at_least}{change:+,} {what}" if change else f"no significant change of those {what}"


def _described(side: Sequence[Recording], found: Sequence[ObjectGroup]) -> str:
    born, live = [one.born for one in found], [one.live for one in found]
    program = command_line(side[0])
    words = f"{len(side):,} runs, " if len(side) > 1 else ""
    words += f"{ranged((min(born), max(born)))} born, {ranged((min(live), max(live)))} live at the end"
    words += f", of {text.number_of(max(map(types_in, side)), 'type')}"
    return words + (f": {program}" if program else "")


def _write(paper: Paper, title: str, rows: Sequence[ObjectDiffRow], whole: int, limit: int | None) -> None:
    signs = paper.signs
    paper.line()
    same = f"{whole - len(rows):,} of {whole:,} {'is' if whole - len(rows) == 1 else 'are'} unchanged"
    if not rows:
        paper.line((title, "title"), (f": none changed, of {whole:,}", "quiet"))
        return
    paper.line((f"{title} that changed", "title"), (f" ({same})", "quiet"))
    shown = rows[:limit]
    roomy = paper.width >= ROOMY
    texts = [_cells(row, roomy, signs) for row in shown]
    grid = Grid(["born", "", "live", "bytes"], texts, paper.width, ("bytes",), NARROWEST_NAME)
    lines = title == "Lines"
    paper.line((grid.head + ("line and type" if lines else "type"), "quiet"))
    for row, cells in zip(shown, texts, strict=True):
        head, at = grid.line(cells), grid.widths.get(0, 0) + 2 + grid.widths.get(1, 0)
        style = "bad" if row.live_change > 0 else "good" if row.live_change < 0 else ""
        paper.line(head[:at], (head[at:], style), (_what(row, lines, grid.room, signs), "name"))
    paper.cut_short(len(rows) - len(shown), title[:-1].lower(), paper.more)


def _cells(row: ObjectDiffRow, roomy: bool, signs: Signs) -> list[str]:
    old, new = row.old, row.new
    about = signs.about if old.approximate or new.approximate else ""
    most = row.old_most, row.new_most
    share = "new" if not most[0].born else "gone" if not most[1].born else growth(new.born, old.born)
    if (old.born, new.born) != (most[0].born, most[1].born) and share not in ("new", "gone"):
        share = ""  # ranges have no growth
    lives = [
        f"{about if high.live else ''}{ranged((low.live, high.live))}"
        for low, high in zip((old, new), most, strict=True)
    ]
    return [
        _moved(ranged((old.born, most[0].born)), ranged((new.born, most[1].born)), signs),
        share if row.born_change else "",
        _moved(lives[0], lives[1], signs) if most[0].live or most[1].live else "",
        _bytes(row, roomy, signs),
    ]


def _moved(old: str, new: str, signs: Signs) -> str:
    return new if old == new else f"{old} {signs.arrow} {new}"


def _bytes(row: ObjectDiffRow, roomy: bool, signs: Signs) -> str:
    """Return the bytes before and after; on a narrow paper, if both are exact, only the change."""
    old, new = row.old, row.new
    bound = signs.at_least
    if roomy or old.at_least or new.at_least:
        sides = ((old, row.old_most), (new, row.new_most))
        before, after = (f"{bound if low.at_least else ''}{_sizes(low.bytes, high.bytes)}" for low, high in sides)
        return _moved(before, after, signs) if roomy else after
    change = row.bytes_change
    return f"{'-' if change < 0 else '+'}{text.size(abs(change))}" if change else ""


def _sizes(low: int, high: int) -> str:
    least, most = text.size(low), text.size(high)
    return least if least == most else f"{least}-{most}"


def _what(row: ObjectDiffRow, with_line: bool, width: int, signs: Signs) -> str:
    name = printable(row.key.type)
    if not with_line:
        return text.shorten(name, width, signs)
    return text.line_and_type(place(row.file, row.line), name, printable(row.key.qualname), width, signs)


def as_json(old: Sequence[Recording], new: Sequence[Recording], paths: tuple[Sequence[str], Sequence[str]]) -> str:
    """Return all groups as one JSON object, by size of the change.

    With several runs, `old` and `new` have the least of each count, `old_most` and `new_most` the largest.
    """
    several = len(old) > 1 or len(new) > 1
    content = files_of_sides(*paths)
    for by, name in (("type", "types"), ("type and line", "lines")):
        content[name] = [_data(row, by != "type", several) for row in diff_objects(old, new, by)]
    return json.dumps(content, indent=2)


def _data(row: ObjectDiffRow, with_line: bool, several: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"type": row.key.type}
    if with_line:
        found |= {"module": row.key.module, "qualname": row.key.qualname, "file": row.file, "line": row.line}
    sides = ("old", "new", "old_most", "new_most") if several else ("old", "new")
    return found | {side: getattr(row, side)._asdict() for side in sides}
