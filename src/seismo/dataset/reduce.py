"""The sum of a dataset's recordings as one recording: the same path is one path, whatever recording it is from.

DuckDB adds up while it reads; only the distinct paths come into memory. Times were estimated in each process, so the
sums are of times, not of what they are estimated from.
"""

from __future__ import annotations

import array
from typing import TYPE_CHECKING, Any

from seismo import progress
from seismo.dataset.files import arrow_column
from seismo.dataset.schema import KEYS, NUMBERS, SUMS, TABLES, sum_of
from seismo.dataset.tasks import STATE
from seismo.model.columns import KEY, SCHEMA, Texts, columns_of, columns_of_named, empty, floats, ints, zeros
from seismo.model.combine import _check_kinds, _merge_meta
from seismo.model.lines.merge import OF_FUNCTIONS, PLACES, columns_of_blocks
from seismo.model.recording import Recording
from seismo.model.table import Strings
from seismo.model.tree_sum import SUMMED, without_costs
from seismo.query.sql_tables import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seismo.dataset.folder import Dataset, Entry
    from seismo.model.columns import Columns, Tables

LOST = "dataset-left-out"
MOST_BY_TASKS = 1 << 20  # paths by host and task; a recording with more would take gigabytes
_BY_TASKS = ("host", "task", "main")
_NO_THREAD = {"thread": 0, **{name: "" if code == "s" else 0 for name, code in SCHEMA["threads"]}, "cpu_ns": -1}


class _Sum(Recording):
    """The sum of a dataset. labels: the host and the task of threads, if it has a tree for each of these."""

    labels: Mapping[int, dict[str, str]]

    @property
    def thread_labels(self) -> list[dict[str, str]]:
        """The host and the task of each thread, by row."""
        return [self.labels.get(row.id, {}) for row in self.threads]

    def _with(self, tables: Tables, times: str = "") -> Recording:
        found = _Sum(tables, self._strings, self.meta, (), times or self.times)
        found.labels = self.labels
        return found


def column(table: Any, name: str) -> memoryview:
    """Return a column of numbers without NULL of an Arrow table."""
    form = "d" if str(table.schema.field(name).type) == "double" else "q"
    return memoryview(array.array(form, table[name].to_pylist()))


def merged_meta(entries: Sequence[Entry]) -> tuple[str, dict[str, Any]]:
    """Return the kind and the metadata of a sum. Raise RecordingError if the recordings are of different kinds."""
    meta = _merge_meta([entry.meta for entry in entries])
    kinds = sorted({entry.kind for entry in entries if entry.kind})
    _check_kinds([Recording({}, Strings.of([""]), {"recorder": kind}) for kind in kinds])
    if len(kinds) == 1:
        meta.setdefault("recorder", *kinds)
    return (kinds[0] if len(kinds) == 1 else ""), meta


