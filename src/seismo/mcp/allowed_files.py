"""The restriction of clients to files below one folder."""

from __future__ import annotations

import os

from seismo.errors import UsageError


class RootFolder:
    """The folder whose files clients may read."""

    def __init__(self, folder: str) -> None:
        """Resolve the folder. Raise UsageError if it does not exist."""
        self.path = os.path.realpath(folder)
        if not os.path.isdir(self.path):
            raise UsageError("the root is not a folder", folder, "seismo mcp --root FOLDER")

    def inside(self, name: str) -> str:
        """Return the path of a file or folder below the root. Raise UsageError if it is outside or does not exist.

        Links are resolved first. A path outside is never accessed, so the answer does not depend on its existence.
        """
        try:
            path = os.path.realpath(os.path.join(self.path, name))
            outside = os.path.commonpath([path, self.path]) != self.path
        except ValueError:  # the path has a null character
            raise UsageError("this is not a valid path", ascii(name)) from None
        if outside:
            raise UsageError("the file is outside of the server's root", name, f"files below {self.path} can be named")
        if not os.path.exists(path):
            raise UsageError("there is no such file", name, "the tool `recordings` lists them")
        return path

    def file(self, name: str) -> str:
        """Return the path of a regular file. Raise UsageError as above, or if it is something else, such as a pipe."""
        path = self.inside(name)
        if not os.path.isfile(path):
            raise UsageError("this is not a regular file", name, "the tool `recordings` lists recordings")
        return path
