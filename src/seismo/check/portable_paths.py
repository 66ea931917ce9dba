"""Names files so that they are the same in two checkouts, on two machines: relative to the project, or to a library.

/home/a/app/src/app/load.py                      src/app/load.py
/home/a/app/.venv/lib/python3.13/site-packages/attr/_make.py    site-packages/attr/_make.py
/usr/lib/python3.13/json/decoder.py              lib/json/decoder.py
<frozen runpy>                                   <frozen runpy>
"""

from __future__ import annotations

import os
import sysconfig

INSTALLED = ("site-packages", "dist-packages")
# The import system: what it does depends on what was imported before, and on whether .pyc files were there.
IMPORTS = ("<frozen importlib.", "<frozen zipimport>")


class PortablePaths:
    """root: the folder of the project. Symbolic links are followed where it helps."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.abspath(root)
        self._roots = tuple({self.root.rstrip("/") + "/", os.path.realpath(root).rstrip("/") + "/"})
        library = sysconfig.get_path("stdlib")
        self._library = tuple({library + "/", os.path.realpath(library) + "/"})
        self._known: dict[str, str] = {}

    def name(self, path: str) -> str:
        """What a file is called. "" of none."""
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._name(path)
        return found

    def _name(self, path: str) -> str:
        if not path.startswith("/"):
            return path
        parts = path.split("/")
        for folder in INSTALLED:
            if folder in parts:
                return "site-packages/" + "/".join(parts[len(parts) - parts[::-1].index(folder) :])
        for root in self._roots:
            if path.startswith(root):
                return path[len(root) :]
        for library in self._library:
            if path.startswith(library):
                return "lib/" + path[len(library) :]
        return path

    def is_own(self, path: str) -> bool:
        """Whether the file is the project's own: below the root, and not installed there."""
        return path.startswith(self._roots) and not self.name(path).startswith(("site-packages/", "lib/"))


def is_import(path: str) -> bool:
    """Whether a file is of the import system."""
    return path.startswith(IMPORTS)
