"""Excerpts of a trace as a recording: a window of time, certain calls, or both.

The core (native/trace/excerpt.c) writes the excerpt's journal event by event, in bounded memory. The tree is recounted
from those events, and its times are sums of the segments between them. They are wall times, because a journal does not
record waiting. The origin of times is that of the original, so that both can be compared.
"""

from __future__ import annotations

import array
import functools
import os
import tempfile
from typing import TYPE_CHECKING, Any

from seismo import _core, progress
from seismo.errors import UsageError
from seismo.model.columns import empty, floats, ints, new_numbers, taken, translated, with_rows, zeros
from seismo.model.combine import with_losses
from seismo.model.enums import AT_END, BEFORE_START, FOLDED, LOWER_BOUND
from seismo.model.recording import FOREVER, Recording, read
from seismo.model.save import write_file, write_recording, write_tables
from seismo.model.trace.call_filter import call_filter

if TYPE_CHECKING:
    from collections.abc import Callable

    from seismo.expression import Expression
    from seismo.model.columns import Columns

MANY = 1 << 21
"""The number of calls from which an excerpt gets levels. A smaller one is read in a tenth of a second without them."""
_ON_PATH, _BEGAN_BEFORE, _RUNS_ON = 1, 2, 4  # as in native/trace/excerpt.h
_DROPPED = ("cut-short", "journal-gaps", "time-unexplained")  # the excerpt has its own or none


def cut(
    recording: Recording, start_ns: int = 0, end_ns: int = FOREVER, *, where: str | Expression | None = None
) -> Recording:
    """Return the excerpt in memory; see `Recording.cut`."""
    progress.begin("cutting the trace")
    _, write = _planned(recording, start_ns, end_ns, where)
    data = write(None)
    assert data is not None
    return read(data)


def cut_into(
    recording: Recording,
    path: str | os.PathLike[str],
    start_ns: int = 0,
    end_ns: int = FOREVER,
    *,
    where: str | Expression | None = None,
) -> None:
    """Write the excerpt to a file, whole or not at all, in memory that does not grow with the trace.

    Raise UsageError as `Recording.cut` does, or RecordingError if the file cannot be written.
    """

    def write(fd: int | None) -> bytes | None:
        progress.begin("cutting the trace")
        calls, write_part = _planned(recording, start_ns, end_ns, where)
        if calls < MANY:
            return write_part(fd)
        folder = None if fd is None else os.path.dirname(os.fspath(path)) or "."
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".part") as file:
            write_part(file.fileno())
            return write_recording(read(file.name), fd)

    write_file(path, write)


def _planned(
    recording: Recording, start_ns: int, end_ns: int, where: str | Expression | None
) -> tuple[int, Callable[[int | None], bytes | None]]:
    """Return the number of calls of the excerpt, and a function that writes it to a descriptor or (None) to memory."""
    calls = recording.calls
    journal = calls._journal
    if journal is None:
        raise UsageError("this recording is not a trace and cannot be cut", hint="to record one: seismo trace SCRIPT")
    first, last = max(0, min(start_ns, FOREVER)), max(0, min(end_ns, FOREVER))
    if last <= first:
        raise UsageError("the window ends before it begins", hint="give a beginning and an end after it")
    if first > calls.end_ns:
        raise UsageError("the recording ended before that time", hint=f"it took {calls.end_ns / 1e9:.6f} s")
    chosen = None if where is None else call_filter(recording, where)
    counts = event_sums(len(recording._raw["nodes"]["id"]))
    notes = journal.cut(first, last, chosen, counts, None, None)
    if not notes["streams"]:
        what = "nothing ran then" if where is None else "no call in that time matches"
        raise UsageError(what, "" if where is None else str(where), f"the recording took {calls.end_ns / 1e9:.6f} s")
    made, tree = _tables(recording, first, last, where, counts, notes)

    def write(fd: int | None) -> bytes | None:
        writer = _core.Writer(fd)
        write_tables(made, writer)
        journal.cut(first, last, chosen, None, tree, functools.partial(writer.chunk, "JRNL"))
        return writer.finish()

    return sum(counts["calls"]) + sum(counts["resumes"]), write


def event_sums(nodes: int) -> dict[str, array.array[Any]]:
    """Return the columns into which `_core.Journal.cut` adds up the events of each node."""
    codes = dict.fromkeys(("calls", "resumes", "exceptions", "segments", "ns", "seen"), "q")
    codes |= {"ns_sq": "d", "ns_var": "d"}
    return {name: array.array(code, bytes(8 * nodes)) for name, code in codes.items()}


# ---- the tables ----


