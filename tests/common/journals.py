"""What the journals in recordings say: calls by stream, sums of their events, and checks of their levels."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import children
import zoom_decoder
from chunks import payloads
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
    threads = {row["id"] for row in image.tables["threads"]}  # without the test runner's
    for call in model.read(image.data).calls.window().calls:
        if call.thread in threads:
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
    nodes = [(row["parent"], row["thread"], row["function"]) for row in image.nodes]
    return zoom_decoder.checked(payloads(image.data), payloads(image.data, b"LEVL"), nodes)
