"""Writing of files that are either complete or unchanged."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO


def is_replaceable(path: str) -> bool:
    """Return True if the path is a regular file or does not exist. A pipe or device must not be replaced."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True


@contextmanager
def replaced(path: str, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path`, which replaces it if the block succeeds and is removed if it fails.

    A full disk, an interrupt or a bug thus leaves the old content. An existing file keeps its mode; `mode` is that of a
    new one. Raise OSError if the file cannot be written.
    """
    part = os.path.join(os.path.dirname(path), f".seismo-{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(descriptor, "wb", buffering=1 << 18) as file:
            yield file
        with suppress(OSError):
            os.chmod(part, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
