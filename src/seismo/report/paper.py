"""Where a report goes: a terminal with colour, or plain text for a pipe, a file or a test.

A report is written line by line, each line a few spans of text with the name of a style. Both papers print the same
characters. Lines come ready to fit: a paper neither wraps nor cuts, so that what a test sees on a pipe is what a user
sees on a screen.
"""

from __future__ import annotations

from typing import Self, TextIO

from seismo.escape import wants_colour
from seismo.report.colours import styled
from seismo.report.words import NARROWEST, WIDEST, Signs, number_of, width_of

ROOMY = 100  # columns of a terminal: the usual ones of the table and more

Span = tuple[str, str]  # text, and the name of a style in colours.STYLES ("" for none)


class Paper:
    """Plain text on any stream. `width`: the columns there are. `signs`: the characters that the stream can carry."""

    plain = True  # no colour: what colour says must be said in characters too
    # What shows more rows of a table, and of one that can be shown whole: as who reads it would ask for it.
    more, more_all = "--limit N", "--limit N, --all"

    def __init__(self, stream: TextIO, width: int, signs: Signs | None = None) -> None:
        self.stream = stream
        self.width = max(NARROWEST, min(WIDEST, width))
        self.signs = signs or Signs.of(stream)

    def line(self, *spans: Span | str) -> None:
        """Writes one line."""
        text = "".join(span if isinstance(span, str) else span[0] for span in spans)
        self.stream.write(text.rstrip() + "\n")

    def asked_by(self, limit: str) -> Self:
        """This paper, for who asks for more rows in these words."""
        self.more = self.more_all = limit
        return self

    def cut_short(self, rows: int, what: str = "", how: str = "") -> None:
        """Write how many rows a table leaves out, and what shows them; nothing where it has them all."""
        if rows > 0:
            words = number_of(rows, f"more {what}") if what else f"{rows:,} more"
            self.line((f"  {self.signs.cut} {words} ({how or self.more_all})", "quiet"))

    def flush(self) -> None:
        """Hands on what was written: whoever waits sees the first section before the next is worked out."""
        self.stream.flush()


class ColourPaper(Paper):
    """A terminal, or what is to be shown on one."""

    plain = False

    def line(self, *spans: Span | str) -> None:
        """Writes one line in its colours."""
        pieces = [(span, "") if isinstance(span, str) else span for span in spans]
        while pieces and not pieces[-1][0].rstrip():
            pieces.pop()
        if pieces:
            pieces[-1] = (pieces[-1][0].rstrip(), pieces[-1][1])
        self.stream.write("".join(styled(text, style) for text, style in pieces) + "\n")


def paper_for(stream: TextIO, color: str = "auto") -> Paper:
    """The paper that suits the stream. color: "always" or "never", or "auto", as seismo.escape.wants_colour decides.

    The width is the terminal's, or that in COLUMNS, or 80.
    """
    make = ColourPaper if wants_colour(color, stream.isatty()) else Paper
    return make(stream, width_of(stream))
