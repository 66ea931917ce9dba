"""The page of changes between recordings of calls: a flame graph of both sides, and the ranked functions.

The trees of all runs are merged: a path is the same on both sides if its functions are, and functions are matched as in
`seismo diff` (seismo.model.difference). With several runs a side, a path has their mean. The table has the cells that
`seismo diff` prints.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from seismo.model.difference import difference, keys, unsteady
from seismo.model.run_variance import DOUBT, MOST_FREEDOM, student, variance
from seismo.report import words
from seismo.report.calls.page import SMALLER
from seismo.report.calls.paths import Paths, summed
from seismo.report.changes import OF_FUNCTIONS, call_cells, overview, state, time_cells, without_times
from seismo.report.function_names import place
from seismo.report.libraries import of_functions
from seismo.report.page.document import drawn
from seismo.report.page.payload import counts, doubles, shown, shown_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Recording
    from seismo.report.kind import Sides
    from seismo.report.page.payload import Columns

_SIGNS = words.Signs()
_SIDES = ("old", "new")


def changes_page(sides: Sides, files: tuple[list[str], list[str]]) -> str:
    """Return the page as text. files: those of each side."""
    title = " → ".join(", ".join(os.path.basename(file) for file in side[:3]) for side in files)
    old, new = sides
    found = difference(old, new)
    rows = found.rows
    numbers = {row.key: number for number, row in enumerate(rows)}
    tree = _Union(numbers, {number for number, row in enumerate(rows) if row.bound})
    for side, recordings, paces in zip(_SIDES, (old, new), found.paces, strict=True):
        for recording, pace in zip(recordings, paces, strict=True):
            tree.add(recording, side, len(recordings), pace)
    paths, columns = tree.paths(len(rows))
    head: dict[str, object] = {
        "kind": "diff",
        "facts": shown_facts(overview(old, new, found, OF_FUNCTIONS, _SIGNS)),
        "timeless": without_times([*old, *new]),
        "runs": [len(old), len(new)],
        "names": [*(shown(row.key.qualname) for row in rows), SMALLER],
        "modules": [shown(row.key.module) for row in rows],
        "places": [shown(place(row.key.kind, row.key.module, row.key.file, 0)) for row in rows],
        "states": [state(row) for row in rows],
        "calls": [_plain(call_cells(row, _SIGNS)) for row in rows],
        "times": [_plain(time_cells(row, _SIGNS)) for row in rows],
        "leftOut": paths.left_out,
        "paths": len(tree.parents),
    }
    columns["f.kind"] = counts([*(row.key.kind for row in rows), words.SYNTHETIC])
    columns["f.calls_change"] = doubles(row.calls_change for row in rows)
    columns["f.own_change"] = doubles(row.own_change for row in rows)
    columns["f.significant"] = counts([int(row.significant) for row in rows])
    columns["f.bound"] = counts([int(row.bound) for row in rows])
    columns["f.library"] = counts([*_libraries([*old, *new], numbers), 0])
    return drawn(title or "Changes", head, columns)


def _plain(cells: list[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _libraries(recordings: Sequence[Recording], numbers: dict[Any, int]) -> list[int]:
    found = [0] * len(numbers)
    for recording in recordings:
        known = keys(recording)
        for row, library in of_functions(recording).items():
            if library:
                found[numbers[known[row]]] = 1
    return found


class _Union:
    """The merged tree of several recordings, without regard to threads."""

    def __init__(self, numbers: dict[Any, int], bound: set[int]) -> None:
        """Make an empty tree. numbers: of the functions by key. bound: those whose time is their callers'."""
        self._numbers = numbers
        self._bound = bound
        self._known: dict[tuple[int, int], int] = {}
        self.parents: list[int] = []
        self._functions: list[int] = []
        # Calls and own times by side, and the variances of the changes of own and total times.
        self._sums: dict[str, list[float]] = {f"{name}_{side}": [] for name in ("calls", "own") for side in _SIDES}
        self._squares: dict[str, list[float]] = {"own_error": [], "total_error": []}

    def add(self, recording: Recording, side: str, runs: int, pace: float) -> None:
        """Add a recording.

        side: one of _SIDES. runs: how many it has. pace: the recording's duration divided by that of a mean run.
        """
        tree = recording.tree
        functions = keys(recording)
        to: list[int] = []
        times = recording.times
        shaky = [unsteady(functions[row.function], row.calls, row.own_ns, row.wait_ns, times) for row in tree]
        below = [summed(column, tree["parent"]) for column in (tree["ready_ns"], shaky)]
        columns = (shaky, *below, *recording.total_doubts())
        for row, unsure, preempted, total_unsure, square, common in zip(tree, *columns, strict=True):
            number = self._numbers[functions[row.function]]
            above = to[row.parent] if row.parent >= 0 else -1
            folded = number in self._bound and above >= 0
            path = above if folded else self._path(above, number)
            to.append(path)
            self._sums[f"own_{side}"][path] += row.own_ns / pace / runs
            self._squares["own_error"][path] += (
                variance(row.own_ns, row.own_error_ns**2, row.ready_ns, unsure) / runs**2
            )
            if not folded:
                self._sums[f"calls_{side}"][path] += row.calls / runs
                error = min(row.total_error_ns, math.hypot(math.sqrt(square), common))  # as in Recording.total_error()
                total_square = variance(row.total_ns, error**2, preempted, total_unsure)
                self._squares["total_error"][path] += total_square / runs**2

    def _path(self, parent: int, function: int) -> int:
        found = self._known.get((parent, function))
        if found is None:
            found = self._known[parent, function] = len(self.parents)
            self.parents.append(parent)
            self._functions.append(function)
            for column in (*self._sums.values(), *self._squares.values()):
                column.append(0.0)
        return found

    def paths(self, functions: int) -> tuple[Paths, Columns]:
        """Return the paths to put into the page, and their columns. functions: how many there are."""
        wide = student(MOST_FREEDOM, DOUBT / max(1, functions))
        errors = {name: [wide * math.sqrt(square) for square in squares] for name, squares in self._squares.items()}
        weights = [summed(column, self.parents) for column in self._sums.values()]
        threads = [0] * len(self.parents)
        paths = Paths(self.parents, self._functions, threads, self._sums | errors, weights, functions)
        return paths, paths.columns("t.", precise=("calls_old", "calls_new"))
