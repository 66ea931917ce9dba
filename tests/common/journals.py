"""Reading of journals in recordings with the tests' own decoder, and sums of their events."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import trace_decoder
import zoom_decoder
from chunks import payloads
from recorded import Image

if TYPE_CHECKING:
    from pathlib import Path


def streams(data: bytes, nodes: list[dict[str, Any]]) -> dict[tuple[int, int], Any]:
    """Return {(thread, stream): decoded stream}. `nodes` has the rows of the table in the order of ids."""
    return trace_decoder.read(payloads(data), [(row["parent"], row["thread"]) for row in nodes])


def read(path: Path) -> Any:
    """Return the recording in a file, with its streams."""
    image: Any = Image(path.read_bytes())
    image.streams = streams(image.data, image.nodes)
    return image


def sums(data: bytes, nodes: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """Return (calls, resumes, exceptions) of each node from the journal."""
    calls, resumes, exceptions = Counter(), Counter(), Counter()
    for stream in streams(data, nodes).values():
        for call in stream.calls:
            if call["began"] == "seen":
                (resumes if call["resumed"] else calls)[call["node"]] += 1
            if call["how"] == "unwind":
                exceptions[call["node"]] += 1
    return [(calls[node], resumes[node], exceptions[node]) for node in range(len(nodes))]


def recorded(nodes: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """Return (calls, resumes, exceptions) of each node from the tree."""
    return [(row["calls"], row["resumes"], row["exceptions"]) for row in nodes]


def left_out(data: bytes, nodes: list[dict[str, Any]]) -> list[int]:
    """Return the calls, resumes and exceptions that a filter left out, according to the journal."""
    sums = [0, 0, 0]
    for stream in streams(data, nodes).values():
        for instant in stream.instants:
            if instant["kind"] == 32:
                at = 0
                for place in range(3):
                    value, at = trace_decoder.uvarint(instant["bytes"], at)
                    sums[place] += value
    return sums


def levels_of(image: Any) -> dict[tuple[int, int], Any]:
    """Check the levels of all streams against the tokens. Return {(thread, stream): {level: slices}}."""
    found = zoom_decoder.read(payloads(image.data, b"LEVL"))
    pieces = trace_decoder.pieces(payloads(image.data))
    for (thread, stream), levels in found.items():
        nodes = [number for number, row in enumerate(image.nodes) if row["thread"] == thread]
        ranks = {node: rank for rank, node in enumerate(nodes, 1)}
        parents = [ranks.get(image.nodes[node]["parent"], 0) for node in nodes]
        functions = [None, *(image.nodes[node]["function"] for node in nodes)]
        replay = zoom_decoder.replayed(pieces[thread, stream], parents)
        zoom_decoder.check(levels, replay, functions)
    return found
