"""The paths of a call tree in a page: in the order of a walk, and limited in number.

A page holds at most MOST paths, and the roots. These are the largest by their shares of the running time, the waiting
time and the calls, each including all below. A path's share is never larger than its parent's, so the kept paths are a
connected top of the tree. What is left out below a path becomes one path of the function "smaller paths", so that every
sum over the tree is preserved.

The walk gives each path a depth, and the sequence of depths determines all parents. Depths deflate to nearly nothing,
while the numbers of the parents would take a quarter of the page.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seismo.report.page.payload import counts, doubles, singles

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from seismo.model import Recording
    from seismo.report.page.payload import Columns

MOST = 200_000
COMMON = 255  # all of a path's error is shared with others: see Paths.of
# Values that already include what is below a path.
TOTALS = ("total_error", "common")


def _common(recording: Recording) -> list[int]:
    """Return for each node the part of its total's error that it shares with others, in 255ths, rounded up."""
    errors = recording.tree["total_error_ns"]
    parts = []
    for error, square, distortion in zip(errors, *recording.total_doubts(), strict=True):
        # If the error of a total is the plain sum of those below, no part is known to be its own.
        plain = error < 0.999999 * math.hypot(math.sqrt(square), distortion)
        parts.append(COMMON if plain else min(COMMON, math.ceil(COMMON * distortion / error)) if error > 0 else 0)
    return parts


def summed(values: Sequence[Any], parents: Sequence[int]) -> list[Any]:
    """Return for each path the sum of the values of itself and of all below it."""
    sums = list(values)
    for node in range(len(sums) - 1, -1, -1):
        if parents[node] >= 0:
            sums[parents[node]] += sums[node]
    return sums


def without(
    stand_ins: Sequence[int],
    parents: Sequence[int],
    functions: Sequence[int],
    threads: Sequence[int],
    values: Mapping[str, list[Any]],
    subtrees: bool = False,
) -> tuple[list[int], list[int], list[int], dict[str, list[Any]]]:
    """Return parents, functions, threads and values of the paths, some of them left out.

    stand_ins: for each path the function that stands for it, or -1. Below a path that is kept, that function has one
    path with the sums of what is left out there. subtrees: a path is left out with all that is below it.
    """
    kept_parents: list[int] = []
    kept_functions: list[int] = []
    kept_threads: list[int] = []
    kept: dict[str, list[Any]] = {name: [] for name in values}
    sums = [name for name in values if name not in TOTALS]
    to: list[int] = []  # for each node its path; of one that is left out that of its caller
    rest: dict[tuple[int, int, int], int] = {}  # the path of what is left out, by caller, thread and stand-in
    for node, (parent, function, thread, other) in enumerate(zip(parents, functions, threads, stand_ins, strict=True)):
        above, left_out = to[parent] if parent >= 0 else -1, other >= 0
        path = rest.get((above, thread, other)) if left_out else None
        if path is None:
            path = len(kept_parents)
            kept_parents.append(above)
            kept_functions.append(other if left_out else function)
            kept_threads.append(thread)
            for name, column in kept.items():
                column.append(values[name][node] * 0 if left_out else values[name][node])
        to.append(above if left_out else path)
        if left_out:
            rest[above, thread, other] = path
            for name in sums:
                kept[name][path] += values[name][node]
            # Errors of different functions are added up here.
            if not subtrees:
                kept["total_error"][path] += values["own_error"][node]
            elif stand_ins[parent] < 0:
                kept["total_error"][path] += values["total_error"][node]
            if "common" in kept:
                kept["common"][path] = COMMON
    return kept_parents, kept_functions, kept_threads, kept


