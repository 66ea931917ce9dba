"""Line wrapping and losses for the few lines on stderr that end a recorded run.

They are written in the recorded process, just before its end: no argparse, no re.
"""

from __future__ import annotations

from seismo.report.facts import losses
from seismo.report.words import Signs, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording

    Styled = tuple[str, str]  # a line and its style

LOST_LINES = 4  # with the functions and the lines around them: 15


def indented(sentence: str, width: int, style: str = "", by: int = 6) -> list[Styled]:
    """Return the sentence in lines of `width` columns, all but the first indented."""
    first, *more = wrapped(sentence, width - by)
    return [(first, style), *((" " * by + line, style) for line in more)]


def lost_lines(recording: Recording, signs: Signs, width: int) -> list[Styled]:
    """Return the losses in a few lines."""
    lost = [line for sentence in losses(recording, signs) for line in indented(f"lost: {sentence}", width, "warning")]
    if len(lost) > LOST_LINES:
        lost[LOST_LINES - 1 :] = [(f"{signs.cut} more was lost: see the report", "warning")]
    return lost
