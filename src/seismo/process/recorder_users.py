"""The users of a recorder: the first one starts it, others join, and the last one stops it."""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import fork_handlers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class RecorderUsers:
    """The users of one recorder.

    settings: those of the current or the last recording. forked_hook: called in a forked child with users, instead of
    `after_fork`.
    """

    def __init__(self, after_fork: Callable[[int], None]) -> None:
        """Register a fork handler. after_fork: called in a forked child with -1 (continue in memory) or -2 (stop)."""
        # The lock guards _all. It is re-entrant, because a signal handler may open a session while it is held.
        self._lock = fork_handlers.new_lock()
        self._all: list[object] = []  # sessions; None stands for the recording of the whole process
        self._changing = False  # True while a thread starts or stops the recorder, or did so when this child was forked
        self._after_fork = after_fork
        self.settings: dict[str, object] = {}
        self.forked_hook: Callable[[], None] | None = None
        fork_handlers.register(self._forked, fork_handlers.RECORDERS)

    def __bool__(self) -> bool:
        return bool(self._all)

    def start(
        self,
        user: object,
        settings: dict[str, object],
        begin: Callable[[], None],
        agree: Callable[[dict[str, object]], None],
    ) -> bool:
        """Add a user and return True if that began the recorder; agree() raises if a running one differs."""
        with self._lock:
            if self._all:
                agree(settings)
                self._all.append(user)
                return False
            self._changing = True
            try:
                begin()
                self.settings = settings
                self._all.append(user)
            finally:
                self._changing = False
            return True

    def stop(self, user: object, end: Callable[[], None]) -> bool:
        """Remove a user and return True if it was the last. end: stops the recorder."""
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
        """Remove a session whose threads are all missing in this forked child, before the recorder's own handler."""
        if user in self._all:
            self._all.remove(user)
            self._changing = True  # if this session was the last user, _forked() stops the recorder

    def clear(self) -> None:
        """Remove all users."""
        self._all.clear()

    def end_sessions(self) -> None:
        """Remove the sessions that have not ended, when the recording of the whole process ends."""
        self._all[:] = [None] * bool(self._all)

    def _forked(self) -> None:
        ours, self._changing = bool(self._all) or self._changing, False
        if self._all and self.forked_hook is not None:
            self.forked_hook()
        elif ours:
            # The threads that used, started or stopped the recorder do not exist in this child.
            self._after_fork(-1 if self._all else -2)
