"""Splitting of a recording into its processes, and of a worker's into its tasks.

A task is what is below a node of a marker, a function of the file TASKS that no other task has. Below it, functions
named as JSON objects are notes: the task's labels (seismo.plugins.cluster.task_recording makes both). In a dataset all
markers are one function, a task's paths begin with it, and notes are labels.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo.dataset.files import clean
from seismo.model.columns import Tables, ints, named_rows, taken, with_rows
from seismo.model.recording import Recording
from seismo.recording_kinds import TASKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STATE, UNFINISHED, FINISHED = "state", "unfinished", "finished"
MARKER = "task"  # the name of all markers
TASK = "task"  # the label that names a task


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


class Marks(NamedTuple):
    """The markers among a recording's functions, and the labels in its notes by function."""

    markers: frozenset[int]
    notes: dict[int, dict[str, str]]


class Split(NamedTuple):
    """A process's recording in which each task has functions of its own.

    functions: for each of its functions, the one of the whole. tasks: for each node and for each function, the number
    of its task, or -1 for what is of none. labels, threads: of each task.
    """

    recording: Recording
    functions: Sequence[int]
    node_tasks: Sequence[int]
    function_tasks: Sequence[int]
    labels: list[dict[str, str]]
    threads: list[int]


def find_marks(recording: Recording) -> Marks:
    """Return the markers and notes of a recording."""
    raw, strings = recording._raw["functions"], recording._strings
    files = raw["file"].tolist()
    of_tasks = {index for index in set(files) if strings[index] == TASKS}
    markers, notes = set(), {}
    for function, index in enumerate(files if of_tasks else ()):
        if index in of_tasks:
            name = strings[raw["qualname"][function]]
            labels = _labels(name)
            if labels is not None:
                notes[function] = labels
            elif name == MARKER:  # else tblib has made it, to rebuild the traceback of a task that failed
                markers.add(function)
    return Marks(frozenset(markers), notes)


def _labels(text: str) -> dict[str, str] | None:
    """Return the labels of a note, or None if it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return {clean(name): clean(value) for name, value in found.items() if name and isinstance(value, str)}


def split(part: Recording, marks: Marks) -> Split:
    """Split the recording of one process into its tasks."""
    nodes = part._raw["nodes"]
    functions, parents, threads, calls = (nodes[name].tolist() for name in ("function", "parent", "thread", "calls"))
    numbers: dict[int, int] = {}  # of tasks, by marker
    labels: list[dict[str, str]] = []
    roots: list[int] = []  # the first node of each task
    kept: list[int] = []
    task_of, place = [-1] * len(functions), [-1] * len(functions)
    for node, function in enumerate(functions):
        task = task_of[parents[node]] if parents[node] >= 0 else -1
        if function in marks.markers:
            task = numbers.setdefault(function, len(numbers))
            if task == len(labels):
                labels.append({STATE: UNFINISHED})
                roots.append(node)
            parents[node] = -1
        task_of[node] = task
        if function not in marks.notes:
            place[node] = len(kept)
            kept.append(node)
        elif task >= 0:
            labels[task].update(marks.notes[function])
    # A worker of Spark that waits for a task has a marker without a name.
    named = [task for task, own in enumerate(labels) if own.get(TASK)]
    number_of = {task: number for number, task in enumerate(named)}
    task_of = [number_of.get(task, -1) for task in task_of]
    for task in named:
        calls[roots[task]] = 1  # one that began before the recording has 0
    pairs: dict[tuple[int, int], int] = {}
    of = [pairs.setdefault((task_of[node], functions[node]), len(pairs)) for node in kept]
    table = taken(nodes, kept)
    table["parent"] = ints(place[parents[node]] if parents[node] >= 0 else -1 for node in kept)
    table["function"], table["calls"] = ints(of), ints(calls[node] for node in kept)
    of_functions = [function for _, function in pairs]
    tables = {**part._raw, "nodes": table, "functions": taken(part._raw["functions"], of_functions)}
    return Split(
        Recording(tables, part._strings, part.meta),
        of_functions,
        [task_of[node] for node in kept],
        [task for task, _ in pairs],
        [labels[task] for task in named],
        [threads[roots[task]] for task in named],
    )
