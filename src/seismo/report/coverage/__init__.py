"""Reports of recordings of coverage."""

from __future__ import annotations

from seismo import recording_kinds
from seismo.report.kind import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import TextIO

    from seismo.coverage.coverage_report import CoverageReport
    from seismo.coverage.settings import Settings
    from seismo.model import Recording
    from seismo.report.options import Options
    from seismo.report.paper import Paper


class Coverage(Kind):
    """Recordings of which lines and branches were executed."""

    name = recording_kinds.COVERAGE
    first_page = "index.html"
    rows = "files"

    def __init__(self, settings: Settings | None = None) -> None:
        """Set the settings of a session or a run; None means those of recordings, or the project's."""
        self.settings = settings
        self._known: tuple[Recording, CoverageReport, Settings] | None = None

    def analysis(self, recording: Recording) -> tuple[CoverageReport, Settings]:
        """Return the analysis of the recording against the source, and the settings it used."""
        from seismo.coverage.analysis import analyze
        from seismo.coverage.recorded_settings import for_recording

        if self._known is None or self._known[0] is not recording:
            mine = self.settings
            settings = for_recording(recording) if mine is None else mine.of_recording(recording)
            self._known = recording, analyze(recording, settings), settings
        return self._known[1:]

    def order(self, word: str, place: str = "") -> str:
        """Return the order as all kinds do; a "-" before it reverses it."""
        sign = "-" * word.startswith("-")
        return sign + super().order(word.removeprefix("-"), place)

    def report(self, paper: Paper, recording: Recording, options: Options) -> int:
        from seismo.report.coverage.options import write
        from seismo.report.coverage.text import write_problems, write_table

        if self.settings is None:
            return write(paper, recording, options)
        report, settings = self.analysis(recording)
        write_table(paper, report, settings.replace(sort=options.sort or settings.sort), options.limit)
        write_problems(paper, report)
        return 0

    def summary(self, recording: Recording, stream: TextIO, path: str = "", coloured: bool = False) -> None:
        from seismo.report.coverage.text import write_end

        report, settings = self.analysis(recording)
        write_end(stream, recording, report, settings, path, coloured)

    def page(self, recording: Recording, path: str | os.PathLike[str], options: Options | None = None) -> int:
        from seismo.report.coverage.options import analyzed, say_page
        from seismo.report.coverage.page import write_by_settings
        from seismo.report.facts import header
        from seismo.report.words import Signs

        report, settings = self.analysis(recording) if options is None else analyzed(recording, options)
        index = write_by_settings(report, settings, path, header(recording, Signs()))
        return 0 if options is None else say_page(index, report, settings, options)


KIND = Coverage()
