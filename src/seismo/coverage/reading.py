"""A source file's bytes, wherever they lie, and the text they make. Nothing of the program is imported or run."""

from __future__ import annotations

import io
import os
import tokenize
import zipfile
import zlib
from pathlib import Path

from seismo.coverage.errors import SourceError


def read(path: str) -> bytes:
    """The bytes of a source file, which may lie in a zip archive. SourceError: there is none, or it cannot be read."""
    if not path or path.startswith("<"):
        raise SourceError("the code was generated: it has no source file", path)
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        inside = _from_archive(path)
        if inside is not None:
            return inside
        reason = getattr(error, "strerror", None) or error
        raise SourceError(f"the source cannot be read: {reason}", path) from None
    inside = _from_archive(path)
    if inside is None:
        raise SourceError("there is no such source file", path, "was it deleted, or recorded on another machine?")
    return inside


def _from_archive(path: str) -> bytes | None:
    """A file in a zip archive, by a path that goes through the archive; None: there is none."""
    archive = path
    while len(archive) > 1:
        archive, _, name = archive.rpartition(os.sep)
        if os.path.isfile(archive):
            try:
                with zipfile.ZipFile(archive) as opened:
                    return opened.read(path[len(archive) + 1 :].replace(os.sep, "/"))
            except (OSError, KeyError, zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, zlib.error):
                return None
        if not name:
            break
    return None


def decode(data: bytes, path: str) -> str:
    r"""The text of source code, by its own declaration (PEP 263). Lines end with \n, the last one too.

    Bytes that are not of the encoding become U+FFFD. Only \n parts lines: str.splitlines would part them at form feeds
    and other characters too. SourceError: the encoding is unknown.
    """
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding, "replace")
    except (SyntaxError, LookupError, UnicodeError) as error:
        raise SourceError(f"the source cannot be decoded: {error}", path) from None
    return text if not text or text.endswith("\n") else text + "\n"
