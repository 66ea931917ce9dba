"""Merging, subtracting and summing up of recordings.

The merge is associative and commutative. Functions, processes and losses are sorted by their contents alone, so any
engine may merge any number of recordings in any order. Trees are not summed; each stays under its own thread. Processes
differ in their probe costs, so times must be estimated before they are summed, which `combined` does.
"""

from __future__ import annotations

import array
import json
from collections import defaultdict
from itertools import accumulate, chain, compress, pairwise
from operator import xor
from typing import TYPE_CHECKING, Any

from seismo import _core
from seismo import recording_kinds as kinds
from seismo.errors import RecordingError
from seismo.model.columns import (
    LARGEST,
    SCHEMA,
    Columns,
    Tables,
    Texts,
    clamped,
    columns_of,
    columns_of_named,
    ints,
    keys_of_functions,
    less,
    merged_rows,
    named_rows,
    names_of,
    new_numbers,
    sum_by,
    taken,
    translated,
    with_rows,
    zeros,
)
from seismo.model.enums import BEFORE_START
from seismo.model.lines import merge as lines
from seismo.model.objects import merge as object_tables
from seismo.model.objects import subtract as object_snapshots
from seismo.model.recording import Recording
from seismo.model.table import Strings
from seismo.model.trace.copy_to_file import copied
from seismo.model.trace.file_chunks import joined
from seismo.model.wait_times import PLACES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from seismo.model.trace.file_chunks import Pieces

# ---- merge ----


def merge(recordings: Iterable[Recording]) -> Recording:
    """Merge recordings into one that has the processes, threads and trees of all.

    Functions that agree in kind, module, qualname, file and line become one. The result does not depend on order or
    grouping; without recordings it is empty. Raise RecordingError if the recordings are of different kinds.
    """
    parts = [problem_losses(recording) for recording in recordings]
    _check_kinds(parts)
    texts = Texts()
    known = MergedFunctions()
    given = [known.add(part) for part in parts]
    functions, order = known.ordered()
    function_maps = [[order[number] for number in numbers] for numbers in given]
    marks = [marks_of_trees(part) if len(parts) > 1 else [0] * len(part._raw["processes"]["id"]) for part in parts]
    tables, thread_maps, process_maps = merged_threads(parts, marks, texts)
    tables["functions"] = columns_of_named("functions", functions, texts)
    tables["nodes"], node_maps = _merge_nodes(parts, thread_maps, function_maps)
    tables |= lines.merged(parts, function_maps, texts)
    tables |= object_tables.merged(parts, function_maps, node_maps, process_maps, texts)
    ordered = {kind: tables[kind] for kind in SCHEMA}
    meta = _merge_meta([part.meta for part in parts])
    chunks = chain.from_iterable(map(copied, parts, thread_maps))
    finished = all(part._journal.finished for part in parts if part._journal is not None)
    journal = joined(chunks, len(tables["nodes"]["id"]), len(tables["threads"]["id"]), finished)
    return Recording(ordered, Strings.of(list(texts.index)), meta, journal=journal)


def _check_kinds(parts: Sequence[Recording]) -> None:
    """Raise RecordingError if the recordings are of different kinds."""
    names = {kinds.shown_as(part.kind) for part in parts if part.kind}
    found = {kinds.KINDS[name].of for name in names if name in kinds.KINDS}
    if len(found) > 1:
        words = " and ".join(sorted(found))
        raise RecordingError(
            f"recordings of {words} cannot be merged", hint="merge recordings of one kind only; see seismo info"
        )


def with_files(
    recording: Recording, files: Mapping[str, str], paths: Mapping[str, str], meta: dict[str, Any]
) -> Recording:
    """Return the recording with other metadata, files of functions and sources, and paths of sources.

    Functions that become equal by the new names are merged.
    """
    texts, tables = _with_texts(recording)
    for kind, column, names in (("functions", "file", files), ("sources", "file", files), ("sources", "path", paths)):
        given = map(recording._strings.__getitem__, recording._raw[kind][column].tolist())
        tables[kind][column] = ints(texts.add(names.get(text, text)) for text in given)
    strings = Strings.of(list(texts.index))
    return merge([Recording(tables, strings, meta, recording.problems, journal=recording._journal)])