def _tables(
    recording: Recording,
    first: int,
    last: int,
    where: str | Expression | None,
    counts: dict[str, array.array[Any]],
    notes: dict[str, int],
) -> tuple[Recording, dict[str, Any]]:
    """Return the excerpt without its journal, and the tree by which `_core.Journal.cut` renumbers nodes and threads."""
    raw = recording._raw
    parents, of_threads = raw["nodes"]["parent"].tolist(), raw["nodes"]["thread"].tolist()
    seen = counts["seen"]
    for node in range(len(parents) - 1, -1, -1):
        if seen[node] and parents[node] >= 0:
            seen[parents[node]] |= _ON_PATH
    kept = [node for node, flags in enumerate(seen) if flags]
    busy = {of_threads[node] for node in kept}
    threads = [
        row
        for row in range(len(raw["threads"]["id"]))
        if row in busy or (where is None and _ran(recording, row, first, last))
    ]
    process_of = raw["threads"]["process"].tolist()
    processes = sorted({process_of[row] for row in threads})
    functions = sorted({raw["nodes"]["function"][node] for node in kept})
    new_threads = new_numbers(threads, len(process_of))
    new_nodes = new_numbers(kept, len(parents))
    chosen = {"processes": processes, "threads": threads, "functions": functions, "nodes": kept}
    used = (*chosen, "sources")
    tables = {kind: table if kind in used else empty(kind) for kind, table in raw.items()}
    tables = with_rows(tables, chosen)
    of_processes, until = tables["processes"], recording.calls.start_ns + last
    # Processes keep their starts, the origin of times.
    of_processes["end_ns"] = ints(min(when, until) for when in of_processes["end_ns"].tolist())
    of_processes["waits"] = zeros(len(processes))
    _limit_threads(tables["threads"], recording.calls.start_ns + first, until)
    tables["nodes"] = _nodes(tables["nodes"], kept, counts)
    tables["losses"] = _losses(recording, last, new_threads)
    part = {"from_ns": first, "to_ns": min(last, recording.calls.end_ns), "where": "" if where is None else str(where)}
    earlier = recording.meta.get("cut")  # of a recording that is itself an excerpt
    meta = {**recording.meta, "cut": [*(earlier if isinstance(earlier, list) else ()), part]}
    nodes = tables["nodes"]
    tree = {"parent": nodes["parent"], "thread": nodes["thread"], "node": new_nodes, "threads": new_threads}
    kinds = {"journal-gaps": "gaps", "cut-edges": "edges", "calls-left-out": "left_out", "journal-damaged": "damaged"}
    lost = ({"kind": kind, "count": notes[note], "thread": -1, "detail": ""} for kind, note in kinds.items())
    return with_losses(Recording(tables, recording._strings, meta), [row for row in lost if row["count"]]), tree


def _ran(recording: Recording, thread: int, first: int, last: int) -> bool:
    """Return True if the thread existed in the window, as far as is known."""
    calls, threads = recording.calls, recording._raw["threads"]
    start, end = threads["start_ns"][thread] - calls.start_ns, calls._ends[thread]
    return start < last and (end < 0 or end >= first)


def _limit_threads(table: Columns, first: int, last: int) -> None:
    """Limit the threads to a window of Unix time."""
    starts = [max(when, first) for when in table["start_ns"].tolist()]
    ends = [max(start, min(when, last)) for when, start in zip(table["end_ns"].tolist(), starts, strict=True)]
    table["start_ns"], table["end_ns"] = ints(starts), ints(ends)
    table["wall_ns"] = ints(end - start for start, end in zip(starts, ends, strict=True))
    table["cpu_ns"] = ints([-1] * len(starts))
    table["rest_ns"] = zeros(len(starts))


def _nodes(chosen: Columns, kept: list[int], counts: dict[str, array.array[Any]]) -> Columns:
    """Return the chosen nodes, whose former rows are `kept`, with the counts and times of the excerpt only."""
    table = {name: zeros(len(kept), column.format) for name, column in chosen.items()}
    table |= {name: chosen[name] for name in ("id", "parent", "thread", "function")}
    names = {"calls": "calls", "resumes": "resumes", "exceptions": "exceptions", "timed": "segments", "timed_ns": "ns"}
    for name, count in names.items():
        table[name] = ints(counts[count][row] for row in kept)
    table["entered"] = ints(map(int.__add__, table["calls"].tolist(), table["resumes"].tolist()))
    table["wait_sq"] = floats(counts["ns_var"][row] for row in kept)
    seen = counts["seen"]
    table["flags"] = ints(
        flags & (LOWER_BOUND | FOLDED)
        | (BEFORE_START if seen[row] & _BEGAN_BEFORE else 0)
        | (AT_END if seen[row] & _RUNS_ON else 0)
        for flags, row in zip(chosen["flags"].tolist(), kept, strict=True)
    )
    return table


def _losses(recording: Recording, last: int, threads: array.array[int]) -> Columns:
    """Return the original's losses that apply to the excerpt and its threads."""
    table = recording._raw["losses"]
    kinds = [recording._strings[number] for number in table["kind"].tolist()]
    of = table["thread"].tolist()
    whole = last > recording.calls.end_ns
    kept = [
        row
        for row, kind in enumerate(kinds)
        if (of[row] < 0 or threads[of[row]] >= 0) and (kind not in _DROPPED or (kind == "cut-short" and whole))
    ]
    return translated(taken(table, kept), thread=threads)
