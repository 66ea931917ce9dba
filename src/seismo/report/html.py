"""A report as HTML for a notebook: the lines that a terminal shows, in a fixed-width font."""

from __future__ import annotations

import html
import io
from typing import TYPE_CHECKING

from seismo.report.paper import Paper
from seismo.report.words import Signs

if TYPE_CHECKING:
    from seismo.report.paper import Span

WIDTH = 100
# Notebooks set <pre> in whatever font their theme has for text, unless the element itself says otherwise.
_FRAME = (
    "font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; "
    "font-variant-ligatures: none; white-space: pre; line-height: 1.3; overflow-x: auto; text-align: left"
)
# What the styles of a report are in a notebook, on light and on dark ground.
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
    """Writes HTML. Whatever the program's names and source hold, it is text there."""

    plain = False

    def __init__(self, width: int = WIDTH) -> None:
        self._written = io.StringIO()
        super().__init__(self._written, width, Signs())

    @property
    def html(self) -> str:
        """What was written, as an element."""
        return f'<pre style="{_FRAME}">{self._written.getvalue()}</pre>'

    def line(self, *spans: Span | str) -> None:
        """Writes one line."""
        pieces = [(span, "") if isinstance(span, str) else span for span in spans]
        marked = [
            f'<span style="{LOOKS[style]}">{html.escape(text)}</span>' if LOOKS.get(style) else html.escape(text)
            for text, style in pieces
        ]
        self.stream.write("".join(marked).rstrip() + "\n")
