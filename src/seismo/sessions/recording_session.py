"""Sessions that make a recording: `with seismo.profile()`, `@seismo.lines`, `start()` and `stop()`.

There is one engine in a process, and it records all threads. So a session is not an engine of its own: it is the
difference between what the engine had when the session began and what it has when it ends. The first session to begin
starts the engine, the last to end stops it; under `seismo profile` it runs already. Sessions may nest and overlap, on
one thread or several; each sees what every thread did meanwhile. seismo's own frames are in no recording.
"""

from __future__ import annotations

import os

from seismo import recording_kinds
from seismo.errors import RecordingError
from seismo.original_builtins import Restored
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine
from seismo.process.output_file import Output, beside
from seismo.sessions.session import Session
from seismo.sessions.session_results import SessionResults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from seismo import _core
    from seismo.model import Recording
else:
    from seismo import _core

# How many finished stretches a session that is entered again and again keeps as they are before it adds them up: their
# images are small, and adding up costs a pass over all of them.
_STRETCHES = 32


class RecordingSession(SessionResults, Session):
    """A session that has a recording. When it is used again, its recording adds up.

    recording: what it recorded, while it runs what it has so far; of several uses the sum, as one thread. output: the
    file written at each end, or None.
    """

    hide: tuple[str, ...] = ()  # files that are left out, as engine.start() takes them

    def __init__(self, output: str | os.PathLike[str] | None, settings: dict[str, object]) -> None:
        super().__init__()
        self.output = None if output is None else os.path.abspath(os.fspath(output))
        self._settings = settings
        self._pid = os.getpid()
        self._recorder = recording_kinds.recorder(self.recorder)
        self._before: bytes | None = None  # the engine's state at the beginning; None: it had nothing
        self._file: Output | None = None  # the recorder writes into it
        self._stretches: list[tuple[bytes | None, bytes]] = []  # not added up yet
        self._sum: Recording | None = None
        self._apart = False

    def apart(self) -> Self:
        """Leaves out the threads that run already when it begins, but for the one that begins it. Returns itself."""
        self._apart = True
        return self

    def _begin(self) -> None:
        file = None
        if self.output is not None:
            self._sum, self._stretches = None, []  # the file holds what this use records, and so does the recording
            file = Output(self.output, option="output")
        try:
            started = self._start({**self._settings, "apart": int(self._apart)}, -1 if file is None else file.fd)
        except BaseException:
            if file is not None:
                file.discard()
            raise
        if file is not None and started:
            self._file = file
            file.belongs_to(self._recorder)
        elif file is not None:
            file.close()  # that it can be written is known; what goes in is known at the end

    def _end(self) -> None:
        last = self._stop()
        file, self._file = self._file, None
        if file is not None and last:
            trouble = file.finish(self._recorder)
            if trouble:
                raise RecordingError(trouble)
        elif self.output is not None:
            if file is not None:
                file.close()
            engine.quietly(self._write)

    def _start(self, settings: dict[str, object], fd: int) -> bool:
        """Starts the recorder into the file, or joins it when it runs. True: it started, and took the file."""
        meta = engine.meta(self._settings, self.recorder)
        started = engine.start({**settings, "recorder": self.recorder}, fd, meta, user=self, hide=self.hide)
        self._before = None if started else _core.snapshot()
        return started

    def _stop(self) -> bool:
        """Leaves the recorder and keeps what this use has recorded. True: it has stopped."""
        last = engine.stop(user=self)
        self._after = _core.snapshot()
        self._stretches.append((self._before, self._after))
        self._before = None
        if len(self._stretches) > _STRETCHES:
            engine.quietly(self._add_up)  # now, so that memory stays bounded
        return last

    def _write(self) -> None:
        """Somebody else's session shares the engine: the file gets this one's difference."""
        assert self.output is not None
        self.recording.save(self.output)

    @property
    def recording(self) -> Recording:
        """What was recorded: of a running session the state now. RecordingError if it never began."""
        with self._lock, Restored():
            return engine.quietly(self._recording)

    def _recording(self) -> Recording:
        self._add_up()
        parts = [] if self._sum is None else [self._sum]
        if self._depth:
            parts.append(_difference(self._before, _core.snapshot()))
        if not parts:
            raise self._nothing()
        return _added(parts)

    def _nothing(self) -> RecordingError:
        return RecordingError("nothing is recorded yet", hint=f"use it first: with seismo.{self.name}() as p: ...")

    def _add_up(self) -> None:
        if self._stretches:
            parts = [] if self._sum is None else [self._sum]
            parts += [_difference(before, after) for before, after in self._stretches]
            self._sum, self._stretches = _added(parts), []

    def _forked(self) -> None:
        """In a forked child: what the parent recorded is the parent's, and so is its file."""
        super()._forked()
        parent, self._pid = self._pid, os.getpid()
        self._before = None
        self._stretches, self._sum = [], None
        if self._file is not None:
            self._file.close()
            self._file = None
        if self.output is not None:
            self.output = beside(self.output, parent, self._pid)

    def _gone(self) -> None:
        engine.users.gone(self)

    def __repr__(self) -> str:
        state = "running" if self._depth else "ended" if self._stretches or self._sum is not None else "not begun"
        return f"<seismo.{self.name}: {state}>"


def _difference(before: bytes | None, after: bytes) -> Recording:
    from seismo.model import read

    now = read(after)
    return now if before is None else now.subtract(read(before))


def _added(parts: list[Recording]) -> Recording:
    """One recording of several stretches: equal paths summed, or their number would grow with every use."""
    return parts[0] if len(parts) == 1 else parts[0].merge(*parts[1:]).combined()
