"""The base of all sessions, which are `with` blocks or decorated functions.

Sessions may nest, overlap and span threads. A session begins when the first call or block enters it, and ends when the
last one leaves it.
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
    """A reusable context manager and decorator. `name` is the function of `seismo` that creates such sessions."""

    name = ""

    def __init__(self) -> None:
        self._lock = fork_handlers.new_lock()
        self._inside = fork_handlers.Inside()  # the calls and with blocks inside it now

    def __enter__(self) -> Self:
        self._enter()
        return self

    def _enter(self, thread: int | None = None) -> None:
        with self._lock:
            if not self._inside:
                _active[id(self)] = self  # registered before the start, because another thread may fork at any time
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
        """Return a wrapper that runs the function inside the session, which is its attribute, such as `profile`."""
        wrapper: Callable[P, R] = engine.quietly(decorated, self, function)
        return wrapper

    # ---- for subclasses; called with the lock held ----

    def _begin(self) -> None:
        """Begin the session when the first call or block enters. If this raises, the session has not begun."""
        raise NotImplementedError

    def _end(self) -> None:
        """End the session after the last call or block has left."""
        raise NotImplementedError

    def _forked(self) -> None:
        """Update the session in a forked child, before the recorders do."""
        if self._inside.forked():
            _active.pop(id(self), None)
            self._gone()

    def _gone(self) -> None:
        """Clean up in a forked child, in which none of the threads inside the session exist."""
        raise NotImplementedError


_active: dict[int, Session] = {}


def _after_fork() -> None:
    for session in list(_active.values()):
        session._forked()


fork_handlers.register(_after_fork, fork_handlers.USERS)
