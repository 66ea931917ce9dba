"""As much of the protocol buffers encoding as pprof and Perfetto files need: varints, and fields that have a length.

Written by hand because a profile has a million samples of a few bytes each, which a general library turns into a
million objects, and because seismo asks for no library in the process that is recorded. The tests hold it against
protobuf's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_SMALL = [bytes([value]) for value in range(128)]
_MASK = (1 << 64) - 1


def varint(value: int) -> bytes:
    """A number as a varint; negative ones as two's complement of 64 bits, as int64 fields are."""
    if 0 <= value < 128:
        return _SMALL[value]
    value &= _MASK
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_field(number: int, value: int) -> bytes:
    """A field with a number in it; nothing if it is 0, which is what readers take a field that is not there for."""
    return varint(number << 3) + varint(value) if value else b""


def bytes_field(number: int, data: bytes | bytearray) -> bytes:
    """A field with bytes, a text or a message in it, also if it is empty."""
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def packed_field(number: int, values: Iterable[int]) -> bytes:
    """A repeated field of numbers."""
    return bytes_field(number, b"".join(map(varint, values)))


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The varint at a place, from 0 to 2**64 - 1, and the place after it. ValueError: cut short or too long."""
    value = shift = 0
    while shift < 70:
        if at >= len(data):
            raise ValueError("a number is cut short")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & _MASK, at
        shift += 7
    raise ValueError("a number has more than 64 bits")


def signed(value: int) -> int:
    """What an int64 field holds whose varint is `value`."""
    return value - (1 << 64) if value >> 63 else value


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message in order: number and value. Fixed-size ones are passed over: pprof has none."""
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not number:
            raise ValueError("a field has no number")
        if kind == VARINT:
            value, at = read_varint(data, at)
            yield number, value
        elif kind == BYTES:
            length, at = read_varint(data, at)
            if length > end - at:
                raise ValueError("a field goes past the end")
            yield number, data[at : at + length]
            at += length
        elif kind in (FIXED64, FIXED32):
            at += 8 if kind == FIXED64 else 4
            if at > end:
                raise ValueError("a field goes past the end")
        else:
            raise ValueError(f"a field of a kind ({kind}) that profiles do not have")


def numbers(value: int | memoryview) -> list[int]:
    """The values of one entry of a repeated field of numbers, which may be packed or not."""
    if isinstance(value, int):
        return [value]
    found = []
    at = 0
    while at < len(value):
        one, at = read_varint(value, at)
        found.append(one)
    return found
