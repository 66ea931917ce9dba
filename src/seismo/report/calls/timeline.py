"""What a timeline is drawn from: threads, what the program said, and, of a trace that is not too long, its calls.

A page carries these; the server of `seismo view` sends them as they are asked for. Times are nanoseconds from the start
of the recording's first process.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from seismo.escape import printable
from seismo.model.kinds import CallFlags
from seismo.model.recording import FOREVER
from seismo.report.page.payload import counts, shown

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.calls.paths import Columns

MOST_CALLS = 500_000  # in a page: some megabytes
MOST_SAID = 20_000
_DRAWN = {"mark", "counter", "begin", "end", "collect", "collected"}
_OF_READING = CallFlags.BEFORE | CallFlags.AFTER


def threads(recording: Recording) -> dict[str, Any]:
    """The processes and threads, and the end of it all. A thread's `depth`: calls that are open on its deepest path."""
    calls, tree = recording.calls, recording.tree
    deepest = [0] * len(recording.threads)
    for thread, depth in zip(tree["thread"], tree["depth"], strict=True):
        deepest[thread] = max(deepest[thread], depth + 1)
    several = len(recording.processes) > 1
    return {
        "to": calls.end_ns,
        "processes": [
            {"id": row.id, "title": _title(row.pid, str(row.argv)) if several else ""} for row in recording.processes
        ],
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


def _title(pid: int, argv: str) -> str:
    try:
        words = json.loads(argv)
    except (ValueError, RecursionError):
        words = []
    line = " ".join(str(word) for word in words) if isinstance(words, list) else ""
    return f"process {pid}  {shown(line, 120)}"


def waiting(recording: Recording) -> list[bool]:
    """For each path whether, over the whole recording, it waits more than it runs."""
    tree = recording.tree
    return [2 * wait > own for own, wait in zip(tree["own_ns"], tree["wait_ns"], strict=True)]


def said(recording: Recording, start_ns: int = 0, end_ns: int = FOREVER) -> dict[str, Any]:
    """Marks, spans, counts and the collector's pauses of a stretch, how many there are besides, and gaps in it.

    A stretch of the journal is read for it: of a long trace, one after the other is asked for.
    """
    window = recording.calls.window(start_ns, end_ns, limit=0)
    found = [row for row in window.instants if row.kind in _DRAWN and start_ns <= row.time_ns < end_ns]
    return {
        "instants": [
            {
                "time": row.time_ns,
                "thread": row.thread,
                "kind": row.kind,
                "span": row.span,
                "name": shown(row.name),
                "value": _value(row.data) if row.kind == "counter" else None,
                "text": shown(_spelled(row.data)),
            }
            for row in found[:MOST_SAID]
        ],
        "left": max(0, len(found) - MOST_SAID),
        "gaps": [{"thread": row.thread, "start": row.start_ns, "end": row.end_ns} for row in window.gaps[:MOST_SAID]],
    }


def _value(data: object) -> float | None:
    """What a counter was from then on; None: what is there makes no sense."""
    value = data.get("value") if isinstance(data, dict) else None
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _spelled(data: object) -> str:
    if data is None:
        return ""
    if isinstance(data, dict):
        return ", ".join(f"{name}={value}" for name, value in data.items())
    return printable(str(data))


def all_calls(recording: Recording) -> Columns | None:
    """Every call, in the order of threads and there of beginnings; None: there are more than a page takes.

    A beginning is the step from that of the call before, a thread's first from 0: small numbers, which deflate well.
    """
    window = recording.calls.window(limit=MOST_CALLS)
    if window.more:
        return None
    rows = window.calls
    waits = waiting(recording)
    steps, sizes = [], [0] * len(recording.threads)
    before = 0
    for thread, start in zip(rows["thread"], rows["start_ns"], strict=True):
        if not sizes[thread]:
            before = 0
        sizes[thread] += 1
        steps.append(max(0, start - before))
        before = max(before, start)
    bounds = zip(rows["start_bound_ns"], rows["end_bound_ns"], strict=True)
    lengths = zip(rows["start_ns"], rows["end_ns"], strict=True)
    return {
        "c.threads": counts(sizes),
        "c.step": counts(steps),
        "c.length": counts(max(0, end - start) for start, end in lengths),
        "c.bound": counts(max(0, *pair) for pair in bounds),
        "c.function": counts(rows["function"]),
        "c.depth": counts(rows["depth"]),
        "c.flags": counts(int(flags) & ~int(_OF_READING) for flags in rows["flags"]),
        "c.waits": counts(int(waits[node]) if 0 <= node < len(waits) else 0 for node in rows["node"]),
    }
