"""The destination of an export: a path, an open file, or standard output.

A path gets a complete file or none. A file that is not regular (a pipe, /dev/null) is written directly. A link is
followed, so that its target is replaced.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from seismo.errors import FormatError, missing_folder
from seismo.model.replaced_file import is_replaceable, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from _typeshed import ReadableBuffer, SupportsWrite

_START = 4096  # bytes that are searched for a mark


class _Raw(io.RawIOBase):
    """A file of bytes as the io module needs it."""

    def __init__(self, file: SupportsWrite[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        self._file.write(bytes(data))
        return memoryview(data).nbytes


def buffer(file: SupportsWrite[Any], binary: bool, what: str) -> AbstractContextManager[Any]:
    """Return a buffer of bytes or, unless `binary`, of text for an open file of either, which it does not close.

    Text becomes UTF-8. Raise FormatError for a binary format (`what`) and a file that takes only text.
    """
    if isinstance(file, io.TextIOBase) and (below := getattr(file, "buffer", None)) is not None:
        file.flush()
        file = below
    if _takes_text(file):
        if binary:
            raise FormatError(f"{what} is a binary format and the file takes text", hint='open it with mode "wb"')
        return nullcontext(file)
    out = io.BufferedWriter(_Raw(file), 1 << 18)
    return out if binary else io.TextIOWrapper(out, "utf-8", newline="")


def _takes_text(file: SupportsWrite[Any]) -> bool:
    if isinstance(file, io.TextIOBase):
        return True
    try:
        file.write(b"")
    except TypeError:
        return True
    return False


def standard_output(binary: bool, what: str) -> TextIO:
    """Return standard output. Raise FormatError if it is missing, or a terminal for a binary format (`what`)."""
    out: TextIO | None = sys.stdout
    if out is None:
        raise FormatError("there is no standard output")
    if binary and out.isatty():
        raise FormatError(f"{what} is a binary format and standard output is a terminal", hint="give a file: -o FILE")
    return out


def check_free(path: str, force: bool, mark: bytes, option: str = "--force") -> None:
    """Raise FormatError if a file exists that seismo may not have written, unless `force` is set.

    These are free: a name without a file, an empty file, a file that is not regular (a pipe, /dev/null), and a file
    whose start has the mark of its format. Formats without a mark cannot be recognized. option: the option that sets
    `force`.
    """
    try:
        if force or not stat.S_ISREG(os.stat(path).st_mode):
            return
        with open(path, "rb") as file:
            start = file.read(_START)
    except FileNotFoundError:
        return
    except OSError:  # the owner of an unreadable file is unknown
        start = b"?"
    if start and not (mark and mark in start):
        foreign = mark and b"seismo" not in start  # else it may be seismo's, in another format
        what = f"{path} exists and was not written by seismo" if foreign else f"{path} exists"
        raise FormatError(what, hint=f"{option} overwrites it; or name another file")


@contextmanager
def into_path(path: str) -> Iterator[BinaryIO]:
    """Open a file that becomes `path` if the block succeeds, and is removed if it fails.

    Raise FormatError if `path` is a directory or cannot be written. Exceptions of the block propagate.
    """
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise FormatError("the output is a directory", where=path, hint="give the name of a file in it")
    try:
        with replaced(target) if is_replaceable(path) else open(path, "wb") as file:
            yield file
    except OSError as error:
        raise FormatError(
            f"the output cannot be written: {error.strerror or error}", path, missing_folder(path)
        ) from error
