"""Coverage from inside: `with seismo.cover(source="app") as c: ...`, `@seismo.cover`, `c.recording`, `c.report()`.

The recorder of coverage runs independently of a profile and of watches. A process has one such recorder. The first
session starts it. A session that begins while it runs (under `seismo cover`, or inside another session) is a part of
that recording. The recorder reports a line only once, so a part cannot be the difference of two states. Instead each
part has a context, which is active while the part runs. A part records which lines ran, but not how often.
"""

from __future__ import annotations

import os
from itertools import count

from seismo import recording_kinds
from seismo.errors import UsageError
from seismo.options import of
from seismo.original_builtins import Restored
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import coverage, engine
from seismo.sessions.decorator import also_decorates
from seismo.sessions.recording_session import RecordingSession, shows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO, Unpack

    from seismo.coverage.coverage_report import CoverageReport
    from seismo.coverage.settings import Settings
    from seismo.model import Recording
    from seismo.options import CoverOptions
    from seismo.report.coverage import Coverage

_numbers = count(1)


class Cover(RecordingSession):
    """A session that records executed lines and branches."""

    name = "cover"
    recorder = recording_kinds.COVERAGE

    def __init__(self, output: str | os.PathLike[str] | None, settings: Settings) -> None:
        super().__init__(output, coverage.options(settings))
        self.settings = settings
        self._part = 0  # this session's number as a part of a running recording, or 0

    def _start(self, settings: dict[str, object], fd: int) -> bool:
        started = self._recorder.begin(settings, fd, self)
        self._part = 0 if started else next(_numbers)
        if self._part:
            coverage.begin_part(self._part)
        return started

    def _stop(self) -> bool:
        coverage.end_part(self._part)
        last = self._recorder.end(user=self)
        with Restored():
            self._sum = engine.quietly(self._so_far)
        self._part = 0
        return last

    def _gone(self) -> None:
        super()._gone()
        coverage.end_part(self._part)
        self._part = 0

    def _so_far(self) -> Recording:
        """Return the recording of all uses, with the current one up to now."""
        from seismo.model import merge, read

        now = read(coverage.so_far(), running=True)
        if self._part:
            now = now.within(row.id for row in now.contexts if coverage.is_of_part(row.name, self._part))
        # A single row for the process is kept, because a session may be used many times.
        return now if self._sum is None else merge([self._sum, now]).of_first_process()

    def _recording(self) -> Recording:
        if self._inside:
            return self._so_far()
        if self._sum is None:
            raise self._nothing()
        return self._sum

    @shows
    def analysis(self) -> CoverageReport:
        """Return the coverage of the recording against the sources: files, their lines and branches, totals."""
        return self._kind().analysis(self.recording)[0]

    @shows
    def report(
        self,
        file: TextIO | None = None,
        *,
        show_missing: bool | None = None,
        sort: str | None = None,
        limit: int | None = None,
        color: str = "auto",
    ) -> float:
        """Write the table of files, by default to stdout. Return the covered percentage, 0 to 100.

        - show_missing: list all missing lines, on as many rows as needed.
        - sort: as for --sort, such as "name", "missing" or "-percent".
        - limit: the number of rows, those with the most missing lines.
        - color: "auto", "always" or "never".

        Raise UsageError for other values, and RecordingError if nothing is recorded.
        """
        kind = self._kind(show_missing)
        recording = self.recording
        self._write_report(kind, recording, file, sort or "", limit, "", color)
        return kind.analysis(recording)[0].totals.percent

    @shows
    def html(self, folder: str | os.PathLike[str]) -> str:
        """Write HTML pages to the folder and return the path of the first. Raise FormatError if that fails."""
        from seismo.report.kind import page_at

        kind = self._kind()
        kind.page(self.recording, folder)
        return page_at(kind, os.fspath(folder))

    def _kind(self, show_missing: bool | None = None) -> Coverage:
        from seismo.report.coverage import Coverage

        settings = self.settings
        return Coverage(settings if show_missing is None else settings.replace(show_missing=show_missing))


@also_decorates
def cover(
    *, output: str | os.PathLike[str] | None = None, rcfile: str | None = None, **options: Unpack[CoverOptions]
) -> Cover:
    """Record the lines and branches that a `with` block, or a function whenever it runs, executes on all threads.

        with seismo.cover(source="app", branch=True) as c: ...     c.report()
        @seismo.cover                                              function.cover.recording

    - branch: record branches, too.
    - counts: count executions.
    - source: packages or folders; include, omit: patterns of files, as in coverage.py.
    - contexts: "test" separates the lines that each test function ran.
    - context: a name for the whole recording.
    - output: a file that is written at the end and periodically before.
    - rcfile: the settings file; "" reads none.

    The defaults are the project's settings, those of coverage.py and [tool.seismo.cover].

    The lines of the block itself belong to a function that is already running and are not recorded; those of its
    callees are. Raise UsageError for invalid values, and for values that differ from those of a running recording of
    coverage. Raise RecordingError if this interpreter cannot be recorded.
    """
    known = {option.name: option for option in of("seismo.cover")}
    given: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"cover() got an unexpected keyword argument {name!r}")
        if value is not None:
            many: Any = (value,) if isinstance(value, str) else value
            given[name] = tuple(many) if known[name].many else value
    if given.get("contexts", "") not in ("", "test"):
        raise UsageError(f"contexts cannot be {given['contexts']!r}", hint="it is 'test'")
    return Cover(output, engine.quietly(_settings, rcfile).overridden(**given))


def _settings(rcfile: str | None) -> Settings:
    from seismo.coverage.settings import load

    return load(os.getcwd(), rcfile)
