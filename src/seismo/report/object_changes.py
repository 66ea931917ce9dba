"""What changed between two recordings of objects: births, what lives, bytes; by type and by line.

Births are exact, so each difference is a change of what the programs did, though not always of what their authors did:
hash order, time and threads change births, too. Rows are ranked by how many more or fewer were born, then by what is
alive; lines of libraries come behind the program's own. Estimates keep their sign; of two bounds no difference is told,
only both.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.model.object_difference import diff_objects
from seismo.model.objects import totals
from seismo.report import text
from seismo.report.changes import growth
from seismo.report.facts import command_line, unended
from seismo.report.functions import ROOMY
from seismo.report.libraries import file_key, libraries
from seismo.report.object_libraries import place
from seismo.report.terminal import write_facts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from seismo.model import Recording
    from seismo.model.object_difference import ObjectCounts, ObjectDiffRow
    from seismo.report.paper import Paper
    from seismo.report.text import Signs

NARROWEST_NAME = 24


def write_changes(paper: Paper, old: Recording, new: Recording, limit: int | None) -> None:
    """Writes what changed by type and by line. limit: rows a table; None: all."""
    before, after = totals(old), totals(new)
    facts = [("old", _described(old)), ("new", _described(new))]
    moved = [
        f"{after.born - before.born:+,} born{_relative(after.born, before.born)}",
        f"{after.died_by_gc - before.died_by_gc:+,} freed by the cycle collector",
        f"{after.live - before.live:+,} live at the end{_relative(after.live, before.live)}",
    ]
    facts.append(("change", ", ".join(moved)))
    write_facts(paper, [*facts, *unended(paper.signs, ("old", old), ("new", new))])
    for by, title in (("type", "Types"), ("type and line", "Lines")):
        if by == "type" or len(old.objects) or len(new.objects):
            rows = _own_first(diff_objects(old, new, by))
            _write(paper, title, [row for row in rows if _changed(row)], len(rows), limit)


def _own_first(rows: Sequence[ObjectDiffRow]) -> list[ObjectDiffRow]:
    """The rows of the program's own lines, then those of libraries; each in their order."""
    keys = {row: file_key(row.file, row.key.module) for row in rows}
    modules: dict[str, set[str]] = {}
    for row, key in keys.items():
        modules.setdefault(key, set()).add(row.key.module)
    files = {keys[row]: row.file for row in rows}
    whose = libraries((key, files[key], members) for key, members in modules.items())
    return sorted(rows, key=lambda row: bool(whose[keys[row]]))


def _described(recording: Recording) -> str:
    total = totals(recording)
    program = command_line(recording)
    words = f"{total.born:,} born, {total.live:,} live at the end, of {text.number_of(total.types, 'type')}"
    return words + (f": {program}" if program else "")


def _relative(new: float, old: float) -> str:
    words = growth(new, old)
    return f" ({words})" if words and new != old else ""


def _changed(row: ObjectDiffRow) -> bool:
    return bool(row.born_change or row.live_change or row.bytes_change)


def _write(paper: Paper, title: str, rows: Sequence[ObjectDiffRow], whole: int, limit: int | None) -> None:
    signs = paper.signs
    paper.line()
    same = f"{whole - len(rows):,} of {whole:,} are as they were"
    if not rows:
        paper.line((title, "title"), (f": none changed, of {whole:,}", "quiet"))
        return
    paper.line((f"{title} that changed", "title"), (f" ({same})", "quiet"))
    shown = rows if limit is None else rows[:limit]
    roomy = paper.width >= ROOMY
    texts = [_cells(row, roomy, signs) for row in shown]
    heads = ["born", "", "live", "bytes"]
    widths = [max(map(text.cells, column)) for column in zip(heads, *texts, strict=True)]
    if paper.width - sum(widths) - 2 * len(widths) < NARROWEST_NAME:
        widths[3] = 0
    name = "type" if title == "Types" else "line and type"
    paper.line((_row(heads, widths) + f"  {name}", "quiet"))
    for row, cells in zip(shown, texts, strict=True):
        head = _row(cells, widths)
        style = "bad" if row.live_change > 0 else "good" if row.live_change < 0 else ""
        at = widths[0] + 2 + widths[1]
        room = max(NARROWEST_NAME, paper.width - text.cells(head) - 2)
        what = _what(row, title == "Lines", room, signs)
        paper.line(head[:at], (head[at:], style), "  ", (what, "name"))
    if len(shown) < len(rows):
        paper.line((f"  {signs.cut} {len(rows) - len(shown):,} more (--limit N)", "quiet"))


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(text.right(cell, width) for cell, width in zip(cells, widths, strict=True) if width)


def _cells(row: ObjectDiffRow, roomy: bool, signs: Signs) -> list[str]:
    old, new = row.old, row.new
    about = signs.about if old.approximate or new.approximate else ""
    share = "new" if not old.born else "gone" if not new.born else growth(new.born, old.born)
    live = _moved(f"{about if old.live else ''}{old.live:,}", f"{about if new.live else ''}{new.live:,}", signs)
    return [
        _moved(f"{old.born:,}", f"{new.born:,}", signs),
        share if row.born_change else "",
        live if old.live or new.live else "",
        _bytes(old, new, roomy, signs),
    ]


def _moved(old: str, new: str, signs: Signs) -> str:
    return new if old == new else f"{old} {signs.arrow} {new}"


def _bytes(old: ObjectCounts, new: ObjectCounts, roomy: bool, signs: Signs) -> str:
    """Before and after; in little room, and where both are exact, the change alone."""
    bound = signs.at_least
    if roomy or old.at_least or new.at_least:
        before, after = (f"{bound if counts.at_least else ''}{text.size(counts.bytes)}" for counts in (old, new))
        return _moved(before, after, signs) if roomy else after
    change = new.bytes - old.bytes
    return f"{'-' if change < 0 else '+'}{text.size(abs(change))}" if change else ""


def _what(row: ObjectDiffRow, with_line: bool, width: int, signs: Signs) -> str:
    name = printable(row.key.type)
    if not with_line:
        return text.shorten(name, width, signs)
    return text.line_and_type(place(row.file, row.line), name, printable(row.key.qualname), width, signs)


def as_json(old: Recording, new: Recording, paths: tuple[str, str]) -> str:
    """All groups as one JSON object, by size of the change."""
    content: dict[str, Any] = {"old": paths[0], "new": paths[1]}
    for by, name in (("type", "types"), ("type and line", "lines")):
        content[name] = [
            {
                "type": row.key.type,
                **(
                    {"module": row.key.module, "qualname": row.key.qualname, "file": row.file, "line": row.line}
                    if by != "type"
                    else {}
                ),
                "old": row.old._asdict(),
                "new": row.new._asdict(),
            }
            for row in diff_objects(old, new, by)
        ]
    return json.dumps(content, indent=2)
