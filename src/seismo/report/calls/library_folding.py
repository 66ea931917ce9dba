"""Which frames of a call tree are libraries', and whether the tree folds them.

A web request runs through a hundred frames of servers and frameworks before it comes to a line that the reader wrote.
So a *fold* is one line of the tree that stands for a frame of a library and all of libraries below it, as far as the
program's own code, which is called back from it and stands below the fold.

Whose a frame is: a Python function's file tells (seismo.report.libraries). A C function and the import machinery belong
to whoever calls them, so that `sorted` in the program's own code stays in sight, and is no more than a part of a
library where a library sorts.

Nothing is folded where that would hide what the recording is about, which is when less than a tenth of the time would
be left to see: because one library's function took the rest, or because hardly any of it was under the program's own
code. Time in which a thread waits is no part of this, since a server waits most of the time. A program that is
installed itself (`-m black`) has no code of its own here, so that nothing of it is folded either.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from seismo.report import words as text
from seismo.report.libraries import of_functions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from seismo.model import FunctionRow, Recording, Table

LEFT_AT_LEAST = 0.1  # of the time, in the program's own code and in what is not folded together with the largest fold

# C functions in which a thread does nothing.
WAITING = {
    "select": {"select", "poll.poll", "epoll.poll", "devpoll.poll", "kqueue.control"},
    "_thread": {"lock.acquire", "lock.__enter__", "RLock.acquire", "RLock.__enter__", "_ThreadHandle.join"},
    "_queue": {"SimpleQueue.get"},
    "_socket": {"socket.accept", "socket._accept", "socket.recv", "socket.recv_into", "socket.connect"},
    "_ssl": {"_SSLSocket.read"},
    "_multiprocessing": {"SemLock.acquire", "SemLock.__enter__"},
    "posix": {"wait", "wait3", "wait4", "waitid", "waitpid"},
    "time": {"sleep"},
    "signal": {"pause", "sigwait", "sigwaitinfo", "sigtimedwait"},
    "_signal": {"pause", "sigwait", "sigwaitinfo", "sigtimedwait"},
}

_OWN, _LIBRARY, _CALLERS = 0, 1, 2  # whose a function is
# Where a node is: in own code, in a library that own code called, above both, in a library that no own code called. For
# each of the three whose a function is: where a node of it is, by where its parent is. Libraries are odd.
OWN, CALLED, TOP, BARE = 0, 1, 2, 3
_STEPS = (bytes((OWN, OWN, OWN, OWN)), bytes((CALLED, CALLED, BARE, BARE)), bytes((OWN, CALLED, TOP, BARE)))


def waiting_functions(functions: Table[FunctionRow]) -> set[int]:
    """The rows of C functions in which a thread waits."""
    modules, names = functions["module"], functions["qualname"]
    return {
        row
        for row, kind in enumerate(functions["kind"])
        if kind == text.C and names[row] in WAITING.get(modules[row], ())
    }


class Folds:
    """What of a recording's tree is folded. `any`: whether anything is. `inside`: for each node, true in a library.

    `whose`: for each function 0, the program's own; 1, a library's; 2, of whoever calls it.
    """

    def __init__(self, recording: Recording, machinery: Collection[int]) -> None:
        """machinery: functions that belong to whoever calls them, like C functions."""
        self._modules: Sequence[str] = recording.functions["module"]
        self._kinds: Sequence[int] = recording.functions["kind"]
        self._tree = recording.tree
        self._machinery = machinery
        self.inside = bytearray()
        self.whose = self._whose(recording)
        there = _LIBRARY in self.whose and _OWN in self.whose
        self.any = there and self._leaves_enough(recording, self.whose)

    def _whose(self, recording: Recording) -> bytes:
        """Whose each function is."""
        python = [row for row, kind in enumerate(self._kinds) if kind == text.PYTHON and row not in self._machinery]
        whose = bytearray((_CALLERS,)) * len(self._kinds)
        for row, library in of_functions(recording, python, installed=False).items():
            whose[row] = _LIBRARY if library else _OWN
        return bytes(whose)

    def _leaves_enough(self, recording: Recording, whose: bytes) -> bool:
        """Finds out where each node is (`inside`); then whether folding leaves something to see."""
        tree = self._tree
        waiting = waiting_functions(recording.functions)
        steps = [_STEPS[side] for side in whose]
        place = bytearray((TOP,)) * (len(tree) + 1)  # the last one is above the roots, whose parent is -1
        entry = array("q", bytes(8 * len(tree)))  # the function by which a library was entered
        folded: dict[int, float] = {}  # own time in folds by entry
        bare = 0.0
        rows = zip(tree["parent"], tree["function"], tree["own_ns"], strict=True)
        for node, (parent, function, own) in enumerate(rows):
            above = place[parent]
            here = place[node] = steps[function][above]
            if here & 1:
                entered = entry[node] = entry[parent] if above & 1 else function
                if function not in waiting:
                    folded[entered] = folded.get(entered, 0.0) + own
                    if here == BARE:
                        bare += own
        self.inside = place.translate(bytes(place & 1 for place in range(256)))
        own_ns = recording.functions["own_ns"]
        busy = sum(own_ns) - sum(own_ns[row] for row in waiting)
        return bool(max([bare, *folded.values()]) <= (1 - LEFT_AT_LEAST) * busy)

    def libraries(self, nodes: Iterable[int]) -> list[str]:
        """The libraries that these nodes belong to, as packages, the outermost first."""
        functions, totals = self._tree["function"], self._tree["total_ns"]
        largest: dict[int, float] = {}
        for node in nodes:
            function = functions[node]
            if totals[node] > largest.get(function, -1.0):
                largest[function] = totals[node]
        found: dict[str, float] = {}
        for function, total in largest.items():
            if self._kinds[function] == text.PYTHON and function not in self._machinery:
                package = self._modules[function].partition(".")[0] or "?"
                found[package] = max(total, found.get(package, 0.0))
        return sorted(found, key=lambda package: -found[package])