def _with_texts(recording: Recording) -> tuple[Texts, Tables]:
    """Return the recording's tables with their strings in a table to which others can be added."""
    texts = Texts()
    for i in range(len(recording._strings)):
        texts.add(recording._strings[i])
    return texts, {kind: texts.table(kind, table, recording._strings) for kind, table in recording._raw.items()}


class MergedFunctions:
    """The functions of any number of recordings, without duplicates."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}

    def add(self, part: Recording) -> array.array[int]:
        """Add a recording's functions and return a provisional number for each; `ordered` maps these to final ids."""
        numbers = array.array("i")
        for key, row in zip(keys_of_functions(part), named_rows(part, "functions"), strict=True):
            number = self._numbers.setdefault(key, len(self._rows))
            if number == len(self._rows):
                self._rows.append(row)
            self._rows[number]["flags"] |= row["flags"]
            numbers.append(number)
        return numbers

    def ordered(self) -> tuple[list[dict[str, Any]], array.array[int]]:
        """Return the functions sorted by their keys, and the final id of each provisional number."""
        numbers = [self._numbers[key] for key in sorted(self._numbers)]
        return [self._rows[number] for number in numbers], new_numbers(numbers, len(numbers))


_Rows = list[dict[str, Any]]


def merged_threads(
    parts: Sequence[Recording], marks: Sequence[Sequence[int]], texts: Texts
) -> tuple[Tables, list[dict[int, int]], list[dict[int, int]]]:
    """Return the processes, threads and losses of all parts and, for each part, maps to new ids of threads, processes.

    `marks` has the result of marks_of_trees for each part; `texts` collects the strings. A loss of a thread that is
    missing concerns all threads.
    """
    process_rows: _Rows = []
    thread_rows: _Rows = []
    thread_maps: list[dict[int, int]] = [{} for _ in parts]
    process_maps: list[dict[int, int]] = [{0: 0} for _ in parts]  # rows without a process belong to the first
    threads_of: list[dict[int, _Rows]] = [defaultdict(list) for _ in parts]
    for part, of_processes in zip(parts, threads_of, strict=True):
        for row in named_rows(part, "threads"):
            of_processes[row["process"]].append(row)
    processes = [named_rows(part, "processes") for part in parts]
    for number, (place, process) in enumerate(_process_order(processes, marks)):
        process_maps[place][process] = number
        process_rows.append(processes[place][process])
        for row in threads_of[place].get(process, ()):
            thread_maps[place][row["id"]] = len(thread_rows)
            thread_rows.append({**row, "process": number})
    threads = [defaultdict(lambda: -1, of) for of in thread_maps]
    tables = {
        "processes": columns_of_named("processes", process_rows, texts),
        "threads": columns_of_named("threads", thread_rows, texts),
        "losses": merged_rows("losses", ("kind", "thread", "detail"), parts, texts, thread=threads)[0],
    }
    return tables, thread_maps, process_maps


