"""Hashes by which functions, paths and processes of different recordings are recognized as the same.

Each is the first 8 bytes of BLAKE2b, read as a signed little-endian number, so that it is an int64 in any engine.
"""

from __future__ import annotations

import array
import json
import sys
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.model.columns import keys_of_functions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from seismo.model import Recording

NOTHING = bytes(8)  # the parent of a root
PLACES = 24  # bits of a path's number for its row in a file of paths


def digest(data: bytes) -> bytes:
    """Return the hash of data."""
    return blake2b(data, digest_size=8).digest()


def numbers(digests: Iterable[bytes]) -> array.array[int]:
    """Return hashes as numbers."""
    column = array.array("q")
    column.frombytes(b"".join(digests))
    if sys.byteorder == "big":
        column.byteswap()
    return column


def of_functions(recording: Recording) -> list[bytes]:
    """Return the hash of each function: of its kind, module, qualname, file and line as a JSON list in ASCII."""
    return [digest(json.dumps(key).encode()) for key in keys_of_functions(recording)]


class Tree(NamedTuple):
    """The paths of a recording's nodes: their hashes, and by node the parent (-1: none), function and depth."""

    paths: list[bytes]
    parents: list[int]
    functions: list[bytes]
    depths: memoryview


def of_paths(recording: Recording, functions: Sequence[bytes]) -> Tree:
    """Return the paths of a recording. A path is the hash of its parent's hash and its function's."""
    nodes = recording._raw["nodes"]
    parents, of = nodes["parent"].tolist(), [functions[number] for number in nodes["function"].tolist()]
    found: list[bytes] = []
    for parent, function in zip(parents, of, strict=True):
        found.append(digest((found[parent] if parent >= 0 else NOTHING) + function))
    return Tree(found, parents, of, recording._estimated["depth"])


def of_process(row: dict[str, Any], recording: Recording) -> bytes:
    """Return the hash of a process: of its row, and of sums over its nodes by which processes of equal rows differ.

    It is the same in a recording of one process and in a merge.
    """
    nodes = recording._raw["nodes"]
    totals = [len(nodes["id"]), *(sum(nodes[name]) for name in ("calls", "timed_ns", "sampled_ns"))]
    known = [value for name, value in row.items() if name != "id"]
    return digest(json.dumps([known, totals]).encode())