class _Reduction:
    """The tables of the sum of what the dataset's views show. labels: of threads, if hosts and tasks have their own."""

    def __init__(self, dataset: Dataset, by_tasks: bool) -> None:
        self._dataset, self._rows, self._by_tasks = dataset, dataset.rows, by_tasks
        self.labels: dict[int, dict[str, str]] = {}
        self.texts = Texts()
        self.functions: dict[int, int] = {}
        self.losses: list[dict[str, Any]] = []

    def _dicts(self, table: str, more: str = "") -> list[dict[str, Any]]:
        names = [name for name, _ in TABLES[table]]
        rows = self._rows(f"select {', '.join(quoted(name, chr(34)) for name in names)} from {table}{more}")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def tables(self) -> Tables:
        """Return all tables."""
        paths, keys = self._paths()
        tables: Tables = {kind: empty(kind) for kind in SCHEMA}
        tables |= {"functions": self._functions(), **self._threads(keys)}
        tables["nodes"], nodes = self._nodes(paths, keys)
        tables |= self._places()
        tables |= self._contexts(tables)
        tables |= self._births(nodes)
        tables["losses"] = self._losses()
        return tables

    def _functions(self) -> Columns:
        """Return the functions that have rows, sorted as in a merge."""
        used = [f"select function from {kind}" for kind in (*OF_FUNCTIONS, "births")]
        used.append("select function from calls_by_function")
        rows = self._dicts("functions", f" where function in ({' union '.join(used)})")
        rows.sort(key=lambda row: [row[name] for name in KEY])
        self.functions = {row["function"]: number for number, row in enumerate(rows)}
        return columns_of_named("functions", [{**row, "code_bytes": 0} for row in rows], self.texts)

    def _threads(self, keys: list[tuple[Any, ...]]) -> Tables:
        """Return processes and threads, and note the thread of each key of paths."""
        processes = self._dicts("processes", " order by start_ns, process")
        processes = [row for row in processes if STATE not in row["labels"]]  # not the tasks
        numbers = {row["process"]: number for number, row in enumerate(processes)}
        threads = [row for row in self._dicts("threads") if row["process"] in numbers]
        if not threads and processes:
            threads = [{**_NO_THREAD, "process": 0}]
        threads = [{**row, "process": numbers.get(row["process"], 0)} for row in threads]
        threads.sort(key=lambda row: (row["process"], row["thread"]))
        mains = [bool(row["main"]) for row in threads]
        if self._by_tasks:
            self._thread_of = {key: len(threads) + number for number, key in enumerate(dict.fromkeys(keys))}
            for host, task, main in self._thread_of:
                name = "MainThread" if main else "other threads"
                threads.append({**_NO_THREAD, "process": 0, "main": main, "name": name})
                known = {"host": host, "task": task}
                self.labels[len(threads) - 1] = {label: value for label, value in known.items() if value}
        else:
            self._thread_of = {(main,): mains.index(main) if main in mains else 0 for main in (False, True)}
        rows = {"processes": processes, "threads": threads}
        return without_costs({kind: columns_of_named(kind, rows[kind], self.texts) for kind in rows})

    def _paths(self) -> tuple[Any, list[tuple[Any, ...]]]:
        """Return the distinct paths of each key with their sums, parents first, and their keys.

        A key is (main,): true for main threads, false for others. With by_tasks, it has the columns _BY_TASKS.
        """
        progress.begin("adding up calls")
        names = _BY_TASKS if self._by_tasks else ("main",)
        keys, values = ", ".join(names), ", ".join(sum_of(name, code) for name, code in NUMBERS)
        hosts = " left join (select process, host from processes) using (process)" if self._by_tasks else ""
        paths = self._dataset.run(
            f"with s as (select path, {keys}, {values} from calls_by_path{hosts} group by path, {keys}), "
            "p as (select path, any_value(hash) as hash, any_value(parent) as parent, any_value(function) as function, "
            "any_value(depth) as depth from paths where path in (select path from s) group by path) "
            f"select coalesce(hash, 0) as hash, {keys}, coalesce(any_value(parent), 0) as parent, "
            "coalesce(any_value(function), 0) as function, coalesce(any_value(depth), -1)::bigint as depth, "
            f"{values} from s left join p on s.path = p.path group by p.hash, {keys} "
            f"order by {keys.replace('main', 'main desc')}, depth, hash"
            + (f" limit {MOST_BY_TASKS + 1}" if self._by_tasks else ""),
        )
        if self._by_tasks and len(paths) > MOST_BY_TASKS:
            detail = f"hosts and tasks, which are summed: they have more than {MOST_BY_TASKS:,} call paths"
            self.losses.append(loss(detail))
            self._by_tasks = False
            return self._paths()
        return paths, list(zip(*(paths[name].to_pylist() for name in names), strict=True))

    def _nodes(self, paths: Any, keys: list[tuple[Any, ...]]) -> tuple[Columns, dict[int, int]]:
        """Return the tree, and the first node of each path's hash."""
        hashes, parents, depths, functions = (
            paths[name].to_pylist() for name in ("hash", "parent", "depth", "function")
        )
        at = {key: node for node, key in enumerate(zip(keys, hashes, strict=True))}
        known = [node for node, depth in enumerate(depths) if depth >= 0 and functions[node] in self.functions]
        new = {node: number for number, node in enumerate(known)}
        if len(known) < len(depths):
            lost = sum(calls for node, calls in enumerate(paths["calls"].to_pylist()) if node not in new)
            detail = "calls on paths that the dataset lacks: files of paths or functions are damaged or were removed"
            self.losses.append(loss(detail, lost))
        kept = paths.take(arrow_column(known, "q")) if len(known) < len(depths) else paths
        above = [new.get(at.get((keys[node], parents[node]), -1), -1) for node in known]
        table = {name: zeros(len(known), "d" if code == "d" else "q") for name, code in SCHEMA["nodes"]}
        for name in (*SUMS, "flags"):
            table[name] = column(kept, name)
        own, waits = column(kept, "own_ns").tolist(), table["wait_ns"].tolist()
        table["id"] = ints(range(len(known)))
        table["parent"] = ints(above)
        table["thread"] = ints(self._thread_of[keys[node]] for node in known)
        table["function"] = ints(self.functions[functions[node]] for node in known)
        table["entered"] = table["timed"] = ints(
            min(a + b, 2**63 - 1) for a, b in zip(table["calls"].tolist(), table["resumes"].tolist(), strict=True)
        )
        table["timed_ns"] = ints(max(0, a - b) for a, b in zip(own, waits, strict=True))
        wait_square = kept["wait_square"].to_pylist()
        table["wait_sq"] = floats(square / 4 for square in wait_square)
        pairs = zip(kept["own_square"].to_pylist(), wait_square, strict=True)
        table["own_sq"] = floats(max(0.0, a - b) / 4 for a, b in pairs)
        table["shared_ns"] = column(kept, "own_distortion")
        return table, {hashes[node]: new[node] for node in reversed(known)}

    def _summed(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table, those of the same key as one, sorted as in a merge."""
        keys = [quoted(name, '"') for name in KEYS[table]]
        columns = [one for one in TABLES[table] if one[0] not in ("recording", "process", *KEYS[table])]
        values = [sum_of(name, code, table) for name, code in columns]
        rows = self._rows(f"select {', '.join([*keys, *values])} from {table} group by {', '.join(keys)}")
        names = [*KEYS[table], *(name for name, _ in columns)]
        found = [dict(zip(names, row, strict=True)) for row in rows]
        for row in found:
            if "function" in row:
                row["function"] = self.functions.get(row["function"], -1)
        return sorted(found, key=lambda row: [row[name] for name in KEYS[table]])

    def _places(self) -> Tables:
        found = {kind: (row for row in self._summed(kind) if row.get("function", 0) >= 0) for kind in PLACES}
        return {kind: columns_of_named(kind, rows, self.texts) for kind, rows in found.items()}

    def _contexts(self, tables: Tables) -> Tables:
        rows = self._rows("select distinct context, arc, function, line, to_line from contexts")
        names = sorted({row[0] for row in rows})
        numbers = {name: number for number, name in enumerate(names)}
        keys = (zip(*(tables[kind][name] for name in PLACES[kind]), strict=True) for kind in ("lines", "arcs"))
        places: list[dict[Any, int]] = [{key: row for row, key in enumerate(of_kind)} for of_kind in keys]
        blocks = []
        for context, arc, function, line, to_line in rows:
            of = self.functions.get(function, -1)
            row = places[arc].get((of, line, to_line) if arc else (of, line))
            if row is not None:
                blocks.append((numbers[context], 1 << (row & 63), (int(arc), row >> 6)))
        contexts = columns_of("contexts", [(name,) for name in names], self.texts)
        return {"contexts": contexts, "context_hits": columns_of_blocks(blocks)}

    def _births(self, nodes: dict[int, int]) -> Tables:
        """Return types, objects and lifetimes. nodes: by the hashes of their paths."""
        types = self._summed("types")
        if not types:
            return {}
        numbers = {tuple(row[name] for name in KEYS["types"]): number for number, row in enumerate(types)}
        for row in types:
            row |= {"module": row["type_module"], "name": row["type_name"]}
        births, lives = self._summed("births"), self._summed("lifetimes")
        for row in [*births, *lives]:
            row["type"] = numbers[tuple(row[name] for name in KEYS["types"])]
            row["node"] = nodes.get(row["path_hash"], -1)
        births.sort(key=_site)
        objects = {_site(row): number for number, row in enumerate(births)}
        for row in lives:
            row["object"] = objects[_site(row)]
        lives.sort(key=lambda row: (row["object"], row["unit"], row["bucket"]))
        self.losses.append(loss("the dataset keeps births and lifetimes of objects, but no spans, survivors, holders"))
        rows = {"types": types, "objects": births, "lifetimes": lives}
        return {kind: columns_of_named(kind, rows[kind], self.texts) for kind in rows}

    def _losses(self) -> Columns:
        found = [{**row, "thread": -1} for row in self._summed("losses")]
        if self._dataset.superseded:
            left_out = "attempts at tasks of which another attempt counts: --attempts all has them"
            self.losses.append(loss(left_out, len(self._dataset.superseded)))
        return columns_of_named("losses", [*found, *self.losses, *map(loss, self._dataset.problems)], self.texts)


def _site(row: dict[str, Any]) -> tuple[int, int, int, int]:
    return row["type"], row["function"], row["line"], row["node"]


def loss(detail: str, count: int = 1) -> dict[str, Any]:
    """Return the row of a loss of the dataset."""
    return {"kind": LOST, "count": count, "thread": -1, "detail": detail}


def reduced(dataset: Dataset, entries: Sequence[Entry], by_tasks: bool) -> Recording:
    """Return the sum of the recordings in the dataset's views. by_tasks: with a thread of each host and task."""
    _, meta = merged_meta(entries)
    work = _Reduction(dataset, by_tasks)
    found = _Sum(work.tables(), Strings.of(list(work.texts.index)), {**meta, **SUMMED})
    found.labels = work.labels
    return found
