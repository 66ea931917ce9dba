"""Conversion of coverage.py's file patterns to the globs of expressions, in which a star also matches slashes."""

from __future__ import annotations

import os

from seismo.errors import UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def absolute(patterns: Iterable[str], folder: str) -> list[str]:
    """Return the patterns with relative ones made absolute, except for plain names."""
    found = []
    for pattern in patterns:
        globs(pattern)  # reports wrong patterns before the program runs
        found.append(pattern)
        if "/" in pattern and not pattern.startswith(("*", "?", "/")):
            found[-1] = os.path.realpath(os.path.join(folder, pattern)) + "/" * pattern.endswith("/")
    return found


def globs(pattern: str) -> tuple[list[str], bool]:
    """Return a file pattern of coverage.py as expression globs, and True if they match exactly the same files.

    Otherwise they match more. Raise UsageError for an invalid pattern.
    """
    path = pattern.replace("\\", "/")
    parts = path.split("/")
    if len(parts) == 1:
        parts = ["**", *parts]
    wild, exact = [""], True
    for number, part in enumerate(parts):
        first, last = number == 0, number == len(parts) - 1
        stars = len(part) if part and not part.strip("*") else 0
        if stars > 2 or (not stars and "**" in part) or (stars == 2 and parts[number + 1 : number + 2] == ["**"]):
            raise UsageError(
                f"a file pattern cannot be {pattern!r}", hint="* is any name, ** any folders, between slashes"
            )
        between = "" if last else "/"
        if stars and last and not first:  # everything below
            wild = [one + "*" for one in wild]
        elif stars and first and not last:  # any number of folders
            wild = ["*/", ""]
        elif stars == 2:
            wild = [one + more for one in wild for more in ("", f"*{between}")]
        else:
            name, is_exact = _name(part, pattern)
            wild = [one + name + between for one in wild]
            exact = exact and is_exact
    # A full path begins with a slash, so "*/" also matches no folder.
    return [one for one in wild if one.startswith(("/", "*"))] or wild, exact


def _name(part: str, pattern: str) -> tuple[str, bool]:
    """Return one name of a pattern as a glob, and True if it is exact."""
    rest = part
    while "[" in rest or "]" in rest:
        _, bracket, rest = rest.partition("[")
        inside, close, rest = rest.partition("]")
        if not bracket or not close or not inside:
            raise UsageError(f"a file pattern cannot be {pattern!r}", hint="[ and ] enclose a set of characters")
    return part.replace("?", "[!/]"), "*" not in part
