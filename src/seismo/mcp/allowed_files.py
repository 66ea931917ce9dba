"""Which files a client may name: those below one folder, wherever links lead."""

from __future__ import annotations

import os

from seismo.errors import UsageError


class RootFolder:
    """The folder that was given when the server started."""

    def __init__(self, folder: str) -> None:
        """UsageError: it is no folder."""
        self.path = os.path.realpath(folder)
        if not os.path.isdir(self.path):
            raise UsageError("the root is no folder", folder, "seismo mcp --root FOLDER")

    def inside(self, name: str) -> str:
        """The path of a file or folder below the root. UsageError: it is elsewhere, or there is none.

        Links are followed before it is decided. What is outside is not looked at: the answer is the same whether it
        exists or not.
        """
        try:
            path = os.path.realpath(os.path.join(self.path, name))
            outside = os.path.commonpath([path, self.path]) != self.path
        except ValueError:  # a character that no path has
            raise UsageError("this is no path", ascii(name)) from None
        if outside:
            raise UsageError("the file is outside of the server's root", name, f"files below {self.path} can be named")
        if not os.path.exists(path):
            raise UsageError("there is no such file", name, "the tool `recordings` lists them")
        return path

    def file(self, name: str) -> str:
        """The path of a plain file. UsageError: as above, or it is something else, such as a pipe."""
        path = self.inside(name)
        if not os.path.isfile(path):
            raise UsageError("this is no plain file", name, "the tool `recordings` lists recordings")
        return path
