"""Recovery of a trace without an end: its tree is brought up to date from its journal.

A killed program leaves a journal of nearly everything it did, and a tree as of the last flush, up to a second earlier.
So counts are replaced by the journal's exact counts. Where the tree has more (after damage to the journal, or for calls
that a filter left out), its counts are kept.

The times since the flush are the journal's segments, which do not distinguish running from waiting. They are divided in
the same ratio as earlier times of the same node, or count as running if there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seismo.model.columns import floats, ints, zeros
from seismo.model.combine import with_losses
from seismo.model.recording import FOREVER, UNENDED, Recording
from seismo.model.trace.excerpt import event_sums
from seismo.model.wait_times import estimated

if TYPE_CHECKING:
    from seismo.model.columns import Columns, Tables

MOST_BYTES = 64 << 20
"""The most bytes of events with which a tree is updated: some seconds. In a longer trace, a second matters little."""
CAUGHT_UP = "caught-up"
_COUNTED = ("calls", "resumes", "exceptions")


def recovered(recording: Recording) -> Recording:
    """Return the recording with the counts and times of its whole journal, or the same object if nothing is missing."""
    pieces = recording._journal
    if pieces is None or pieces.finished or UNENDED not in recording.losses["kind"]:
        return recording
    calls = recording.calls
    if sum(block.size for block in calls.blocks) > MOST_BYTES:
        return recording
    sums = calls.sums
    raw = recording._raw
    nodes = {**raw["nodes"]}
    for name, counted in zip(_COUNTED, (sums.calls, sums.resumes, sums.exceptions), strict=True):
        nodes[name] = ints(map(max, nodes[name].tolist(), counted.tolist()))
    last = calls.last_ns
    flushed = max(calls._ends, default=-1)
    end = max(last.values(), default=-1)
    tables: Tables = {**raw, "nodes": nodes}
    if end > flushed:
        _add_times(recording, nodes, flushed)
        tables["threads"] = _threads(recording, last)
        tables["processes"] = _processes(recording, end, any(raw["nodes"]["calls"]))
    made = Recording(tables, recording._strings, recording.meta, journal=pieces)
    if end > flushed:
        note = {"kind": CAUGHT_UP, "count": end - max(flushed, 0), "thread": -1, "detail": ""}
        made = with_losses(made, [note])
    made.problems = recording.problems
    made.calls.__dict__["sums"] = sums  # the journal is the same, so the sums are shared
    return made


def _add_times(recording: Recording, nodes: Columns, flushed: int) -> None:
    """Add the segments since the flush (ns; -1 means all) to the nodes' times."""
    raw = recording._raw
    sums = event_sums(len(nodes["id"]))
    journal = recording.calls._journal
    assert journal is not None
    journal.cut(max(flushed, 0), FOREVER, None, sums, None, None)
    wall, waited = estimated(raw, "wall")["own_ns"].tolist(), estimated(raw, "wait")["own_ns"].tolist()
    shares = [min(1.0, max(0.0, off / own)) if own > 0 else 0.0 for own, off in zip(wall, waited, strict=True)]
    ran = [round(ns * (1 - share)) for ns, share in zip(sums["ns"], shares, strict=True)]
    doubts = [
        share * (1 - share) * square + variance
        for square, variance, share in zip(sums["ns_sq"], sums["ns_var"], shares, strict=True)
    ]
    entries = zip(nodes["calls"], nodes["resumes"], raw["nodes"]["calls"], raw["nodes"]["resumes"], strict=True)
    more: Any
    for name, more in {
        "entered": [calls + resumes - before - resumed for calls, resumes, before, resumed in entries],
        "timed": sums["segments"],
        "timed_ns": ran,
        "wait_ns": [ns - own for ns, own in zip(sums["ns"], ran, strict=True)],
    }.items():
        nodes[name] = ints(a + b for a, b in zip(nodes[name].tolist(), more, strict=True))
    nodes["wait_sq"] = floats(a + b for a, b in zip(nodes["wait_sq"].tolist(), doubts, strict=True))


def _threads(recording: Recording, last: dict[int, int]) -> Columns:
    """Return the threads, extended to the end of their journals. The time of folded threads stays as it is."""
    table = {**recording._raw["threads"]}
    base = recording.calls.start_ns
    starts, ends, walls = (table[name].tolist() for name in ("start_ns", "end_ns", "wall_ns"))
    folded = table["folded"].tolist()
    for thread, time in last.items():
        if base + time > ends[thread]:
            more = base + time - max(ends[thread], starts[thread])
            walls[thread] += more if not folded[thread] else 0
            ends[thread] = base + time
    return {**table, "end_ns": ints(ends), "wall_ns": ints(walls)}


def _processes(recording: Recording, end: int, flushed: bool) -> Columns:
    """Return the processes, extended to the end of their threads. Without a flush, no waiting is known: no `waits`."""
    table = {**recording._raw["processes"]}
    until = recording.calls.start_ns + end
    table["end_ns"] = ints(max(time, until) for time in table["end_ns"].tolist())
    return table if flushed else {**table, "waits": zeros(len(table["waits"]))}
