"""File patterns of a project, and the files of a source folder, both with coverage.py's rules.

A pattern is a path with wildcards: `*` and `?` do not match a slash, `**` matches any number of folders, and `[...]`
one of some characters. A pattern without a slash matches a file's name in any folder. A leading `*/` matches any number
of folders, and a trailing `/*` everything below. A pattern without a leading wildcard is relative to a folder.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SLASH = r"[/\\]"
_PARTS = re.compile(
    r"(?P<wrong>\*{3,}|\*\*/\*\*|[^/*]\*\*+|\*\*+[^/*])"
    r"|(?P<above>\A\*+/)"
    r"|(?P<below>/\*+\Z)"
    r"|(?P<folders>\*\*/)"
    r"|(?P<slash>/)"
    r"|(?P<star>\*)"
    r"|(?P<one>\?)"
    r"|(?P<choice>\[.*?\])"
    r"|(?P<open>[][])"
    r"|(?P<plain>.)",
    re.DOTALL,
)
_MEANING = {
    "above": f"(?:.*{_SLASH})?",
    "below": f"{_SLASH}.*",
    "folders": f"(?:.*{_SLASH})?",
    "slash": _SLASH,
    "star": r"[^/\\]*",
    "one": r"[^/\\]",
}
# Excludes the names of editors' backup files, which cannot be imported.
_MODULE = re.compile(r"[^.#~!$@%^&*()+=,]+\.pyw?")


class Files:
    """The files that match any of some patterns. folder: start of relative patterns.

    Raise UsageError for an invalid pattern.
    """

    def __init__(self, patterns: Iterable[str], folder: str) -> None:
        expressions = []
        for pattern in patterns:
            expressions.append(expression_of(pattern))
            if not pattern.startswith(("*", "?")):
                expressions.append(expression_of(os.path.realpath(os.path.join(folder, pattern))))
        self._expression = re.compile("|".join(expressions), re.DOTALL) if expressions else None

    def __bool__(self) -> bool:
        return self._expression is not None

    def __contains__(self, path: str) -> bool:
        return self._expression is not None and self._expression.fullmatch(path) is not None


def expression_of(pattern: str) -> str:
    """Return the regular expression of a pattern. Raise UsageError if it is invalid."""
    path = pattern.replace("\\", "/")
    if "/" not in path:
        path = f"**/{path}"
    found = []
    for part in _PARTS.finditer(path):
        kind = part.lastgroup or ""
        if kind in ("wrong", "open"):
            raise UsageError(
                f"a file pattern cannot have {part[0]!r} there", pattern, "** must be between slashes, and [ needs a ]"
            )
        found.append(part[0] if kind == "choice" else _MEANING.get(kind) or re.escape(part[0]))
    return "".join(found)


def python_files(folder: str, namespaces: bool = False) -> Iterator[str]:
    """Yield the importable files below a folder. Unless `namespaces`, subfolders need an __init__.py."""
    for place, folders, names in os.walk(folder):
        if place != folder and not namespaces and "__init__.py" not in names:
            folders.clear()
            continue
        folders.sort()
        for name in sorted(names):
            if _MODULE.fullmatch(name):
                yield os.path.join(place, name)


def below(path: str, folders: Sequence[str]) -> bool:
    """Return True if a path is one of some folders or files, or inside one. All are absolute, without links."""
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)
