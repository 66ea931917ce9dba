"""The blocks and streams of a journal, found by the heads of its pieces."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.pure.compression import APART, MOST, PLAIN, unpacked
from seismo.pure.numbers import MalformedError, uvarint

if TYPE_CHECKING:
    from collections.abc import Iterator

AFTER_GAP = 1  # flag of a block: events before it are missing
_LATEST = 1 << 61  # ns
_MOST = 2**64 - 1


class Piece(NamedTuple):
    """A piece; what its block begins with is of the first one only."""

    thread: int
    stream: int
    block: int
    offset: int
    at: int  # of the payload
    length: int
    flags: int
    rank: int
    time: int
    unit: float
    codec: int
    body: int  # offset of the packed bytes in the payload
    raw: int  # bytes when unpacked


class Stream(NamedTuple):
    """The blocks of a stream, each a list of pieces in order."""

    thread: int
    number: int
    blocks: list[list[Piece]]


def _numbers(data: Any, at: int, end: int, limits: tuple[int, ...]) -> tuple[list[int], int]:
    """Return a number for each limit, and the offset after them. Raise MalformedError as `uvarint` does."""
    found = []
    for most in limits:
        number, at = uvarint(data, at, end, most)
        found.append(number)
    return found, at


def _parse(data: memoryview, at: int, length: int) -> Piece:
    begin, end = at, at + length
    if begin < 12 or end > len(data):
        raise MalformedError
    (thread, stream, block, offset), at = _numbers(data, at, end, (2**31 - 1, _MOST, _MOST, MOST))
    flags, rank, time, unit = 0, 0, 0, 0.0
    if offset == 0:
        (flags, rank, time), at = _numbers(data, at, end, (_MOST, _MOST, _LATEST))
        if end - at < 8:
            raise MalformedError
        (unit,) = struct.unpack_from("<d", data, at)
        at += 8
        if not 0 <= unit < 1e18:
            raise MalformedError
    if at == end:
        raise MalformedError
    codec = data[at]
    raw, at = uvarint(data, at + 1, end, MOST)
    if raw == 0 or codec > APART or (codec == PLAIN and end - at != raw):
        raise MalformedError
    return Piece(thread, stream, block, offset, begin, length, flags, rank, time, unit, codec, at - begin, raw)


def streams_of(data: memoryview, places: list[int], threads: int) -> tuple[list[Stream], int]:
    """Return the streams by thread and number, and how many pieces are invalid or lack their block's beginning."""
    pieces, dropped = [], 0
    for at, length in zip(places[::2], places[1::2], strict=True):
        try:
            piece = _parse(data, at, length)
        except MalformedError:
            dropped += 1
            continue
        if piece.thread < threads:
            pieces.append(piece)
        else:
            dropped += 1
    streams: list[Stream] = []
    for (thread, number, _), group in groupby(sorted(pieces), key=lambda piece: piece[:3]):
        block = list(group)
        if block[0].offset:
            dropped += len(block)
            continue
        if not streams or streams[-1][:2] != (thread, number):
            streams.append(Stream(thread, number, []))
        streams[-1].blocks.append(block)
    return streams, dropped


def noted_calls(data: bytes | memoryview, at: int, end: int) -> Iterator[list[int]]:
    """Yield thread, stream, rank, depth with flags, start and length of each longest call, up to an invalid one."""
    with suppress(MalformedError):
        while at < end:
            call, at = _numbers(data, at, end, (2**31 - 1, 2**57, 2**31 - 1, 2**31 - 1, 2**57, 2**57))
            yield call


def loaded(data: memoryview, block: list[Piece]) -> tuple[bytes, bool]:
    """Return the bytes of a block up to the first missing or damaged piece, and whether there is none."""
    found = bytearray()
    for piece in block:
        if piece.offset < len(found):
            continue  # a duplicate
        payload = data[piece.at : piece.at + piece.length]
        checksum = zlib.crc32(payload, zlib.crc32(data[piece.at - 8 : piece.at - 4]))
        is_whole = checksum == int.from_bytes(data[piece.at - 4 : piece.at], "little")
        if piece.offset != len(found) or len(found) + piece.raw > MOST or not is_whole:
            return bytes(found), False
        try:
            found += unpacked(piece.codec, bytes(payload[piece.body :]), piece.raw)
        except MalformedError:
            return bytes(found), False
    return bytes(found), True
