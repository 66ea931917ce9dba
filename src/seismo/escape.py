"""Makes any text safe and visible on a terminal.

Names of functions, files and threads are the recorded program's to choose: they may hold escape sequences that recolour
or retitle a terminal, newlines that forge lines of a report, or marks that turn the direction of what follows. Every
name that is shown passes through printable().
"""

import os

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

COLOURS = ("auto", "always", "never")


def wants_colour(choice: str, terminal: bool) -> bool:
    """Whether to colour what is shown. choice: one of COLOURS. terminal: whether it goes to one.

    "auto": not where NO_COLOR is set, else where FORCE_COLOR is (`less -R`), else on a terminal that is not dumb.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")


def printable(text: str) -> str:
    r"""The text with every character that is not plainly visible written as a Python escape (`\x1b`, `\u202e`).

    Letters of every script stay. Control characters, line ends, marks of direction, other format characters, private
    and unassigned code points, surrogates and odd blanks are escaped. A backslash stays: paths would be hard to read.
    """
    if text.isprintable():  # the usual case in one call; False for all that is named above
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return ascii(char)[1:-1]  # no codec, which would be imported into the program


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_")


def shell_word(text: str) -> str:
    r"""The text as a word to be typed into a shell, made harmless to show: `a b` in quotes, `$'a\nb'`.

    shlex would import re, in a process that is recorded. $'...' is of bash, zsh and newer POSIX shells.
    """
    if text and _PLAIN.issuperset(text) and not text.startswith(("-", "=", "%")):
        return text
    if text.isprintable():
        return "'" + text.replace("'", "'\"'\"'") + "'"
    escaped = "".join(
        f"\\{char}" if char in "\\'" else char if char.isprintable() else _as_bytes(char) for char in text
    )
    return f"$'{escaped}'"


def _as_bytes(char: str) -> str:
    # Half a pair stands for a byte that was no UTF-8, or for nothing: then it is written as if it were a character.
    how = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", how))
