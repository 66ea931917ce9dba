"""Splitting of a recording into its processes."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from seismo.model.columns import Tables, ints, named_rows, with_rows
from seismo.model.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterator


def by_process(recording: Recording) -> Iterator[tuple[dict[str, Any], Recording]]:
    """Yield each process's row (empty for a recording without any), and a recording of its threads and nodes alone."""
    rows = named_rows(recording, "processes")
    if len(rows) <= 1:
        yield rows[0] if rows else {}, recording
        return
    tables = _sorted_rows(recording._raw, "threads", "process")
    tables = _sorted_rows(tables, "nodes", "thread")
    whole = Recording(tables, recording._strings, recording.meta)
    threads, nodes = tables["threads"]["process"], tables["nodes"]["thread"]
    for row in rows:
        first, last = bisect_left(threads, row["id"]), bisect_left(threads, row["id"] + 1)
        yield row, _slice(whole, row["id"], (first, last), (bisect_left(nodes, first), bisect_left(nodes, last)))


def _sorted_rows(tables: Tables, kind: str, by: str) -> Tables:
    """Return the tables with the rows of one sorted by a column, as every merge has them."""
    of = tables[kind][by].tolist()
    if all(a <= b for a, b in pairwise(of)):
        return tables
    return with_rows(tables, {kind: sorted(range(len(of)), key=of.__getitem__)})


def _slice(recording: Recording, process: int, threads: tuple[int, int], nodes: tuple[int, int]) -> Recording:
    """Return a recording of one process's rows, which follow one another; all ids are from 0."""
    raw = recording._raw

    def part(kind: str, start: int, end: int) -> dict[str, memoryview]:
        table = {name: column[start:end] for name, column in raw[kind].items()}
        table["id"] = ints(range(end - start))
        return table

    tree = part("nodes", *nodes)
    tree["parent"] = ints(parent - nodes[0] if parent >= 0 else -1 for parent in tree["parent"].tolist())
    tree["thread"] = ints(thread - threads[0] for thread in tree["thread"].tolist())
    of_threads = part("threads", *threads)
    of_threads["process"] = ints([0] * len(of_threads["id"]))
    of_process = part("processes", process, process + 1)
    tables: Tables = {**raw, "processes": of_process, "threads": of_threads, "nodes": tree}
    return Recording(tables, recording._strings, recording.meta)
