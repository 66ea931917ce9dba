"""The output of a report: a terminal with colour, or plain text for a pipe, a file or a test.

A report is written line by line; a line is a few spans of text, each with the name of a style. Both papers print the
same characters. Lines are laid out by the caller: a paper neither wraps nor cuts, so that a test on a pipe sees what a
user sees on a screen. The summary in the recorded process uses it: no import that it could not afford.
"""

from __future__ import annotations

from seismo.escape import wants_colour
from seismo.report.words import NARROWEST, WIDEST, Signs, number_of, width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, TextIO

ROOMY = 100  # columns of a terminal; from here on tables show more than the usual columns

Span = tuple[str, str]  # text, and the name of a style in STYLES

# The parameters of the terminal's "select graphic rendition" for each style; "" leaves the text as it is. Names are
# shown without escape sequences of their own (seismo.escape), so all sequences in the output come from here.
STYLES = {
    "": "",
    "title": "1",
    "label": "36",
    "head": "2;4",
    "time": "1",
    "quiet": "2",
    "name": "",
    "strong": "1",
    "hot": "1;31",
    "warning": "33",
    "good": "32",
    "bad": "31",
}


class Paper:
    """A paper for plain text on any stream. `width`: its columns. `signs`: the characters it can encode."""

    # The options that show more rows of a table, and of a table that can be shown in full.
    more, more_all = "--limit N", "--limit N, --all"

    def __init__(self, stream: TextIO, width: int, signs: Signs | None = None) -> None:
        self.stream = stream
        self.width = max(NARROWEST, min(WIDEST, width))
        self.signs = signs or Signs.of(stream)

    def line(self, *spans: Span | str) -> None:
        """Write one line, without blanks at its end."""
        pieces = [(span, "") if isinstance(span, str) else span for span in spans]
        while pieces and not pieces[-1][0].rstrip():
            pieces.pop()
        if pieces:
            pieces[-1] = (pieces[-1][0].rstrip(), pieces[-1][1])
        self.stream.write("".join(self.styled(text, style) for text, style in pieces) + "\n")

    def styled(self, text: str, style: str) -> str:  # noqa: ARG002
        """Return the text as this paper shows the style."""
        return text

    def asked_by(self, limit: str) -> Self:
        """Name the option that raises the number of rows, and return this paper."""
        self.more = self.more_all = limit
        return self

    def cut_short(self, rows: int, what: str = "", how: str = "") -> None:
        """Write how many rows a table leaves out and which option shows them; nothing if all are shown."""
        if rows > 0:
            words = number_of(rows, f"more {what}") if what else f"{rows:,} more"
            self.line((f"  {self.signs.cut} {words} ({how or self.more_all})", "quiet"))

    def flush(self) -> None:
        """Flush the stream, so that the first section appears before the next is computed."""
        self.stream.flush()


class ColourPaper(Paper):
    """A paper for a terminal, or for text shown on one."""

    def styled(self, text: str, style: str) -> str:
        """Return the text in the colours of the style."""
        code = STYLES[style]
        return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def paper_for(stream: TextIO, color: str = "auto") -> Paper:
    """Return a paper for the stream. color: "always", "never", or "auto", as seismo.escape.wants_colour decides.

    The width is that of COLUMNS or of the terminal, else 80.
    """
    make = ColourPaper if wants_colour(color, stream.isatty()) else Paper
    return make(stream, width_of(stream))
