"""The summary on stderr after a program whose objects were recorded: live objects with holders, then churn."""

from __future__ import annotations

from seismo.escape import printable
from seismo.report.facts import wall_ns
from seismo.report.objects import facts as object_facts
from seismo.report.summary_lines import indented
from seismo.report.tables import grid_of
from seismo.report.words import Signs, beginning, duration, filled, line_and_type, number_of, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.story import Row, Section
    from seismo.report.summary_lines import Styled

ROWS = {"leaks": 3, "alive": 3, "churn": 3}  # most rows of each table
ROWS_OF_TYPES = 5
CHAIN = 12  # columns of indentation of holders


def lines(recording: Recording, signs: Signs, width: int) -> list[Styled]:
    """Return the summary without the losses, with which it has at most some 20 lines."""
    from seismo.report.objects.group_descriptions import ObjectWords
    from seismo.report.objects.story import Tables
    from seismo.report.options import Options

    words = object_facts.counted(recording, signs, number_of(sum(recording.types["born"]), "object"))
    wall = wall_ns(recording)
    words += f"; {duration(wall, signs)}" if wall > 0 else ""
    found = indented(f"seismo: {words}", width, "strong", by=2)
    rows = ROWS if len(recording.objects) else {"types": ROWS_OF_TYPES}
    for section in Tables(ObjectWords(recording, signs), Options(limit=max(rows.values()))).all():
        if section.name == "leaks":
            found += indented(_calls(recording, signs), width, by=2)
        if section.name in rows and section.rows:
            section.rows = section.rows[: rows[section.name]]
            found += _table(section, width, signs)
        if section.name == "churn":
            found += indented(f"besides, {section.besides}", width, "quiet", by=2) if section.besides else []
            break  # what comes then is summed by type and by line, which takes as long again
    missed = object_facts.never_called(recording)
    if missed:
        found += indented(f"calls: {missed}", width, "warning", by=2)
    return found


def _calls(recording: Recording, signs: Signs) -> str:
    from seismo.model.objects import leaks

    spans = leaks.spans(recording)
    left, names = sum(one.alive for one in spans), recording.functions["qualname"]
    shown = ", ".join(
        shorten(printable(names[one.function]), 24, signs) if one.function >= 0 else "?" for one in spans[:2]
    )
    words = f"{number_of(sum(one.calls for one in spans), 'call')} of {shown}: "
    return words + f"{sum(one.born for one in spans):,} born inside, {f'{left:,}' if left else 'none'} alive at the end"


def _table(section: Section, width: int, signs: Signs) -> list[Styled]:
    """Return the rows of a section, each with the main path of its holders to a root."""
    grid = grid_of(section, width)
    lines = [(grid.head + section.about, "quiet")]
    for row in section.rows:
        lines.append((grid.line(row.cells) + _about(row, section, grid.room, signs), ""))
        if section.headings[-1] == "held by" and row.cells[-1]:
            links = _chain(row.cells[-1], width - CHAIN, signs)
            lines += [(" " * CHAIN + line, "quiet") for line in links]
    return lines


def _chain(holders: str, width: int, signs: Signs) -> list[str]:
    """Return the way to a root on at most two lines; a longer one keeps both ends."""
    links = holders.split(f" {signs.held} ")
    lines = filled((beginning(f"{signs.held} {link}", width, signs) for link in links), width)
    return lines if len(lines) <= 2 else [lines[0], beginning(f"{signs.held} {signs.cut} {lines[-1]}", width, signs)]


def _about(row: Row, section: Section, room: int, signs: Signs) -> str:
    """Return `app.py:12  app.Session  handle`, after a verdict if there is one; or a type."""
    names = row.cells[section.numbers :]
    if section.about == "type":
        return shorten(names[0], room, signs)
    verdict = f"{names[0].partition(':')[0]}: " if section.about == "verdict" else ""
    types, place, function = names[1:4] if verdict else names[:3]
    return verdict + line_and_type(place, types, function.rpartition(":")[2], room - len(verdict), signs)
