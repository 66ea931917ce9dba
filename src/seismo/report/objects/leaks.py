"""What the calls that were asked for left behind (`seismo objects --leaks`), and what was born in them (`--span`).

The verdicts are the model's (seismo.model.objects.leaks); here they are said in words, with the calls drawn beside
them and below each the line, how many were born and escaped, and who holds what is alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.model.objects import leaks as judged
from seismo.report import words as text
from seismo.report.objects.holders import Holders, write_holders
from seismo.report.objects.leak_descriptions import each, told
from seismo.report.objects.text import BELOW, chosen, name_of, write_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model.objects.groups import ObjectGroup
    from seismo.model.objects.leaks import Leak
    from seismo.report.objects.group_descriptions import ObjectWords
    from seismo.report.objects.text import ObjectsView
    from seismo.report.paper import Paper
    from seismo.report.words import Signs

LEAKS, SPANS = 8, 8  # rows, unless --limit says otherwise
INDENT = 4
LEAK_HEADINGS = ("alive", "a call", "in calls", "over calls")
BORN_HEADINGS = ("a call", "born", "died inside", "escaped", "alive")
HARMLESS = "quiet"  # the style of verdicts that need no more than a line


def write_leaks(paper: Paper, words: ObjectWords, view: ObjectsView) -> None:
    """Writes what the calls left alive, then what was born in them."""
    _write_survivors(paper, words, shown_leaks(words, view), view)
    _write_born(paper, words, born_in_calls(words, view), view)


def shown_leaks(words: ObjectWords, view: ObjectsView) -> list[Leak]:
    """What the calls left alive, the more alarming first."""
    found = judged.leaks(words.recording, words.lines)
    wanted = {group.rows for group in chosen([leak.group for leak in found], view)}
    return [leak for leak in found if leak.group.rows in wanted]


def born_in_calls(words: ObjectWords, view: ObjectsView) -> list[ObjectGroup]:
    """What was born in the calls, by type and line, the most first."""
    groups = [group for group in chosen(words.lines, view) if group.span_born]
    return sorted(groups, key=lambda group: -group.span_born)


def whose_calls(words: ObjectWords) -> str:
    """`1,000 calls of app:handle`."""
    spans = judged.spans(words.recording)
    parts = [
        f"{text.number_of(one.calls, 'call')} of {words.function(one.function) or 'unknown functions'}"
        for one in spans[:2]
    ]
    more = f" and of {text.number_of(len(spans) - 2, 'other function')}" if len(spans) > 2 else ""
    running = sum(one.running for one in spans)
    return ", ".join(parts) + more + (f"; {running:,} had not ended" if running else "")


def _heading(paper: Paper, title: str, remark: str) -> None:
    room = paper.width - text.cells(title) - 3
    paper.line((title, "title"), (f" ({text.beginning(remark, room, paper.signs)})", "quiet"))


def _write_survivors(paper: Paper, words: ObjectWords, leaks: Sequence[Leak], view: ObjectsView) -> None:
    signs = paper.signs
    paper.line()
    _heading(paper, "Alive after the calls they were born in", whose_calls(words))
    if not leaks:
        paper.line(("  nothing: everything born in a call was dead at the end", "good"))
        return
    holders = Holders(words.recording)
    limit = view.rows(LEAKS)
    shown = leaks if limit is None else leaks[:limit]
    rows = [leak_cells(leak, signs) for leak in shown]
    widths = [max(map(text.cells, column)) for column in zip(LEAK_HEADINGS, *rows, strict=True)]
    head = "  ".join(text.right(name, width) for name, width in zip(LEAK_HEADINGS, widths, strict=True))
    paper.line((f"{head}  verdict", "quiet"))
    for number, (leak, row) in enumerate(zip(shown, rows, strict=True)):
        short, verdict, style = told(leak)
        cells = "  ".join(text.right(cell, width) for cell, width in zip(row, widths, strict=True)) + "  "
        room = max(24, paper.width - text.cells(cells))
        if style == HARMLESS:
            paper.line((cells + f"{short}: ", style), *name_of(words, leak.group, room - text.cells(short) - 2))
            continue
        first, *more = text.wrapped(verdict, room)
        paper.line(cells, (first, style))
        for line in more:
            paper.line(" " * text.cells(cells), (line, style))
        _write_what(paper, words, leak, holders)
        if number < len(shown) - 1:
            paper.line()
    paper.cut_short(len(leaks) - len(shown))
    paper.flush()


def leak_cells(leak: Leak, signs: Signs) -> list[str]:
    """The cells of a row, under LEAK_HEADINGS."""
    about = leak.group.approximate
    at_most = signs.at_most if leak.at_most else ""
    return [
        f"{signs.about if about else ''}{leak.alive:,}",
        each(leak.alive, leak.calls, about, signs),
        f"{at_most}{leak.calls_with:,}",
        text.sparkline(leak.parts, signs),
    ]


def _write_what(paper: Paper, words: ObjectWords, leak: Leak, holders: Holders) -> None:
    group, signs = leak.group, paper.signs
    about = signs.about if group.approximate else ""
    escaped = group.span_born - group.span_died
    size = (signs.at_least if group.live_at_least else "") + text.size(leak.bytes)
    remark = f"  {size}; born {group.span_born:,}, escaped {about}{escaped:,}"
    room = paper.width - INDENT
    name = name_of(words, group, room)
    used = sum(text.cells(span[0]) for span in name)
    paper.line(" " * INDENT, *name, (remark if used + text.cells(remark) <= room else "", "quiet"))
    if used + text.cells(remark) > room:
        paper.line((" " * INDENT + remark.strip(), "quiet"))
    write_below(paper, words, group, INDENT)
    held = holders.of(group.rows)
    if held is not None:
        write_holders(paper, held, INDENT, leak.alive)


def born_cells(group: ObjectGroup, calls: int, signs: Signs) -> list[str]:
    """The cells of a row of what was born in so many calls, under BORN_HEADINGS."""
    born, rest = group.span_born, (group.span_died, group.span_born - group.span_died, group.span_live)
    about = signs.about if group.approximate else ""
    return [
        each(born, calls, False, signs),
        f"{born:,}",
        *(f"{about if number else ''}{number:,}" for number in rest),
    ]


def _write_born(paper: Paper, words: ObjectWords, groups: Sequence[ObjectGroup], view: ObjectsView) -> None:
    """What was born in the calls, by type and line."""
    signs = paper.signs
    spans = judged.spans(words.recording)
    calls = sum(one.calls for one in spans)
    paper.line()
    _heading(paper, "Born in the calls", whose_calls(words))
    if not groups:
        paper.line(("  nothing", "quiet"))
        return
    whole = [sum(getattr(one, name) for one in spans) for name in ("born", "died", "escaping", "alive")]
    limit = view.rows(SPANS)
    shown = groups if limit is None else groups[:limit]
    rows = [born_cells(group, calls, signs) for group in shown]
    total = [each(whole[0], calls, False, signs), *(f"{number:,}" for number in whole)]
    widths = [max(map(text.cells, column)) for column in zip(BORN_HEADINGS, total, *rows, strict=True)]
    head = "  ".join(text.right(name, width) for name, width in zip(BORN_HEADINGS, widths, strict=True))
    paper.line((f"{head}  line and type", "quiet"))

    def cells(row: Sequence[str]) -> str:
        return "  ".join(text.right(cell, width) for cell, width in zip(row, widths, strict=True)) + "  "

    used = sum(widths) + 2 * len(widths)
    room = max(24, paper.width - used)
    paper.line((cells(total), "strong"), ("all", "strong"))
    for group, row in zip(shown, rows, strict=True):
        paper.line(cells(row), *name_of(words, group, room))
        write_below(paper, words, group, BELOW)
    paper.cut_short(len(groups) - len(shown))
    paper.flush()
