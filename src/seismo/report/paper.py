"""Where a report goes: a terminal with colour, or plain text for a pipe, a file or a test.

A report is written line by line, each line a few spans of text with the name of a style. Both papers print the same
characters; only the terminal's colours come from rich, which is imported when there is a terminal to colour. Lines come
ready to fit: a paper neither wraps nor cuts, so that what a test sees on a pipe is what a user sees on a screen.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO, cast

from seismo.report.text import NARROWEST, WIDEST, Signs, width_of

if TYPE_CHECKING:
    from rich.console import Console

Span = tuple[str, str]  # text, and the name of a style in STYLES ("" for none)

STYLES = {
    "title": "bold",
    "label": "cyan",
    "head": "dim underline",
    "time": "bold",
    "quiet": "dim",
    "name": "",
    "strong": "bold",
    "hot": "bold red",
    "warning": "yellow",
    "good": "green",
    "bad": "red",
}


class Paper:
    """Plain text on any stream. `width`: the columns there are. `signs`: the characters that the stream can carry."""

    plain = True  # no colour: what colour says must be said in characters too

    def __init__(self, stream: TextIO, width: int, signs: Signs | None = None) -> None:
        self.stream = stream
        self.width = max(NARROWEST, min(WIDEST, width))
        self.signs = signs or Signs.of(stream)

    def line(self, *spans: Span | str) -> None:
        """Writes one line."""
        text = "".join(span if isinstance(span, str) else span[0] for span in spans)
        self.stream.write(text.rstrip() + "\n")

    def flush(self) -> None:
        """Hands on what was written: whoever waits sees the first section before the next is worked out."""
        self.stream.flush()


class ColourPaper(Paper):
    """A terminal, through a rich console."""

    plain = False

    def __init__(self, console: Console, width: int, signs: Signs | None = None) -> None:
        super().__init__(cast("TextIO", console.file), width, signs)
        self._console = console

    def line(self, *spans: Span | str) -> None:
        """Writes one line in its colours."""
        from rich.text import Text

        text = Text(no_wrap=True, overflow="ignore", end="\n")
        for span in spans:
            if isinstance(span, str):
                text.append(span)
            else:
                text.append(span[0], STYLES[span[1]] if span[1] else "")
        text.rstrip()
        self._console.print(text, crop=False, soft_wrap=True)


def paper_for(stream: TextIO, color: bool = True) -> Paper:
    """The paper that suits the stream: colour on a terminal that has it, unless NO_COLOR is set or color is False.

    The width is the terminal's, or that in COLUMNS, or 80. FORCE_COLOR colours a pipe too, for `less -R`.
    """
    width = width_of(stream)
    terminal = stream.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    if not color or os.environ.get("NO_COLOR") or not (terminal or os.environ.get("FORCE_COLOR")):
        return Paper(stream, width)
    from rich.console import Console

    return ColourPaper(Console(file=stream, width=width, highlight=False, force_terminal=True), width)
