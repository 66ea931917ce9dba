"""Reading of the sum that the file of a large merge has, without the rest: a recording of its own in one chunk."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from seismo.errors import RecordingError
from seismo.model.recording import MAGIC, Recording, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

CHUNK = b"SUMS"
_HEADER = 12  # bytes of a chunk: length, kind, checksum


def read_sum(path: str | os.PathLike[str]) -> Recording | None:
    """Return the sum that the file of a merge has, or None if it has none or its end is damaged or missing."""
    try:
        with open(path, "rb") as file:
            return sum_in(file)
    except (OSError, ValueError, OverflowError, RecordingError):  # a file that is damaged has any numbers
        return None


def sum_in(file: BinaryIO) -> Recording:
    """Return the sum that an open file has. Raise ValueError, OSError, OverflowError or RecordingError otherwise."""
    if file.read(12) != MAGIC + b"\2\0\0\0":  # version 2, no flag: all writes succeeded
        raise ValueError("not the file of a whole recording")
    size = file.seek(-8, os.SEEK_END) + 8
    end = int.from_bytes(file.read(8), "little")
    numbers = list(_uvarints(_payload(file, size, end, b"END ")[:-8]))
    place = numbers[1::2].index(int.from_bytes(CHUNK, "little"))
    return read(_payload(file, size, sum(numbers[2::2][: place + 1]), CHUNK))


def _payload(file: BinaryIO, size: int, offset: int, kind: bytes) -> bytes:
    """Return the contents of a chunk. Raise ValueError if there is no such chunk."""
    file.seek(offset)
    header = file.read(_HEADER)
    payload = file.read(min(int.from_bytes(header[:4], "little"), size)) if header[4:8] == kind else b""
    if header[8:] != zlib.crc32(kind + payload).to_bytes(4, "little"):
        raise ValueError("there is no such chunk")
    return payload


def _uvarints(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0
