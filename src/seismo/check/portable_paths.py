"""Portable file names, equal in two checkouts or on two machines: relative to the project, or to a library.

/home/a/app/src/app/load.py                      src/app/load.py
/home/a/app/.venv/lib/python3.13/site-packages/attr/_make.py    site-packages/attr/_make.py
/usr/lib/python3.13/json/decoder.py              lib/json/decoder.py
<frozen runpy>                                   <frozen runpy>
"""

from __future__ import annotations

import functools
import os
import sysconfig

INSTALLED = ("site-packages", "dist-packages")
# The import system, whose work depends on earlier imports and on existing .pyc files.
IMPORTS = ("<frozen importlib.", "<frozen zipimport>")


class PortablePaths:
    """A converter of file names for one project. `root` is its folder; paths through symbolic links are recognized.

    name(path) returns the portable name of a file; "" stays "".
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.abspath(root)
        self._roots = tuple({self.root.rstrip("/") + "/", os.path.realpath(root).rstrip("/") + "/"})
        library = sysconfig.get_path("stdlib")
        self._library = tuple({library + "/", os.path.realpath(library) + "/"})
        self.name = functools.cache(self._name)

    def _name(self, path: str) -> str:
        if not path.startswith("/"):
            return path
        if inside := installed(path):
            return f"site-packages/{inside}"
        for root in self._roots:
            if path.startswith(root):
                return path[len(root) :]
        for library in self._library:
            if path.startswith(library):
                return "lib/" + path[len(library) :]
        return path

    def is_own(self, path: str) -> bool:
        """Return True if the file is the project's own: below the root, and not installed there."""
        return path.startswith(self._roots) and not self.name(path).startswith(("site-packages/", "lib/"))


def installed(path: str) -> str:
    """Return the path of a file below the folder of installed packages, or "" if it is not in one."""
    parts = path.split("/")
    folder = next((folder for folder in INSTALLED if folder in parts), "")
    return "/".join(parts[len(parts) - parts[::-1].index(folder) :]) if folder else ""


def is_import(path: str) -> bool:
    """Return True if a file belongs to the import system."""
    return path.startswith(IMPORTS)
