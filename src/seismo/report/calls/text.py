"""The report on a terminal or a pipe: a line about the run, the call tree, the functions, and what a trace has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.errors import UsageError
from seismo.escape import printable
from seismo.model.idle_threads import without_idle
from seismo.model.recording import UNENDED
from seismo.model.trace.process_clocks import difference_ns, hosts
from seismo.report import words as text
from seismo.report.calls import trace
from seismo.report.calls.callers_and_callees import find_functions, write_relatives
from seismo.report.calls.facts import opening
from seismo.report.calls.functions import USUAL, FunctionCells, chosen_columns, write_functions
from seismo.report.calls.imports import with_imports_as_one
from seismo.report.calls.options import usual_times
from seismo.report.calls.threads import held_up, threads_at_once
from seismo.report.calls.tree import Limits, write_tree
from seismo.report.calls.window import END, write_window
from seismo.report.facts import HELD_UP, is_watch, thread_count, unended, write_opening
from seismo.report.shown_functions import chosen_modules
from seismo.report.tables import write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Recording
    from seismo.report.options import Options
    from seismo.report.paper import Paper, Span
    from seismo.report.story import Row


def write_report(paper: Paper, recording: Recording, options: Options) -> None:
    """Write the report. Raises UsageError if the options name an unknown thread or function."""
    chosen = chosen_threads(recording, options.thread) if options.thread else None
    for pattern in (*options.callers, *options.callees):
        find_functions(recording.functions, pattern)  # report a mistake before the first line of output
    active, idle = without_idle(recording)
    write_opening(paper, recording, opening(active, idle, paper.signs))
    words = held_up(active, paper.signs)
    for line in text.wrapped(f"{HELD_UP}: {words}", paper.width) if words else ():
        paper.line((line, ""))
    if chosen is not None:
        paper.line((only_threads(recording, chosen), "quiet"))
    paper.flush()
    times = options.time or usual_times(recording)
    shown = active.timed(times)
    threads = thread_count(recording) if chosen is None else len(chosen)
    if threads > 1 or chosen is not None:
        shown = shown.combined(chosen)
    limit = None if options.all and not options.limit else options.limit or 0
    for patterns, callers in ((options.callers, True), (options.callees, False)):
        for pattern in patterns:
            paper.line()
            write_relatives(paper, shown, pattern, USUAL if limit == 0 else limit, callers)
    if options.callers or options.callees:
        return
    modules, limits = chosen_modules(options), Limits.of(options)
    if options.tree or not is_watch(recording):  # a watch has no callers, so its tree is flat
        write_tree(paper, shown, modules, limits, threads, idle)
        paper.flush()
    if not options.tree:
        if not is_watch(recording):
            paper.line()
        table = shown.functions if limits.imports else with_imports_as_one(shown)
        cells = FunctionCells(shown, paper.signs, table, threads_at_once(shown))
        columns = chosen_columns(options.columns) if options.columns else None
        write_functions(paper, cells, options.sort or "own", modules, limit, columns)


def write_trace(paper: Paper, recording: Recording, most: int | None = None) -> None:
    """Write the sections of a trace; nothing for other recordings. most: rows of each, or None for the usual number."""
    if not recording.calls:
        return
    cells = FunctionCells(recording, paper.signs)

    def about(row: Row, room: int) -> list[Span]:
        ended = f"  {row.data['ended']}" if row.data.get("ended") else ""
        shown = text.shorten(row.cells[-1], max(12, room - text.cells(ended)), paper.signs)
        return [(shown, "name"), (ended, "quiet")]

    for section in trace.sections(recording, cells, most or trace.LONGEST):
        write_table(paper, section, about)
    for problem in trace.problems(recording):
        paper.line((problem, "warning"))
    _write_hosts(paper, recording)
    if unended(recording, paper.signs):
        paper.line()
        write_window(paper, recording, END, threads=_without_end(recording))


def _without_end(recording: Recording) -> set[int]:
    """Return the threads of processes whose end is missing, as after a merge; empty if no process is named."""
    names = {row.detail for row in recording.losses if row.kind == UNENDED}
    processes = {row.id for row in recording.processes if f"process {row.pid}" in names}
    return {row.id for row in recording.threads if row.process in processes}


def _write_hosts(paper: Paper, recording: Recording) -> None:
    """Write how much the clocks of several systems may differ."""
    systems = hosts(recording)
    for host in systems[1:]:
        bound = difference_ns(systems[0], host)
        bound_words = f"by up to {text.duration(bound, paper.signs)}" if bound else "by an unknown time"
        names = f"{printable(systems[0].name)} and {printable(host.name)}"
        paper.line((f"clocks: those of {names} may differ {bound_words}", "warning"))


def only_threads(recording: Recording, threads: Sequence[int]) -> str:
    """Return the remark that only these threads are shown."""
    names = recording.threads["name"]
    named = ", ".join(printable(str(names[thread]) or f"thread {thread}") for thread in threads)
    return f"only {text.number_of(len(threads), 'thread')}: {named}"


def chosen_threads(recording: Recording, words: Sequence[str]) -> list[int]:
    """Return the ids of threads that match a name or glob, an id, or a native id. Raises UsageError if none does."""
    from fnmatch import fnmatchcase

    if recording.threads_are_summed:
        hint = "leave it out; seismo query DIR answers for single threads of a dataset"
        raise UsageError("the threads of a sum cannot be chosen", "--thread", hint)
    threads = list(recording.threads)
    chosen: list[int] = []
    for word in words:
        found = [row.id for row in threads if fnmatchcase(str(row.name), word)]
        if not found and word.isdecimal():
            number = int(word)
            found = [row.id for row in threads if row.id == number] or [
                row.id for row in threads if row.native_id == number
            ]
        if not found:
            names = [f"{row.id} {row.name}".strip() for row in threads]
            more = f" and {len(names) - 12:,} more" if len(names) > 12 else ""
            raise UsageError(f"there is no thread {word!a}", "--thread", f"there are: {', '.join(names[:12])}{more}")
        chosen += [thread for thread in found if thread not in chosen]
    return chosen
