"""The few lines on stderr after a program whose objects were recorded. As seismo.report.calls.summary: no argparse."""

from __future__ import annotations

from seismo.escape import printable
from seismo.model.enums import TYPE_ESTIMATED
from seismo.report.colours import written
from seismo.report.facts import wall_ns
from seismo.report.objects import facts as object_facts
from seismo.report.objects.libraries import Libraries, others_in_words, place
from seismo.report.summary_lines import indented, lost_lines
from seismo.report.words import (
    Signs,
    beginning,
    cells,
    duration,
    line_and_type,
    number_of,
    percent,
    right,
    shorten,
    width_of,
)
from seismo.report.words import size as bytes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from seismo.model import Recording
    from seismo.model.objects.groups import ObjectGroup
    from seismo.model.objects.leaks import Leak
    from seismo.report.summary_lines import Styled

TYPES, LINES, LEAKS = 5, 5, 4


def write(recording: Recording, stream: TextIO, path: str = "", coloured: bool = False) -> None:
    """Writes the summary of the recording on the stream, at most some 20 lines. path: of the recording, for a shell."""
    signs = Signs.of(stream)
    lines = _lines(recording, signs, width_of(stream))
    if path:
        lines.append((f"seismo report {printable(path)}   shows the rest; --html OUT.html draws it", "quiet"))
    stream.write(written(lines, coloured))


def _lines(recording: Recording, signs: Signs, width: int) -> list[Styled]:
    from seismo.model.objects import groups as objects

    types = recording.types
    born, died, by_gc, live = (sum(types[name]) for name in ("born", "died", "died_by_gc", "live"))
    about = signs.about if any(flags & TYPE_ESTIMATED for flags in types["flags"]) else ""
    died_words, live_words = object_facts.bounded(died, live, recording, signs)
    words = f"seismo: {number_of(born, 'object')} born, {died_words} died"
    words += f" ({about}{by_gc:,} by the cycle collector)" if by_gc else ""
    wall = wall_ns(recording)
    words += f", {live_words} live at the end" + (f"; {duration(wall, signs)}" if wall > 0 else "")
    lines = indented(words, width, "strong", by=2)
    if len(types):
        groups = objects.by_type(recording)[:TYPES]
        rows = [
            (
                (
                    f"{group.born:,}",
                    object_facts.bounded(0, group.live, recording, signs)[1],
                    _bytes(group, signs),
                ),
                group,
            )
            for group in groups
        ]
        lines += _table(("born", "live", "bytes", "type"), rows, signs, width)
    if len(recording.object_spans):
        lines += _calls(recording, signs, width)
    elif len(recording.objects):
        whose = Libraries(recording)
        both = objects.by_type_and_line(recording)
        groups = whose.own(both)[:LINES]
        if groups:
            rows = [((f"{group.born:,}", _short(group), _live(group, signs)), group) for group in groups]
            lines += _table(("born", "short", "live", "line and type"), rows, signs, width)
        others = others_in_words(whose.others(both, lambda group: group.born))
        lines += indented(f"besides, {others}", width, "quiet", by=2) if others else []
    missed = object_facts.never_called(recording)
    if missed:
        lines += indented(f"calls: {missed}", width, "warning", by=2)
    return lines + lost_lines(recording, signs, width)


def _short(group: ObjectGroup) -> str:
    return percent(group.short, group.born) if group.short else ""


def _live(group: ObjectGroup, signs: Signs) -> str:
    return f"{signs.about if group.approximate and group.live else ''}{group.live:,}"


def _bytes(group: ObjectGroup, signs: Signs) -> str:
    return (signs.at_least if group.at_least else "") + bytes_of(group.bytes)


def _what(group: ObjectGroup, width: int, signs: Signs) -> str:
    """`app.py:12  app.Session  handle`."""
    return line_and_type(place(group.file, group.line), printable(group.type), printable(group.qualname), width, signs)


def _table(
    heads: Sequence[str], rows: Sequence[tuple[Sequence[str], ObjectGroup]], signs: Signs, width: int
) -> list[Styled]:
    """Right-aligned columns and what they are about; heads: of the columns and of that."""
    *heads, last = heads
    widths = [max(cells(cell) for cell in column) for column in zip(heads, *(row for row, _ in rows), strict=True)]
    widths[0] = max(widths[0], 10)

    def padded(row: Sequence[str]) -> str:
        return "".join(right(cell, width) + "  " for cell, width in zip(row, widths, strict=True))

    lines = [(padded(heads) + last, "quiet")]
    for row, group in rows:
        room = max(24, width - cells(padded(row)))
        name = shorten(printable(group.type), room, signs) if last == "type" else _what(group, room, signs)
        lines.append((padded(row) + name, ""))
    return lines


def _calls(recording: Recording, signs: Signs, width: int) -> list[Styled]:
    """What the calls left that were asked for."""
    from seismo.model.objects import leaks
    from seismo.report.objects.leak_descriptions import told

    spans = leaks.spans(recording)
    calls, left = sum(one.calls for one in spans), sum(one.alive for one in spans)
    names = recording.functions["qualname"]
    shown = ", ".join(
        shorten(printable(names[one.function]), 24, signs) if one.function >= 0 else "?" for one in spans[:2]
    )
    words = f"{number_of(calls, 'call')} of {shown}: {sum(one.born for one in spans):,} born inside, "
    lines = indented(words + (f"{left:,} alive at the end" if left else "none alive at the end"), width, by=2)
    for leak in leaks.leaks(recording)[:LEAKS]:
        at_most = signs.at_most if leak.at_most else ""
        about = signs.about if leak.group.approximate else ""
        head = f"{about}{leak.alive:,}".rjust(10) + f"  {at_most}{leak.calls_with:,} of {leak.calls:,} calls  "
        head += f"{told(leak)[0]}: "
        lines.append((head + _what(leak.group, max(24, width - cells(head)), signs), ""))
        lines += _held(recording, leak, signs, width)
    return lines


def _held(recording: Recording, leak: Leak, signs: Signs, width: int) -> list[Styled]:
    """The way to a root that most of the survivors are held by."""
    from seismo.report.objects.holders import Holders

    held = Holders(recording).of(leak.group.rows)
    chain: list[str] = []
    ranked = held.ranked() if held is not None else []
    while ranked and len(chain) < 8:
        chain.append(f"{signs.held} {ranked[0].words()}")
        ranked = ranked[0].ranked()
    return [("            " + beginning(" ".join(chain), width - 12, signs), "quiet")] if chain else []