def _process_order(processes: Sequence[_Rows], marks: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return (part, process) pairs sorted by contents: the start first, then the other columns, then the tree mark.

    Equal rows of a recording alone keep their order.
    """
    names = ("start_ns", *(name for name in names_of("processes") if name != "start_ns"))
    entries = [
        ((*(row[name] for name in names), mark if len(processes) > 1 else 0), (number, row["id"]))
        for number, (rows, of_rows) in enumerate(zip(processes, marks, strict=True))
        for row, mark in zip(rows, of_rows, strict=True)
    ]
    return [place for _, place in sorted(entries)]


def marks_of_trees(part: Recording) -> list[int]:
    """Return a checksum of each process's nodes and spans, which distinguishes processes whose rows are equal.

    It does not depend on the order of the nodes, because a merge sorts them by thread.
    """
    raw = part._raw
    marks = [0] * len(raw["processes"]["id"])
    of_threads = raw["threads"]["process"].tolist()
    spans = (raw["object_spans"][name].tolist() for name in ("process", "born"))
    for process, born in zip(*spans, strict=True):
        marks[process] += born
    threads, calls, timed = (raw["nodes"][name].tolist() for name in ("thread", "calls", "timed_ns"))
    of_nodes = map(xor, map((1000003).__mul__, calls), timed)
    for process, mark in zip(map(of_threads.__getitem__, threads), of_nodes, strict=True):
        marks[process] += mark
    return marks


def _merge_nodes(
    parts: Sequence[Recording], thread_maps: list[dict[int, int]], function_maps: list[list[int]]
) -> tuple[Columns, list[Sequence[int]]]:
    """Return the nodes of all parts, sorted by the threads' new ids, and for each part a map from old to new ids."""
    joined: dict[str, array.array[Any]] = {name: array.array(code) for name, code in SCHEMA["nodes"]}
    for part, threads, functions in zip(parts, thread_maps, function_maps, strict=True):
        nodes, base = part._raw["nodes"], len(joined["id"])
        places = range(base, base + len(nodes["id"]))
        moved = translated(nodes, parent=places, thread=threads, function=functions)
        for name, column in joined.items():
            column.frombytes(moved[name].cast("B"))
    of = joined["thread"]
    rows = sorted(range(len(of)), key=of.__getitem__)  # stable, so parents stay before children
    new_ids = new_numbers(rows, len(rows))
    ends = [0, *accumulate(len(part._raw["nodes"]["id"]) for part in parts)]
    maps: list[Sequence[int]] = [new_ids[start:end] for start, end in pairwise(ends)]
    nodes = {name: memoryview(column) for name, column in joined.items()}
    return with_rows({"nodes": nodes}, {"nodes": rows})["nodes"], maps


def _merge_meta(metas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the items that all metadata share, and under "merged" each distinct metadata, sorted by its JSON text."""
    distinct: dict[str, dict[str, Any]] = {}
    for meta in metas:
        for one in meta.get("merged") or [meta]:
            distinct[json.dumps(one, sort_keys=True, default=str)] = one
    if len(distinct) <= 1:
        return dict(metas[0]) if metas else {"format": 1}
    ordered = [distinct[text] for text in sorted(distinct)]
    first = ordered[0]
    alike = {key: value for key, value in first.items() if all(one.get(key, one) == value for one in ordered)}
    return {**alike, "merged": ordered}


def problem_losses(recording: Recording) -> Recording:
    """Return the recording with its file's problems as losses, so that a merge or a save keeps them."""
    rows = []
    for problem in recording.problems:
        kind = "truncated" if "cut off" in problem else "chunk-bad"
        rows.append({"kind": kind, "count": 1, "thread": -1, "detail": problem})
    journal = recording._journal
    if journal is not None and not journal.fits(recording._raw):
        rows.append(trace_loss(journal, "its calls refer to rows of the tree that are missing"))
        recording = Recording(recording._raw, recording._strings, recording.meta, recording.problems, recording.times)
    return with_losses(recording, rows) if rows else recording


def trace_loss(journal: Pieces, why: str) -> dict[str, Any]:
    """Return a loss that records that a trace's journal was dropped."""
    return {"kind": "journal-left-out", "count": len(journal.places) // 2, "thread": -1, "detail": why}


def with_losses(recording: Recording, more: Sequence[dict[str, Any]]) -> Recording:
    """Return the recording with more losses (kind, count, thread, detail), and without its file's problems."""
    texts, tables = _with_texts(recording)
    tables["losses"] = columns_of_named("losses", [*named_rows(recording, "losses"), *more], texts)
    return Recording(tables, Strings.of(list(texts.index)), recording.meta, journal=recording._journal)


# ---- subtract ----

_GROWING = tuple(name for name, _ in SCHEMA["nodes"] if name not in PLACES)


def subtract(later: Recording, earlier: Recording) -> Recording:
    """Return `later` minus `earlier`, an earlier snapshot of the same recording.

    Nodes are matched by id; nodes without activity in between are left out. Raise RecordingError if `earlier` is not an
    earlier snapshot of `later`.
    """
    now, before = later._raw["nodes"], earlier._raw["nodes"]
    count = len(before["id"])
    if not _continues(later, earlier):
        raise RecordingError(
            "one recording is not an earlier snapshot of the other", "", "subtract snapshots of one session"
        )
    nodes = less(now, before, _GROWING, range(count))
    busy = bytearray(map(any, zip(*(nodes[name].tolist() for name in _GROWING), strict=True)))
    objects, chosen = object_snapshots.subtracted(later, earlier)
    of_objects = objects["objects"]["node"].tolist()
    for row in map(of_objects.__getitem__, chosen["objects"]):
        if row >= 0:
            busy[row] = 1
    parents = now["parent"].tolist()
    for row in range(len(parents) - 1, -1, -1):
        if busy[row] and parents[row] >= 0:
            busy[parents[row]] = 1
    chosen["nodes"] = list(compress(range(len(busy)), busy))
    tables = with_rows({**later._raw, **lines.subtracted(later, earlier), **objects, "nodes": nodes}, chosen)
    kinds = ("nodes", *lines.OF_FUNCTIONS, *object_tables.OF_FUNCTIONS)
    used = {number for kind in kinds for number in tables[kind]["function"].tolist()} - {-1}
    tables = with_rows(tables, {"functions": sorted(used)})
    threads, ended = later._raw["threads"], earlier._raw["threads"]
    tables["threads"] = less(threads, ended, ("wall_ns", "cpu_ns", "rest_ns", "folded"), ended["id"])
    tables["losses"] = _subtract_losses(later, earlier)
    result = Recording(tables, later._strings, later.meta, later.problems)
    if later._journal is None:
        return result
    return with_losses(result, [trace_loss(later._journal, "it also has the calls of the subtracted recording")])


def _continues(later: Recording, earlier: Recording) -> bool:
    """Return True if the nodes of `earlier` are the first nodes of `later`; function ids may differ."""
    now, before = later._raw["nodes"], earlier._raw["nodes"]
    count = len(before["id"])
    fewer = any(len(later._raw[kind]["id"]) < len(earlier._raw[kind]["id"]) for kind in ("nodes", "threads"))
    if fewer or any(now[name][:count] != before[name] for name in ("parent", "thread")):
        return False
    new_keys, old_keys = map(keys_of_functions, (later, earlier))
    pairs = set(zip(now["function"][:count].tolist(), before["function"].tolist(), strict=True))
    return all(new_keys[new] == old_keys[old] for new, old in pairs)


def _subtract_losses(later: Recording, earlier: Recording) -> Columns:
    known = {row._replace(count=0): row.count for row in earlier.losses}
    counts = [max(0, row.count - known.get(row._replace(count=0), 0)) for row in later.losses]
    table = {**later._raw["losses"], "count": ints(counts)}
    return taken(table, list(compress(range(len(counts)), counts)))


# ---- combined ----


def combined(recording: Recording, threads: Iterable[int] | None = None) -> Recording:
    """Overlay the trees of the chosen threads as one thread.

    Nodes with equal paths become one, with summed numbers. The functions' numbers cover the chosen threads only. Raise
    ValueError if there is no such thread.
    """
    source = recording if threads is None else restricted(recording, set(threads))
    nodes, to = summed_nodes(source, b"\1" * len(source._raw["threads"]["id"]))
    losses = {**source._raw["losses"], "thread": ints([-1] * len(source._raw["losses"]["id"]))}
    tables = {**source._raw, **_one_thread(source), "losses": losses}
    tables["nodes"] = {**nodes, "thread": zeros(len(nodes["id"]))}
    tables |= object_tables.with_nodes(object_tables.of_one_process(tables), to.tolist())
    return Recording(tables, source._strings, source.meta, source.problems, source.times)


def summed_nodes(source: Recording, chosen: bytes) -> tuple[Columns, memoryview]:
    """Return the overlaid trees of the threads t with chosen[t] != 0, and for each node its row there or -1.

    The estimated times and their errors are stored as exact times and known errors.
    """
    nodes, times = source._raw["nodes"], source._estimated
    laid = {name: memoryview(column) for name, column in _core.combine(nodes, chosen).items()}
    rows, to = len(laid["parent"]), laid["to"]
    table = {name: sum_by(nodes[name], to, rows, name == "flags") for name, _ in SCHEMA["nodes"]}
    table |= {name: zeros(rows, code) for name, code in SCHEMA["nodes"] if name.startswith("sampled")}
    table |= {name: sum_by(times[name], to, rows) for name in ("own_sq", "shared_ns")}
    table.update(id=ints(range(rows)), parent=laid["parent"], function=laid["function"])
    waits = table["wait_ns"] if source.times == "wall" else zeros(rows)  # others exclude waiting or consist of it
    pairs = zip(sum_by(times["own_ns"], to, rows).tolist(), waits.tolist(), strict=True)
    table["timed_ns"] = ints(max(0, min(round(own - wait), LARGEST)) for own, wait in pairs)
    entries = table["calls"]
    if any(table["resumes"]):
        entries = ints(map(clamped, map(int.__add__, entries.tolist(), table["resumes"].tolist())))
    table["entered"] = table["timed"] = entries
    return table, to


def _one_thread(source: Recording) -> Tables:
    """Return the thread and process of combined trees, without probe costs, which their times already exclude."""
    rows: dict[str, dict[str, int]] = {}
    for kind in ("threads", "processes"):
        of = source._raw[kind]
        rows[kind] = {"start_ns": min(of["start_ns"], default=0), "end_ns": max(of["end_ns"], default=0)}
    threads, processes = source._raw["threads"], source._raw["processes"]
    cpu = threads["cpu_ns"].tolist()
    rows["threads"]["wall_ns"] = clamped(sum(threads["wall_ns"]))
    rows["threads"]["cpu_ns"] = -1 if min(cpu, default=0) < 0 else clamped(sum(cpu))
    if len(processes["id"]) == 1:
        rows["processes"] = {name: processes[name][0] for name, code in SCHEMA["processes"] if code != "d"}
    return {kind: columns_of(kind, [[row.get(name, 0) for name in names_of(kind)]]) for kind, row in rows.items()}


def restricted(recording: Recording, threads: set[int]) -> Recording:
    """Return the recording with only the given threads. Raise ValueError if there is no such thread."""
    count = len(recording._raw["threads"]["id"])
    for thread in threads:
        if not 0 <= thread < count:
            raise ValueError(f"no thread {thread}: there are {count}")
    tables = with_rows(recording._raw, {"threads": sorted(threads)})
    return Recording(tables, recording._strings, recording.meta, recording.problems, recording.times)


def subtree_of(recording: Recording, is_its: Callable[[str], bool]) -> Recording:
    """Return the recording of some code: its functions, all they called, and threads that began in the meantime.

    `is_its` returns True for a file (co_filename) of the code. Callers of the code, and threads that were running when
    the recording began, are left out.
    """
    nodes = recording._raw["nodes"]
    files = recording.functions["file"]
    its = {row for row, file in enumerate(files) if is_its(file)}
    flags, parents, functions = (nodes[name].tolist() for name in ("flags", "parent", "function"))
    kept = [False] * len(flags)
    for row, (parent, function) in enumerate(zip(parents, functions, strict=True)):
        begun = parent < 0 and not flags[row] & BEFORE_START
        kept[row] = begun or function in its or (parent >= 0 and kept[parent])
    roots = ints(parent if parent >= 0 and kept[parent] else -1 for parent in parents)
    rows = list(compress(range(len(kept)), kept))
    tables = with_rows({**recording._raw, "nodes": {**nodes, "parent": roots}}, {"nodes": rows})
    return Recording(tables, recording._strings, recording.meta, recording.problems, recording.times)
