"""Tables of a report: columns of numbers, then the subject of each row. The summaries use them, too: few imports."""

from __future__ import annotations

from typing import NamedTuple

from seismo.report.facts import write_facts
from seismo.report.words import beginning, cells, right, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from seismo.report.kind import Facts
    from seismo.report.paper import Paper, Span
    from seismo.report.story import Row, Section

    Columns = Mapping[str, "Column"]  # by name

LEAST = 20  # least columns for the subject of a row; rather than less, the line gets too long


class Column(NamedTuple):
    """A column of a table.

    cell: returns the text of a cell, given the object that makes the cells and the subject of the row. about: a tooltip
    for pages. value: returns the number by which a page sorts rows, from the same arguments. style: for a terminal.
    """

    head: str
    cell: Callable[[Any, Any], str]
    about: str = ""
    value: Callable[[Any, Any], float] | None = None
    style: str = ""


def made(
    columns: Columns, names: Iterable[str], cells_of: Any, rows: Sequence[Any]
) -> tuple[list[str], list[list[str]]]:
    """Return the headings of these columns and the cells of each row, without columns that are empty.

    A row that is None has empty cells.
    """
    found = []
    for name in names:
        column = columns[name]
        texts = ["" if row is None else column.cell(cells_of, row) for row in rows]
        if any(map(str.strip, texts)):
            found.append((column.head, texts))
    return [head for head, _ in found], [list(row) for row in zip(*(texts for _, texts in found), strict=True)]


class Grid:
    """Right-aligned columns in a given width. `room`: the columns left behind them.

    If fewer than `least` are left, the columns with headings in `narrow` are dropped one by one. close: the numbers of
    columns with a gap of one before them; that of others is two, and the first has none.
    """

    def __init__(
        self,
        headings: Sequence[str],
        rows: Iterable[Sequence[str]],
        width: int,
        narrow: Sequence[str] = (),
        least: int = LEAST,
        close: Sequence[int] = (),
    ) -> None:
        self._close = close
        self._heads = ["" if head == "±" else head for head in headings]  # the cells have the sign themselves
        lines = [self._heads, *rows]
        widths = {at: max(cells(line[at]) for line in lines) for at in range(len(headings))}
        self.widths = {at: width for at, width in widths.items() if width}
        for heading in narrow:
            if width - self.used >= least:
                break
            for at, head in enumerate(headings):
                if head.strip() == heading:
                    self.widths.pop(at, None)
        self.room = max(LEAST, width - self.used)

    @property
    def used(self) -> int:
        """Return the width of the cells, with the gap behind them."""
        return sum(self._gap(at) + width for at, width in self.widths.items()) + 2 * bool(self.widths)

    @property
    def head(self) -> str:
        """Return the line of headings."""
        return self.line(self._heads)

    def line(self, row: Sequence[str]) -> str:
        """Return the cells of a row, one for each heading, with the gap behind them."""
        return "".join(part for _, part in self.parts(row)) + "  " * bool(self.widths)

    def parts(self, row: Sequence[str]) -> list[tuple[int, str]]:
        """Return the number of each column and its cell, with the gap before it."""
        return [(at, " " * self._gap(at) + right(row[at], width)) for at, width in self.widths.items()]

    def _gap(self, at: int) -> int:
        return 1 if at in self._close else 2 * (at != next(iter(self.widths)))


def write_heading(paper: Paper, title: str, remark: str) -> None:
    """Write a blank line and a title with its remark, on one line if there is room for both."""
    paper.line()
    if cells(title) + cells(remark) + 3 <= paper.width:
        paper.line((title, "title"), (f" ({remark})" if remark else "", "quiet"))
        return
    paper.line((title, "title"))
    for line in wrapped(remark, paper.width - 2):
        paper.line((f"  {beginning(line, paper.width - 2, paper.signs)}", "quiet"))


def grid_of(section: Section, width: int) -> Grid:
    """Return the grid of a section's columns of numbers."""
    rows = [row.cells for row in section.rows]
    return Grid(
        section.headings[: section.numbers],
        [*rows, section.total] if section.total else rows,
        width,
        section.narrow,
        section.least,
    )


def write_table(
    paper: Paper,
    section: Section,
    about: Callable[[Row, int], Sequence[Span]],
    below: Callable[[Row], None] | None = None,
) -> None:
    """Write a section with its heading.

    about: returns the spans of a row's subject in so many columns. below: writes the lines below a row.
    """
    write_heading(paper, section.title, section.remark)
    if section.rows:
        grid = grid_of(section, paper.width)
        paper.line((grid.head + section.about, "quiet"))
        if section.total:
            paper.line((grid.line(section.total) + "all", "strong"))
        for row in section.rows:
            paper.line(grid.line(row.cells), *about(row, grid.room))
            if below is not None:
                below(row)
    else:
        paper.line((f"  {section.none}", "quiet"))
    write_rest(paper, section)


def write_rest(paper: Paper, section: Section) -> None:
    """Write how many rows a section leaves out, and the remark on libraries."""
    paper.cut_short(section.more, section.noun)
    besides = wrapped(f"besides, {section.besides} (--libraries)", paper.width - 4) if section.besides else []
    for number, line in enumerate(besides):
        paper.line((f"{'    ' if number else '  '}{line}", "quiet"))
    paper.flush()


def write_marks(paper: Paper, found: Facts) -> None:
    """Write the meaning of columns and signs as notes at the end."""
    if found:
        paper.line()
        write_facts(paper, found)
