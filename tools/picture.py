"""Draw what `seismo report` prints of a recording on a terminal as an SVG picture, for the README.

    python tools/picture.py FILE OUT.svg [--width N] [report's own options]
    seismo watch ... --color always 2> FILE.ansi; python tools/picture.py FILE.ansi OUT.svg [--title TITLE]

The picture is text, set in whatever fixed-width font the reader has: rich's own would be fetched from elsewhere.
"""

import io
import re
import sys
from argparse import ArgumentParser
from unittest import mock

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from seismo.cli.main import main as seismo
from seismo.report.paper import ColourPaper
from seismo.report.words import Signs

FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def terminal(width: int) -> Console:
    """Return a terminal with so many columns that keeps its output."""
    return Console(
        record=True, width=width, file=io.StringIO(), force_terminal=True, highlight=False, color_system="truecolor"
    )


def drawn(console: Console, title: str) -> str:
    """Return the SVG of the terminal's output."""
    layout = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    layout = layout.replace("Fira Code, monospace", FONTS)
    return console.export_svg(title=title, theme=SVG_EXPORT_THEME, code_format=layout, unique_id="seismo")


def picture(words: list[str], width: int, title: str) -> str:
    """Return the SVG of the output of `seismo WORDS` on a terminal with so many columns."""
    console = terminal(width)
    written = io.StringIO()
    paper = ColourPaper(written, width, Signs())
    with mock.patch("seismo.report.paper.paper_for", return_value=paper):
        status = seismo(words)
    if status:
        sys.exit(status)
    console.print(Text.from_ansi(written.getvalue()), soft_wrap=True, no_wrap=True, overflow="ellipsis")
    return drawn(console, title)


def picture_of_text(path: str, width: int, title: str) -> str:
    """Return the SVG of a file with a terminal's colours in it."""
    console = terminal(width)
    with open(path, encoding="utf-8") as file:
        console.print(Text.from_ansi(file.read()), soft_wrap=True, no_wrap=True, overflow="ellipsis")
    return drawn(console, title)


def main() -> int:
    """Write the picture."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("recording")
    parser.add_argument("picture")
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--title")
    known, rest = parser.parse_known_args()
    title = known.title or " ".join(["seismo report", known.recording, *rest])
    if known.recording.endswith(".ansi"):
        svg = picture_of_text(known.recording, known.width, title)
    else:
        svg = picture(["report", known.recording, *rest], known.width, title)
    with open(known.picture, "w", encoding="utf-8") as file:
        file.write(svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
