"""The errors seismo raises on purpose: each says what went wrong, where, and what to do about it.

    raise RecordingError("the recording is cut short", where="app-12.seismo, byte 4096", hint="record it again")

On a command line the three parts are three plain lines on stderr and the process exits with `exit_code`; in Python,
`str(error)` gives the same lines, and the parts are attributes.
"""

from __future__ import annotations

from seismo.original_builtins import AtOnce

with AtOnce():
    from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class SeismoError(Exception):
    """The root of all errors that seismo raises on purpose.

    `what`: what went wrong, one plain sentence without its full stop. `where`: the file, option or place it concerns.
    `hint`: what the user can do. The last two may be empty.
    """

    exit_code = 2

    def __init__(self, what: str, where: str = "", hint: str = "") -> None:
        super().__init__(what, where, hint)  # all three as args: an error must survive pickling between processes
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The parts that are not empty: one to three lines."""
        return [self.what, *(line for line in (self.where, self.hint) if line)]


class RecordingError(SeismoError):
    """A recording cannot be made, read or written."""


class FormatError(SeismoError):
    """Another tool's file cannot be read or written, or its format is unknown."""


class CheckError(SeismoError):
    """`seismo check` cannot measure, cannot read its baseline, or cannot compare the two."""


class UsageError(SeismoError):
    """The command line, or a call of the Python API, asks for something that cannot be."""


class ExpressionError(UsageError):
    """An expression (docs/expressions.md) is none, or cannot be used where it stands.

    `column`: of the character that is wrong, from 0. `where` shows the expression, and beneath it a mark at the column.
    """

    def __init__(self, what: str, where: str = "", hint: str = "", column: int = 0) -> None:
        super().__init__(what, where, hint)
        self.column = column

    def lines(self) -> list[str]:
        """As the base class; the expression and its mark are two lines."""
        return [line for part in super().lines() for line in part.split("\n")]


def missing_folder(path: str, other: str = "name another file") -> str:
    """The hint where a file cannot be written for want of its folder; "": that is not why."""
    import os

    folder = os.path.dirname(path)
    return f"there is no folder {folder}: create it, or {other}" if folder and not os.path.isdir(folder) else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The known word that is nearly this one, as the beginning of a hint ("did you mean --sort? "); "": none is.

    Only for the way to an error: difflib takes long to import.
    """
    from difflib import get_close_matches

    word = word[:100].lstrip("-")  # longer ones would take time, and are no slips
    names = {name.lstrip("-"): name for name in known}
    near = [name for name in names if name[:1] == word[:1]]  # slips are rare in the first letter
    close = get_close_matches(word, near, 1)
    return f"did you mean {names[close[0]]}? " if close else ""
