"""Splitting of a worker's recording into its tasks.

A task is what is below a node of a marker, a function of the file TASKS that no other task has. Below it, functions
named as JSON objects are notes: the task's labels (seismo.plugins.cluster.task_recording makes both). In a dataset all
markers are one function, a task's paths begin with it, and notes are labels.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from seismo.dataset.files import clean
from seismo.model.columns import ints, taken
from seismo.model.recording import Recording
from seismo.recording_kinds import TASKS

if TYPE_CHECKING:
    from collections.abc import Sequence

STATE, UNFINISHED, FINISHED = "state", "unfinished", "finished"
MARKER = "task"  # the name of all markers
TASK = "task"  # the label that names a task


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
