"""Sessions that make a recording: `with seismo.profile()`, `@seismo.lines`, `start()` and `stop()`.

A process has one engine, which records all threads. So a session is the difference between the engine's states at the
session's start and end. The first session to begin starts the engine, and the last one to end stops it; under `seismo
profile` it is already running. Sessions may nest and overlap, on one thread or several, and each records all threads.
seismo's own frames are not recorded.
"""

from __future__ import annotations

import os

from seismo import _core, recording_kinds
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

    from seismo.model import Recording
    from seismo.process.engine import Recorder

# The number of finished uses that a session keeps separately before it sums them up. Their images are small, and
# summing costs a pass over all of them.
_STRETCHES = 32


class RecordingSession(SessionResults, Session):
    """A session with a recording: its state now, or the sum of all uses. `output`: the file of each end, or None."""

    def __init__(self, output: str | os.PathLike[str] | None, settings: dict[str, object]) -> None:
        super().__init__()
        self.output = None if output is None else os.path.abspath(os.fspath(output))
        self._settings = settings
        self._pid = os.getpid()
        self._recorder: Recorder = recording_kinds.recorder(self.recorder)
        self._before: bytes | None = None  # the engine's state at the start, or None if it had just started
        # The recorder's file, or None if the session writes no file or shares the recorder.
        self._file: Output | None = None
        # The engine's states before and after uses that are not summed up yet.
        self._stretches: list[tuple[bytes | None, bytes]] = []
        self._sum: Recording | None = None
        self._apart = False

    def apart(self) -> Self:
        """Leave out threads that run before the session begins, except the one that begins it. Return the session."""
        self._apart = True
        return self

    def _begin(self) -> None:
        file = None
        if self.output is not None:
            self._sum, self._stretches = None, []  # a file holds only the current use, so the recording does, too
            file = Output(self.output, option="output")
        try:
            started = self._start({**self._settings, "apart": int(self._apart)}, -1 if file is None else file.fd)
        except BaseException:
            if file is not None:
                file.discard()
            raise
        if file is not None and started:
            self._file = file
            file.recorder = self._recorder
        elif file is not None:
            file.close()  # the file is writable, and _end() writes it

    def _end(self) -> None:
        last = self._stop()
        file, self._file = self._file, None
        if file is not None and last:
            trouble = file.finish(self._recorder)
            if trouble:
                raise RecordingError(trouble)
        elif self.output is not None:  # another session shares the engine, so write the difference
            if file is not None:
                file.close()
            engine.quietly(self.recording.save, self.output)

    def _start(self, settings: dict[str, object], fd: int) -> bool:
        """Start the recorder with the file, or join a running one. Return True if it started and uses the file."""
        started = self._recorder.begin(settings, fd, self)
        self._before = None if started else _core.snapshot()
        return started

    def _stop(self) -> bool:
        """Leave the recorder and keep the recording of this use. Return True if the recorder has stopped."""
        last = self._recorder.end(user=self)
        self._after = _core.snapshot()
        self._stretches.append((self._before, self._after))
        self._before = None
        if len(self._stretches) > _STRETCHES:
            engine.quietly(self._add_up)  # summing up here bounds the memory
        return last

    @property
    def recording(self) -> Recording:
        """The recording; for a running session, its current state. Raise RecordingError if it never began."""
        with self._lock, Restored():
            return engine.quietly(self._recording)

    def _recording(self) -> Recording:
        self._add_up()
        parts = [] if self._sum is None else [self._sum]
        if self._inside:
            parts.append(difference(self._before, _core.snapshot()))
        if not parts:
            raise self._nothing()
        return _added(parts)

    def _nothing(self) -> RecordingError:
        return RecordingError("nothing is recorded yet", hint=f"use it first: with seismo.{self.name}() as p: ...")

    def _add_up(self) -> None:
        if self._stretches:
            parts = [] if self._sum is None else [self._sum]
            parts += [difference(before, after) for before, after in self._stretches]
            self._sum, self._stretches = _added(parts), []

    def _forked(self) -> None:
        """Drop the parent's recordings and file in a forked child."""
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
        self._recorder.users.gone(self)

    def __repr__(self) -> str:
        state = "running" if self._inside else "ended" if self._stretches or self._sum is not None else "not begun"
        return f"<seismo.{self.name}: {state}>"


def difference(before: bytes | None, after: bytes | str) -> Recording:
    """Return what was recorded between two states of the engine. after: a file's content or path."""
    from seismo.model import read

    now = read(after)
    return now if before is None else now.subtract(read(before))


def _added(parts: list[Recording]) -> Recording:
    """Return the sum of several uses. Equal paths are combined, or their number would grow with every use."""
    return parts[0] if len(parts) == 1 else parts[0].merge(*parts[1:]).combined()
