"""Splitting and building of the chunks of a recording's file."""

from __future__ import annotations

import re
import struct
import zlib
from typing import TYPE_CHECKING

from paths import DOCS

from seismo.pure import numbers
from seismo.pure.numbers import uvarint_bytes as uvarint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HEADER = 16


def documented_kinds() -> dict[str, dict[str, str]]:
    """Return {table: {column: "int", "count", "str" or "real"}}, as docs/format.md lists them."""
    tables: dict[str, dict[str, str]] = {}
    text = (DOCS / "format.md").read_text()
    for number, name, body in re.findall(r"^### (\d+) (\w+)\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL):
        assert int(number) == len(tables)
        tables[name] = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", body, re.MULTILINE))
    return tables


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


def read_uvarint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at an offset, and the offset after it."""
    return numbers.uvarint(data, at, len(data))


def tokens(data: bytes) -> Iterator[tuple[int, int | None]]:
    """Yield the tokens of a block, each with its operand or None."""
    at = 0
    while at < len(data):
        token, at = data[at], at + 1
        operand = None
        if 3 <= token <= 7:
            operand, at = read_uvarint(data, at)
        if token == 7:
            length, at = read_uvarint(data, at)
            at += length
        yield token, operand


def told(payload: bytes) -> list[tuple[bytes, int, int]]:
    """Return of a HEAD chunk for each of the last pieces: bytes of its head, length of its payload, kinds."""
    count, at = read_uvarint(payload, 0)
    found = []
    for _ in range(count):
        size, at = read_uvarint(payload, at)
        head, at = payload[at : at + size], at + size
        length, at = read_uvarint(payload, at)
        kinds, at = read_uvarint(payload, at)
        found.append((head, length, kinds))
    assert at == len(payload)
    return found


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
