"""The destination of an export: a path, an open file, or standard output.

A path gets a complete file or none. The content is written to a temporary file next to the target, which replaces the
target at the end. So a full disk, an interrupt or a bug leaves the old content. A file that is not regular (a pipe,
/dev/null) is written directly. A link is followed, so that its target is replaced.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from seismo.errors import FormatError, missing_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from seismo.formats.base import ByteSink


_START = 4096  # bytes that are searched for a mark


class _Encoded:
    """A text file that accepts the bytes of UTF-8 text."""

    def __init__(self, file: object) -> None:
        self._file = file

    def write(self, data: bytes, /) -> None:
        self._file.write(data.decode())  # type: ignore[attr-defined]


def into_file(file: object, binary: bool, what: str) -> ByteSink:
    """Return an open file of bytes or text as a sink. Raise FormatError for a binary format and a text file."""
    if isinstance(file, io.TextIOBase):
        below: ByteSink | None = getattr(file, "buffer", None)
        if below is not None:
            file.flush()
            return below
        takes_bytes = False
    else:
        try:
            file.write(b"")  # type: ignore[attr-defined]
            takes_bytes = True
        except TypeError:
            takes_bytes = False
    if takes_bytes:
        return file  # type: ignore[return-value]
    if binary:
        raise FormatError(f"{what} is a binary format and the file takes text", hint='open it with mode "wb"')
    return _Encoded(file)


def into_stdout(binary: bool, what: str) -> ByteSink:
    """Return standard output as a sink. Raise FormatError if it is missing, or a terminal for a binary format."""
    out = sys.stdout
    if out is None:
        raise FormatError("there is no standard output")
    if binary and out.isatty():
        raise FormatError(f"{what} is a binary format and standard output is a terminal", hint="give a file: -o FILE")
    return into_file(out, binary, what)


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
    if not _is_regular(path):
        with _opened(path, path, os.O_WRONLY) as file:
            yield file
        return
    part = os.path.join(os.path.dirname(target), f".seismo-{os.getpid()}-{os.urandom(4).hex()}.part")
    done = False
    try:
        with _opened(part, path, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            yield file
        with suppress(OSError):  # keeps the mode of an existing file
            os.chmod(part, stat.S_IMODE(os.stat(target).st_mode))
        try:
            os.replace(part, target)
        except OSError as error:
            raise _cannot(path, error) from error
        done = True
    finally:
        if not done:
            with suppress(OSError):
                os.unlink(part)


def _is_regular(target: str) -> bool:
    """Return True if the target is a regular file or does not exist."""
    try:
        return stat.S_ISREG(os.stat(target).st_mode)
    except OSError:
        return True


@contextmanager
def _opened(target: str, path: str, flags: int) -> Iterator[BinaryIO]:
    """Open `target`. Errors of opening, writing and closing name `path`."""
    try:
        descriptor = os.open(target, flags | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise _cannot(path, error) from error
    file = os.fdopen(descriptor, "wb", buffering=1 << 18)
    try:
        yield file
        file.close()
    except OSError as error:
        raise _cannot(path, error) from error
    finally:
        with suppress(OSError):  # after a failed write, close() tries to write once more
            file.close()


def _cannot(path: str, error: OSError) -> FormatError:
    return FormatError(f"the output cannot be written: {error.strerror or error}", path, missing_folder(path))
