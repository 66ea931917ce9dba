"""Splitting of a recording into its processes."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from seismo.model.columns import Tables, ints, named_rows
from seismo.model.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterator


def by_process(recording: Recording) -> Iterator[tuple[dict[str, Any], Recording]]:
    """Yield each process's row (empty for a recording without any), and a recording of its threads and nodes alone."""
    rows = named_rows(recording, "processes")
    if len(rows) <= 1:
        yield rows[0] if rows else {}, recording
        return
    threads = recording._raw["threads"]["process"].tolist()
    nodes = recording._raw["nodes"]["thread"]
    if _rises(threads) and _rises(nodes):  # as in every merge
        for row in rows:
            first, last = bisect_left(threads, row["id"]), bisect_left(threads, row["id"] + 1)
            yield (
                row,
                _slice(recording, row["id"], (first, last), (bisect_left(nodes, first), bisect_left(nodes, last))),
            )
        return
    for row in rows:
        of = [thread for thread, process in enumerate(threads) if process == row["id"]]
        part = recording.restricted(of)
        count = len(part._raw["threads"]["id"])
        yield row, _slice(part, row["id"], (0, count), (0, len(part._raw["nodes"]["id"])))


def _rises(column: Any) -> bool:
    return all(a <= b for a, b in pairwise(column))


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
    tables: Tables = {
        **raw,
        "processes": part("processes", process, process + 1),
        "threads": of_threads,
        "nodes": tree,
    }
    return Recording(tables, recording._strings, recording.meta)
