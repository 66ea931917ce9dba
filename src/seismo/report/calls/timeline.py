"""The data of a timeline: threads, marks and other events of the program, and, for a short trace, its calls.

A page contains these; the server of `seismo view` sends them on request. Times are nanoseconds from the start of the
recording's first process.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seismo.escape import printable
from seismo.model.enums import CallFlags
from seismo.model.recording import FOREVER
from seismo.report.page.payload import counts, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from seismo.model import ProcessRow, Recording, Table
    from seismo.model.trace.calls import CallRow
    from seismo.report.calls.page_selection import Chosen
    from seismo.report.page.payload import Columns

MOST_CALLS = 500_000  # in a page: some megabytes
MOST_EVENTS = 20_000
_DRAWN = {"mark", "counter", "begin", "end", "collect", "collected"}
_OF_READING = CallFlags.BEFORE | CallFlags.AFTER


def threads(recording: Recording) -> dict[str, Any]:
    """Return the processes and threads, and the end of the recording. `depth`: calls on a thread's deepest path."""
    calls, tree = recording.calls, recording.tree
    deepest = [0] * len(recording.threads)
    for thread, depth in zip(tree["thread"], tree["depth"], strict=True):
        deepest[thread] = max(deepest[thread], depth + 1)
    several = len(recording.processes) > 1
    return {
        "to": calls.end_ns,
        "processes": [{"id": row.id, "title": process_title(row) if several else ""} for row in recording.processes],
        "threads": [
            {
                "id": row.id,
                "name": shown(str(row.name)) + (f" and {row.folded} more" if row.folded else ""),
                "process": row.process,
                "start": row.start_ns - calls.start_ns,
                "end": row.end_ns - calls.start_ns,
                "depth": deepest[number],
            }
            for number, row in enumerate(recording.threads)
        ],
    }


def process_title(process: ProcessRow) -> str:
    """Return the title of a process."""
    return f"process {process.pid}  {shown(' '.join(process.words), 120)}"


def waiting(recording: Recording) -> list[bool]:
    """Return for each path whether, over the whole recording, it waits more than it runs."""
    tree = recording.tree
    return [2 * wait > own for own, wait in zip(tree["own_ns"], tree["wait_ns"], strict=True)]


def program_events(recording: Recording, start_ns: int = 0, end_ns: int = FOREVER) -> dict[str, Any]:
    """Return marks, spans, counts and the collector's pauses of a window, the number left out, and gaps.

    This reads that part of the journal, so a long trace is requested in pieces. Processes number their spans
    independently, and may use the same name for a count; the result makes both distinct.
    """
    window = recording.calls.window(start_ns, end_ns, limit=0)
    of, pids = recording.threads["process"], [row.pid for row in recording.processes]
    found = [row for row in window.instants if row.kind in _DRAWN and start_ns <= row.time_ns < end_ns]
    return {
        "instants": [
            {
                "time": row.time_ns,
                "thread": row.thread,
                "kind": row.kind,
                "span": row.span * len(pids) + of[row.thread],
                "name": shown(row.name)
                + (f" (process {pids[of[row.thread]]})" if row.kind == "counter" and len(pids) > 1 else ""),
                "value": _value(row.data) if row.kind == "counter" else None,
                "text": shown(_spelled(row.data)),
            }
            for row in found[:MOST_EVENTS]
        ],
        "left": max(0, len(found) - MOST_EVENTS),
        "gaps": [{"thread": row.thread, "start": row.start_ns, "end": row.end_ns} for row in window.gaps[:MOST_EVENTS]],
    }


def _value(data: object) -> float | None:
    """Return the value that a counter was set to, or None if it is not a number."""
    value = data.get("value") if isinstance(data, dict) else None
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _spelled(data: object) -> str:
    if data is None:
        return ""
    if isinstance(data, dict):
        return ", ".join(f"{name}={value}" for name, value in data.items())
    return printable(str(data))


def page_trace(recording: Recording, chosen: Chosen, most: int = MOST_CALLS) -> tuple[dict[str, Any] | None, Columns]:
    """Return the timeline of the selected part of a recording for a page, or None if it has more calls than `most`.

    The calls are in the order of threads, then of beginnings. A beginning is the difference from the call before, or
    from 0 for a thread's first: small numbers, which deflate well.
    """
    window = recording.calls.window(limit=most)
    if window.more:
        return None, {}
    rows = window.calls
    numbers = chosen.numbers()
    threads_of = {thread: number for number, thread in enumerate(chosen.threads)}
    shown_rows, depths = _shown(rows, chosen.hidden, threads_of)
    waits = waiting(recording)
    sizes, deepest = [0] * len(threads_of), [0] * len(threads_of)
    steps = []
    before = 0
    for row, depth in zip(shown_rows, depths, strict=True):
        thread, start = threads_of[rows["thread"][row]], rows["start_ns"][row]
        if not sizes[thread]:
            before = 0
        sizes[thread] += 1
        deepest[thread] = max(deepest[thread], depth + 1)
        steps.append(max(0, start - before))
        before = max(before, start)

    def pick(name: str) -> list[int]:
        column = rows[name]
        return [column[row] for row in shown_rows]

    columns = {
        "c.threads": counts(sizes),
        "c.step": counts(steps),
        "c.length": counts(max(0, end - start) for start, end in zip(pick("start_ns"), pick("end_ns"), strict=True)),
        "c.bound": counts(max(0, *pair) for pair in zip(pick("start_bound_ns"), pick("end_bound_ns"), strict=True)),
        "c.function": counts(numbers[function] for function in pick("function")),
        "c.depth": counts(depths),
        "c.flags": counts(int(flags) & ~int(_OF_READING) for flags in pick("flags")),
        "c.waits": counts(int(waits[node]) if 0 <= node < len(waits) else 0 for node in pick("node")),
    }
    return _of_threads({**threads(recording), **program_events(recording)}, threads_of, deepest), columns


def _shown(rows: Table[CallRow], hidden: Collection[int], threads_of: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Return the rows of the calls that are shown, and their depths among these."""
    found: list[int] = []
    depths: list[int] = []
    open_: list[int] = []  # for each depth, how many of the open calls up to there are shown
    names = ("thread", "depth", "function")
    for row, (thread, depth, function) in enumerate(zip(*(rows[name] for name in names), strict=True)):
        if thread not in threads_of:
            continue
        above = open_[min(depth, len(open_)) - 1] if depth and open_ else 0
        del open_[depth:]
        open_ += [above] * (depth - len(open_))
        open_.append(above + (function not in hidden))
        if function not in hidden:
            found.append(row)
            depths.append(above if hidden else depth)
    return found, depths


def _of_threads(head: dict[str, Any], threads_of: Mapping[int, int], deepest: Sequence[int]) -> dict[str, Any]:
    rows = [head["threads"][thread] for thread in threads_of]
    head["threads"] = [{**row, "depth": depth} for row, depth in zip(rows, deepest, strict=True)]
    for name in ("instants", "gaps"):
        about = [one for one in head[name] if one["thread"] < 0 or one["thread"] in threads_of]
        head[name] = [{**one, "thread": threads_of.get(one["thread"], -1)} for one in about]
    return head
