"""The texts of source files as they are now, and whether they are as they were when the recording was made.

That is known from the table `sources`; a text that is gone or has changed is not passed off as the one that ran.
"""

from __future__ import annotations

import io
import linecache
import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 64 << 20  # of a source file that is read


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
    if name.startswith("<frozen "):
        return Source([], "a part of the interpreter itself, whose source is not installed")
    if name.startswith("<"):
        return Source([], "the code was made while the program ran: it has no file")
    path = known[0][0] if known else name
    if not path:
        return Source([], "the file could not be found when the recording ended")
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        data = _archived(path)
        if not data:
            return Source([], f"the file cannot be read: {getattr(error, 'strerror', None) or error}")
    if len(data) > MOST_BYTES:
        return Source([], "the file is too large to be a source")
    problem = ""
    recorded = {(size, crc) for _, size, crc in known if crc >= 0}
    if len(recorded) > 1:
        problem = "the recordings that were merged have different versions of the file: this text is only one of them"
    if recorded and (len(data), zlib.crc32(data)) not in recorded:
        problem = "the file has changed since: the text of a line may not be what ran"
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding, "replace")
    except (SyntaxError, LookupError, UnicodeError):
        text = data.decode("utf-8", "replace")
        problem = problem or "the file names an unknown encoding: shown as UTF-8"
    return Source(text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ").split("\n"), problem)


def _archived(path: str) -> bytes:
    """The bytes of a file in a zip archive, whose path goes through it; empty: there is none."""
    for archive in Path(path).parents:
        if archive.is_file():
            try:
                with (
                    zipfile.ZipFile(archive) as opened,
                    opened.open(Path(path).relative_to(archive).as_posix()) as file,
                ):
                    return file.read(MOST_BYTES + 1)
            except (OSError, KeyError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error):
                return b""
    return b""
