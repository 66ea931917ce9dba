"""A journal as its recording keeps it: pieces, where they are in the file, and how they go into another file."""

from __future__ import annotations

import array
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_KIND = b"JRNL"


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
    levels: memoryview = memoryview(array.array("q"))
    longest: memoryview = memoryview(array.array("q"))
    finished: bool = False
    heads: memoryview = memoryview(array.array("q"))

    def payloads(self) -> Iterator[memoryview]:
        """The pieces whose checksums hold, as they are in the file. Others leave a hole, which readers find."""
        data, places = memoryview(self.data), self.places.tolist()
        for at, length in zip(places[::2], places[1::2], strict=True):
            payload = data[at : at + length]
            if zlib.crc32(payload, zlib.crc32(_KIND)) == struct.unpack_from("<I", data, at - 4)[0]:
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


def renamed(pieces: Pieces, threads: Mapping[int, int]) -> Iterator[bytes]:
    """The pieces with other numbers of their threads; those of threads that are not there are left out.

    Ranks stay true, for they count the nodes of one thread, whose order stays.
    """
    for payload in pieces.payloads():
        thread = shift = at = 0
        for at, byte in enumerate(payload[:10], 1):  # noqa: B007  read below
            thread |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if thread in threads:
            yield uvarint(threads[thread]) + payload[at:]


def joined(payloads: Iterable[bytes], nodes: int, threads: int) -> Pieces | None:
    """Pieces in memory, as a file has them; None: there are none."""
    data, places = bytearray(), array.array("q")
    for payload in payloads:
        data += struct.pack("<I4sI", len(payload), _KIND, zlib.crc32(payload, zlib.crc32(_KIND)))
        places.extend((len(data), len(payload)))
        data += payload
    return Pieces(bytes(data), memoryview(places), nodes, threads) if places else None
