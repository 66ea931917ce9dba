"""Recording a part of a program from inside: `with seismo.profile()`, `@seismo.profile`, `start()` and `stop()`.

There is one engine in a process, and it records all threads. So a session is not an engine of its own: it is the
difference between what the engine had when the session began and what it has when it ends. The first session to begin
starts the engine, the last to end stops it; under `seismo profile` it runs already. Sessions may nest and overlap, on
one thread or several; each sees what every thread did meanwhile. seismo's own frames are in no recording.
"""

from __future__ import annotations

import os

from seismo.errors import RecordingError
from seismo.originals import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.record import engine, forks
from seismo.record.output import Output, beside
from seismo.sessions.functions import decorated
from seismo.sessions.results import Results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import ParamSpec, Self, TypeVar

    from seismo import _core
    from seismo.model import Recording

    P = ParamSpec("P")
    R = TypeVar("R")
else:
    from seismo import _core

# How many finished stretches a session that is entered again and again keeps as they are before it adds them up: their
# images are small, and adding up costs a pass over all of them.
_STRETCHES = 32


class Session(Results):
    """A context manager, a decorator, or both. It may be used again; its recording then adds up.

    recording: what it recorded, while it runs what it has so far; of several uses the sum, as one thread. output: the
    file written at each end, or None. name: the function of `seismo` that makes such sessions.
    """

    name = ""

    def __init__(self, output: str | os.PathLike[str] | None, settings: dict[str, object]) -> None:
        self.output = None if output is None else os.path.abspath(os.fspath(output))
        self._settings = settings
        self._lock = forks.new_lock()
        self._inside = forks.Inside()
        self._pid = os.getpid()
        self._before: bytes | None = None  # the engine's state at the beginning; None: it had nothing
        self._file: Output | None = None  # the engine writes into it
        self._stretches: list[tuple[bytes | None, bytes]] = []  # not added up yet
        self._sum: Recording | None = None
        self._apart = False

    def apart(self) -> Self:
        """Leaves out the threads that run already when it begins, but for the one that begins it. Returns itself."""
        self._apart = True
        return self

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
                self._begin()
            self._inside.enter(thread)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._lock:
            if self._inside.leave():
                self._end()

    def _begin(self) -> None:
        file = None
        if self.output is not None:
            self._sum, self._stretches = None, []  # the file holds what this use records, and so does the recording
            file = Output(self.output)
        _active[id(self)] = self  # before it uses the engine: a fork on another thread may come at any time
        if _after_fork not in engine.in_child:
            engine.in_child.append(_after_fork)
        try:
            settings: dict[str, object] = {**self._settings, "recorder": self.recorder, "apart": int(self._apart)}
            meta = engine.meta(self._settings, self.recorder)
            started = engine.start(settings, -1 if file is None else file.fd, meta, user=self)
            self._before = None if started else _core.snapshot()
        except BaseException:
            _active.pop(id(self), None)
            if file is not None:
                file.discard()
            raise
        self._file = file if started else None
        if self._file is not None:
            self._file.belongs_to(engine.Life())
        if file is not None and not started:
            file.close()  # that it can be written is known; what goes in is known at the end

    def _end(self) -> None:
        last = engine.stop(user=self)
        _active.pop(id(self), None)
        after = _core.snapshot()
        self._stretches.append((self._before, after))
        self._before = None
        if len(self._stretches) > _STRETCHES:
            engine.quietly(self._add_up)  # now, so that memory stays bounded
        file, self._file = self._file, None
        if file is not None and last:
            trouble = file.finish(engine.Life())
            if trouble:
                raise RecordingError(trouble)
        elif self.output is not None:
            if file is not None:
                file.close()
            engine.quietly(self._write)

    def _write(self) -> None:
        """Somebody else's session shares the engine: the file gets this one's difference."""
        assert self.output is not None
        self.recording.save(self.output)

    @property
    def recording(self) -> Recording:
        """What was recorded: of a running session the state now. RecordingError if it never began."""
        with self._lock:
            return engine.quietly(self._recording)

    def _recording(self) -> Recording:
        self._add_up()
        parts = [] if self._sum is None else [self._sum]
        if self._depth:
            parts.append(_difference(self._before, _core.snapshot()))
        if not parts:
            raise RecordingError("nothing is recorded yet", hint=f"use it first: with seismo.{self.name}() as p: ...")
        return _added(parts)

    def _add_up(self) -> None:
        if self._stretches:
            parts = [] if self._sum is None else [self._sum]
            parts += [_difference(before, after) for before, after in self._stretches]
            self._sum, self._stretches = _added(parts), []

    def _forked(self) -> None:
        """In a forked child: what the parent recorded is the parent's, and so is its file."""
        if self._inside.forked():
            self._gone()
        parent, self._pid = self._pid, os.getpid()
        self._before = None
        self._stretches, self._sum = [], None
        if self._file is not None:
            self._file.close()
            self._file = None
        if self.output is not None:
            self.output = beside(self.output, parent, self._pid)

    def _gone(self) -> None:
        """In a forked child: only threads that are not there were inside of it."""
        _active.pop(id(self), None)
        engine.gone(self)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, recorded whenever it runs; its attribute of the session's name is this session."""
        wrapper: Callable[P, R] = engine.quietly(decorated, self, function)
        return wrapper

    def __repr__(self) -> str:
        state = "running" if self._depth else "ended" if self._stretches or self._sum is not None else "not begun"
        return f"<seismo.{self.name}: {state}>"


# The sessions that run now, by id().
_active: dict[int, Session] = {}


def _after_fork() -> None:
    for session in list(_active.values()):
        session._forked()


def _difference(before: bytes | None, after: bytes) -> Recording:
    from seismo.model import read

    now = read(after)
    return now if before is None else now.subtract(read(before))


def _added(parts: list[Recording]) -> Recording:
    """One recording of several stretches: equal paths summed, or their number would grow with every use."""
    return parts[0] if len(parts) == 1 else parts[0].merge(*parts[1:]).combined()
