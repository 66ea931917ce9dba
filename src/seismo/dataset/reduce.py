"""The sum of a dataset's recordings as one recording: the same path is one path, whatever recording it is from.

DuckDB adds up while it reads; only the distinct paths come into memory. Times were estimated in each process, so the
sums are of times, not of what they are estimated from. Squares of errors are summed as such, shared errors as numbers.
"""

from __future__ import annotations

import array
import functools
import math
from typing import TYPE_CHECKING, Any

from seismo import progress
from seismo.dataset.files import arrow_column
from seismo.dataset.schema import TABLES, sum_of, sums
from seismo.errors import UsageError
from seismo.model.combine import _check_kinds, _merge_meta, _table, _Texts
from seismo.model.lines.tables import PLACES, block, columns_of, empty, ints
from seismo.model.recording import SCHEMA, Columns, Recording, Tables
from seismo.model.table import Strings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.dataset.folder import Dataset

LOST = "dataset-left-out"
_COSTS = [name for name, code in SCHEMA["processes"] if code == "d"]


class Sum(Recording):
    """A recording whose times were estimated before they were summed.

    A node's exact time is its sum without waiting. running_square and distortion have the errors of nodes and of
    functions, without those of waiting, which are in the table as in any recording.
    """

    def __init__(
        self, tables: Tables, strings: Strings, meta: dict[str, Any], errors: dict[str, Any], times: str = "wall"
    ) -> None:
        super().__init__(tables, strings, meta, (), times)
        self._errors = errors

    def timed(self, by: str) -> Recording:
        """Return the recording with times of another sort, as any recording does."""
        if by == self.times:
            return self
        if by == "calls":
            return super().timed(by)
        super().timed(by)  # checks the word
        return Sum(self._raw, self._strings, self.meta, self._errors, by)

    def _with(self, tables: Tables) -> Recording:
        return Sum(tables, self._strings, self.meta, self._errors, self.times)

    @functools.cached_property
    def _estimated(self) -> Columns:
        nodes, errors = self._raw["nodes"], self._errors
        parents, functions = nodes["parent"].tolist(), nodes["function"].tolist()
        ran, waited = nodes["timed_ns"].tolist(), nodes["wait_ns"].tolist()
        wait_square = [4 * square for square in nodes["wait_sq"].tolist()]
        runs, waits = self.times != "wait", self.times != "cpu"
        own = array.array("d", [float(a * runs + b * waits) for a, b in zip(ran, waited, strict=True)])
        pairs = zip(errors["running_square"], wait_square, strict=True)
        square = array.array("d", [a * runs + b * waits for a, b in pairs])
        distortion = array.array("d", [a * runs for a in errors["distortion"]])
        total, total_wait = own[:], array.array("d", waited)
        total_square, total_distortion = square[:], distortion[:]
        for sums_ in (total, total_wait, total_square, total_distortion):
            for node in range(len(parents) - 1, -1, -1):  # parents precede their children
                if parents[node] >= 0:
                    sums_[parents[node]] += sums_[node]
        depth = array.array("q", bytes(8 * len(parents)))
        of_functions = array.array("d", bytes(8 * len(self._raw["functions"]["id"])))
        function_waits = of_functions[:]
        for node, parent in enumerate(parents):
            depth[node] = depth[parent] + 1 if parent >= 0 else 0
            of_functions[functions[node]] += own[node]
            function_waits[functions[node]] += wait_square[node]
        common = array.array("d", [a * runs for a in errors["function_distortion"]])
        of_pairs = zip(errors["function_running_square"], function_waits, strict=True)
        of_function = array.array("d", [a * runs + b * waits for a, b in of_pairs])
        found = {
            "own_ns": own,
            "own_error_ns": _half_widths(square, distortion),
            "total_ns": total,
            "total_error_ns": _half_widths(total_square, total_distortion),
            "total_wait_ns": total_wait,
            "total_square": total_square,
            "total_distortion": total_distortion,
            "depth": depth,
            "function_own_ns": of_functions,
            "function_own_error_ns": _half_widths(of_function, common),
            "function_distortion_ns": common,
        }
        return {name: memoryview(column) for name, column in found.items()}


