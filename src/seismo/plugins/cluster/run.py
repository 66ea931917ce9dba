"""The driver's side of a recorded block: the dataset, the folder of the workers' files, and their way into it."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from seismo.dataset.writer import Writer, append
from seismo.process.children import PARTS
from seismo.process.output_file import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seismo.dataset.writer import Appended


class Run:
    """A recorded block. folder: of the dataset. parts: of the workers' files. appended: what was, when it has ended."""

    def __init__(self, folder: str | os.PathLike[str], engine: str) -> None:
        """Create the dataset and the folder of the workers' files. Raise SeismoError if that is not possible."""
        self.folder = os.path.abspath(os.fspath(folder))
        self.labels = {"engine": engine, "run": os.urandom(6).hex()}
        self.parts = os.path.join(self.folder + PARTS, self.labels["run"])
        self.appended: list[Appended] = []
        Writer(self.folder)
        os.makedirs(self.parts, 0o700, exist_ok=True)

    def files(self) -> list[str]:
        """Return the names of the workers' files that are in the folder."""
        return sorted(name for name in os.listdir(self.parts) if name.endswith(SUFFIX))

    def add(self, files: Mapping[str, bytes]) -> None:
        """Write files of workers that do not share this folder."""
        for name, content in files.items():
            with open(os.path.join(self.parts, os.path.basename(name)), "xb") as file:
                file.write(content)

    def collect(self) -> None:
        """Append the workers' files to the dataset, and remove them. One that cannot be read stays, with a warning."""
        paths = [os.path.join(self.parts, name) for name in self.files()]
        self.appended = append(self.folder, paths, self.labels)
        for one in self.appended:
            if one.failed:
                warnings.warn(f"seismo: {one.name}: {one.remark}", RuntimeWarning, stacklevel=3)
            else:
                os.unlink(one.name)
        if not paths:
            text = f"seismo: no worker has written a recording to {self.parts}: do they share this folder?"
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        for place in (self.parts, os.path.dirname(self.parts)):
            if not os.listdir(place):
                os.rmdir(place)


def files_of(parts: str, known: list[str]) -> dict[str, bytes]:
    """Return the contents of a worker's files that the driver does not have. Workers call it."""
    found: dict[str, Any] = {}
    for name in os.listdir(parts) if os.path.isdir(parts) else ():
        if name.endswith(SUFFIX) and name not in known:
            with open(os.path.join(parts, name), "rb") as file:
                found[name] = file.read()
    return found
