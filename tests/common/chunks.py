"""The chunks of a recording's file, taken apart and put together."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADER = 16


def frames(data: bytes) -> list[tuple[int, int, bytes]]:
    """(start, end, kind) of each chunk of a whole file. A payload begins 12 bytes after its chunk."""
    found, at = [], HEADER
    while at < len(data):
        length, kind = struct.unpack_from("<I4s", data, at)
        found.append((at, at + 12 + length, kind))
        at += 12 + length
    return found


def payloads(data: bytes, wanted: bytes = b"JRNL") -> list[bytes]:
    """Those of the chunks of a kind."""
    return [data[start + 12 : end] for start, end, kind in frames(data) if kind == wanted]


def without(data: bytes, *kinds: bytes) -> bytes:
    """The file without chunks of these kinds and without its end, as who was killed or an earlier version left it."""
    return data[:HEADER] + b"".join(
        data[start:end] for start, end, kind in frames(data) if kind not in (*kinds, b"END ")
    )


def chunk(kind: bytes, payload: bytes) -> bytes:
    """A chunk, with its checksum."""
    return struct.pack("<I4sI", len(payload), kind, zlib.crc32(kind + payload)) + payload


def uvarint(value: int) -> bytes:
    """A number as the format has it."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zigzags(values: Iterable[int]) -> bytes:
    """Signed numbers as differences, each from the one before."""
    out, before = b"", 0
    for value in values:
        difference = (value - before + 2**63) % 2**64 - 2**63
        out += uvarint(difference << 1 if difference >= 0 else (-difference << 1) - 1)
        before = value
    return out


def table(number: int, rows: int, columns: dict[int, Iterable[int] | tuple[int, bytes]]) -> bytes:
    """A TABL chunk: {column number: values, or (encoding, bytes)}."""
    body = bytes([number]) + uvarint(rows) + uvarint(len(columns))
    for column, values in columns.items():
        encoding, data = values if isinstance(values, tuple) else (1, zigzags(values))
        body += bytes([column, encoding]) + uvarint(len(data)) + data
    return chunk(b"TABL", body)
