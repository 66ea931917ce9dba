"""The selection for a page of calls: some threads, some functions.

A function that is left out has no frame: its callees are below its caller, as in the report's tree. Its own time is
still in its caller's total, and all sums over the tree stay the same. For this, each caller of such functions has one
path with their own time. That path belongs to a stand-in: "filtered out", or the import system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.model.idle_threads import without_idle
from seismo.report import words
from seismo.report.calls.imports import ImportSystem, import_system, with_imports_as_one
from seismo.report.calls.text import chosen_threads, thread_names
from seismo.report.shown_functions import Modules
from seismo.report.waiting import ELAPSED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from seismo.model import FunctionRow, NodeRow, Recording, Table

NOT_SHOWN = "functions that were filtered out"
TREE = ("calls", "exceptions", "own", "own_error", "wait", "wait_error")  # of a path itself, not of all below it


class Chosen:
    """The selected part of a recording.

    times: the kind of time that is shown first. recording: what is left of the whole, with the chosen threads only,
    without idle waits. threads: their numbers in the whole. hidden: the functions that are left out. kept: the others,
    in order. system: the import system, if one function stands for it.
    """

    def __init__(
        self,
        whole: Recording,
        times: str = ELAPSED,
        modules: Modules | None = None,
        threads: Sequence[str] = (),
        imports: bool = False,
    ) -> None:
        """Select. threads: names, globs or ids, or none for all. Raises UsageError if there is no such thread."""
        modules, self.times = modules or Modules(), times
        numbers = sorted(chosen_threads(whole, threads)) if threads else None
        self.recording, idle = without_idle(whole if numbers is None else whole.restricted(numbers))
        self.threads: Sequence[int] = range(len(whole.threads)) if numbers is None else numbers
        functions: Table[FunctionRow] = self.recording.timed(times).functions
        self.hidden = modules.left_out(functions) if modules else set()
        if numbers is not None:  # they may have called only some functions
            self.hidden |= set(range(len(functions))) - set(self.recording.tree["function"])
        self.kept = [row for row in range(len(functions)) if row not in self.hidden]
        words_ = _selection_words(whole, numbers, modules)
        self.facts = [("shown", words_)] if words_ else []
        if idle.threads:
            waited = f"waited for work for {words.duration(idle.ns, words.Signs())}, which no number here includes"
            self.facts.append(("idle", f"{words.number_of(idle.threads, 'thread')} {waited}"))
        # What a filter chose is shown as it is, as in the report's tree.
        self.system = ImportSystem() if imports or modules else import_system(self.recording)
        self._one = min(self.system.functions, default=-1)  # the row that has the sums of the system

    def pick(self, column: Sequence[Any]) -> list[Any]:
        """Return a column's values of the functions that are shown."""
        return [column[row] for row in self.kept]

    def sums(self, times: str) -> Callable[[str], list[Any]]:
        """Return a function that gives a column of what is shown, with the import system at the end if it is one."""
        functions = self.recording.timed(times).functions
        table = with_imports_as_one(self.recording.timed(times)) if self.system.functions else functions

        def column(name: str) -> list[Any]:
            values = table[name]
            found = [0 if row == self._one else values[row] for row in self.kept]
            return [*found, values[self._one]] if self.system.functions else found

        return column

    def numbers(self) -> dict[int, int]:
        """Return the functions' numbers in the page, including those that stand for others.

        After the last row of the recording are smaller paths, what was filtered out, and the import system. In the page
        the import system comes first, since it is a row of the table.
        """
        size = len(self.kept) + len(self.hidden)
        others = [*([size + 2] if self.system.functions else []), size, size + 1]
        return {row: number for number, row in enumerate([*self.kept, *others])}

    def left_out(self) -> list[int]:
        """Return for each node of the tree the function that stands for it, or -1; nothing if no node is left out."""
        if not self.hidden and not self.system.functions:
            return []
        size = len(self.kept) + len(self.hidden)
        functions, parents = self.recording.tree["function"], self.recording.tree["parent"]

        def stand_in(function: int, parent: int) -> int:
            if function in self.hidden:
                return size + 1
            return size + 2 if self.system.has(function, functions[parent] if parent >= 0 else -1) else -1

        return [stand_in(*row) for row in zip(functions, parents, strict=True)]


def _selection_words(recording: Recording, threads: list[int] | None, modules: Modules) -> str:
    only = []
    if threads is not None:
        only.append(f"only {words.number_of(len(threads), 'thread')}: {thread_names(recording, threads)}")
    if modules:
        only.append(f"only functions {'of ' if modules.only else ''}{modules.words()}")
    return "; ".join(only)


def without(
    left_out: Sequence[int], tree: Table[NodeRow], values: Mapping[str, list[Any]]
) -> tuple[list[int], list[int], list[int], dict[str, list[Any]]]:
    """Return parents, functions, threads and values of the paths without the hidden functions.

    left_out: for each node the function that stands for it, or -1. values: as seismo.report.calls.paths has them.
    """
    parents: list[int] = []
    functions: list[int] = []
    threads: list[int] = []
    kept: dict[str, list[Any]] = {name: [] for name in values}
    to: list[int] = []  # for each node its path; of one that is left out that of its caller
    rest: dict[tuple[int, int, int], int] = {}  # the path of what is left out, by caller, thread and stand-in
    rows = zip(tree["parent"], tree["function"], tree["thread"], left_out, strict=True)
    for node, (parent, function, thread, other) in enumerate(rows):
        above = to[parent] if parent >= 0 else -1
        path = rest.get((above, thread, other)) if other >= 0 else None
        if path is None:
            path = len(parents)
            parents.append(above)
            functions.append(other if other >= 0 else function)
            threads.append(thread)
            for name, column in kept.items():
                column.append(values[name][node] * 0 if other >= 0 else values[name][node])
            if other >= 0:
                rest[above, thread, other] = path
        if other >= 0:
            for name in TREE:
                kept[name][path] += values[name][node]
            kept["total_error"][path] += values["own_error"][node]
            kept["common"][path] = COMMON  # errors of different functions are added up here
        to.append(above if other >= 0 else path)
    return parents, functions, threads, kept


COMMON = 255  # all of a path's error is shared with others: see Paths.of
