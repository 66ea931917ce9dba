"""A report as HTML for a notebook: the lines that a terminal shows, in a fixed-width font."""

from __future__ import annotations

import html
import io

from seismo.report.paper import Paper
from seismo.report.words import Signs

WIDTH = 100
# Notebooks override the font of <pre>, so the element sets a fixed-width font itself.
_FRAME = (
    "font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; "
    "font-variant-ligatures: none; white-space: pre; line-height: 1.3; overflow-x: auto; text-align: left"
)
# The CSS of each style, readable on light and dark backgrounds.
LOOKS = {
    "title": "font-weight: bold",
    "strong": "font-weight: bold",
    "label": "color: #2a8aa5",
    "head": "opacity: 0.6",
    "quiet": "opacity: 0.6",
    "time": "font-weight: bold",
    "hot": "color: #d1242f; font-weight: bold",
    "bad": "color: #d1242f",
    "warning": "color: #b87700",
    "good": "color: #2f9e44",
}


class HtmlPaper(Paper):
    """A paper that writes HTML and escapes all text from the program."""

    def __init__(self) -> None:
        self._written = io.StringIO()
        super().__init__(self._written, WIDTH, Signs())

    @property
    def html(self) -> str:
        """Return the written report as a <pre> element."""
        return f'<pre style="{_FRAME}">{self._written.getvalue()}</pre>'

    def styled(self, text: str, style: str) -> str:
        """Return the text as HTML in the look of the style."""
        shown = html.escape(text)
        return f'<span style="{LOOKS[style]}">{shown}</span>' if style in LOOKS else shown
