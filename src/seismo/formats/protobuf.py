"""The part of the protocol buffers encoding that pprof and Perfetto files need: varints and fields with a length.

A general library would turn a million samples of a few bytes each into a million objects, and seismo needs no library
in recorded processes. The tests compare this with protobuf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.pure.numbers import uvarint, uvarint_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_SMALL = [bytes([value]) for value in range(128)]
_MASK = (1 << 64) - 1


def varint(value: int) -> bytes:
    """Return a number as a varint. Negative ones are two's complement of 64 bits, as in int64 fields."""
    return _SMALL[value] if 0 <= value < 128 else uvarint_bytes(value & _MASK)


def number_field(number: int, value: int) -> bytes:
    """Return a field with a number, or nothing for 0, which is the default of a missing field."""
    return varint(number << 3) + varint(value) if value else b""


def bytes_field(number: int, data: bytes | bytearray) -> bytes:
    """Return a field with bytes, text or a message, which may be empty."""
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def packed_field(number: int, values: Iterable[int]) -> bytes:
    """Return a repeated field of numbers."""
    return bytes_field(number, b"".join(map(varint, values)))


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a message as (number, value). Fields of a fixed size are skipped, as pprof has none."""
    at, end = 0, len(data)
    while at < end:
        tag, at = uvarint(data, at, end)
        number, kind = tag >> 3, tag & 7
        if not number:
            raise ValueError("a field has no number")
        if kind == VARINT:
            value, at = uvarint(data, at, end)
            yield number, value
        elif kind == BYTES:
            length, at = uvarint(data, at, end)
            if length > end - at:
                raise ValueError("a field goes past the end")
            yield number, data[at : at + length]
            at += length
        elif kind in (FIXED64, FIXED32):
            at += 8 if kind == FIXED64 else 4
            if at > end:
                raise ValueError("a field goes past the end")
        else:
            raise ValueError(f"a field has the unsupported kind {kind}")


def numbers(value: int | memoryview) -> list[int]:
    """Return the values of one entry of a repeated field of numbers, packed or not."""
    if isinstance(value, int):
        return [value]
    found = []
    at = 0
    while at < len(value):
        one, at = uvarint(value, at, len(value))
        found.append(one)
    return found
