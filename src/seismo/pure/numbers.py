"""The numbers of the file: uvarints, and columns of them."""

from __future__ import annotations

import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST = 2**63 - 1  # an int64
_MOST = 2**64 - 1


class MalformedError(ValueError):
    """Bytes of a file that make no sense."""


def uvarint(data: Any, at: int, end: int, most: int = _MOST) -> tuple[int, int]:
    """Return the number at an offset, and the offset after it. Raise MalformedError if it is cut or larger."""
    value = shift = 0
    while shift < 70:
        if at >= end:
            raise MalformedError("a number is cut short")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            if value > most:
                break
            return value, at
    raise MalformedError(f"a number has more than {most.bit_length()} bits")


def uvarints(data: Any, at: int, end: int, count: int) -> tuple[list[int], int]:
    """Return so many numbers, and the offset after them. Raise MalformedError as `uvarint` does."""
    if at + count <= end and max(data[at : at + count], default=0) < 0x80:
        return list(data[at : at + count]), at + count
    numbers = []
    for _ in range(count):
        if at < end and data[at] < 0x80:
            value = data[at]
            at += 1
        else:
            value, at = uvarint(data, at, end)
        numbers.append(value)
    return numbers, at


def uvarint_bytes(value: int) -> bytes:
    """Return the encoding of a number that is not negative."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> int:
    """Return the int64 with these 64 bits."""
    return value - (value >> 63 << 64)


def ints(values: Iterable[int]) -> memoryview:
    """Return a column of int64."""
    return memoryview(array.array("q", values)).toreadonly()


def reals(values: Iterable[float]) -> memoryview:
    """Return a column of float64."""
    return memoryview(array.array("d", values)).toreadonly()


def clamped(value: int) -> int:
    """Return a sum as an int64: damaged files have numbers whose sums are larger."""
    return min(max(value, -LARGEST - 1), LARGEST)
