"""Who uses a recorder of this process: sessions, and the one who records all of it.

The first one starts it, others join, and the last one stops it.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import fork_handlers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class RecorderUsers:
    """Those of one recorder. forked_hook: called in a forked child that has users, instead of `after_fork`."""

    def __init__(self, after_fork: Callable[[int], None]) -> None:
        """after_fork: called in a forked child with -1, to go on in memory, or with -2, to stop."""
        # Held while users come and go; re-entrant because a signal handler may open a session in the middle.
        self._lock = fork_handlers.new_lock()
        self._all: list[object] = []  # sessions, or None for who records the whole process
        self._changing = False  # a thread is about to start or to stop the recorder, or was when this child was forked
        self._after_fork = after_fork
        self.forked_hook: Callable[[], None] | None = None
        fork_handlers.register(self._forked, fork_handlers.RECORDERS)

    def __bool__(self) -> bool:
        return bool(self._all)

    def start(self, user: object, begin: Callable[[], None], agree: Callable[[], None]) -> bool:
        """One user more. begin: starts the recorder; agree: raises where the running one will not do. True: started."""
        with self._lock:
            if self._all:
                agree()
                self._all.append(user)
                return False
            self._changing = True
            try:
                begin()
                self._all.append(user)
            finally:
                self._changing = False
            return True

    def stop(self, user: object, end: Callable[[], None]) -> bool:
        """One user less. end: stops the recorder. True: it was the last."""
        with self._lock:
            if user not in self._all:
                return False
            self._changing = len(self._all) == 1
            try:
                self._all.remove(user)
                if self._all:
                    return False
                end()
            finally:
                self._changing = False
            return True

    def gone(self, user: object) -> None:
        """In a forked child, before the recorder knows: a session leaves that only threads used which are not there."""
        if user in self._all:
            self._all.remove(user)
            self._changing = True  # if it was the last, the recorder is to be stopped

    def clear(self) -> None:
        """All have left."""
        self._all.clear()

    def end_sessions(self) -> None:
        """Sessions that have not ended, end with who records the whole process."""
        self._all[:] = [None] * bool(self._all)

    def _forked(self) -> None:
        ours, self._changing = bool(self._all) or self._changing, False
        if self._all and self.forked_hook is not None:
            self.forked_hook()
        elif ours:
            # Nobody any more: who uses, starts or stops it is a thread that is not here.
            self._after_fork(-1 if self._all else -2)
