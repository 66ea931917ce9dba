"""The writer of a recording, for merges and excerpts. It writes what native/file/writer.c does, in fewer encodings."""

from __future__ import annotations

import os
import struct
import zlib
from typing import TYPE_CHECKING, Any

from seismo.pure.numbers import uvarint_bytes
from seismo.pure.reader import MAGIC, VERSION
from seismo.pure.tables import REAL, TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ROWS = 16384  # of a chunk
_NUMBERS = {name: number for number, name in enumerate(TABLES)}


class Writer:
    """Writes a recording to a descriptor, which the caller owns, or to memory. Raise OSError if writing fails."""

    def __init__(self, fd: int | None = None) -> None:
        self._fd = fd
        self._out = bytearray(MAGIC + struct.pack("<HHI", VERSION, 0, 0))
        self._written = 0  # bytes that are no longer in _out
        self._strings, self._written_strings = bytearray(), 1
        self._count = 1
        self._index, self._chunks, self._last = bytearray(), 0, 0

    def string(self, text: str, /) -> int:
        """Add a string and return its number; '' is 0."""
        if not text:
            return 0
        content = text.encode("utf-8", "surrogatepass")
        self._strings += uvarint_bytes(len(content))
        self._strings += content
        self._count += 1
        return self._count - 1

    def meta(self, json: str, /) -> None:
        """Add a JSON object, whose keys override those of earlier ones."""
        self._chunk(b"META", json.encode())

    def table(self, name: str, columns: Mapping[str, Any], /) -> None:
        """Add rows, given as all columns of the table."""
        lists = [memoryview(columns[column]).tolist() for column in TABLES[name]]
        kinds = list(TABLES[name].values())
        for first in range(0, len(lists[0]), _ROWS):
            rows = [values[first : first + _ROWS] for values in lists]
            payload = bytearray([_NUMBERS[name]])
            payload += uvarint_bytes(len(rows[0]))
            present = [(number, values) for number, values in enumerate(rows) if any(values)]
            payload += uvarint_bytes(len(present))
            for number, values in present:
                encoding, content = _encoded(values, kinds[number] == REAL)
                payload += bytes([number, encoding])
                payload += uvarint_bytes(len(content))
                payload += content
            self._flush_strings()
            self._chunk(b"TABL", payload)

    def chunk(self, kind: str, payload: bytes | memoryview, /) -> None:
        """Add a chunk of a journal, from another recording, or a sum."""
        self._chunk(kind.encode(), payload)

    def finish(self) -> bytes | None:
        """Write the rest and the directory. Return the bytes of a Writer into memory."""
        self._flush_strings()
        payload = bytearray()
        payload += uvarint_bytes(self._chunks)
        payload += self._index + struct.pack("<Q", self._written + len(self._out))
        self._chunk(b"END ", payload)
        return bytes(self._out) if self._fd is None else None

    def _flush_strings(self) -> None:
        payload = bytearray()
        payload += uvarint_bytes(self._written_strings)
        payload += uvarint_bytes(self._count - self._written_strings)
        if self._strings:
            self._chunk(b"STRS", payload + self._strings)
        self._strings, self._written_strings = bytearray(), self._count

    def _chunk(self, kind: bytes, payload: Sequence[int]) -> None:
        offset = self._written + len(self._out)
        self._index += uvarint_bytes(int.from_bytes(kind, "little"))
        self._index += uvarint_bytes(offset - self._last)
        self._last, self._chunks = offset, self._chunks + 1
        content = bytes(payload)
        self._out += struct.pack("<I4sI", len(content), kind, zlib.crc32(content, zlib.crc32(kind))) + content
        while self._fd is not None and self._out:
            count = os.write(self._fd, self._out)
            self._written += count
            del self._out[:count]


def _encoded(values: list[Any], is_real: bool) -> tuple[int, bytes]:
    """Return the encoding of a column, plain or by differences, whichever is shorter, and its bytes."""
    if is_real:
        return 2, struct.pack(f"<{len(values)}d", *values)
    plain, delta, before = bytearray(), bytearray(), 0
    for value in values:
        plain += uvarint_bytes(value & 2**64 - 1)
        change = (value - before + 2**63) % 2**64 - 2**63
        delta += uvarint_bytes((change << 1 ^ change >> 63) & 2**64 - 1)
        before = value
    return (1, bytes(delta)) if len(delta) < len(plain) else (0, bytes(plain))
