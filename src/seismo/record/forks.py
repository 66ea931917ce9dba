"""What goes with the threads that a forked child lacks: locks that they hold, blocks that they are inside of."""

from __future__ import annotations

import os
from _thread import RLock, get_ident
from _weakref import ref

from seismo.originals import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

_locks: list[ref[RLock]] = []


def new_lock() -> RLock:
    """A re-entrant lock that a forked child finds free, unless the thread that forked holds it."""
    lock = RLock()
    if (
        len(_locks) & (len(_locks) - 1) == 0
    ):  # now and then; a callback for the dead would run in the middle of programs
        _locks[:] = [known for known in _locks if known() is not None]
    _locks.append(ref(lock))
    return lock


def _after_fork() -> None:
    for known in _locks:
        lock = known()
        if lock is not None and not lock._is_owned():  # type: ignore[attr-defined]
            lock._at_fork_reinit()  # type: ignore[attr-defined]


os.register_at_fork(after_in_child=_after_fork)  # when imported, so before all others of ours


class Inside:
    """How many calls and `with` blocks are inside of something now, by thread. To be changed with a lock held."""

    NOBODY = 0  # stands for the thread of what any thread may leave

    def __init__(self) -> None:
        self._threads: dict[int, int] = {}

    def __int__(self) -> int:
        return sum(self._threads.values())

    def __bool__(self) -> bool:
        return bool(self._threads)

    def enter(self, thread: int | None = None) -> None:
        """One more, of this thread."""
        thread = get_ident() if thread is None else thread
        self._threads[thread] = self._threads.get(thread, 0) + 1

    def leave(self) -> bool:
        """One less: of this thread, or of another if this one has none. True: that was the last there was."""
        if not self._threads:
            return False  # a coroutine's end, in a child that lacks the thread it ran on
        thread = next((known for known in (get_ident(), self.NOBODY) if known in self._threads), None)
        if thread is None:
            thread = next(iter(self._threads))
        self._threads[thread] -= 1
        if not self._threads[thread]:
            del self._threads[thread]
        return not self._threads

    def forked(self) -> bool:
        """In a forked child: those of threads that are not there have left. True: nobody is inside any more."""
        here = (get_ident(), self.NOBODY)
        self._threads = {thread: count for thread, count in self._threads.items() if thread in here}
        return not self._threads
