"""The page of births and deaths of objects: over time, by type, how long they lived, by line, what calls left, holders.

All tables can be sorted, and one filter is for all of them: it looks at the first column, which has the type, the line
and its text.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from seismo.model.objects import groups as grouped
from seismo.model.objects import leaks as judged
from seismo.report import facts
from seismo.report.objects import drawing
from seismo.report.objects import facts as object_facts
from seismo.report.objects.described import ObjectWords, median
from seismo.report.objects.holders import Holders
from seismo.report.objects.libraries import others_in_words
from seismo.report.objects.verdicts import each, told
from seismo.report.page.document import (
    breakable,
    code,
    count,
    divided,
    document,
    filter_box,
    heads,
    plural,
    save,
    share_bar,
    table,
    text,
)
from seismo.report.words import Signs, percent, shorten, size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model import Recording
    from seismo.model.objects.groups import ObjectGroup, ObjectTotals
    from seismo.model.objects.leaks import Leak

_ROWS = 500  # of a table
_REST = 12  # of lines of which calls left nothing
_CARDS = 12  # types whose lifetimes are drawn
_FUNCTIONS = 8  # of a call path
_GRAPH = 8  # kinds of survivors whose holders are drawn
_LEFT = {"Verdict": ' class="verdict"'}
_SIGNS = Signs()


def write_objects(recording: Recording, path: str | os.PathLike[str], *, title: str = "") -> None:
    """Writes the page of a recording of objects. FormatError: it cannot be written."""
    save(os.fspath(path), objects_page(recording, title))


def objects_page(recording: Recording, title: str = "") -> str:
    """The page as text."""
    totals = grouped.totals(recording)
    words = ObjectWords(recording, _SIGNS)
    title = title or facts.command_line(recording) or "Objects"
    types = grouped.by_type(recording)
    lines = sorted(words.lines, key=lambda group: bool(words.libraries.of(group)))
    sections = [
        _timeline(recording),
        _leaks(words),
        _types(words, types, totals),
        _lifetimes(types),
        _lines(words, lines, totals),
        _paths(words),
        _cycles(words, lines),
        _holders(words, lines),
    ]
    top = f"<h1>{text(title)}: <b>{plural(totals.born, 'object')}</b></h1>\n{_facts(recording, totals)}"
    main = f"""{_problems(recording)}
{filter_box("part of a type, a file or a line")}
{"".join(section for section in sections if section)}"""
    return document(title, "objects", top, main, "<kbd>/</kbd> filter; click a column's title to sort by it")


def _facts(recording: Recording, totals: ObjectTotals) -> str:
    about = _SIGNS.about if totals.approximate else ""
    most, exact = object_facts.peak(recording)
    at_most, at_least = _bounds(recording)
    shown = [
        ("born", count(totals.born)),
        ("died", at_most + count(totals.died)),
        ("by the cycle collector", about + count(totals.died_by_gc)),
        ("live at the end", at_least + count(totals.live)),
        ("peak", ("" if exact else _SIGNS.at_least) + count(most)),
        ("bytes born", text(_size(totals.bytes, totals.at_least))),
        ("bytes live", text(_size(totals.bytes_live, totals.live_at_least))),
        ("types", count(totals.types)),
    ]
    tiles = "".join(f"<div><b>{value}</b><span>{label}</span></div>" for label, value in shown)
    said = [sentence for label, sentence in facts.header(recording, _SIGNS) if label in ("ran", "measured")]
    return f'<div class="tiles">{tiles}</div><p class="facts">{text("; ".join(said))}</p>'


def _bounds(recording: Recording) -> tuple[str, str]:
    """The signs of how many died, and of how many are alive."""
    return (_SIGNS.at_most, _SIGNS.at_least) if object_facts.by_type_only(recording) else ("", "")


def _problems(recording: Recording) -> str:
    lost = facts.losses(recording, _SIGNS)
    said = [*lost, *facts.notes(recording, _SIGNS), f"The interpreter does not report: {object_facts.UNTOLD}"]
    items = "".join(f"<li>{text(sentence)}</li>" for sentence in said)
    title = (
        f"{plural(len(lost), 'loss', 'losses')} and notes on this recording"
        if lost
        else "Nothing was lost. Notes on this recording"
    )
    kind = "problems" if lost else "problems known"
    return f'<details class="{kind}"{" open" if lost else ""}><summary>{title}</summary><ul>{items}</ul></details>'


def _section(anchor: str, title: str, remark: str, content: str) -> str:
    said = f' <span class="quiet">{remark}</span>' if remark else ""
    return f'<section id="{anchor}"><h2><a href="#{anchor}">{title}</a>{said}</h2>{content}</section>\n'


# ---- cells ----


def _size(number: int, at_least: bool) -> str:
    return (_SIGNS.at_least if at_least else "") + size(number) if number else "0"


def _number(number: int, sign: str = "") -> str:
    return f'<td data-v="{number}">{sign + count(number) if number else "<s>0</s>"}</td>'


def _bytes(number: int, at_least: bool) -> str:
    return f'<td data-v="{number}">{text(_size(number, at_least)) if number else "<s>0</s>"}</td>'


def _share(part: float, whole: float) -> str:
    return f'<td data-v="{part / whole if whole else 0:.6f}">{text(percent(part, whole)) if part else ""}</td>'


def _life(words: ObjectWords, group: ObjectGroup) -> str:
    typical = median(group.in_ns)
    if group.born and 2 * group.live > group.born:
        typical = float("1e18")
    return f'<td data-v="{typical or 0:.0f}">{text(words.life(group))}</td>'


def _name(words: ObjectWords, group: ObjectGroup) -> str:
    """The first cell of a row about a line: its type, where it is, its text."""
    place = " ".join(part for part in (words.place(group), words.function(group.function)) if part)
    source = words.source(group)
    shown = f"<br><code>{code(source)}</code>" if source else ""
    return f'<th scope="row">{breakable(group.type)} <span class="quiet">{breakable(place)}</span>{shown}</th>'


def _table(anchor: str, titles: Sequence[str], rows: Sequence[str], more: int) -> str:
    left = f'<p class="quiet">{plural(more, "row")} with less not shown.</p>' if more > 0 else ""
    return table(f"{anchor}-table", heads(*titles, classes=_LEFT), rows) + left


def _limited(groups: Sequence[ObjectGroup], row: Callable[[ObjectGroup], str]) -> tuple[list[str], int]:
    return [row(group) for group in groups[:_ROWS]], len(groups) - _ROWS


# ---- sections ----


def _timeline(recording: Recording) -> str:
    marks = [(row.name, row.time_ns) for row in recording.marks]
    drawn = drawing.area(object_facts.Timeline(recording, drawing.PARTS), marks)
    if not drawn:
        return ""
    remark = '<span class="key live">live objects</span> <span class="key births">births a second</span>'
    return _section("time", "Over time", remark, drawn)


def _types(words: ObjectWords, groups: Sequence[ObjectGroup], totals: ObjectTotals) -> str:
    at_most, at_least = _bounds(words.recording)

    most = max((group.born for group in groups), default=0)

    def row(group: ObjectGroup) -> str:
        about = _SIGNS.about if group.approximate else ""
        peak = at_least or (_SIGNS.at_most if group.peak_at_most else "")
        return (
            f'<tr><th scope="row">{breakable(group.type)}</th>{_number(group.born)}'
            f"{share_bar('ran', group.born, most, totals.born)}"
            f"{_number(group.died, at_most)}{_number(group.died_by_gc, about)}{_number(group.live, at_least)}"
            f"{_number(group.peak, peak)}"
            f"{_bytes(group.bytes, group.at_least)}{_bytes(group.bytes_live, group.live_at_least)}"
            f"{_life(words, group)}</tr>"
        )

    rows, more = _limited(groups, row)
    titles = ("Type", "Born", "", "Died", "By gc", "Live", "Peak", "Bytes", "Live bytes", "Life")
    remark = "<i>Life</i> is the median age at death: in objects born meanwhile, and in time"
    return _section("types", "Types", remark, _table("types", titles, rows, more))


def _lifetimes(groups: Sequence[ObjectGroup]) -> str:
    shown = [group for group in groups if group.in_ns.count or group.in_births.count][:_CARDS]
    if not shown:
        return ""
    births = 1 + max(len(group.in_births.buckets) for group in shown)
    ns = 1 + max(len(group.in_ns.buckets) for group in shown)
    cards = "".join(
        f'<div><h3 title="{text(group.type)}">{text(shorten(group.type, 34, _SIGNS))}</h3>'
        f"{drawing.histogram(group.in_ns, group.live, ns, time=True)}"
        f"{drawing.histogram(group.in_births, group.live, births, time=False)}</div>"
        for group in shown
    )
    remark = (
        "deaths by age: above in time, below in objects born meanwhile; the last bar is what is "
        '<span class="key on">alive at the end</span>'
    )
    return _section("lifetimes", "How long they lived", remark, f'<div class="cards">{cards}</div>')


def _lines(words: ObjectWords, groups: Sequence[ObjectGroup], totals: ObjectTotals) -> str:
    if not groups:
        return ""
    own_ns = words.running_ns
    whole_ns = sum(own_ns)
    most = max(group.born for group in groups)

    def row(group: ObjectGroup) -> str:
        about = _SIGNS.about if group.approximate else ""
        own = _share(own_ns[group.function] if group.function >= 0 else 0, whole_ns) if whole_ns > 0 else ""
        return (
            f"<tr>{_name(words, group)}{_number(group.born)}"
            f"{share_bar('ran', group.born, most, totals.born)}"
            f"{_share(group.short, group.born)}{own}{_number(group.live, about)}"
            f"{_bytes(group.bytes, group.at_least)}{_bytes(group.bytes_live, group.live_at_least)}"
            f"{_life(words, group)}</tr>"
        )

    rows, more = _limited(groups, row)
    own = ("Own time",) if whole_ns > 0 else ()
    titles = ("Type and line", "Born", "", "Short-lived", *own, "Live", "Bytes", "Live bytes", "Life")
    rows = divided(rows, [bool(words.libraries.of(group)) for group in groups[:_ROWS]], len(titles))
    others = others_in_words(words.libraries.others(groups, lambda group: group.born))
    remark = "those of the program come first, then those of libraries;" if others else "where objects were made;"
    remark += " <i>short-lived</i> objects died before 256 others were born, or within a millisecond"
    return _section("lines", "Lines", remark, _table("lines", titles, rows, more))


def _paths(words: ObjectWords) -> str:
    """The same by call path, where those were recorded."""
    if not any(node >= 0 for node in words.recording.objects["node"]):
        return ""

    def row(group: ObjectGroup) -> str:
        about = _SIGNS.about if group.approximate else ""
        path = f" {_SIGNS.arrow} ".join(words.path(group)[-_FUNCTIONS:])
        title = (
            f'{breakable(group.type)} <span class="quiet">{breakable(words.place(group))}<br>{breakable(path)}</span>'
        )
        return (
            f'<tr><th scope="row">{title}</th>{_number(group.born)}{_share(group.short, group.born)}'
            f"{_number(group.live, about)}{_bytes(group.bytes, group.at_least)}{_life(words, group)}</tr>"
        )

    rows, more = _limited(grouped.by_path(words.recording), row)
    titles = ("Type, line and call path", "Born", "Short-lived", "Live", "Bytes", "Life")
    return _section("paths", "Call paths", "the innermost functions of each path", _table("paths", titles, rows, more))


def _cycles(words: ObjectWords, groups: Sequence[ObjectGroup]) -> str:
    found = sorted((group for group in groups if group.died_by_gc), key=lambda group: -group.died_by_gc)
    if not found:
        return ""

    def row(group: ObjectGroup) -> str:
        about = _SIGNS.about if group.approximate else ""
        return (
            f"<tr>{_name(words, group)}{_number(group.died_by_gc, about)}{_share(group.died_by_gc, group.died)}"
            f"{_number(group.born)}{_life(words, group)}</tr>"
        )

    rows, more = _limited(found, row)
    remark = "objects in reference cycles, which only the cycle collector could free"
    titles = ("Type and line", "By gc", "Of those died", "Born", "Life")
    return _section("cycles", "Cycles", remark, _table("cycles", titles, rows, more))


def _leaks(words: ObjectWords) -> str:
    recording = words.recording
    if not len(recording.object_spans):
        return ""
    spans = judged.spans(recording)
    calls = sum(one.calls for one in spans)
    found = judged.leaks(recording, words.lines)
    alive = {leak.group.rows for leak in found}
    rest = [group for group in words.lines if group.span_born and group.rows not in alive]
    named = ", ".join(f"{plural(one.calls, 'call')} of {text(words.function(one.function) or '?')}" for one in spans)
    born, died, live = (sum(getattr(one, figure) for one in spans) for figure in ("born", "died", "alive"))
    remark = f"{named}: {count(born)} born inside, {count(died)} died inside, {count(live)} alive at the end"
    rows = [_leak(words, leak) for leak in found[:_ROWS]]
    more = len(found) - _ROWS
    titles = ("Type and line", "Verdict", "", "Alive", "A call", "In calls", "Born inside", "Escaped", "Born a call")
    table_of_leaks = _table("calls", titles, rows, more) if rows else ""
    return _section("calls", "What the calls left behind", remark, table_of_leaks + _all_dead(words, rest, calls))


def _all_dead(words: ObjectWords, groups: Sequence[ObjectGroup], calls: int) -> str:
    """What was born in the calls and is all dead: in a sentence, and folded below it line by line."""
    if not groups:
        return ""
    rows = [
        f"<tr>{_name(words, group)}{_number(group.span_born)}{_number(group.span_born - group.span_died)}"
        f"<td data-v='{group.span_born / max(1, calls):.6f}'>"
        f"{text(each(group.span_born, calls, False, _SIGNS))}</td></tr>"
        for group in groups[:_REST]
    ]
    titles = ("Type and line", "Born inside", "Escaped", "Born a call")
    said = f"Nothing is left of what {plural(len(groups), 'other line')} made in the calls."
    return (
        f'<details class="dead"><summary>{said}</summary>{_table("dead", titles, rows, len(groups) - _REST)}</details>'
    )


def _leak(words: ObjectWords, leak: Leak) -> str:
    group = leak.group
    _, verdict, style = told(leak)
    about = _SIGNS.about if group.approximate else ""
    rank = judged.VERDICTS.index(leak.verdict) if leak.verdict in judged.VERDICTS else len(judged.VERDICTS)
    born_each = each(group.span_born, leak.calls, False, _SIGNS)
    return (
        f'<tr>{_name(words, group)}<td class="{style} verdict" data-v="{-rank}">{text(verdict)}</td>'
        f'<td class="spark bars">{_spark(leak.parts)}</td>{_number(leak.alive, about)}'
        f'<td data-v="{leak.per_call:.6f}">{text(each(leak.alive, leak.calls, bool(about), _SIGNS))}</td>'
        f"{_number(leak.calls_with, _SIGNS.at_most if leak.at_most else '')}{_number(group.span_born)}"
        f"{_number(group.span_born - group.span_died, about)}"
        f'<td data-v="{group.span_born / max(1, leak.calls):.6f}">{text(born_each)}</td></tr>'
    )


def _spark(parts: Sequence[int]) -> str:
    most = max(1, *parts) if parts else 1
    bars = "".join(
        f'<rect x="{at * 8}" y="{24 - 22 * number / most - 1:.1f}" width="6" height="{22 * number / most + 1:.1f}"/>'
        for at, number in enumerate(parts)
    )
    label = ", ".join(f"{number:,}" for number in parts)
    return (
        f'<svg viewBox="0 0 {8 * len(parts)} 24" width="{8 * len(parts)}" height="24" role="img">'
        f"<title>alive, by tenths of the calls: {label}</title>{bars}</svg>"
    )


def _holders(words: ObjectWords, groups: Sequence[ObjectGroup]) -> str:
    holders = Holders(words.recording)
    if not holders:
        return ""
    trees = []
    for group in sorted(groups, key=lambda group: -group.live):
        held = holders.of(group.rows)
        if held is not None:
            trees.append((group.type, words.place(group), group.live, held))
    drawn = drawing.holders_graph(trees[:_GRAPH])
    asked = sum(held.asked for *_, held in trees)
    remark = (
        f"{plural(asked, 'survivor')} asked for their holders; these are on the left, and what holds them to the right"
    )
    left = len(trees) - _GRAPH
    more = f'<p class="quiet">{plural(left, "more kind")} of survivors not drawn.</p>' if left > 0 else ""
    return _section("holders", "Who holds them", remark, drawn + more)