class Paths:
    """The paths of one tree in the order of a walk, thread by thread.

    order: the numbers of the paths. threads: for each root its thread. left_out: how many paths were left out.
    """

    def __init__(
        self,
        parents: Sequence[int],
        functions: Sequence[int],
        threads: Sequence[int],
        values: Mapping[str, list[Any]],
        weights: Sequence[Sequence[float]],
        smaller: int,
        most: int = MOST,
    ) -> None:
        """Order the paths. For each, `parents` has the number of an earlier path, or -1 for a root.

        values: columns to sum; those in TOTALS already include what is below. weights: including what is below, for the
        choice of the paths to keep. smaller: the number of the function that stands for what is left out.
        """
        kept = _kept(parents, weights, most)
        self.left_out = len(kept) - sum(kept)
        if self.left_out:
            stand_ins = [-1 if one else smaller for one in kept]
            parents, functions, threads, values = without(stand_ins, parents, functions, threads, values, True)
        self._values = values
        self.order, self.depths = _walk(parents, threads)
        self.functions = [functions[path] for path in self.order]
        self.threads = [threads[path] for path, depth in zip(self.order, self.depths, strict=True) if depth == 0]

    @classmethod
    def of(cls, recording: Recording, smaller: int, most: int = MOST, left_out: Sequence[int] = ()) -> Paths:
        """Return the paths of a recording, with running and waiting separate, without some nodes (page_selection.py).

        `common` is the part of a total's error that it shares with those of other paths, in 255ths: where paths are
        summed, these are added up, and the rest is added in quadrature, as Recording.total_error() has it.
        smaller: the number of the function that stands for the paths for which the page has no room.
        """
        tree, waiting = recording.timed("cpu").tree, recording.timed("wait").tree
        parents: list[int] = tree["parent"].tolist()
        values: dict[str, list[Any]] = {
            "calls": tree["calls"].tolist(),
            "exceptions": tree["exceptions"].tolist(),
            "own": tree["own_ns"].tolist(),
            "own_error": tree["own_error_ns"].tolist(),
            "total_error": tree["total_error_ns"].tolist(),
            "common": _common(recording.timed("cpu")),
            "wait": waiting["own_ns"].tolist(),
            "wait_error": waiting["own_error_ns"].tolist(),
        }
        functions, threads = tree["function"].tolist(), tree["thread"].tolist()
        if left_out:
            parents, functions, threads, values = without(left_out, parents, functions, threads, values)
        weights = [summed(values[name], parents) for name in ("own", "wait", "calls")]
        return cls(parents, functions, threads, values, weights, smaller, most)

    def columns(self, prefix: str, precise: Collection[str] = ()) -> Columns:
        """Return the columns of the page. prefix: of their names. precise: those of which seven digits are too few."""
        columns: Columns = {f"{prefix}depth": counts(self.depths), f"{prefix}function": counts(self.functions)}
        for name, values in self._values.items():
            picked = [values[path] for path in self.order]
            if any(picked):
                form = counts if isinstance(values[0], int) else doubles if name in precise else singles
                columns[prefix + name] = form(picked)
        return columns


def _kept(parents: Sequence[int], weights: Sequence[Sequence[float]], most: int) -> bytearray:
    """Return for each path 1 if it is in the page, else 0."""
    size = len(parents)
    if size <= most:
        return bytearray(b"\1") * size
    shares = [0.0] * size
    for totals in weights:
        whole = sum(total for total, parent in zip(totals, parents, strict=True) if parent < 0) or 1
        for path, total in enumerate(totals):
            shares[path] += total / whole
    kept = bytearray(parent < 0 for parent in parents)
    # Parents have smaller numbers, so the sort puts them first among equal shares.
    for path in sorted(range(size), key=lambda path: -shares[path])[:most]:
        kept[path] = 1
    return kept


def _walk(parents: Sequence[int], threads: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the paths in the order of a walk, children in that of their first calls, and their depths."""
    below: dict[int, list[int]] = {-1: []}  # the last one first
    for path in range(len(parents) - 1, -1, -1):
        below.setdefault(parents[path], []).append(path)
    order: list[int] = []
    depths: list[int] = []
    waiting = [(path, 0) for path in sorted(below[-1], key=lambda path: -threads[path])]
    while waiting:
        path, depth = waiting.pop()
        order.append(path)
        depths.append(depth)
        waiting += [(child, depth + 1) for child in below.get(path, ())]
    return order, depths
