"""The summary on stderr that ends a recorded run: the few lines of its kind, its losses and the recording's path.

It is written in the recorded process, just before its end: no argparse, no re.
"""

from __future__ import annotations

from seismo.escape import printable
from seismo.report.facts import losses
from seismo.report.paper import ColourPaper, Paper
from seismo.report.words import Signs, width_of, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from seismo.model import Recording

    Styled = tuple[str, str]  # a line and its style

LOST_LINES = 4  # with the functions and the lines around them: 15


def indented(sentence: str, width: int, style: str = "", by: int = 6) -> list[Styled]:
    """Return the sentence in lines of `width` columns, all but the first indented."""
    first, *more = wrapped(sentence, width - by)
    return [(first, style), *((" " * by + line, style) for line in more)]


def write(
    lines: Callable[[Recording, Signs, int], list[Styled]],
    rest: str,
    recording: Recording,
    stream: TextIO,
    path: str,
    coloured: bool,
) -> None:
    """Write what `lines` returns, the losses, and that a report of the path shows the `rest`."""
    signs, width = Signs.of(stream), width_of(stream)
    found = [*lines(recording, signs, width), *_lost_lines(recording, signs, width)]
    if path:
        found.append((f"seismo report {printable(path)}   shows {rest}", "quiet"))
        if recording._journal is not None:  # recording.calls would import its module into every recorded program
            found.append((f"seismo view {printable(path)}   shows the timeline", "quiet"))
    paper = (ColourPaper if coloured else Paper)(stream, width, signs)
    for line in found:
        paper.line(line)


def _lost_lines(recording: Recording, signs: Signs, width: int) -> list[Styled]:
    lost = [line for sentence in losses(recording, signs) for line in indented(f"lost: {sentence}", width, "warning")]
    if len(lost) > LOST_LINES:
        lost[LOST_LINES - 1 :] = [(f"{signs.cut} more was lost: see the report", "warning")]
    return lost
