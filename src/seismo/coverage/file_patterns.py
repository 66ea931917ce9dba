"""File patterns of a project, and the files of a source folder, both with coverage.py's rules.

A pattern is a path with wildcards: `*` and `?` do not match a slash, `**` matches any number of folders, and `[...]`
one of some characters. A pattern without a slash matches a file's name in any folder. A leading `*/` matches any number
of folders, and a trailing `/*` everything below. A pattern without a leading wildcard is relative to a folder.

The recorder takes a pattern as globs of expressions, in which a star also matches slashes, and the reports as a regular
expression. A recorded process loads this module if it measures coverage, so it imports `re` only for a pattern.
"""

from __future__ import annotations

import os

from seismo.errors import UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SLASH = r"[/\\]"
_PARTS = (
    r"(?P<wrong>\*{3,}|\*\*/\*\*|[^/*]\*\*+|\*\*+[^/*])"
    r"|(?P<above>\A\*+/)"
    r"|(?P<below>/\*{1,2}\Z)"
    r"|(?P<folders>\*\*/)"
    r"|(?P<slash>/)"
    r"|(?P<star>\*)"
    r"|(?P<one>\?)"
    r"|(?P<choice>\[.+?\])"
    r"|(?P<open>[][])"
    r"|(?P<plain>.)"
)
# For each kind of part, its regular expression and the globs of which one matches; other parts stand for themselves.
_MEANING = {
    "above": (f"(?:.*{_SLASH})?", ("*/", "")),
    "below": (f"{_SLASH}.*", ("/*",)),
    "folders": (f"(?:.*{_SLASH})?", ("", "*/")),
    "slash": (_SLASH, ("/",)),
    "star": (r"[^/\\]*", ("*",)),
    "one": (r"[^/\\]", ("[!/]",)),
}
_WRONG = {"wrong": "* is any name, ** any folders, between slashes", "open": "[ and ] enclose a set of characters"}
# Excludes the names of editors' backup files, which cannot be imported.
_MODULE = r"[^.#~!$@%^&*()+=,]+\.pyw?"


class Files:
    """The files that match any of some patterns. folder: start of relative patterns.

    Raise UsageError for an invalid pattern.
    """

    def __init__(self, patterns: Iterable[str], folder: str) -> None:
        import re

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


def _parts(pattern: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a pattern, each with its kind. Raise UsageError if it is invalid."""
    import re

    path = pattern.replace("\\", "/")
    for part in re.finditer(_PARTS, path if "/" in path else f"**/{path}", re.DOTALL):
        kind = part.lastgroup or ""
        if kind in _WRONG:
            raise UsageError(f"a file pattern cannot be {pattern!r}", hint=_WRONG[kind])
        yield kind, part[0]


def expression_of(pattern: str) -> str:
    """Return the regular expression of a pattern. Raise UsageError if it is invalid."""
    import re

    return "".join(
        _MEANING[kind][0] if kind in _MEANING else text if kind == "choice" else re.escape(text)
        for kind, text in _parts(pattern)
    )


def globs(pattern: str) -> tuple[list[str], bool]:
    """Return a pattern as globs of expressions, and True if they match exactly the same files.

    Otherwise they match more. Raise UsageError for an invalid pattern.
    """
    found, exact = [""], True
    for kind, text in _parts(pattern):
        found = [glob + more for glob in found for more in (_MEANING[kind][1] if kind in _MEANING else (text,))]
        exact = exact and kind != "star"
    # A full path begins with a slash, so "*/" also matches no folder.
    return [glob for glob in found if glob.startswith(("/", "*"))] or found, exact


def absolute(patterns: Iterable[str], folder: str) -> list[str]:
    """Return the patterns with relative ones made absolute, except for plain names."""
    found = []
    for pattern in patterns:
        globs(pattern)  # reports wrong patterns before the program runs
        found.append(pattern)
        if "/" in pattern and not pattern.startswith(("*", "?", "/")):
            found[-1] = os.path.realpath(os.path.join(folder, pattern)) + "/" * pattern.endswith("/")
    return found


def python_files(folder: str, namespaces: bool = False) -> Iterator[str]:
    """Yield the importable files below a folder. Unless `namespaces`, subfolders need an __init__.py."""
    import re

    for place, folders, names in os.walk(folder):
        if place != folder and not namespaces and "__init__.py" not in names:
            folders.clear()
            continue
        folders.sort()
        for name in sorted(names):
            if re.fullmatch(_MODULE, name):
                yield os.path.join(place, name)


def below(path: str, folders: Sequence[str]) -> bool:
    """Return True if a path is one of some folders or files, or inside one. All are absolute, without links."""
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)
