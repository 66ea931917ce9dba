"""Escapes that make any text safe and visible on a terminal.

The recorded program chooses the names of functions, files and threads. They may hold escape sequences that recolour or
retitle a terminal, newlines that forge lines of a report, or marks that reverse the direction of text. Every name that
is shown passes through printable().
"""

import os

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

COLOURS = ("auto", "always", "never")


def wants_colour(choice: str, terminal: bool) -> bool:
    """Return True if the output is to be coloured. choice is one of COLOURS; terminal is True for a terminal.

    "auto" disables colour where NO_COLOR is set and enables it where FORCE_COLOR is set (`less -R`). Otherwise it
    enables colour on every terminal that is not dumb.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")


def printable(text: str) -> str:
    r"""Return the text with every character that is not plainly visible as a Python escape (`\x1b`, `\u202e`).

    Letters of every script are kept. Control characters, line ends, direction marks, other format characters, private
    and unassigned code points, surrogates and unusual spaces are escaped. Backslashes are kept so that paths stay
    readable.
    """
    if text.isprintable():  # isprintable() is False for every character that the docstring lists
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return ascii(char)[1:-1]  # encoding by a codec would import the codec into the program


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_")


def shell_word(text: str) -> str:
    r"""Return the text as one shell word that is safe to show: `a b` in quotes, `$'a\nb'`.

    shlex is not used because it imports re, and this runs in recorded processes. bash, zsh and newer POSIX shells
    understand $'...'.
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
    # U+DC80 to U+DCFF stand for bytes that were not valid UTF-8. Any other lone surrogate is encoded like a character.
    how = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", how))
