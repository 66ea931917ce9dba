"""A journal on its way into another file: its pieces, and what a reader needs so as not to read them all.

That is the levels, which pictures are drawn from, and the longest call of each function. Most recordings have both,
and they go with the pieces. Where they are missing (the program was killed, or an earlier version wrote the file), they
are made here, because a file that ends in order says with its end that it has them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from seismo.model.trace.pieces import LONGEST, PIECE, SHEET, take_uvarint, uvarint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from seismo.model.recording import Recording

_NUMBERS_OF_A_CALL = 6  # in a chunk of the kind LONG; one of them is of depths, and from here on of flags:
_DEPTHS = 1 << 20
_LIMITS = 1 | 4 | 8 | 64 | 512  # docs/format.md


def copied(recording: Recording, threads: Mapping[int, int] | None = None) -> Iterator[tuple[str, bytes]]:
    """The kind and the payload of each chunk. threads: their new numbers, without which chunks are left out.

    Ranks stay true, for they count the nodes of one thread, whose order stays.
    """
    pieces = recording._journal
    if pieces is None:
        return
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
    calls = _numbers(longest) if complete else _longest_of(recording)
    known = b"".join(_call(call, threads) for call in calls if threads is None or call[0] in threads)
    if known:
        yield LONGEST, known


def _renamed(kind: str, payload: memoryview, threads: Mapping[int, int] | None) -> Iterator[tuple[str, bytes]]:
    """The chunk with another number of its thread, with which it begins; none, if it does not begin with a number."""
    if threads is None:
        yield kind, bytes(payload)
        return
    try:
        thread, at = take_uvarint(payload, 0)
    except IndexError:
        return
    if thread in threads:
        yield kind, uvarint(threads[thread]) + payload[at:]


def _numbers(longest: Iterable[memoryview]) -> Iterator[list[int]]:
    """The calls that these payloads name: thread, stream, rank, depth with flags, start and length of each."""
    for payload in longest:
        at = 0
        try:
            while at < len(payload):
                call = []
                for _ in range(_NUMBERS_OF_A_CALL):
                    value, at = take_uvarint(payload, at)
                    call.append(value)
                yield call
        except IndexError:
            continue


def _call(call: list[int], threads: Mapping[int, int] | None) -> bytes:
    thread, *rest = call
    return b"".join(map(uvarint, [thread if threads is None else threads[thread], *rest]))


def _zoom_sheets(recording: Recording, whole: bool) -> list[bytes]:
    """Sheets of those streams that have none and are worth them; of all, where some in the file are damaged."""
    from seismo.model.recording import Recording
    from seismo.model.trace.calls import UNSUMMED

    pieces = recording._journal
    assert pieces is not None
    if sum(pieces.places.tolist()[1::2]) < UNSUMMED // 256:  # bytes compress that well at best
        return []
    if not whole:
        without = pieces._replace(levels=pieces.levels[:0])
        recording = Recording(recording._raw, recording._strings, recording.meta, journal=without)
    summed = recording.calls._summed
    return [] if summed is None else summed.made()


def _longest_of(recording: Recording) -> Iterator[list[int]]:
    """The longest call of each function, found by reading all of the journal; as `_numbers` gives them."""
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
