"""Sessions that make a recording: `with seismo.profile()`, `@seismo.lines`, `start()` and `stop()`.

A process has one engine, which records all threads. So a session is the difference between the engine's states at the
session's start and end. The first session to begin starts the engine, and the last one to end stops it; under `seismo
profile` it is already running. Sessions may nest and overlap, on one thread or several, and each records all threads.
seismo's own frames are not recorded. Nor is what shows the recording: print, report, save, and HTML in a notebook.
"""

from __future__ import annotations

import os

from seismo import _core, recording_kinds
from seismo.errors import RecordingError, UsageError
from seismo.escape import COLOURS, wants_colour
from seismo.original_builtins import Restored
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine
from seismo.process.output_file import Output, beside
from seismo.sessions.decorator import named_as
from seismo.sessions.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, Self, TextIO, TypeVar

    from seismo.model import Recording
    from seismo.process.engine import Recorder
    from seismo.report.kind import Kind

    P = ParamSpec("P")
    T = TypeVar("T")

# The number of finished uses that a session keeps separately before it sums them up. Their images are small, and
# summing costs a pass over all of them.
_STRETCHES = 32
IN_NOTEBOOK = 20  # the most rows of a table in a notebook


def shows(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method run unrecorded, with the built-in names as they were when seismo was imported."""

    def show(*args: P.args, **kwargs: P.kwargs) -> T:
        with Restored():
            return engine.unrecorded(lambda: method(*args, **kwargs))

    shown: Callable[P, T] = named_as(method, show)
    return shown


class RecordingSession(Session):
    """A session with a recording: its state now, or the sum of all uses. `output`: the file of each end, or None."""

    recorder = ""  # the name of the recording's kind in files

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

    # ---- what shows it ----

    @shows
    def print(self, file: TextIO | None = None, *, color: str = "auto") -> None:
        """Write the summary that the command writes at its end, by default to stdout.

        `color` is "auto", "always" or "never". Raise UsageError for other values, RecordingError if nothing is
        recorded.
        """
        import sys

        stream = file or sys.stdout
        coloured = wants_colour(engine.one_of("color", color, COLOURS), getattr(stream, "isatty", bool)())
        self._kind().summary(self.recording, stream, coloured=coloured)

    @shows
    def save(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002
        *,
        time: str | None = None,
    ) -> None:
        """Write the recording to a file, in the named format or the one that the suffix indicates.

        The formats are those of `seismo export --list`. An existing file is replaced. `time` selects the times of calls
        and lines for formats with a single time: "wall" (elapsed, the default), "cpu" (running) or "wait". Raise
        FormatError if the format is unknown or cannot hold this kind of recording, or if the file cannot be written.
        Raise UsageError for other times.
        """
        from seismo import formats

        formats.write(self.recording, path, format, time=time and checked_time(time))

    @shows
    def _repr_html_(self) -> str:
        from seismo.report.html import HtmlPaper
        from seismo.report.kind import own
        from seismo.report.options import Options

        paper = HtmlPaper().asked_by("report(limit=N)")
        kind, recording = self._kind(), self.recording
        kind.report(paper, recording, Options(limit=IN_NOTEBOOK))
        drawn = own(kind, kind.inlined)(recording) if kind.inlined else ""
        return f"{drawn}<details><summary>as text</summary>{paper.html}</details>" if drawn else paper.html

    def _kind(self) -> Kind:
        from seismo.report.kind import named

        return named(self.recorder)

    def _write_report(
        self, kind: Kind, recording: Recording, file: TextIO | None, sort: str, limit: int | None, time: str, color: str
    ) -> None:
        """Write the report. `sort` and `time` are "" for the defaults; `time` applies to calls and lines."""
        import sys

        from seismo.report.options import Options
        from seismo.report.paper import paper_for

        if limit is not None and not (type(limit) is int and limit > 0):
            raise UsageError(f"limit cannot be {limit!r}", hint="give a whole number above 0")
        paper = paper_for(file or sys.stdout, engine.one_of("color", color, COLOURS)).asked_by("limit=N")
        if time and not kind.times:
            raise UsageError(f"there is no choice of times in a recording of {kind.what}", "time")
        times = "" if recording.timeless else time and checked_time(time)
        kind.report(paper, recording, Options(sort=kind.order(sort), limit=limit, time=times))


class Reported(RecordingSession):
    """A recording session with a report for the terminal and a page in one file."""

    @shows
    def report(
        self,
        file: TextIO | None = None,
        *,
        sort: str | None = None,
        limit: int | None = None,
        time: str | None = None,
        color: str = "auto",
    ) -> None:
        """Write the report of `seismo report`, by default to stdout.

        - sort: as for --sort, such as "own", "total", "calls", or cProfile's words.
        - limit: the number of rows of a table.
        - time: as for --time, for calls and lines: "wall" (elapsed, the default), "cpu" (running) or "wait".
        - color: "auto", "always" or "never".

        Raise UsageError for other values, and RecordingError if nothing is recorded.
        """
        self._write_report(self._kind(), self.recording, file, sort or "", limit, time or "", color)

    @shows
    def html(self, path: str | os.PathLike[str]) -> None:
        """Write the recording as an HTML page. Raise FormatError if it cannot be written."""
        self._kind().page(self.recording, path)


def checked_time(time: str) -> str:
    """Return the choice of times. Raise UsageError for an invalid one."""
    from seismo.model.recording import TIMES

    return engine.one_of("time", time, TIMES)


def difference(before: bytes | None, after: bytes | str) -> Recording:
    """Return what was recorded between two states of the engine. after: a file's content or path."""
    from seismo.model import read

    now = read(after)
    return now if before is None else now.subtract(read(before))


def _added(parts: list[Recording]) -> Recording:
    """Return the sum of several uses. Equal paths are combined, or their number would grow with every use."""
    return parts[0] if len(parts) == 1 else parts[0].merge(*parts[1:]).combined()
