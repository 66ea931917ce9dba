"""Charts of a page as inline SVG: an area over time, histograms of lifetimes, the graph of holders.

A page has no inline styles and no script of its own, so a chart is plain shapes with the classes of the page's style,
and what a shape stands for is in its <title>, which browsers show beside the pointer.

The graph of holders is layered. Survivors stand on the left; what holds them directly in the next column, and so on to
the roots, which all stand in the last column. Trees of several kinds of survivors are laid on one another: in a column,
holders that are called the same are one box, which is what makes it a graph. So every line goes from left to right, and
no cycle can come about. In a column, boxes are ordered by the mean height of what they hold, once, from left to right;
that leaves few crossings in graphs as small as these. More than a handful of boxes in a column say nothing, so only
those that hold most are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seismo.report.objects.described import rough_duration
from seismo.report.page.document import SCROLLS, count, text
from seismo.report.words import Signs, beginning, duration, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model.objects.groups import Lifetimes
    from seismo.report.objects.facts import Timeline
    from seismo.report.objects.holders import Held, Holder

_SIGNS = Signs()
_LABEL = 18  # characters of a label

# ---- over time ----

_WIDE, _HIGH = 960, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 76, 12, 24
PARTS = 240  # of the time
_MARKS = 20


def area(timeline: Timeline, marks: Sequence[tuple[str, int]] = ()) -> str:
    """Live objects as an area, births a second as a line; empty when there is no time to draw.

    marks: moments to show, each with its Unix time in ns.
    """
    parts = len(timeline.live)
    if parts < 2:
        return ""
    most, fastest = max(1, *timeline.live), max(1.0, *timeline.births)
    width, height = _WIDE - _LEFT - _RIGHT, _HIGH - _TOP - _BOTTOM

    def at(part: float, share: float) -> str:
        return f"{_LEFT + width * part / parts:.1f} {_TOP + height * (1 - share):.1f}"

    live = " ".join(
        f"{at(part, value / most)} L{at(part + 1, value / most)}" for part, value in enumerate(timeline.live)
    )
    births = " ".join(at(part + 0.5, value / fastest) for part, value in enumerate(timeline.births))
    rate = count(fastest) if fastest >= 10 else f"{fastest:.2g}"
    x_words = "".join(
        f'<text x="{_LEFT + width * share:.1f}" y="{_HIGH - 6}" class="{place}">'
        f"{text(duration(timeline.took_ns * share, _SIGNS))}</text>"
        for share, place in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    )
    grid = " ".join(f"M{at(0, share)} L{at(parts, share)}" for share in (1, 0.5, 0))
    moments = "".join(_moment(name, (time - timeline.start_ns) / timeline.took_ns) for name, time in marks[:_MARKS])
    label = f"live objects over {duration(timeline.took_ns, _SIGNS)}, at most {timeline.highest:,}"
    return (
        f'{SCROLLS}<svg class="chart" viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{text(label)}">'
        f'<path class="grid" d="{grid}"/>'
        f'<path class="live" d="M{at(0, 0)} L{live} L{at(parts, 0)} Z"/>'
        f'<path class="births" d="M{births}"/>'
        f'<text x="{_LEFT - 8}" y="{_TOP + 4}" class="end live">{count(most)}</text>'
        f'<text x="{_LEFT - 8}" y="{_TOP + height + 4}" class="end live">0</text>'
        f'<text x="{_WIDE - _RIGHT + 8}" y="{_TOP + 4}" class="start births">{rate}/s</text>'
        f'<text x="{_WIDE - _RIGHT + 8}" y="{_TOP + height + 4}" class="start births">0</text>'
        f"{moments}{x_words}</svg></div>"
    )


def _moment(name: str, share: float) -> str:
    """A mark on the time axis; nothing for one outside."""
    if not 0 <= share <= 1:
        return ""
    x = _LEFT + (_WIDE - _LEFT - _RIGHT) * share
    place = "start" if share < 0.85 else "end"
    at = x + (4 if share < 0.85 else -4)
    return (
        f'<path class="mark" d="M{x:.1f} {_TOP} L{x:.1f} {_HIGH - _BOTTOM}"><title>{text(name)}</title></path>'
        f'<text class="mark {place}" x="{at:.1f}" y="{_TOP + 12}">{text(beginning(name, _LABEL, _SIGNS))}</text>'
    )


# ---- lifetimes ----

_BAR, _CHART = 10, 48


def histogram(lives: Lifetimes, live: int, buckets: int, *, time: bool) -> str:
    """Deaths by age, a bar a bucket, and those that live on as a last bar apart.

    buckets: how many to draw, the same for charts that stand side by side.
    """
    most = max(1, live, *lives.buckets)
    bars = []
    for bucket in range(buckets):
        number = lives.buckets[bucket] if bucket < len(lives.buckets) else 0
        if number:
            bars.append(_bar(bucket, number, most, "", f"{_age(bucket, time)}: {number:,}"))
    if live:
        bars.append(_bar(buckets + 1, live, most, "on", f"alive at the end: {live:,}"))
    width = (buckets + 2) * _BAR
    ticks = "".join(
        f'<text x="{bucket * _BAR}" y="{_CHART + 12}" class="start">{text(_tick(bucket, time))}</text>'
        for bucket in (0, 5, 10, 15)
        if bucket < buckets - 1
    )
    return (
        f'<svg class="histogram" viewBox="0 0 {width} {_CHART + 16}" width="{width}" height="{_CHART + 16}" role="img">'
        f'<path class="grid" d="M0 {_CHART} L{width} {_CHART}"/>{"".join(bars)}{ticks}</svg>'
    )


def _bar(place: int, number: int, most: int, kind: str, words: str) -> str:
    height = max(1.5, (_CHART - 2) * number / most)
    class_ = f' class="{kind}"' if kind else ""
    return (
        f'<rect{class_} x="{place * _BAR}" y="{_CHART - height:.1f}" width="{_BAR - 2}" height="{height:.1f}">'
        f"<title>{text(words)}</title></rect>"
    )


def _age(bucket: int, time: bool) -> str:
    low, high = (4 ** (bucket - 1) if bucket else 0), 4**bucket
    if time:
        return f"{duration(low, _SIGNS)} to {duration(high, _SIGNS)}"
    return f"{low:,} to {high - 1:,} births" if bucket else "none born meanwhile"


def _tick(bucket: int, time: bool) -> str:
    if time:
        return rough_duration(4**bucket, _SIGNS) if bucket else "0"
    return {0: "0", 5: "10³", 10: "10⁶", 15: "10⁹"}[bucket]


# ---- holders ----

_COLUMN, _BOX, _ROW, _BOX_HEIGHT = 300, 178, 58, 38
_FITS = 22  # characters of a box's name
_FITS_UNDER = 27  # of what stands below it
MOST_BOXES = 10  # of a column


@dataclass(eq=False)
class _Box:
    """A holder, or survivors, in the graph; without a name a place where a line passes on its way to a later column."""

    name: str
    column: int
    count: int = 0
    root: bool = False
    survivors: bool = False
    where: str = ""
    ending: str = ""
    row: float = 0.0
    holds: dict[tuple[_Box, str], int] = field(default_factory=dict)  # the box held and the name it is held by


def holders_graph(trees: Sequence[tuple[str, str, int, Held]]) -> str:
    """The graph of the holders of several kinds of survivors: (type, line, how many are alive, holders) of each."""
    boxes: dict[tuple[int, str], _Box] = {}
    deepest = max((_depth(holder) for *_, held in trees for holder in held.ranked()), default=0)
    for number, (name, where, alive, held) in enumerate(trees):
        box = boxes[0, f"{number}"] = _Box(name, 0, alive, survivors=True, where=where)
        for holder in held.ranked():
            _add(boxes, holder, box, 1, deepest)
    columns: list[list[_Box]] = [[] for _ in range(deepest + 1)]
    for box in sorted(boxes.values(), key=lambda box: -box.count):
        columns[box.column].append(box)
    hidden = _cut(columns)
    _lay(columns)
    return _drawn(columns) + (f'<p class="quiet">{count(hidden)} smaller holders are not drawn.</p>' if hidden else "")


def _cut(columns: list[list[_Box]]) -> int:
    """Leaves in each column the boxes that hold most of what is drawn. Returns how many went."""
    before = sum(map(len, columns))
    kept: set[_Box] = set()
    for at, column in enumerate(columns):
        for box in column:
            box.holds = {key: number for key, number in box.holds.items() if key[0] in kept}
        column[:] = [box for box in column if box.holds or not at][:MOST_BOXES]
        kept.update(column)
    went = before - sum(map(len, columns))
    columns[:] = [column for column in columns if column]
    for at, column in enumerate(columns):
        for box in column:
            box.column = at
    return went


def _lay(columns: list[list[_Box]]) -> None:
    """Gives each box its row; lines over several columns get a place in each, so that they pass between the boxes."""
    for at, column in enumerate(columns):
        for box in column:
            for (held, by), number in list(box.holds.items()):
                before = held
                for between in range(held.column + 1, at):
                    place = _Box("", between, number, holds={(before, by if before is held else ""): number})
                    columns[between].append(place)
                    before = place
                if before is not held:
                    del box.holds[held, by]
                    box.holds[before, ""] = number
    highest = max(map(len, columns), default=0)
    for at, column in enumerate(columns):
        if at:
            column.sort(key=_height)
        for row, box in enumerate(column):
            box.row = row + (highest - len(column)) / 2  # in the middle of the highest


def _depth(holder: Holder) -> int:
    """How many columns the holder and those behind it take."""
    return 1 + max((_depth(above) for above in holder.held_by.values()), default=0)


def _add(boxes: dict[tuple[int, str], _Box], holder: Holder, held: _Box, column: int, deepest: int) -> None:
    at = deepest if holder.is_root and not holder.held_by else column
    name = holder.name or holder.words()
    box = boxes.setdefault((at, name), _Box(name, at))
    box.count += holder.count
    box.root |= holder.is_root
    box.ending = box.ending or holder.ending()
    key = (held, holder.by)
    box.holds[key] = box.holds.get(key, 0) + holder.count
    for above in holder.ranked():
        _add(boxes, above, box, column + 1, deepest)


def _height(box: _Box) -> float:
    weight = sum(box.holds.values()) or 1
    return sum(held.row * number for (held, _), number in box.holds.items()) / weight


def _drawn(columns: Sequence[Sequence[_Box]]) -> str:
    width = max(1, len(columns)) * _COLUMN - (_COLUMN - _BOX) + 2
    height = max(map(len, columns), default=0) * _ROW + 6
    lines, labels, shapes = [], [], []
    for column in columns:
        for box in column:
            shapes += [_box(box)] if box.name else []
            for (held, by), number in box.holds.items():
                lines.append(_line(held, box, number))
                labels += [_label(held, box, by)] if by else []
    return (
        f'{SCROLLS}<svg class="graph" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="who holds what is alive">'
        f"{''.join(lines)}{''.join(labels)}{''.join(shapes)}</svg></div>"
    )


def _place(box: _Box) -> tuple[float, float]:
    return 1 + box.column * _COLUMN, 4 + box.row * _ROW


def _box(box: _Box) -> str:
    x, y = _place(box)
    kind = "survivors" if box.survivors else "root" if box.root else "holder"
    words = f"{box.count:,} {box.name}" if box.survivors else f"{box.name} holds {box.count:,}"
    under = "".join(f" · {part}" for part in (box.where, box.ending) if part)
    under = count(box.count) + text(beginning(under, _FITS_UNDER - len(count(box.count)), _SIGNS))
    return (
        f'<g class="{kind}"><title>{text(f"{words} {box.where} {box.ending}".strip())}</title>'
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{_BOX}" height="{_BOX_HEIGHT}" rx="6"/>'
        f'<text x="{x + 9:.0f}" y="{y + 16:.0f}">{text(shorten(box.name, _FITS, _SIGNS))}</text>'
        f'<text x="{x + 9:.0f}" y="{y + 31:.0f}" class="under">{under}</text></g>'
    )


def _line(held: _Box, box: _Box, number: int) -> str:
    (x1, y1), (x2, y2) = _place(held), _place(box)
    x1, y1, y2 = x1 + _BOX, y1 + _BOX_HEIGHT / 2, y2 + _BOX_HEIGHT / 2
    middle = (x1 + x2) / 2
    through = "" if box.name else f" L{x2 + _BOX:.0f} {y2:.1f}"
    path = f"M{x1:.0f} {y1:.1f} C{middle:.0f} {y1:.1f} {middle:.0f} {y2:.1f} {x2:.0f} {y2:.1f}{through}"
    return f'<path class="edge" d="{path}"><title>{count(number)}</title></path>'


def _label(held: _Box, box: _Box, by: str) -> str:
    (x1, y1), (x2, y2) = _place(held), _place(box)
    x, y = (x1 + _BOX + x2) / 2, (y1 + y2 + _BOX_HEIGHT) / 2 + 4
    name = text(beginning(by, _LABEL, _SIGNS))
    return f'<text class="middle by" x="{x:.0f}" y="{y:.1f}">{name}<title>{text(by)}</title></text>'