def _half_widths(square: Sequence[float], distortion: Sequence[float]) -> array.array[float]:
    return array.array("d", [math.hypot(math.sqrt(a), b) for a, b in zip(square, distortion, strict=True)])


def column(table: Any, name: str) -> memoryview:
    """Return a column of numbers without NULL of an Arrow table."""
    form = "d" if str(table.schema.field(name).type) == "double" else "q"
    return memoryview(array.array(form, table[name].to_pylist()))


class _Reduction:
    """The tables of the sum. chosen: the recordings to take, or None for all."""

    def __init__(self, dataset: Dataset, chosen: list[str] | None) -> None:
        self._dataset = dataset
        names = list(dataset.recordings) if chosen is None else chosen
        self._only = "" if chosen is None else " where recording in (select unnest(?))"
        self._calls = "" if chosen is None else f" where process in (select process from processes{self._only})"
        self._given = [] if chosen is None else [names]
        self._entries = [dataset.recordings[name] for name in names]
        self.meta = _merge_meta([entry.meta for entry in self._entries])
        kinds = {entry.kind for entry in self._entries if entry.kind}
        if len(kinds) == 1:
            self.meta.setdefault("recorder", *kinds)
        _check_kinds([Recording({}, Strings.of([""]), {"recorder": kind}) for kind in sorted(kinds)])
        self.texts = _Texts()
        self.functions: dict[int, int] = {}
        self.losses: list[dict[str, Any]] = []

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._dataset.rows(sql, self._given * sql.count("?"))

    def _dicts(self, table: str, more: str = "") -> list[dict[str, Any]]:
        names = [name for name, _ in TABLES[table]]
        only = self._only if "recording" in names else self._calls
        rows = self._rows(f"select {', '.join(map(_quoted, names))} from {table}{only}{more}")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def tables(self) -> tuple[Tables, dict[str, Any]]:
        """Return all tables, and the errors of the tree."""
        paths = self._paths()
        tables: Tables = {kind: empty(kind) for kind in SCHEMA}
        tables["functions"] = self._functions()
        tables |= self._threads()
        tables["nodes"], errors, numbers = self._nodes(paths)
        for kind in PLACES:
            tables[kind] = self._places(kind)
        tables |= self._contexts(tables)
        tables |= self._births(numbers)
        tables["losses"] = self._losses()
        return tables, errors

    def of_functions(self) -> tuple[Tables, dict[str, Any]]:
        """Return the tables of a recording without paths: a node for each function."""
        functions = self._functions()
        threads = self._threads()
        rows = self._dataset.run(
            f"select function as hash, true as main, 0::bigint as parent, function, 0::bigint as depth, "
            f"{sums('calls_by_function')}, []::bigint[] as numbers from calls_by_function{self._calls} "
            "group by function order by function",
            self._given,
        )
        nodes, errors, _ = self._nodes(rows)
        totals = memoryview(array.array("d", rows["total_ns"].to_pylist()))
        places = {kind: self._places(kind) for kind in PLACES}
        tables = {**{kind: empty(kind) for kind in SCHEMA}, **threads, **places}
        return {**tables, "functions": functions, "nodes": nodes, "losses": self._losses()}, errors | {
            "total_ns": totals
        }

    def _functions(self) -> Columns:
        """Return the functions that have rows, sorted as in a merge."""
        tables = [f"select function from {kind}{self._only}" for kind in PLACES if kind != "sources"]
        tables += [f"select function from calls_by_function{self._calls}", f"select function from births{self._only}"]
        rows = self._rows(
            "select function, kind, module, qualname, file, line, flags from functions "
            f"where function in ({' union '.join(tables)})"
        )
        rows.sort(key=lambda row: row[1:6])
        self.functions = {row[0]: number for number, row in enumerate(rows)}
        names = ("kind", "module", "qualname", "file", "line", "flags")
        found = [{**dict(zip(names, row[1:], strict=True)), "code_bytes": 0} for row in rows]
        return _table("functions", found, self.texts)

    def _threads(self) -> Tables:
        order = " order by start_ns, process"
        processes = self._dicts("processes", order)
        numbers = {row["process"]: number for number, row in enumerate(processes)}
        threads = self._dicts("threads", " order by process, thread")
        for row in threads:
            row["process"] = numbers.get(row["process"], 0)
        for row in [*processes, *threads]:  # the times are without the cost of recording, and were all found
            row |= {name: 0.0 for name in _COSTS if name in row} | ({"rest_ns": 0} if "rest_ns" in row else {})
        threads.sort(key=lambda row: (row["process"], row["thread"]))
        threads = threads or [dict.fromkeys((name for name, _ in TABLES["threads"]), 0) | {"name": "", "cpu_ns": -1}]
        self._main = [
            next((i for i, row in enumerate(threads) if bool(row["main"]) == main), 0) for main in (False, True)
        ]
        return {
            "processes": _table("processes", processes, self.texts),
            "threads": _table("threads", threads, self.texts),
        }

    def _paths(self) -> Any:
        """Return the distinct paths on main threads and on others, with their sums, parents first."""
        progress.begin("adding up calls")
        values = sums("calls_by_path")
        return self._dataset.run(
            f"with s as (select path, main, {values} from calls_by_path{self._calls} group by path, main), "
            "p as (select path, any_value(hash) as hash, any_value(parent) as parent, any_value(function) as function, "
            "any_value(depth) as depth from paths where path in (select path from s) group by path) "
            "select coalesce(hash, 0) as hash, main, coalesce(any_value(parent), 0) as parent, "
            "coalesce(any_value(function), 0) as function, coalesce(any_value(depth), -1)::bigint as depth, "
            f"{values}, list(s.path) as numbers from s left join p on s.path = p.path group by p.hash, main "
            "order by main desc, depth, hash",
            self._given * ("?" in self._calls),
        )

    def _nodes(self, paths: Any) -> tuple[Columns, dict[str, Any], dict[int, int]]:
        """Return the tree, the errors of its times, and the first node of each number of a path."""
        hashes, mains, parents, depths, functions = (
            paths[name].to_pylist() for name in ("hash", "main", "parent", "depth", "function")
        )
        at = {key: node for node, key in enumerate(zip(mains, hashes, strict=True))}
        known = [node for node, depth in enumerate(depths) if depth >= 0 and functions[node] in self.functions]
        new = {node: number for number, node in enumerate(known)}
        lost = 0
        if len(known) < len(depths):
            lost = sum(calls for node, calls in enumerate(paths["calls"].to_pylist()) if node not in new)
        if lost:
            detail = (
                "calls whose paths the dataset lacks: the files of its paths or functions are damaged or were removed"
            )
            self.losses.append({"kind": LOST, "count": lost, "thread": -1, "detail": detail})
        kept = paths.take(arrow_column(known, "q")) if len(known) < len(depths) else paths
        above = [new.get(at.get((mains[node], parents[node]), -1), -1) for node in known]
        table: Columns = {
            name: memoryview(array.array("d" if code == "d" else "q", bytes(8 * len(known))))
            for name, code in SCHEMA["nodes"]
        }
        for name in SCHEMA_OF_SUMS:
            table[name] = column(kept, name)
        own, waits = column(kept, "own_ns").tolist(), table["wait_ns"].tolist()
        table["id"] = ints(range(len(known)))
        table["parent"] = ints(above)
        table["thread"] = ints(self._main[bool(mains[node])] for node in known)
        table["function"] = ints(self.functions[functions[node]] for node in known)
        table["entered"] = table["timed"] = ints(
            min(a + b, 2**63 - 1) for a, b in zip(table["calls"].tolist(), table["resumes"].tolist(), strict=True)
        )
        table["timed_ns"] = ints(max(0, a - b) for a, b in zip(own, waits, strict=True))
        wait_square = kept["wait_square"].to_pylist()
        table["wait_sq"] = memoryview(array.array("d", [square / 4 for square in wait_square]))
        numbers = {
            number: new[node]
            for node, some in enumerate(paths["numbers"].to_pylist())
            if node in new
            for number in some
        }
        pairs = zip(kept["own_square"].to_pylist(), wait_square, strict=True)
        errors = {
            "running_square": [max(0.0, a - b) for a, b in pairs],
            "distortion": kept["own_distortion"].to_pylist(),
        }
        return table, errors | self._function_errors(), numbers

    def _function_errors(self) -> dict[str, list[float]]:
        rows = self._rows(
            "select function, sum(own_square::double), sum(own_distortion::double), sum(wait_square::double) "
            f"from calls_by_function{self._calls} group by function"
        )
        square, distortion = [0.0] * len(self.functions), [0.0] * len(self.functions)
        for function, own, common, wait in rows:
            if function in self.functions:
                square[self.functions[function]] = max(0.0, own - wait)
                distortion[self.functions[function]] = common
        return {"function_running_square": square, "function_distortion": distortion}

    def _places(self, kind: str) -> Columns:
        """Return a table about lines: rows of the same place are one, as in a merge."""
        names = [(name, code) for name, code in TABLES[kind] if name != "recording"]
        keys = [f'"{name}"' for name in PLACES[kind]]
        values = [sum_of(name, code) for name, code in names if name not in PLACES[kind]]
        sql = f"select {', '.join([*keys, *values])} from {kind}{self._only} group by {', '.join(keys)}"
        order = [*PLACES[kind], *(name for name, _ in names if name not in PLACES[kind])]
        rows = []
        for row in self._rows(sql):
            found = dict(zip(order, row, strict=True))
            if "function" in found:
                found["function"] = self.functions.get(found["function"], -1)
                if found["function"] < 0:
                    continue
            rows.append(found)
        rows.sort(key=lambda row: [row[name] for name in PLACES[kind]])
        return columns_of(kind, [[row[name] for name, _ in SCHEMA[kind] if name != "id"] for row in rows], self.texts)

    def _contexts(self, tables: Tables) -> Tables:
        rows = self._rows(f"select distinct context, arc, function, line, to_line from contexts{self._only}")
        names = sorted({row[0] for row in rows})
        numbers = {name: number for number, name in enumerate(names)}
        lines, arcs = tables["lines"], tables["arcs"]
        places: tuple[dict[Any, int], dict[Any, int]] = (
            {key: row for row, key in enumerate(zip(lines["function"], lines["line"], strict=True))},
            {
                key: row
                for row, key in enumerate(zip(arcs["function"], arcs["from_line"], arcs["to_line"], strict=True))
            },
        )
        blocks: dict[tuple[int, tuple[int, int]], int] = {}
        for context, arc, function, line, to_line in rows:
            of = self.functions.get(function, -1)
            row = places[arc].get((of, line, to_line) if arc else (of, line))
            if row is not None:
                key = (numbers[context], (int(arc), row >> 6))
                blocks[key] = blocks.get(key, 0) | 1 << (row & 63)
        hits = [(context, *block(place, bits)) for (context, place), bits in sorted(blocks.items())]
        return {
            "contexts": columns_of("contexts", [(name,) for name in names], self.texts),
            "context_hits": columns_of("context_hits", hits, None),
        }

    def _births(self, nodes: dict[int, int]) -> Tables:
        """Return types, objects and lifetimes, added up as in a merge."""
        from seismo.model.enums import OBJECT_AT_MOST, TYPE_AT_MOST, TYPE_ESTIMATED

        shape = "type_module, type_name, size, item_size, "
        mask = f"type_flags & {~(TYPE_ESTIMATED | TYPE_AT_MOST)}"
        united = f"bit_or({{}}) | case when count(*) > 1 then {TYPE_AT_MOST} else 0 end"
        counted = [(name, code) for name, code in SCHEMA["types"][6:]]
        rows = self._rows(
            f"select {shape}{mask}, {united.format('type_flags')}, {', '.join(sum_of(*one) for one in counted)} "
            f"from types{self._only} group by {shape}{mask}"
        )
        rows.sort(key=lambda row: (row[0], row[1], row[4], row[2], row[3]))
        types = {row[:5]: number for number, row in enumerate(rows)}
        found = {"types": columns_of("types", [(*row[:2], row[5], *row[2:4], *row[6:]) for row in rows], self.texts)}
        if not rows:
            return {}
        counted = [(name, code) for name, code in SCHEMA["objects"][6:]]
        site = f"{shape}{mask}, function, line, path"
        united = f"bit_or(flags) | case when count(*) > 1 then {OBJECT_AT_MOST} else 0 end"
        births = self._rows(
            f"select {site}, {united}, {', '.join(sum_of(*one) for one in counted)} from births{self._only} "
            f"group by {site}"
        )
        counted_lives = f'select {site}, unit, bucket, sum("count")::bigint from lifetimes{self._only}'
        lives = self._rows(f"{counted_lives} group by {site}, unit, bucket")
        sites: dict[tuple[int, int, int, int], list[int]] = {}

        def site_of(row: tuple[Any, ...]) -> tuple[int, int, int, int]:
            function = self.functions.get(row[5], -1)
            return types[row[:5]], function, row[6], nodes.get(row[7], -1)

        for row in births:
            have = sites.setdefault(site_of(row), [0] * (len(row) - 8))
            flags = have[0] | row[8] | (OBJECT_AT_MOST if any(have) else 0)
            have[:] = [flags, *map(int.__add__, have[1:], row[9:])]
        order = {key: number for number, key in enumerate(sorted(sites))}
        objects = [[*key, *sites[key]] for key in order]
        found["objects"] = columns_of("objects", objects, None)
        counts: dict[tuple[int, int, int], int] = {}
        for row in lives:
            place = (order[site_of(row)], row[8], row[9])
            counts[place] = counts.get(place, 0) + row[10]
        found["lifetimes"] = columns_of("lifetimes", [[*key, counts[key]] for key in sorted(counts)], None)
        return found

    def _losses(self) -> Columns:
        counted = f"select kind, {sum_of('count', 'q')}, detail from losses{self._only}"
        rows = self._rows(f"{counted} group by kind, detail order by all")
        found = [{"kind": kind, "count": count, "thread": -1, "detail": detail} for kind, count, detail in rows]
        problems = [{"kind": LOST, "count": 1, "thread": -1, "detail": text} for text in self._dataset.problems]
        return _table("losses", [*found, *self.losses, *problems], self.texts)


SCHEMA_OF_SUMS = ("calls", "resumes", "exceptions", "awaits", "await_ns", "wait_ns", "ready_ns", "lock_ns", "flags")


def _quoted(name: str) -> str:
    return f'"{name}"'


def reduced(dataset: Dataset, chosen: list[str] | None) -> Recording:
    """Return the sum of the recordings of a dataset, or of the chosen ones."""
    if chosen is not None and not chosen:
        raise UsageError("no recording is chosen", dataset.path)
    work = _Reduction(dataset, chosen)
    tables, errors = work.tables()
    return Sum(tables, Strings.of(list(work.texts.index)), work.meta, errors)


class _Run(Sum):
    """A recording of functions alone, each a root, with the totals that they have in the whole tree."""

    @functools.cached_property
    def _estimated(self) -> Columns:
        return {**super()._estimated, "total_ns": self._errors["total_ns"]}


def functions_of(dataset: Dataset, name: str) -> Recording:
    """Return one recording of a dataset with its functions alone."""
    work = _Reduction(dataset, [name])
    tables, errors = work.of_functions()
    return _Run(tables, Strings.of(list(work.texts.index)), work.meta, errors)
