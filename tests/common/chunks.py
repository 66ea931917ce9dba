"""Splitting and building of the chunks of a recording's file."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADER = 16


def frames(data: bytes) -> list[tuple[int, int, bytes]]:
    """Return (start, end, kind) of each chunk of a complete file. The payload starts 12 bytes after the chunk."""
    found, at = [], HEADER
    while at < len(data):
        length, kind = struct.unpack_from("<I4s", data, at)
        found.append((at, at + 12 + length, kind))
        at += 12 + length
    return found


def payloads(data: bytes, wanted: bytes = b"JRNL") -> list[bytes]:
    """Return the payloads of the chunks of a kind."""
    return [data[start + 12 : end] for start, end, kind in frames(data) if kind == wanted]


def without(data: bytes, *kinds: bytes) -> bytes:
    """Return the file without these kinds of chunks and its end, like a killed program's."""
    return data[:HEADER] + b"".join(
        data[start:end] for start, end, kind in frames(data) if kind not in (*kinds, b"END ")
    )


def chunk(kind: bytes, payload: bytes) -> bytes:
    """Return a chunk with its checksum."""
    return struct.pack("<I4sI", len(payload), kind, zlib.crc32(kind + payload)) + payload


def uvarint(value: int) -> bytes:
    """Return a number in the format's encoding."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zigzags(values: Iterable[int]) -> bytes:
    """Return signed numbers, each encoded as the difference from the previous one."""
    out, before = b"", 0
    for value in values:
        difference = (value - before + 2**63) % 2**64 - 2**63
        out += uvarint(difference << 1 if difference >= 0 else (-difference << 1) - 1)
        before = value
    return out


def table(number: int, rows: int, columns: dict[int, Iterable[int] | tuple[int, bytes]]) -> bytes:
    """Return a TABL chunk of {column number: values, or (encoding, bytes)}."""
    body = bytes([number]) + uvarint(rows) + uvarint(len(columns))
    for column, values in columns.items():
        encoding, data = values if isinstance(values, tuple) else (1, zigzags(values))
        body += bytes([column, encoding]) + uvarint(len(data)) + data
    return chunk(b"TABL", body)
