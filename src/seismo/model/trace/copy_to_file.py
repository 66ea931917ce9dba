"""Copying of a journal into another file: its pieces, its levels and the longest calls.

Levels (for pictures) and the longest call of each function save readers from reading all pieces. Most recordings have
both, and they are copied. If they are missing, because the program was killed or an earlier version wrote the file,
they are computed here, because the end of a complete file promises them.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING

from seismo.model.recording import Recording
from seismo.model.trace.calls import UNSUMMED
from seismo.model.trace.file_chunks import LONGEST, PIECE, SHEET
from seismo.pure.numbers import MalformedError, uvarint, uvarint_bytes
from seismo.pure.pieces import noted_calls

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DEPTHS = 1 << 20  # a number in a chunk of the kind LONG combines the depth and flags
_LIMITS = 1 | 4 | 8 | 64 | 512  # bits of CallFlags: docs/format.md


def copied(recording: Recording, threads: Mapping[int, int] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield the kind and the payload of each chunk.

    `threads` has new thread numbers; chunks of other threads are dropped. Ranks stay valid, because they count the
    nodes of one thread, whose order does not change.
    """
    pieces = recording._journal
    if pieces is None:
        return
    if threads is None:
        threads = {row: row for row in range(len(recording._raw["threads"]["id"]))}
    for payload in pieces.payloads():
        yield from _renamed(PIECE, payload, threads)
    sheets, longest = list(pieces.payloads(SHEET)), list(pieces.payloads(LONGEST))
    whole = 2 * len(sheets) == len(pieces.levels)
    for payload in sheets if whole else ():
        yield from _renamed(SHEET, payload, threads)
    complete = pieces.finished and longest and 2 * len(longest) == len(pieces.longest)
    if not (complete and whole):
        for made in _zoom_sheets(recording, whole):
            yield from _renamed(SHEET, memoryview(made), threads)
    noted = (call for payload in longest for call in noted_calls(payload, 0, len(payload)))
    calls = noted if complete else _longest_of(recording)
    known = [(threads[thread], *rest) for thread, *rest in calls if thread in threads]
    if known:
        yield LONGEST, b"".join(map(uvarint_bytes, chain.from_iterable(known)))


def _renamed(kind: str, payload: memoryview, threads: Mapping[int, int]) -> Iterator[tuple[str, bytes]]:
    """Yield the chunk with the new number of its thread, or nothing if its thread has none or is malformed."""
    try:
        thread, at = uvarint(payload, 0, len(payload))
    except MalformedError:
        return
    if thread in threads:
        yield kind, uvarint_bytes(threads[thread]) + payload[at:]


def _zoom_sheets(recording: Recording, whole: bool) -> list[bytes]:
    """Return sheets for streams that lack them and are large enough, or for all streams if some sheets are damaged."""
    pieces = recording._journal
    assert pieces is not None
    if sum(pieces.places.tolist()[1::2]) < UNSUMMED // 256:  # events compress to 1/256 at best
        return []
    if not whole:
        without = pieces._replace(levels=pieces.levels[:0])
        recording = Recording(recording._raw, recording._strings, recording.meta, journal=without)
    summed = recording.calls._summed
    return [] if summed is None else summed.made()


def _longest_of(recording: Recording) -> Iterator[list[int]]:
    """Yield the longest call of each function, found by reading the whole journal, as `noted_calls` does."""
    calls = recording.calls
    raw = recording._raw
    nodes_of: dict[int, list[int]] = {}
    for node, thread in enumerate(raw["nodes"]["thread"].tolist()):
        nodes_of.setdefault(thread, []).append(node)
    origins = [max(start - calls.start_ns, 0) for start in calls._starts] or [0]
    processes = raw["threads"]["process"].tolist()
    for row in calls.sums.longest:
        rank = bisect_right(nodes_of[row.thread], row.node)
        start = max(row.start_ns - origins[processes[row.thread]], 0)
        depth = min(row.depth, _DEPTHS - 1) + _DEPTHS * (row.flags & _LIMITS)
        yield [row.thread, row.stream, rank, depth, start, max(row.end_ns - row.start_ns, 0)]
