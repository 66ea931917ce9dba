"""The choice of the library frames of a call tree to fold.

A web request passes a hundred frames of servers and frameworks before it reaches the reader's code. A *fold* is one
line of the tree for a frame of a library and all library frames below it. The program's own code that the library calls
back is shown below the fold.

A Python function belongs to the owner of its file (seismo.report.libraries). C functions and the import system belong
to their callers, so that `sorted` in the program's own code stays visible, and is a part of the library if a library
calls it. Functions that Cython or mypyc compiled are the program's own if other modules of their package are.

Nothing is folded if that would hide the subject of the recording: less than a tenth of the time would stay visible.
Either one library's function took the rest, or hardly any time was under the program's own code. Waiting does not count
here, since a server waits most of the time.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from seismo.report import words as text
from seismo.report.function_names import is_compiled
from seismo.report.libraries import of_functions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from seismo.model import FunctionRow, Recording, Table

LEFT_AT_LEAST = 0.1  # share of the time in own code and outside of the largest fold

# C functions in which a thread only waits.
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

_OWN, _LIBRARY, _CALLERS = 0, 1, 2  # the owner of a function
# The position of a node: in own code, in a library called by own code, above both, or in a library that no own code
# called. _STEPS has for each owner of a function the position of its node by that of the parent. Positions in libraries
# are odd numbers.
OWN, CALLED, TOP, BARE = 0, 1, 2, 3
_STEPS = (bytes((OWN, OWN, OWN, OWN)), bytes((CALLED, CALLED, BARE, BARE)), bytes((OWN, CALLED, TOP, BARE)))


def _package(module: str, file: str) -> str:
    """Return the top-level package of a function; `python -m package` runs its file as `__main__`."""
    parts = file.replace("\\", "/").split("/")
    return parts[-2] if parts[-1] == "__main__.py" and len(parts) > 1 else module.partition(".")[0]


def waiting_functions(functions: Table[FunctionRow]) -> set[int]:
    """Return the rows of C functions in which a thread waits."""
    modules, names = functions["module"], functions["qualname"]
    return {
        row
        for row, kind in enumerate(functions["kind"])
        if kind == text.C and names[row] in WAITING.get(modules[row], ())
    }


class Folds:
    """The folding of a recording's tree. `any`: true if there are folds. `inside`: for each node, true in a library.

    `whose`: for each function 0 if it is the program's own, 1 if a library's, 2 if it belongs to its caller.
    """

    def __init__(self, recording: Recording, machinery: Collection[int]) -> None:
        """Classify the functions and nodes. machinery: functions that belong to their callers, as C functions do."""
        self._modules: Sequence[str] = recording.functions["module"]
        self._kinds: Sequence[int] = recording.functions["kind"]
        self._tree = recording.tree
        self._machinery = machinery
        self.inside = bytearray()
        self.whose = self._whose(recording)
        there = _LIBRARY in self.whose and _OWN in self.whose
        self.any = there and self._leaves_enough(recording)

    def _whose(self, recording: Recording) -> bytes:
        python = [row for row, kind in enumerate(self._kinds) if kind == text.PYTHON and row not in self._machinery]
        whose = bytearray((_CALLERS,)) * len(self._kinds)
        for row, library in of_functions(recording, python).items():
            whose[row] = _LIBRARY if library else _OWN
        files = recording.functions["file"]
        own = {_package(self._modules[row], files[row]) for row in python if whose[row] == _OWN}
        for row, (kind, module) in enumerate(zip(self._kinds, self._modules, strict=True)):
            if is_compiled(kind, module) and module.partition(".")[0] in own:
                whose[row] = _OWN
        return bytes(whose)

    def _leaves_enough(self, recording: Recording) -> bool:
        """Set `inside` for each node, and return True if folding leaves enough to see."""
        tree = self._tree
        waiting = waiting_functions(recording.functions)
        steps = [_STEPS[side] for side in self.whose]
        place = bytearray((TOP,)) * (len(tree) + 1)  # the last one is above the roots, whose parent is -1
        entry = array("q", bytes(8 * len(tree)))  # the function by which a library was entered
        folded: dict[int, float] = {}  # own time in folds, by entry
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
        """Return the top-level packages of these nodes, the one with the largest total first."""
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
