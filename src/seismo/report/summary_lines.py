"""What the few lines on stderr share that a recorded run ends with: how they are broken, and what was lost.

They are written in the process that was recorded, just before that ends: no argparse, no re.
"""

from __future__ import annotations

from seismo.report.facts import losses
from seismo.report.words import wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.words import Signs

    Styled = tuple[str, str]  # a line, and the style that it is in

LOST_LINES = 4  # with the functions and the lines around them: 15


def indented(sentence: str, width: int, style: str = "", by: int = 6) -> list[Styled]:
    """The sentence in lines of `width`, all but the first indented."""
    first, *more = wrapped(sentence, width - by)
    return [(first, style), *((" " * by + line, style) for line in more)]


def lost_lines(recording: Recording, signs: Signs, width: int) -> list[Styled]:
    """What was lost, in a few lines."""
    lost = [line for sentence in losses(recording, signs) for line in indented(f"lost: {sentence}", width, "warning")]
    if len(lost) > LOST_LINES:
        lost[LOST_LINES - 1 :] = [(f"{signs.cut} more was lost: see the report", "warning")]
    return lost
