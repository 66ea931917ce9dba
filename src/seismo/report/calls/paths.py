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
from array import array
from typing import TYPE_CHECKING, Any

from seismo.report.calls.page_selection import COMMON, without
from seismo.report.page.payload import counts, doubles, singles

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from seismo.model import Recording
    from seismo.report.page.payload import Columns

MOST = 200_000
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


class Paths:
    """The paths of one tree in the order of a walk, thread by thread.

    left_out: the number of paths that were left out. threads: for each root its thread, in the order of the walk.
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
        self._parents, self._functions, self._threads = parents, functions, threads
        self._values = values
        self._totals = weights
        self._smaller = smaller
        self.left_out = 0
        self.threads: list[int] = []
        self._walk(self._kept(most))

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
            parents, functions, threads, values = without(left_out, tree, values)
        weights = [summed(values[name], parents) for name in ("own", "wait", "calls")]
        return cls(parents, functions, threads, values, weights, smaller, most)

    def _kept(self, most: int) -> bytearray:
        """Return for each node 1 if it is in the page, else 0."""
        size = len(self._parents)
        if size <= most:
            return bytearray(b"\1") * size
        weights = [0.0] * size
        for totals in self._totals:
            whole = sum(total for total, parent in zip(totals, self._parents, strict=True) if parent < 0) or 1
            for node, total in enumerate(totals):
                weights[node] += total / whole
        kept = bytearray(size)
        # Parents have smaller numbers, so the sort puts them first among equal weights.
        for node in sorted(range(size), key=lambda node: -weights[node])[:most]:
            kept[node] = 1
        for node, parent in enumerate(self._parents):
            if parent < 0:
                kept[node] = 1
        self.left_out = size - sum(kept)
        return kept

    def _walk(self, kept: bytearray) -> None:
        """Put the kept paths in the order of a walk, children by number, which is the order of their first calls."""
        size = len(kept)
        below: dict[int, list[int]] = {-1: []}  # for each kept node the kept nodes directly below, the last one first
        cut: dict[int, list[int]] = {}  # the same of left-out nodes
        for node in range(size - 1, -1, -1):
            parent = self._parents[node]
            if kept[node]:
                below.setdefault(parent, []).append(node)
            elif kept[parent]:
                cut.setdefault(parent, []).append(node)
        sums = {
            name: values if name in TOTALS else summed(values, self._parents)
            for name, values in self._values.items()
            if cut
        }
        self.order, self.depths, self.functions = array("q"), array("q"), array("q")
        self.extra: list[list[Any]] = []  # sums of left-out paths; `order` refers to them by -1 - index
        waiting = [(node, 0) for node in sorted(below[-1], key=lambda node: -self._threads[node])]
        while waiting:
            node, depth = waiting.pop()
            waiting += [(child, depth + 1) for child in below.get(node, ())]
            self.order.append(node)
            self.depths.append(depth)
            self.functions.append(self._functions[node])
            if depth == 0:
                self.threads.append(self._threads[node])
            if node in cut:
                self._leave_out(cut[node], depth + 1, sums)

    def _leave_out(self, nodes: list[int], depth: int, sums: Mapping[str, list[Any]]) -> None:
        sums_of = {name: sum(table[node] for node in nodes) for name, table in sums.items()}
        if "common" in sums_of:
            sums_of["common"] = COMMON
        self.extra.append(list(sums_of.values()))
        self.order.append(-len(self.extra))
        self.depths.append(depth)
        self.functions.append(self._smaller)

    def columns(self, prefix: str, precise: Collection[str] = ()) -> Columns:
        """Return the columns of the page. prefix: of their names. precise: those of which seven digits are too few."""
        columns: Columns = {f"{prefix}depth": counts(self.depths), f"{prefix}function": counts(self.functions)}
        for at, (name, values) in enumerate(self._values.items()):
            picked = [values[node] if node >= 0 else self.extra[-1 - node][at] for node in self.order]
            if any(picked):
                form = counts if isinstance(values[0], int) else doubles if name in precise else singles
                columns[prefix + name] = form(picked)
        return columns

    def __len__(self) -> int:
        return len(self.order)
