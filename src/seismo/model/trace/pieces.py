"""A journal as its recording keeps it: pieces, where they are in the file, and how they go into another file."""

from __future__ import annotations

import array
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PIECE, SHEET, LONGEST = "JRNL", "LEVL", "LONG"  # kinds of chunks: docs/format.md
_EMPTY = memoryview(array.array("q"))


class Pieces(NamedTuple):
    """The pieces of a journal in the bytes of a file, which may be mapped.

    `places`: offset and length of each, one after the other. `nodes`, `threads`: so many of the first rows of these
    tables have the ids that they were written with; where that is not all, pieces do not fit the tables any more.
    `levels`, `longest`: the same as `places` of the sheets of its levels, and of the longest calls, where the recorder
    wrote them. `heads`: of what repeats the heads of pieces, offset, length, and how many of `places` come before it.
    `finished`: the recorder wrote all that there is.
    """

    data: Any
    places: memoryview
    nodes: int
    threads: int
    levels: memoryview = _EMPTY
    longest: memoryview = _EMPTY
    finished: bool = False
    heads: memoryview = _EMPTY

    def payloads(self, kind: str = PIECE) -> Iterator[memoryview]:
        """The chunks of a kind whose checksums hold, as they are in the file.

        Others leave a hole, which readers of pieces find.
        """
        of_kinds = {PIECE: self.places, SHEET: self.levels, LONGEST: self.longest}
        data, places, begun = memoryview(self.data), of_kinds[kind].tolist(), zlib.crc32(kind.encode())
        for at, length in zip(places[::2], places[1::2], strict=True):
            payload = data[at : at + length]
            if zlib.crc32(payload, begun) == struct.unpack_from("<I", data, at - 4)[0]:
                yield payload

    def fits(self, tables: Mapping[str, Mapping[str, Any]]) -> bool:
        """Whether the tables have all rows that they were written with."""
        return self.nodes == len(tables["nodes"]["id"]) and self.threads == len(tables["threads"]["id"])


def uvarint(value: int) -> bytes:
    """A number from 0 on as the journal writes it."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def take_uvarint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The number that is there, and where the next one is. IndexError: it is cut off."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80 or shift > 63:
            return value, at


def joined(chunks: Iterable[tuple[str, bytes]], nodes: int, threads: int, finished: bool = False) -> Pieces | None:
    """Chunks of a journal in memory, as a file has them; None: there are no pieces."""
    data = bytearray()
    places: dict[str, array.array[int]] = {kind: array.array("q") for kind in (PIECE, SHEET, LONGEST)}
    for kind, payload in chunks:
        name = kind.encode()
        data += struct.pack("<I4sI", len(payload), name, zlib.crc32(payload, zlib.crc32(name)))
        places[kind].extend((len(data), len(payload)))
        data += payload
    if not places[PIECE]:
        return None
    levels, longest = memoryview(places[SHEET]), memoryview(places[LONGEST])
    return Pieces(bytes(data), memoryview(places[PIECE]), nodes, threads, levels, longest, finished)
