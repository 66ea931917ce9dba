"""What the journals in recordings say: calls by stream, sums of their events, and checks of their levels."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import children
import zoom_decoder
from chunks import blocks, payloads
from recorded import Image

from seismo import model

if TYPE_CHECKING:
    from pathlib import Path


def trace(code: str, path: Path, *words: str, **options: Any) -> Any:
    """Trace a program in a process of its own."""
    return children.seismo("trace", "-q", "-o", path, *words, "-c", textwrap.dedent(code), **options)


def qualnames(image: Image, calls: list[Any]) -> list[str]:
    functions = {row["id"]: row["qualname"] for row in image.functions()}
    return [functions[call.function] for call in calls]


def read(path: Path) -> Any:
    """Return the recording in a file, with the calls of each stream: {(thread, stream): [calls]}."""
    image: Any = Image(path.read_bytes())
    image.streams = {}
    for call in model.read(image.data).calls.window().calls:
        image.streams.setdefault((call.thread, call.stream), []).append(call)
    return image


def sums(data: bytes) -> list[tuple[int, int, int]]:
    """Return (calls, resumes, exceptions) of each node from the journal."""
    found = model.read(data).calls.sums
    assert found.problems == []
    return list(zip(found.calls, found.resumes, found.exceptions, strict=True))


def recorded(nodes: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """Return (calls, resumes, exceptions) of each node from the tree."""
    return [(row["calls"], row["resumes"], row["exceptions"]) for row in nodes]


def levels_of(image: Any) -> dict[tuple[int, int], Any]:
    """Check the levels of all streams against the tokens. Return {(thread, stream): {level: slices}}."""
    found = zoom_decoder.read(payloads(image.data, b"LEVL"))
    streams = blocks(payloads(image.data))
    for (thread, stream), levels in found.items():
        nodes = [number for number, row in enumerate(image.nodes) if row["thread"] == thread]
        ranks = {node: rank for rank, node in enumerate(nodes, 1)}
        parents = [ranks.get(image.nodes[node]["parent"], 0) for node in nodes]
        functions = [None, *(image.nodes[node]["function"] for node in nodes)]
        replay = zoom_decoder.replayed(streams[thread, stream], parents)
        zoom_decoder.check(levels, replay, functions)
    return found
