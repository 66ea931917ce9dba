"""The errors that seismo raises on purpose, each with a problem, a location and a hint.

    raise RecordingError("the recording is cut short", where="app-12.seismo, byte 4096", hint="record it again")

A command prints the three parts as plain lines on stderr and exits with `exit_code`. In Python, `str(error)` returns
the same lines, and the parts are attributes.
"""

from __future__ import annotations

from seismo.original_builtins import AtOnce

with AtOnce():
    from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class SeismoError(Exception):
    """The base class of all errors that seismo raises on purpose.

    what: the problem, as one plain sentence without a full stop
    where: the file, option or place that it concerns, or ""
    hint: what the user can do, or ""
    """

    exit_code = 2

    def __init__(self, what: str, where: str = "", hint: str = "") -> None:
        super().__init__(what, where, hint)  # all three are args, so that the error survives pickling between processes
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the parts that are not empty: one to three lines."""
        return [self.what, *(line for line in (self.where, self.hint) if line)]


class RecordingError(SeismoError):
    """A recording cannot be made, read or written."""


class FormatError(SeismoError):
    """Another tool's file cannot be read or written, or its format is unknown."""


class CheckError(SeismoError):
    """`seismo check` cannot measure, cannot read its baseline, or cannot compare the two."""


class UsageError(SeismoError):
    """The command line, or a call of the Python API, asks for something that is not possible."""


class ExpressionError(UsageError):
    """An expression (docs/expressions.md) is invalid, or cannot be used here.

    column: offset of the wrong character, from 0. `where` shows the expression, and under it a mark at the column.
    """

    def __init__(self, what: str, where: str = "", hint: str = "", column: int = 0) -> None:
        super().__init__(what, where, hint)
        self.column = column

    def lines(self) -> list[str]:
        """Return the parts as the base class does, with the expression and its mark on separate lines."""
        return [line for part in super().lines() for line in part.split("\n")]


def missing_folder(path: str, other: str = "name another file") -> str:
    """Return a hint that the file's folder does not exist, or "" if it exists."""
    import os

    folder = os.path.dirname(path)
    return f"there is no folder {folder}: create it, or {other}" if folder and not os.path.isdir(folder) else ""


def install_command(extra: str) -> str:
    """Return the command that installs an extra of seismo, by pip, pipx or uv, whichever installed seismo."""
    import os
    import sys
    from importlib import metadata
    from importlib.machinery import PathFinder
    from shlex import join
    from shutil import which

    try:
        needs = [need for need in metadata.requires("seismo") or () if need.endswith((f'"{extra}"', f"'{extra}'"))]
    except metadata.PackageNotFoundError:  # seismo runs from its sources
        needs = []
    packages = [need.partition(";")[0].strip() for need in needs] or [f"seismo[{extra}]"]
    if os.path.isfile(os.path.join(sys.prefix, "pipx_metadata.json")):  # pipx refuses an extra of what is installed
        return join(["pipx", "inject", os.path.basename(sys.prefix), *packages])
    if os.path.isfile(os.path.join(sys.prefix, "uv-receipt.toml")):
        return join(["uv", "tool", "install", *(word for one in packages for word in ("--with", one)), *_tool()])
    if PathFinder.find_spec("pip") is None:  # not by importlib.util, at which setuptools may warn of distutils
        return join(["uv", "pip", "install", "--python", sys.executable, f"seismo[{extra}]"])
    python = "python" if which("python") == sys.executable else sys.executable
    return join([python, "-m", "pip", "install", f"seismo[{extra}]"])


def _tool() -> list[str]:
    """Return the words by which uv installs seismo as a tool again: its name, or the folder of its sources."""
    import json
    from importlib import metadata

    origin = json.loads(metadata.distribution("seismo").read_text("direct_url.json") or "{}")
    folder = origin.get("url", "").removeprefix("file://")
    editable = origin.get("dir_info", {}).get("editable")
    return ["--editable", folder] if editable else [folder or "seismo"]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "did you mean --sort? " with the most similar known word, or "". Importing difflib is slow."""
    from difflib import get_close_matches

    word = word[:100].lstrip("-")  # longer words take long to compare and are not typing errors
    names = {name.lstrip("-"): name for name in known}
    near = [name for name in names if name[:1] == word[:1]]  # the first letter is rarely mistyped
    close = get_close_matches(word, near, 1)
    return f"did you mean {names[close[0]]}? " if close else ""
