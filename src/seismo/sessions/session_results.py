"""Presentation of a session's recording, itself unrecorded: print, report, save, and HTML in a notebook."""

from __future__ import annotations

from seismo.errors import UsageError
from seismo.escape import COLOURS, wants_colour
from seismo.original_builtins import Restored
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine
from seismo.sessions.decorator import named_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import ParamSpec, TextIO, TypeVar

    from seismo.model import Recording
    from seismo.report.kind import Kind

    P = ParamSpec("P")
    T = TypeVar("T")

IN_NOTEBOOK = 20  # the most rows of a table in a notebook


def shows(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method run unrecorded, with the built-in names as they were when seismo was imported."""

    def show(*args: P.args, **kwargs: P.kwargs) -> T:
        with Restored():
            return engine.unrecorded(lambda: method(*args, **kwargs))

    shown: Callable[P, T] = named_as(method, show)
    return shown


class SessionResults:
    """The base of all sessions that have a recording."""

    recorder = ""  # the name of the recording's kind in files

    @property
    def recording(self) -> Recording:
        """The recording."""
        raise NotImplementedError

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


class Reported(SessionResults):
    """The base of sessions with a report for the terminal and a page in one file."""

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
