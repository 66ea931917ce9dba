"""Pieces: the chunks of a journal, as offsets into the bytes of its file."""

from __future__ import annotations

import array
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PIECE, SHEET, LONGEST = "JRNL", "LEVL", "LONG"  # kinds of chunks; see docs/format.md
_EMPTY = memoryview(array.array("q"))


class Pieces(NamedTuple):
    """The pieces of a journal in the bytes of a file, which may be mapped.

    `places` has the offset and length of each piece, one after the other. The first `nodes` and `threads` rows of these
    tables have the ids that they were written with; if the tables are larger, the pieces no longer fit them. `levels`
    and `longest` are like `places`, for the sheets of its levels and for the longest calls, if the recorder wrote them.
    `heads` has, for each chunk that repeats heads of pieces, the offset, the length, and the number of `places` before
    it. `finished` is True if the recorder wrote everything.
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
        """Yield the intact chunks of a kind, as they are in the file. Readers of pieces detect the gaps of others."""
        of_kinds = {PIECE: self.places, SHEET: self.levels, LONGEST: self.longest}
        data, places, begun = memoryview(self.data), of_kinds[kind].tolist(), zlib.crc32(kind.encode())
        for at, length in zip(places[::2], places[1::2], strict=True):
            payload = data[at : at + length]
            if zlib.crc32(payload, begun) == struct.unpack_from("<I", data, at - 4)[0]:
                yield payload

    def fits(self, tables: Mapping[str, Mapping[str, Any]]) -> bool:
        """Return True if the tables have exactly the rows that the pieces were written with."""
        return self.nodes == len(tables["nodes"]["id"]) and self.threads == len(tables["threads"]["id"])


def joined(chunks: Iterable[tuple[str, bytes]], nodes: int, threads: int, finished: bool = False) -> Pieces | None:
    """Return chunks of a journal in memory as if they were in a file, or None if there are no pieces."""
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
