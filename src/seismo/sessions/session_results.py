"""What a session shows of its recording: p.print(), p.report(), p.save("x.pstats"), and itself in a notebook.

All of it is done quietly: a session that runs while it shows what it has so far does not record that.
"""

from __future__ import annotations

from seismo.errors import UsageError
from seismo.original_builtins import Restored
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import TextIO, TypeVar, TypeVarTuple

    from seismo.model import Recording
    from seismo.report.kind import Kind

    T = TypeVar("T")
    Ts = TypeVarTuple("Ts")

IN_NOTEBOOK = 20  # rows of a table there


def shown(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Calls the function unrecorded, and with the built-in names as they were when seismo was imported.

    What shows a recording, and the libraries that it uses, go by the shared names, which the program may have replaced.
    """
    with Restored():
        return engine.unrecorded(function, *args)


class SessionResults:
    """The base of all sessions that have a recording."""

    recorder = ""  # the kind of the recording, by its name in files

    @property
    def recording(self) -> Recording:
        """What was recorded."""
        raise NotImplementedError

    def print(self, file: TextIO | None = None, *, color: str = "auto") -> None:
        """Writes the few lines that a run of the command ends with. file: by default stdout.

        color: "auto", "always" or "never". UsageError if it is none of these; RecordingError if nothing is recorded.
        """
        shown(self._print, file, color)

    def _print(self, file: TextIO | None, color: str) -> None:
        import sys

        from seismo.escape import wants_colour

        stream = file or sys.stdout
        coloured = wants_colour(checked(color), _is_terminal(stream))
        self._kind().summary(self.recording, stream, coloured=coloured)

    def save(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002
        *,
        time: str | None = None,
    ) -> None:
        """Writes the recording to a file, in the format that its suffix stands for, or the one that is named.

        The formats are those of `seismo export --list`. A file that is there is replaced, as by Python's own functions
        that write files. time: which times of calls and lines a format has that has one: "cpu" (running, the default),
        "wall" or "wait". FormatError: there is no such format, it does not hold recordings of this kind, or the file
        cannot be written. UsageError: the time is none.
        """
        shown(self._save, path, format, time)

    def _save(self, path: str | os.PathLike[str], name: str | None, time: str | None) -> None:
        from seismo import formats

        formats.write(self.recording, path, name, time=time and checked_time(time))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return shown(self._as_html)

    def _as_html(self) -> str:
        from seismo.report.html import HtmlPaper

        paper = HtmlPaper().asked_by("report(limit=N)")
        kind, recording = self._kind(), self.recording
        kind.show(paper, recording, "", IN_NOTEBOOK, "")
        drawn = kind.inline(recording)
        return f"{drawn}<details><summary>as text</summary>{paper.html}</details>" if drawn else paper.html

    def _kind(self) -> Kind:
        """How it is shown."""
        from seismo.report.kind import named

        return named(self.recorder)

    def _write_report(
        self, kind: Kind, recording: Recording, file: TextIO | None, sort: str, limit: int | None, time: str, color: str
    ) -> None:
        """Writes the report. sort: "" for the usual order; time: which times of calls and lines, "" for the usual."""
        import sys

        from seismo.report.paper import paper_for

        if limit is not None and not (type(limit) is int and limit > 0):
            raise UsageError(f"limit cannot be {limit!r}", hint="give a whole number above 0")
        paper = paper_for(file or sys.stdout, checked(color)).asked_by("limit=N")
        kind.show(paper, recording, kind.order(sort), limit, time and checked_time(time))

    def _write_page(self, path: str | os.PathLike[str]) -> None:
        self._kind().page(self.recording, path)


class Reported(SessionResults):
    """Those whose report is the terminal's, and whose page is one file."""

    def report(
        self,
        file: TextIO | None = None,
        *,
        sort: str | None = None,
        limit: int | None = None,
        time: str | None = None,
        color: str = "auto",
    ) -> None:
        """Writes what `seismo report` shows. file: by default stdout.

        sort: as --sort: "own", "total", "calls" ..., or cProfile's words. limit: rows of a table. time: as --time, of
        calls and lines: "cpu", "wall" or "wait". color: "auto", "always" or "never". UsageError for what is none of
        these; RecordingError if nothing is recorded.
        """
        shown(self._report, file, sort or "", limit, time or "", color)

    def _report(self, file: TextIO | None, sort: str, limit: int | None, time: str, color: str) -> None:
        self._write_report(self._kind(), self.recording, file, sort, limit, time, color)

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes what was recorded as an HTML page. FormatError: it cannot be written."""
        shown(self._write_page, path)


def checked_time(time: str) -> str:
    """The choice of times. Raises UsageError if it is none."""
    from seismo.model.recording import TIMES

    if time not in TIMES:
        raise UsageError(f"time cannot be {time!r}", hint=f"use one of {', '.join(TIMES)}")
    return time


def checked(color: str) -> str:
    """The choice of colours. Raises UsageError if it is none."""
    from seismo.escape import COLOURS

    if color not in COLOURS:
        raise UsageError(f"color cannot be {color!r}", hint=f"use one of {', '.join(COLOURS)}")
    return color


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError, OSError):
        return False
