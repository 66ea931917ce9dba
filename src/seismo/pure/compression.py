"""The bytes of a piece of a journal: LZ4 blocks, and marks that are stored separately."""

from __future__ import annotations

from itertools import pairwise

from seismo.pure.numbers import MalformedError, uvarint

PLAIN, LZ4, APART = 0, 1, 2
MOST = 65536  # bytes of a block
_MARK = 3


def unpacked(codec: int, data: bytes, size: int) -> bytes:
    """Return the unpacked bytes. Raise MalformedError if they are not exactly so many."""
    found = data if codec == PLAIN else _lz4(data, size) if codec == LZ4 else _apart(data, size)
    if len(found) != size:
        raise MalformedError
    return found


def _lz4(data: bytes, size: int) -> bytes:
    """Return at most `size` bytes of an LZ4 block: sequences of literals and a match with earlier output."""
    out, at = bytearray(), 0
    try:
        while True:
            token = data[at]
            length, at = _length(data, token >> 4, at + 1)
            if length > len(data) - at or length > size - len(out):
                raise MalformedError
            out += data[at : at + length]
            at += length
            if at == len(data):
                return bytes(out)
            distance = data[at] | data[at + 1] << 8
            length, at = _length(data, token & 15, at + 2)
            length += 4
            if not 0 < distance <= len(out) or length > size - len(out):
                raise MalformedError
            match = out[-distance:]
            out += (match * (length // distance + 1))[:length]
    except IndexError:
        raise MalformedError from None


def _length(data: bytes, length: int, at: int) -> tuple[int, int]:
    if length == 15:
        while data[at] == 255:
            length += 255
            at += 1
        length += data[at]
        at += 1
    return length, at


def _apart(data: bytes, size: int) -> bytes:
    """Merge marks with the tokens between them."""
    end = len(data)
    length, at = uvarint(data, 0, end, size)
    count, at = uvarint(data, at, end, MOST // 2)
    usual, at = uvarint(data, at, end)
    run, at = uvarint(data, at, end, count)
    gaps = [usual] * run
    while len(gaps) < count:
        gap, at = uvarint(data, at, end)
        run, at = uvarint(data, at, end, count - len(gaps) - 1)
        gaps += [gap] + [usual] * run
    operands = [at]
    for _ in range(count):
        _, at = uvarint(data, at, end)
        operands.append(at)
    tokens, out, done = _lz4(data[at:], length), bytearray(), 0
    if len(tokens) != length:
        raise MalformedError
    for gap, (begin, after) in zip(gaps, pairwise(operands), strict=True):
        if gap > length - done:
            raise MalformedError
        out += tokens[done : done + gap]
        done += gap
        out.append(_MARK)
        out += data[begin:after]
    return bytes(out + tokens[done:])
