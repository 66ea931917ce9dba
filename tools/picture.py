"""Draw what `seismo report` prints of a recording on a terminal as an SVG picture, for the README.

    python tools/picture.py FILE OUT.svg [--width N] [report's own options]
    seismo watch ... --color always 2> FILE.ansi; python tools/picture.py FILE.ansi OUT.svg [--title TITLE]

The picture is text, set in whatever fixed-width font the reader has: rich's own would be fetched from elsewhere.
"""

import io
import re
import sys
from argparse import ArgumentParser
from pathlib import Path
from unittest import mock

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from seismo.cli.main import main as seismo
from seismo.report.paper import ColourPaper
from seismo.report.words import Signs

FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def reported(words: list[str], width: int) -> str:
    """Return what `seismo WORDS` prints on a terminal with so many columns. End if it fails."""
    written = io.StringIO()
    with mock.patch("seismo.report.paper.paper_for", return_value=ColourPaper(written, width, Signs())):
        status = seismo(words)
    if status:
        sys.exit(status)
    return written.getvalue()


def drawn(text: str, width: int, title: str) -> str:
    """Return the SVG of a terminal with so many columns that shows a text with colours."""
    console = Console(
        record=True, width=width, file=io.StringIO(), force_terminal=True, highlight=False, color_system="truecolor"
    )
    console.print(Text.from_ansi(text), soft_wrap=True, no_wrap=True, overflow="ellipsis")
    layout = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    layout = layout.replace("Fira Code, monospace", FONTS)
    return console.export_svg(title=title, theme=SVG_EXPORT_THEME, code_format=layout, unique_id="seismo")


def main() -> None:
    """Write the picture."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("recording")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--title")
    known, rest = parser.parse_known_args()
    words = ["report", known.recording, *rest]
    is_text = known.recording.endswith(".ansi")
    text = Path(known.recording).read_text(encoding="utf-8") if is_text else reported(words, known.width)
    svg = drawn(text, known.width, known.title or " ".join(["seismo", *words]))
    known.picture.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
