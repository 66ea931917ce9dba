"""The texts of source files as they are now, and whether they are as they were when the recording was made.

That is known from the table `sources`; a text that is gone or has changed is not passed off as the one that ran.
"""

from __future__ import annotations

import linecache
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seismo.coverage import read_source as reading
from seismo.coverage.errors import SourceError

if TYPE_CHECKING:
    from seismo.model import Recording

_DECORATORS = 20  # lines of them that are looked through


@dataclass
class Source:
    """The text of a file. problem: why it is not there, or what is wrong with it; "": nothing."""

    lines: list[str]
    problem: str = ""

    def text(self, number: int) -> str:
        """A line's text without its end; "": there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""


def read_source(name: str, known: list[tuple[str, int, int]]) -> Source:
    """The text of a file. known: (path, size, CRC-32) of it, as recorded; of several after a merge."""
    shell = linecache.cache.get(name)
    if shell is not None and len(shell) == 4 and shell[1] is None:  # of this process, told by an interactive shell
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
    """The source files of a recording, each read when it is first asked for. `read`: those that were."""

    def __init__(self, recording: Recording) -> None:
        self._known: dict[str, list[tuple[str, int, int]]] = {}
        for row in recording.sources:
            self._known.setdefault(row.file, []).append((row.path, row.size, row.crc))
        self.read: dict[str, Source] = {}

    def of(self, file: str) -> Source:
        """The text of a file, by the name that functions have."""
        source = self.read.get(file)
        if source is None:
            source = self.read[file] = read_source(file, self._known.get(file, []))
        return source

    def path(self, file: str) -> str:
        """Where the file was, as far as the recording says; else its name."""
        known = self._known.get(file)
        return known[0][0] if known and not file.startswith("<") else file

    def ran(self, file: str, line: int) -> str:
        """The text of a line, without the blanks around it; "" where it is not known to be what ran."""
        source = self.of(file) if file and line > 0 else None
        return source.text(line).strip() if source and not source.problem else ""

    def definition(self, file: str, line: int) -> str:
        """The line in which a function's definition begins, behind its decorators; as ran()."""
        shown = self.ran(file, line)
        for number in range(line, line + _DECORATORS if shown.startswith("@") else line):
            found = self.ran(file, number)
            if found.startswith(("def ", "async def ", "class ")):
                return found
        return shown
