"""The terminal colours of each style. Nothing is imported: summaries are written in the recorded process.

Names are shown without escape sequences of their own (seismo.escape), so all sequences in the output come from here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# The parameters of the terminal's "select graphic rendition" for each style; "" leaves the text as it is.
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


def styled(text: str, style: str) -> str:
    """Return the text in the colours of the style."""
    code = STYLES[style]
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def written(lines: Iterable[tuple[str, str]], coloured: bool) -> str:
    """Return lines with their styles as one text."""
    return "".join((styled(text, style) if coloured else text) + "\n" for text, style in lines)
