"""Coverage from inside: `with seismo.cover(source="app") as c: ...`, `@seismo.cover`, `c.recording`, `c.report()`.

The sessions are those of seismo.sessions.recording_session on the recorder of coverage, which runs beside a profile and
any number of watches. There is one in a process: the first session starts it, and one that begins while it runs (under
`seismo cover`, or inside of another) is a part of it. A line tells only once that it ran, so a part is no difference of
two states; it is a context: what runs while the part is open belongs to it. Of a part, hits say only that a line ran.
"""

from __future__ import annotations

import os
from itertools import count

from seismo import recording_kinds
from seismo.errors import UsageError
from seismo.original_builtins import Restored
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import coverage, engine
from seismo.sessions.recording_session import RecordingSession
from seismo.sessions.session_results import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, ParamSpec, TextIO, TypeVar, overload

    from seismo.coverage.coverage_report import CoverageReport
    from seismo.coverage.settings import Settings
    from seismo.model import Recording
    from seismo.report.coverage import Coverage

    P = ParamSpec("P")
    R = TypeVar("R")

_numbers = count(1)


class Cover(RecordingSession):
    """A session that records which lines and branches are executed."""

    name = "cover"
    recorder = recording_kinds.COVERAGE

    def __init__(self, output: str | os.PathLike[str] | None, settings: Settings) -> None:
        super().__init__(output, coverage.options(settings))
        self.settings = settings
        self._part = 0  # its number as a part of a running recording; 0: it is the recording

    def _start(self, settings: dict[str, object], fd: int) -> bool:
        started = coverage.start(settings, fd, self)
        self._part = 0 if started else next(_numbers)
        if self._part:
            coverage.begin_part(self._part)
        return started

    def _stop(self) -> bool:
        if self._part:
            coverage.end_part(self._part)
        last = coverage.stop(user=self)
        with Restored():
            now = engine.quietly(self._now)
            self._sum = now if self._sum is None else engine.quietly(_added, self._sum, now)
        self._part = 0
        return last

    def _gone(self) -> None:
        coverage.users.gone(self)
        if self._part:
            coverage.end_part(self._part)
            self._part = 0

    def _now(self) -> Recording:
        """What this use has recorded up to now."""
        from seismo.model import read

        recording = read(coverage.so_far(), running=True)
        if not self._part:
            return recording
        return recording.within(row.id for row in recording.contexts if coverage.is_of_part(row.name, self._part))

    def _recording(self) -> Recording:
        if not self._depth:
            if self._sum is None:
                raise self._nothing()
            return self._sum
        return self._now() if self._sum is None else _added(self._sum, self._now())

    def analysis(self) -> CoverageReport:
        """The recording held against the source: files, their lines and branches, totals."""
        recording = self.recording
        return shown(self._kind().analysis, recording)[0]

    def report(
        self,
        file: TextIO | None = None,
        *,
        show_missing: bool | None = None,
        sort: str | None = None,
        limit: int | None = None,
        color: str = "auto",
    ) -> float:
        """Writes the table of files. Returns how many percent were executed, 0 to 100. file: by default stdout.

        show_missing: all missing lines, on as many rows as they need. sort: as --sort: "name", "missing", "-percent"
        ... limit: rows of the table, those with the most to do. color: "auto", "always" or "never". UsageError for what
        is none of these; RecordingError if nothing is recorded.
        """
        return shown(self._percent, file, show_missing, sort or "", limit, color)

    def _percent(
        self, file: TextIO | None, show_missing: bool | None, sort: str, limit: int | None, color: str
    ) -> float:
        kind = self._kind(show_missing)
        recording = self.recording
        self._write_report(kind, recording, file, sort, limit, "", color)
        return kind.analysis(recording)[0].totals.percent

    def html(self, folder: str | os.PathLike[str]) -> str:
        """Writes HTML pages into the folder. Returns the path of the first. FormatError: they cannot be written."""
        from seismo.report.kind import page_at

        shown(self._write_page, folder)
        return page_at(self._kind(), os.fspath(folder))

    def _kind(self, show_missing: bool | None = None) -> Coverage:
        from seismo.report.coverage import Coverage

        settings = self.settings
        return Coverage(settings if show_missing is None else settings.replace(show_missing=show_missing))


def _added(before: Recording, now: Recording) -> Recording:
    """Both as one, and the process, which is one, once: a session may be used a thousand times."""
    from seismo.model import merge

    return merge([before, now]).of_first_process()


if TYPE_CHECKING:

    @overload
    def cover(function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def cover(
        *,
        branch: bool | None = None,
        counts: bool | None = None,
        source: str | Iterable[str] | None = None,
        include: str | Iterable[str] | None = None,
        omit: str | Iterable[str] | None = None,
        contexts: str | None = None,
        context: str | None = None,
        output: str | os.PathLike[str] | None = None,
        rcfile: str | None = None,
    ) -> Cover: ...


def cover(
    function: Callable[..., Any] | None = None,
    /,
    *,
    branch: bool | None = None,
    counts: bool | None = None,
    source: str | Iterable[str] | None = None,
    include: str | Iterable[str] | None = None,
    omit: str | Iterable[str] | None = None,
    contexts: str | None = None,
    context: str | None = None,
    output: str | os.PathLike[str] | None = None,
    rcfile: str | None = None,
) -> Any:
    """Records which lines and branches a `with` block executes, or a function whenever it runs, on all threads.

        with seismo.cover(source="app", branch=True) as c: ...     c.report()
        @seismo.cover                                              function.cover.recording

    branch: branches, too. counts: how often. source: packages or folders; include, omit: patterns of files, as
    coverage.py has them. contexts: "test" tells what each test function ran. context: a name for all of it. output: a
    file that is written at the end, and now and then before. rcfile: the settings file; "" reads none. What is not
    given is as the project's settings say, those of coverage.py and [tool.seismo.cover].

    The lines of the block itself are those of a function that runs already: they are not recorded, those of what it
    calls are. Raises UsageError for values that are none, and for others than those of a recording of coverage that
    runs; RecordingError if this interpreter cannot be recorded.
    """
    settings = engine.quietly(_settings, rcfile)
    given: dict[str, Any] = {
        name: value
        for name, value in (("branch", branch), ("counts", counts), ("contexts", contexts), ("context", context))
        if value is not None
    }
    if given.get("contexts", "") not in ("", "test"):
        raise UsageError(f"contexts cannot be {contexts!r}", hint="it is 'test'")
    for name, value in (("source", source), ("include", include), ("omit", omit)):
        if value is not None:
            given[name] = (value,) if isinstance(value, str) else tuple(value)
    session = Cover(output, settings.overridden(**given))
    return session if function is None else session(function)


def _settings(rcfile: str | None) -> Settings:
    from seismo.coverage import settings

    folder = os.getcwd()
    if rcfile == "" or not (rcfile or settings.is_there(folder)):
        return settings.Settings(folder=folder)
    return settings.load(folder, rcfile)
