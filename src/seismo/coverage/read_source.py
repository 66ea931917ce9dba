"""The bytes and text of source files, read without importing or running anything of the program."""

from __future__ import annotations

import io
import os
import tokenize
import zlib
from pathlib import Path

from seismo.errors import SeismoError

MOST_BYTES = 64 << 20  # of a source file

_root = ""


class SourceError(SeismoError):
    """Source that cannot be read, decoded or parsed, or that does not exist. where: its path."""


def only_below(folder: str) -> None:
    """Restrict this process to sources below a folder, because a recording may name any file."""
    global _root
    _root = os.path.realpath(folder)


def _is_allowed(path: str) -> bool:
    try:
        return not _root or os.path.commonpath([os.path.realpath(path), _root]) == _root
    except ValueError:
        return False


def read(path: str) -> bytes:
    """Return the bytes of a source file, which may be in a zip archive. Raise SourceError if it cannot be read."""
    if path.startswith("<frozen "):
        raise SourceError("this is a part of the interpreter, whose source is not installed", path)
    if path.startswith("<"):
        raise SourceError("the code was generated while the program ran: it has no source file", path)
    if not path:
        raise SourceError("the source file could not be found when the recording ended", path)
    if not _is_allowed(path):
        raise SourceError("sources outside of the server's root are not shown", path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        inside = _from_archive(path)
        if inside is None and isinstance(error, FileNotFoundError):
            hint = "was it deleted, or recorded on another machine?"
            raise SourceError("there is no such source file", path, hint) from None
        if inside is None:
            reason = getattr(error, "strerror", None) or error
            raise SourceError(f"the source cannot be read: {reason}", path) from None
        data = inside
    if len(data) > MOST_BYTES:
        raise SourceError("the file is too large to be a source", path)
    return data


def _from_archive(path: str) -> bytes | None:
    """Return a file in a zip archive by a path that continues in the archive, or None."""
    for archive in Path(path).parents:
        if os.path.isfile(archive):  # False, not an error, if a folder may not be searched
            import zipfile

            name = Path(path).relative_to(archive).as_posix()
            try:
                with zipfile.ZipFile(archive) as opened, opened.open(name) as file:
                    return file.read(MOST_BYTES + 1)
            except (OSError, KeyError, zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, zlib.error):
                return None
    return None


def decode(data: bytes, path: str) -> str:
    r"""Return the text of source code, decoded as it declares (PEP 263). Lines end with \n, including the last one.

    Bytes that are invalid in the encoding become U+FFFD. Lines end only at \n, whereas str.splitlines would also split
    at form feeds and other characters. Raise SourceError if the encoding is unknown.
    """
    data = lines_of(data)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding, "replace")
    except (SyntaxError, LookupError, UnicodeError) as error:
        raise SourceError(f"the source cannot be decoded: {error}", path) from None
    return text if not text or text.endswith("\n") else text + "\n"


def lines_of(data: bytes) -> bytes:
    r"""Return source code with all line ends as \n."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
