"""The call trees of a recording for writers: depth-first traversal without recursion.

The model stores a tree as columns in which a parent precedes its children. Writers need to enter and leave nodes and to
know the path. So the links to the first child and the next sibling are computed once (two passes, 16 bytes per node),
and walk() follows them. Nothing here is recursive, because a tree may be as deep as it has nodes.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import TYPE_CHECKING

from seismo import progress
from seismo.formats.base import MAX_DEPTH, number
from seismo.formats.function_names import SYNTHETIC, Frame
from seismo.model.recording import BY_CALLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from seismo.model import Recording

NONE = -1
DEEPER = Frame(SYNTHETIC, "", "<deeper>", "", 0)
_APART = 10_000_000  # larger than any pid of Linux


class CallTrees:
    """The trees of a recording, one per thread. Its columns have rows of tables by row of `recording.tree`."""

    def __init__(self, recording: Recording) -> None:
        tree = recording.tree
        self.recording = recording
        self.count = len(tree)
        self.threads = len(recording.threads)
        self.parent: Sequence[int] = tree["parent"]  # a row or NONE; ids are rows, because they are dense
        self.thread: Sequence[int] = tree["thread"]
        self.function: Sequence[int] = tree["function"]
        self._first_root = array("q", [NONE]) * self.threads
        self._first_child = array("q", [NONE]) * self.count
        self._next = array("q", [NONE]) * self.count
        self._entered = 0  # by all walks, for progress
        for row in range(self.count - 1, -1, -1):  # backwards, so that siblings keep the order of the rows
            above = self.parent[row]
            firsts, place = (self._first_child, above) if above >= 0 else (self._first_root, self.thread[row])
            self._next[row] = firsts[place]
            firsts[place] = row

    def walk(self, thread: int) -> Iterator[int]:
        """Yield the nodes of a thread (its row) depth first: `row` on entry and `~row` on exit."""
        first, after, parent = self._first_child, self._next, self.parent
        row = self._first_root[thread]
        while row >= 0:
            self._entered += 1
            if not self._entered % progress.STEP:
                progress.report("writing call paths", self._entered, self.count)
            yield row
            below = first[row]
            if below >= 0:
                row = below
                continue
            while row >= 0:
                yield ~row
                if after[row] >= 0:
                    row = after[row]
                    break
                row = parent[row]

    def steps(self, thread: int) -> Iterator[tuple[int, int]]:
        """Yield (time, row) at a node's start and (time, ~row) at its end, after its own time (ns)."""
        own = self.recording.tree["own_ns"]
        now = 0
        for step in self.walk(thread):
            now += number(own[~step]) if step < 0 else 0
            yield now, step

    @cached_property
    def nested_calls(self) -> list[int]:
        """Return the calls of each node and of all nodes below it."""
        return list(map(int, self.recording.timed(BY_CALLS).tree["total_ns"]))

    def busy_threads(self) -> list[int]:
        """Return the rows of the threads that have nodes."""
        return [thread for thread in range(self.threads) if self._first_root[thread] >= 0]


def bounded_paths(
    forest: CallTrees, thread: int, values: Callable[[int], Sequence[int]]
) -> Iterator[tuple[list[int], Sequence[int]]]:
    """Yield the paths of a thread with the values of their nodes, for formats that write whole paths.

    A path has the rows of its functions, outermost first, and is valid until the next one. `values` returns those of a
    row of the tree. A chain of n calls has paths of n²/2 functions in all: ten thousand levels would be half a
    gigabyte. So all levels beyond MAX_DEPTH are merged under DEEPER, whose row is after the last, at the end of the
    first MAX_DEPTH functions: each function keeps its sums.
    """
    function, deeper_row = forest.function, len(forest.recording.functions)
    path: list[int] = []
    depth = 0
    deeper: dict[int, Sequence[int]] = {}
    for step in forest.walk(thread):
        if step >= 0:
            depth += 1
            called, found = function[step], values(step)
            if depth <= MAX_DEPTH:
                path.append(called)
                yield path, found
            else:
                deeper[called] = [a + b for a, b in zip(found, deeper.get(called, [0] * len(found)), strict=True)]
            continue
        if depth == MAX_DEPTH and deeper:
            for called, found in deeper.items():
                yield [*path, deeper_row, called], found
            deeper.clear()
        if depth <= MAX_DEPTH:
            path.pop()
        depth -= 1


def frames(recording: Recording) -> list[Frame]:
    """Return the functions of a recording, by row."""
    table = recording.functions
    columns = (table["kind"], table["module"], table["qualname"], table["file"], table["line"])
    return [Frame(*row) for row in zip(*columns, strict=True)]


def thread_names(recording: Recording) -> list[str]:
    """Return a distinct name of each thread, by row: `NAME`, with ids of thread and process if there are several."""
    several, processes = len(set(pids(recording))) > 1, process_names(recording)
    names = []
    for row in recording.threads:
        text = row.name or "thread"
        if len(recording.threads) > 1:
            text = f"{text} {row.native_id}"
        names.append(f"{text} in {processes[row.process]}" if several else text)
    return names


def process_names(recording: Recording) -> list[str]:
    """Return the name of each process, by row: `process PID`, with its host if there are several."""
    several = len({*recording.processes["host"]} - {""}) > 1
    hosts = (f" on {row.host}" if several and row.host else "" for row in recording.processes)
    return [f"process {pid}{host}" for pid, host in zip(recording.processes["pid"], hosts, strict=True)]


def pids(recording: Recording) -> list[int]:
    """Return a process id per thread, by row, with substitutes for pids that occur on several systems."""
    systems: dict[int, dict[tuple[str, str], int]] = {}  # the systems of each pid
    numbers = []
    for row in recording.processes:
        same = systems.setdefault(row.pid, {})
        numbers.append(row.pid + _APART * same.setdefault((row.host, row.boot), len(same)))
    return [numbers[process] for process in recording.threads["process"]]


def program(recording: Recording, process: int = 0) -> str:
    """Return the command line of the first process, or of another row, or "" if it is unknown."""
    rows = recording.processes
    return " ".join(rows[process].words) if process < len(rows) else ""
