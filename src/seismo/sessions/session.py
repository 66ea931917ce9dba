"""What all sessions are: a block, or a function whenever it runs, on one thread or many; they may nest and overlap.

A session begins when the first call or block enters it, and ends when the last one leaves it. What begins and ends is
for its kind to say: `recorded` has the sessions that make a recording, `watch` the one that tells what matches.
"""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine, fork_handlers
from seismo.sessions.decorator import decorated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import ParamSpec, Self, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")


class Session:
    """A context manager, a decorator, or both. It may be used again.

    name: the function of `seismo` that makes such sessions.
    """

    name = ""

    def __init__(self) -> None:
        self._lock = fork_handlers.new_lock()
        self._inside = fork_handlers.Inside()

    @property
    def _depth(self) -> int:
        """How many calls or with blocks are inside of it now."""
        return int(self._inside)

    def __enter__(self) -> Self:
        self._enter()
        return self

    def _enter(self, thread: int | None = None) -> None:
        with self._lock:
            if not self._inside:
                _active[id(self)] = self  # before it uses anything: a fork on another thread may come at any time
                try:
                    self._begin()
                except BaseException:
                    _active.pop(id(self), None)
                    raise
            self._inside.enter(thread)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._lock:
            if self._inside.leave():
                try:
                    self._end()
                finally:
                    _active.pop(id(self), None)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, in the session whenever it runs; its attribute of the session's name is this session."""
        wrapper: Callable[P, R] = engine.quietly(decorated, self, function)
        return wrapper

    # ---- what the kinds of sessions do, with the lock held ----

    def _begin(self) -> None:
        """The first has entered. What this raises ends the session again, which has then not begun."""
        raise NotImplementedError

    def _end(self) -> None:
        """The last has left."""
        raise NotImplementedError

    def _forked(self) -> None:
        """In a forked child, before any recorder knows of the fork."""
        if self._inside.forked():
            _active.pop(id(self), None)
            self._gone()

    def _gone(self) -> None:
        """In a forked child: only threads that are not there were inside of it."""
        raise NotImplementedError


# The sessions that run now, by id().
_active: dict[int, Session] = {}


def _after_fork() -> None:
    for session in list(_active.values()):
        session._forked()


fork_handlers.register(_after_fork, fork_handlers.USERS)
