"""What the calls that were asked for left behind (`seismo objects --leaks`), and what was born in them (`--span`).

The verdicts are the model's (seismo.model.objects.leaks); here they are said in words, with the calls drawn beside
them and below each the line, how many were born and escaped, and who holds what is alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.model.objects import leaks as judged
from seismo.report import words as text
from seismo.report.objects.holders import Holders, write_holders
from seismo.report.objects.text import BELOW, chosen, name_of, write_below
from seismo.report.objects.verdicts import each, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model.objects.groups import ObjectGroup
    from seismo.model.objects.leaks import Leak
    from seismo.report.objects.described import ObjectWords
    from seismo.report.objects.text import ObjectsView
    from seismo.report.paper import Paper
    from seismo.report.words import Signs

LEAKS, SPANS = 8, 8  # rows, unless --limit says otherwise
INDENT = 4
HARMLESS = "quiet"  # the style of verdicts that need no more than a line


def write_leaks(paper: Paper, words: ObjectWords, view: ObjectsView) -> None:
    """Writes what the calls left alive, then what was born in them."""
    recording = words.recording
    found = judged.leaks(recording, words.lines)
    wanted = {group.rows for group in chosen([leak.group for leak in found], view)}
    shown = [leak for leak in found if leak.group.rows in wanted]
    _write_survivors(paper, words, shown, view)
    groups = [group for group in chosen(words.lines, view) if group.span_born]
    _write_born(paper, words, sorted(groups, key=lambda group: -group.span_born), view)


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
    rows = [_cells(leak, signs) for leak in shown]
    heads = ["alive", "a call", "in calls", "over calls"]
    widths = [max(map(text.cells, column)) for column in zip(heads, *rows, strict=True)]
    head = "  ".join(text.right(name, width) for name, width in zip(heads, widths, strict=True))
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
    if len(shown) < len(leaks):
        paper.line((f"  {signs.cut} {len(leaks) - len(shown):,} more ({paper.more_all})", "quiet"))
    paper.flush()


def _cells(leak: Leak, signs: Signs) -> list[str]:
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
    numbers = [
        (group.span_born, group.span_died, group.span_born - group.span_died, group.span_live) for group in shown
    ]
    rows = [
        [
            each(born, calls, False, signs),
            f"{born:,}",
            *(f"{signs.about if group.approximate and number else ''}{number:,}" for number in rest),
        ]
        for group, (born, *rest) in zip(shown, numbers, strict=True)
    ]
    total = [each(whole[0], calls, False, signs), *(f"{number:,}" for number in whole)]
    heads = ["a call", "born", "died inside", "escaped", "alive"]
    widths = [max(map(text.cells, column)) for column in zip(heads, total, *rows, strict=True)]
    head = "  ".join(text.right(name, width) for name, width in zip(heads, widths, strict=True))
    paper.line((f"{head}  line and type", "quiet"))

    def cells(row: Sequence[str]) -> str:
        return "  ".join(text.right(cell, width) for cell, width in zip(row, widths, strict=True)) + "  "

    used = sum(widths) + 2 * len(widths)
    room = max(24, paper.width - used)
    paper.line((cells(total), "strong"), ("all", "strong"))
    for group, row in zip(shown, rows, strict=True):
        paper.line(cells(row), *name_of(words, group, room))
        write_below(paper, words, group, BELOW)
    if len(shown) < len(groups):
        paper.line((f"  {signs.cut} {len(groups) - len(shown):,} more ({paper.more_all})", "quiet"))
    paper.flush()
