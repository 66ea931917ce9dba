"""Handlers for forked children, which lack the threads that held locks or were inside `with` blocks.

The interpreter calls _after_fork() in the child. This function frees the locks, and then calls the registered hooks in
the order of USERS, RECORDERS, LAST.
"""

from __future__ import annotations

import os
from _thread import RLock, get_ident
from _weakref import ref

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_locks: list[ref[RLock]] = []

# Sessions come first: a session leaves its recorder if none of its threads exist in the child. Then each recorder
# continues or stops. Code that begins a recording in the child comes last.
USERS, RECORDERS, LAST = range(3)
_hooks: tuple[list[Callable[[], None]], ...] = ([], [], [])


def register(hook: Callable[[], None], when: int) -> None:
    """Register a hook to call in each forked child."""
    _hooks[when].append(hook)


def new_lock() -> RLock:
    """Return a re-entrant lock that is free in a forked child, unless the forking thread holds it."""
    lock = RLock()
    # At powers of two; weakref callbacks would run in the middle of the program.
    if len(_locks) & (len(_locks) - 1) == 0:
        _locks[:] = [known for known in _locks if known() is not None]
    _locks.append(ref(lock))
    return lock


def _after_fork() -> None:
    for known in _locks:
        lock = known()
        if lock is not None and not lock._is_owned():  # type: ignore[attr-defined]
            lock._at_fork_reinit()  # type: ignore[attr-defined]
    failure: BaseException | None = None
    for hook in [hook for hooks in _hooks for hook in hooks]:
        try:
            hook()
        except BaseException as error:  # noqa: BLE001  the other hooks must run, too, before the error is raised
            failure = failure or error
    if failure is not None:
        raise failure


os.register_at_fork(after_in_child=_after_fork)  # registration cannot be undone, so each hook checks if it is needed


class Inside:
    """The number of active calls and `with` blocks, by thread. A lock must be held to change it."""

    NOBODY = 0  # the stand-in for a thread's id in blocks that any thread may leave

    def __init__(self) -> None:
        self._threads: dict[int, int] = {}

    def __int__(self) -> int:
        return sum(self._threads.values())

    def __bool__(self) -> bool:
        return bool(self._threads)

    def enter(self, thread: int | None = None) -> None:
        """Count one more for this thread."""
        thread = get_ident() if thread is None else thread
        self._threads[thread] = self._threads.get(thread, 0) + 1

    def leave(self) -> bool:
        """Count one less for this thread, or for another one if it has none. Return True if none are left."""
        if not self._threads:
            return False  # a coroutine ends in a forked child that lacks the thread in which it began
        thread = next(known for known in (get_ident(), self.NOBODY, *self._threads) if known in self._threads)
        self._threads[thread] -= 1
        if not self._threads[thread]:
            del self._threads[thread]
        return not self._threads

    def forked(self) -> bool:
        """Remove the counts of threads that a forked child lacks. Return True if none are left."""
        here = (get_ident(), self.NOBODY)
        self._threads = {thread: count for thread, count in self._threads.items() if thread in here}
        return not self._threads
