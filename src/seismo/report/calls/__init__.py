"""Reports of recordings of calls, and of the matches of a watch."""

from __future__ import annotations

import sys

from seismo import recording_kinds
from seismo.report.kind import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.options import Options
    from seismo.report.paper import Paper


class Calls(Kind):
    """Recordings of calls, traces and watches."""

    name = recording_kinds.CALLS
    rows = "functions"
    notes = "facts:notes"
    compares = "changes_page:changes_page"
    compared = "seismo.report.changes:OF_FUNCTIONS"
    inlined = "page:calls_frame"
    sorted_by = "sort_orders:ORDERS"
    others_are_in = "their callers' own time"

    def check(self, options: Options) -> None:
        from seismo.report.calls.options import check

        check(options)

    def report(self, paper: Paper, recording: Recording, options: Options) -> int:
        from seismo.report.calls.text import chosen_threads, write_trace
        from seismo.report.facts import header, write_notes

        if options.around:
            from seismo.report.calls.window import write_window

            threads = chosen_threads(recording, options.thread) if options.thread else ()
            limit = sys.maxsize if options.all else options.limit
            shown = options.around, options.window
            write_window(paper, recording, *shown, limit=limit, depth=options.depth, threads=threads)
            return 0
        super().report(paper, recording, options)
        if not (options.tree or options.callers or options.callees):
            write_trace(paper, recording, sys.maxsize if options.all else options.limit)
        write_notes(paper, header(recording, paper.signs))
        return 0


KIND = Calls()
