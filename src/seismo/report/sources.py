"""The texts of source files as they are now, compared with the sizes and checksums in the recording.

The table `sources` has these checksums. A text that is gone or has changed is never shown as the one that ran.
"""

from __future__ import annotations

import linecache
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seismo.coverage import read_source as reading
from seismo.coverage.read_source import SourceError

if TYPE_CHECKING:
    from seismo.model import Recording

_DECORATORS = 20  # most lines of decorators to look through


@dataclass
class Source:
    """The text of a file. problem: why it is missing or doubtful, or ""."""

    lines: list[str]
    problem: str = ""

    def text(self, number: int) -> str:
        """Return a line's text without its end, or "" if there is no such line."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""


def read_source(name: str, known: list[tuple[str, int, int]]) -> Source:
    """Return the text of a file. known: its recorded (path, size, CRC-32), several after a merge."""
    shell = linecache.cache.get(name)
    if shell is not None and len(shell) == 4 and shell[1] is None:  # typed into a shell of this process
        return Source([line.rstrip("\n") for line in shell[2]])
    path = known[0][0] if known and not name.startswith("<") else name
    try:
        data = reading.read(path)
    except SourceError as error:
        return Source([], error.what)
    problem = ""
    recorded = {(size, crc) for _, size, crc in known if crc >= 0}
    if len(recorded) > 1:
        problem = "the recordings that were merged have different versions of the file: this text is only one of them"
    if recorded and (len(data), zlib.crc32(data)) not in recorded:
        problem = "the file has changed since: the text of a line may not be what ran"
    try:
        text = reading.decode(data, path)
    except SourceError:
        text = reading.lines_of(data).decode("utf-8", "replace")
        problem = problem or "the file names an unknown encoding: shown as UTF-8"
    return Source(text.replace("\f", " ").split("\n"), problem)


class Sources:
    """The source files of a recording, each read at its first use and kept in `read`."""

    def __init__(self, recording: Recording) -> None:
        self._known: dict[str, list[tuple[str, int, int]]] = {}
        for row in recording.sources:
            self._known.setdefault(row.file, []).append((row.path, row.size, row.crc))
        self.read: dict[str, Source] = {}

    def of(self, file: str) -> Source:
        """Return the text of a file. file: its name in the table of functions."""
        source = self.read.get(file)
        if source is None:
            source = self.read[file] = read_source(file, self._known.get(file, []))
        return source

    def path(self, file: str) -> str:
        """Return the recorded path of the file, or its name if there is none."""
        known = self._known.get(file)
        return known[0][0] if known and not file.startswith("<") else file

    def ran(self, file: str, line: int) -> str:
        """Return the stripped text of a line, or "" if it is not known to be what ran."""
        source = self.of(file) if file and line > 0 else None
        return source.text(line).strip() if source and not source.problem else ""

    def definition(self, file: str, line: int) -> str:
        """Return the stripped line with a function's `def` or `class`, after its decorators; "" as in ran()."""
        shown = self.ran(file, line)
        for number in range(line, line + _DECORATORS if shown.startswith("@") else line):
            found = self.ran(file, number)
            if found.startswith(("def ", "async def ", "class ")):
                return found
        return shown
