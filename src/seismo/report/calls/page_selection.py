"""The selection for a page of calls: some threads, some functions.

A function that is left out has no name and no frame in the page: its callees are below its own caller, as in the
report's tree. Its own time is still in its caller's total. To keep every sum over the tree, that time is in a path of
the function "not shown", one below each caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.report import words
from seismo.report.calls.text import chosen_threads, thread_names
from seismo.report.shown_functions import Modules
from seismo.report.waiting import ELAPSED

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from seismo.model import FunctionRow, NodeRow, Recording, Table

NOT_SHOWN = "functions that were filtered out"
TREE = ("calls", "exceptions", "own", "own_error", "wait", "wait_error")  # of a path itself, not of all below it


class Chosen:
    """The selected part of a recording.

    recording: with the chosen threads only. threads: their numbers in the whole. hidden: the functions that are left
    out. kept: the others, in order.
    """

    def __init__(
        self, whole: Recording, times: str = ELAPSED, modules: Modules | None = None, threads: Sequence[str] = ()
    ) -> None:
        """Select. threads: names, globs or ids, or none for all. Raises UsageError if there is no such thread."""
        modules = modules or Modules()
        numbers = sorted(chosen_threads(whole, threads)) if threads else None
        self.recording = whole if numbers is None else whole.restricted(numbers)
        self.threads: Sequence[int] = range(len(whole.threads)) if numbers is None else numbers
        functions: Table[FunctionRow] = self.recording.timed(times).functions
        self.hidden = modules.left_out(functions) if modules else set()
        if numbers is not None:  # they may have called only some functions
            self.hidden |= set(range(len(functions))) - set(self.recording.tree["function"])
        self.kept = [row for row in range(len(functions)) if row not in self.hidden]
        self.all = numbers is None and not modules
        self.facts = [("shown", _told(whole, numbers, modules))] if not self.all else []

    def pick(self, column: Sequence[Any]) -> list[Any]:
        """Return a column's values of the functions that are shown."""
        return [column[row] for row in self.kept]

    def numbers(self) -> dict[int, int]:
        """Return the functions' numbers in the page, followed by two that stand for others: smaller and hidden."""
        size = len(self.kept) + len(self.hidden)
        return {row: number for number, row in enumerate([*self.kept, size, size + 1])}


def _told(recording: Recording, threads: list[int] | None, modules: Modules) -> str:
    only = []
    if threads is not None:
        only.append(f"only {words.number_of(len(threads), 'thread')}: {thread_names(recording, threads)}")
    if modules:
        only.append(f"only functions {'of ' if modules.only else ''}{modules.words()}")
    return "; ".join(only)


def without(
    hidden: Collection[int], other: int, tree: Table[NodeRow], values: Mapping[str, list[Any]]
) -> tuple[list[int], list[int], list[int], dict[str, list[Any]]]:
    """Return parents, functions, threads and values of the paths without the hidden functions.

    other: the function that stands for them. values: as seismo.report.calls.paths has them.
    """
    parents: list[int] = []
    functions: list[int] = []
    threads: list[int] = []
    kept: dict[str, list[Any]] = {name: [] for name in values}
    to: list[int] = []  # for each node its path, or its caller's path if it is left out
    rest: dict[tuple[int, int], int] = {}  # the path that stands for what is left out, by caller and thread
    rows = zip(tree["parent"], tree["function"], tree["thread"], strict=True)
    for node, (parent, function, thread) in enumerate(rows):
        above = to[parent] if parent >= 0 else -1
        left_out = function in hidden
        path = rest.get((above, thread)) if left_out else None
        if path is None:
            path = len(parents)
            parents.append(above)
            functions.append(other if left_out else function)
            threads.append(thread)
            for name, column in kept.items():
                column.append(values[name][node] * 0 if left_out else values[name][node])
            if left_out:
                rest[above, thread] = path
        if left_out:
            for name in TREE:
                kept[name][path] += values[name][node]
            kept["total_error"][path] += values["own_error"][node]
            kept["common"][path] = COMMON  # errors of different functions are added up here
        to.append(above if left_out else path)
    return parents, functions, threads, kept


COMMON = 255  # all of a path's error is shared with others: see Paths.of
