"""The texts of source files as they are now, and whether they are as they were when the recording was made.

That is known from the table `sources`; a text that is gone or has changed is not passed off as the one that ran.
"""

from __future__ import annotations

import linecache
import zlib
from dataclasses import dataclass

from seismo.coverage import reading
from seismo.coverage.errors import SourceError


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
