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
from seismo.report.calls.text import chosen_threads, only_threads
from seismo.report.shown_functions import Modules
from seismo.report.waiting import ELAPSED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model import FunctionRow, Recording, Table

NOT_SHOWN = "functions that were filtered out"


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
        shown = [only_threads(whole, numbers)] if numbers is not None else []
        shown += [f"only functions {'of ' if modules.only else ''}{modules.words()}"] if modules else []
        self.facts = [("shown", "; ".join(shown))] if shown else []
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
