"""Appending of recordings to a dataset."""

from __future__ import annotations

import array
import json
import os
from contextlib import ExitStack
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from seismo import progress
from seismo.dataset import content_hash
from seismo.dataset.files import Folder, TableFile, arrow_column, clean
from seismo.dataset.processes import by_process
from seismo.dataset.schema import RECORDINGS, TABLES, VERSION, library
from seismo.dataset.shared import Known
from seismo.errors import RecordingError, UsageError
from seismo.model.combine import _rows, problem_losses
from seismo.model.lines.tables import PLACES, rows_of
from seismo.model.recording import SCHEMA, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from seismo.model import Recording

LONGEST_LABEL = 4096  # characters
TASK = "task"  # the label that names a task
_MASK, _HALF = -(1 << 15), (1 << 15) - 1  # of a float32's bits, to round it up to 8 bits of mantissa


class Appended(NamedTuple):
    """A recording that was given. remark: why it was not added, or only in part, or ""."""

    name: str
    added: bool
    remark: str = ""


def append(
    folder: str | os.PathLike[str],
    recordings: Iterable[str | os.PathLike[str] | Recording],
    labels: Mapping[str, str] | None = None,
) -> list[Appended]:
    """Append recordings, or files of recordings, to a dataset, which is created if there is none.

    A recording that cannot be read or is there already is left out, with a remark. Raise UsageError for labels that are
    none, RecordingError if the folder cannot be written.
    """
    writer = Writer(folder)
    given = list(recordings)
    return [writer.append(one, labels or {}) for one in progress.over("appending recordings", given, len(given))]


class Writer:
    """A writer of a dataset, for any number of recordings. Any number of writers may append at the same time."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Create the dataset unless it exists."""
        library("pyarrow.parquet")
        self._folder = Folder(folder)
        self._folder.create()
        self._known = Known(self._folder)
        self._processes: dict[int, str] = {}  # the recordings that have them
        self._seen: set[str] = set()

    def append(self, given: str | os.PathLike[str] | Recording, labels: Mapping[str, str]) -> Appended:
        """Append a recording or a file of one, unless it cannot be read."""
        from seismo.model import Recording

        name = "the recording" if isinstance(given, Recording) else os.fspath(given)
        try:
            return self.add(name, given if isinstance(given, Recording) else read(given), labels)
        except RecordingError as error:
            if error.where.startswith(self._folder.path) and "written" in error.what:
                raise
            return Appended(name, False, ": ".join(part for part in (error.what, error.hint) if part))

    def add(self, name: str, recording: Recording, labels: Mapping[str, str]) -> Appended:
        """Append a recording. name: for remarks."""
        labels = checked_labels(labels)
        recording = problem_losses(recording).timed("wall")
        content = _content(name, recording)
        if os.path.isdir(self._folder.at(RECORDINGS, content)):
            return Appended(name, False, self._present(content, labels))
        self._read_processes()
        parts = [(content_hash.of_process(row, part) if row else b"", row, part) for row, part in by_process(recording)]
        there = [key for key, row, _ in parts if row and content_hash.numbers([key])[0] in self._processes]
        if len(there) == len(parts):
            return Appended(name, False, "all of its processes are in the dataset already")
        if there and any(len(recording._raw[kind]["id"]) for kind in (*PLACES, "types")):
            return Appended(name, False, f"{len(there)} of its {len(parts)} processes are in the dataset already")
        part_path = self._folder.temporary(content)
        try:
            os.mkdir(part_path)
            with _Tables(part_path, content, labels, self._known) as tables:
                tables.write(recording, [one for one in parts if one[0] not in there])
        except OSError as error:
            self._folder.discard(part_path)
            what = f"the dataset cannot be written: {error.strerror or error}"
            raise RecordingError(what, self._folder.path, "check its permissions and free space") from None
        except BaseException:
            self._folder.discard(part_path)
            raise
        if not self._folder.place_folder(part_path, content):
            return Appended(name, False, self._present(content, labels))
        self._seen.add(content)
        self._processes |= dict.fromkeys(content_hash.numbers(key for key, row, _ in parts if row), content)
        kept = f"{len(there)} of its {len(parts)} processes are in the dataset already, and left out" if there else ""
        return Appended(name, True, kept)

    def _present(self, content: str, labels: Mapping[str, str]) -> str:
        """Return the remark on a recording that is in the dataset."""
        remark = "it is in the dataset already"
        try:
            table = library("pyarrow.parquet").read_table(self._folder.at(RECORDINGS, content, "recordings.parquet"))
            had = dict(table["labels"][0].as_py())
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            return f"{remark}, and damaged: remove {self._folder.at(RECORDINGS, content)} to append it again"
        return remark if had == labels else f"{remark}, with other labels, which stay"

    def _read_processes(self) -> None:
        """Find out which processes are in recordings that other writers have appended."""
        parquet = library("pyarrow.parquet")
        for content in set(os.listdir(self._folder.at(RECORDINGS))) - self._seen:
            self._seen.add(content)
            try:
                table = parquet.read_table(
                    self._folder.at(RECORDINGS, content, "processes.parquet"), columns=["process"]
                )
            except (OSError, ValueError):
                continue  # it has none, or is damaged
            self._processes |= dict.fromkeys(table["process"].to_pylist(), content)


def checked_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels as they can be stored. Raise UsageError for a name or value that cannot be one."""
    found = {}
    for name, value in labels.items():
        if not name or "\0" in name + value:
            raise UsageError(f"a label cannot be {f'{name}={value}'!a}", hint="give NAME=VALUE: --label version=1.2")
        if max(len(name), len(value)) > LONGEST_LABEL:
            raise UsageError(f"a label is longer than {LONGEST_LABEL:,} characters", f"{name[:40]!a}")
        found[clean(name)] = clean(value)
    return found


def _content(name: str, recording: Recording) -> str:
    """Return the hash of a recording: of its file, or of the file that it would be."""
    found = blake2b(digest_size=10)
    if not os.path.isfile(name):
        found.update(recording.to_bytes())
        return found.hexdigest()
    with open(name, "rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
    return found.hexdigest()


class _Tables:
    """The files of one recording. folder: where they are written."""

    def __init__(self, folder: str, content: str, labels: dict[str, str], known: Known) -> None:
        self._folder, self._known = folder, known
        self._open: dict[str, TableFile] = {}
        self._files = ExitStack()
        self._common: dict[str, Any] = {"recording": content, "labels": labels, "task": labels.get(TASK, "")}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:  # noqa: PYI036
        self._files.__exit__(*error)

    def _write(self, table: str, columns: Mapping[str, Any]) -> None:
        """Add rows to a table's file."""
        if table not in self._open:
            path = os.path.join(self._folder, f"{table}.parquet")
            self._open[table] = self._files.enter_context(TableFile(path, table))
        self._open[table].add({**self._common, **columns})

    def write(self, recording: Recording, parts: list[tuple[bytes, dict[str, Any] | None, Recording]]) -> None:
        """Write all tables that have rows; that of recordings always has one."""
        self._write(
            "recordings",
            {
                "schema": [VERSION],
                "kind": recording.kind,
                "meta": json.dumps(recording.meta, sort_keys=True, default=str),
            },
        )
        functions = content_hash.of_functions(recording)
        self._known.add_functions(dict(zip(functions, _rows(recording, "functions"), strict=True)))
        paths: list[int] = []
        rows = [row for _, row, _ in parts if row]
        keys = content_hash.numbers(key for key, row, _ in parts if row)
        if rows:
            self._write("processes", {"process": keys, **{name: [row[name] for row in rows] for name in rows[0]}})
        for key, known, part in parts:
            paths = self._calls(part, content_hash.numbers([key])[0] if known else 0, functions)
        process = keys[0] if len(rows) == 1 else 0
        losses = _rows(recording, "losses")
        if losses:
            self._write("losses", {"process": process, **{name: [row[name] for row in losses] for name in losses[0]}})
        hashes = [*content_hash.numbers(functions), 0]  # the last is that of no function, -1
        for kind in PLACES:
            self._rows_of(recording, kind, hashes)
        self._contexts(recording, hashes)
        if len(parts) > 1 and len(recording._raw["types"]["id"]):
            paths = self._known.path_numbers(content_hash.of_paths(recording, functions))
        self._births(recording, hashes, [*paths, 0])

    def _calls(self, part: Recording, process: int, functions: list[bytes]) -> list[int]:
        """Write the threads and calls of a process. Return the number of each node's path."""
        pc = library("pyarrow.compute")
        threads = _rows(part, "threads")
        if threads:
            numbered = {"thread": range(len(threads)), **{name: [row[name] for row in threads] for name in threads[0]}}
            self._write("threads", {**numbered, "process": process})
        nodes, times = part._raw["nodes"], part._estimated
        if not len(nodes["id"]):
            return []
        paths = self._known.path_numbers(content_hash.of_paths(part, functions))
        hashes = arrow_column(content_hash.numbers(functions), "q")
        main = arrow_column(part._raw["threads"]["main"], "q")
        distortion = own_parts(times["total_distortion"].tolist(), nodes["parent"].tolist())
        values = {
            "process": process,
            "thread": nodes["thread"],
            "main": pc.take(pc.not_equal(main, 0), arrow_column(nodes["thread"], "q")),
            "function": pc.take(hashes, arrow_column(nodes["function"], "q")),
            "path": array.array("q", paths),
            **{name: nodes[name] for name in ("calls", "resumes", "exceptions", "awaits", "await_ns", "flags")},
            **{name: nodes[name] for name in ("wait_ns", "ready_ns", "lock_ns")},
            **{name: pc.round(arrow_column(times[name], "d")) for name in ("own_ns", "total_ns")},
            **_errors(times["own_error_ns"], distortion, nodes["wait_sq"]),
        }
        self._write("calls_by_path", values)
        self._by_function(part, process, hashes)
        return paths

    def _by_function(self, part: Recording, process: int, hashes: Any) -> None:
        pc = library("pyarrow.compute")
        nodes, functions = part._raw["nodes"], part.functions
        of = nodes["function"].tolist()
        waits = array.array("d", bytes(8 * len(functions)))
        if any(nodes["wait_sq"]):
            for function, square in zip(of, nodes["wait_sq"].tolist(), strict=True):
                waits[function] += square
        errors = _errors(functions.numbers("own_error_ns"), part._estimated["function_distortion_ns"], waits)
        names = ("calls", "resumes", "exceptions", "awaits", "await_ns", "wait_ns", "ready_ns", "lock_ns")
        columns = {name: arrow_column(functions.numbers(name), "q") for name in names}
        columns |= {name: pc.round(arrow_column(functions.numbers(name), "d")) for name in ("own_ns", "total_ns")}
        columns |= {"function": hashes, "flags": arrow_column(functions.numbers("lower_bound"), "q"), **errors}
        used = arrow_column(sorted(set(of)), "q")
        chosen = {name: pc.take(column, used) for name, column in columns.items()}
        self._write("calls_by_function", {"process": process, **chosen})

    def _rows_of(self, recording: Recording, kind: str, hashes: list[int]) -> None:
        """Write a table about lines as it is in the file, with the hashes of functions."""
        names = [name for name, _ in SCHEMA[kind] if name != "id"]
        columns: dict[str, Any] = dict(zip(names, zip(*rows_of(recording, kind), strict=True), strict=False))
        if columns:
            if "function" in columns:
                columns["function"] = [hashes[function] for function in columns["function"]]
            self._write(kind, columns)

    def _contexts(self, recording: Recording, hashes: list[int]) -> None:
        names = recording.contexts["name"]
        lines, arcs = recording._raw["lines"], recording._raw["arcs"]
        places = [
            list(zip(lines["function"].tolist(), lines["line"].tolist(), [0] * len(lines["id"]), strict=True)),
            list(zip(*(arcs[name].tolist() for name in ("function", "from_line", "to_line")), strict=True)),
        ]
        rows = [(names[context], kind, *places[kind][row]) for context, kind, row in recording.context_rows()]
        if not rows:
            return
        context, arc, function, line, to_line = zip(*rows, strict=True)
        ran = {"context": context, "arc": [bool(kind) for kind in arc], "line": line, "to_line": to_line}
        self._write("contexts", {**ran, "function": [hashes[number] for number in function]})

    def _births(self, recording: Recording, hashes: list[int], paths: list[int]) -> None:
        """Write types, objects by type, line and path, and how long they lived."""
        types = _rows(recording, "types")
        if not types:
            return
        shapes = [
            {"type_module": row["module"], "type_name": row["name"], "type_flags": row["flags"]}
            | {name: row[name] for name in ("size", "item_size")}
            for row in types
        ]
        self._write("types", _columns("types", [row | shape for row, shape in zip(types, shapes, strict=True)]))
        objects = []
        for row in _rows(recording, "objects"):
            path = paths[row["node"]] if paths[:-1] else 0
            objects.append({**row, **shapes[row["type"]], "function": hashes[row["function"]], "path": path})
        if objects:
            self._write("births", _columns("births", objects))
        lives = [{**objects[row["object"]], **row} for row in _rows(recording, "lifetimes")]
        if lives:
            self._write("lifetimes", _columns("lifetimes", lives))


def _columns(table: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: [row[name] for row in rows] for name, _ in TABLES[table] if name in rows[0]}


def own_parts(totals: Sequence[float], parents: Sequence[int]) -> array.array[float]:
    """Return each node's own part of numbers that add up along the tree."""
    own = array.array("d", totals)
    for total, parent in zip(totals, parents, strict=True):
        if parent >= 0:
            own[parent] -= total
    return own


def _errors(errors: Any, distortions: Any, waits: Any) -> dict[str, Any]:
    """Return the columns of errors: squares of 95 % half-widths, which add up, and shared errors, which do, too."""
    pc = library("pyarrow.compute")
    error = arrow_column(errors, "d")
    distortion = pc.max_element_wise(arrow_column(distortions, "d"), 0.0)  # differences of sums may be less
    square = pc.subtract(pc.multiply(error, error), pc.multiply(distortion, distortion))
    return {
        "own_square": _rounded_up(pc.max_element_wise(square, 0.0)),
        "own_distortion": _rounded_up(distortion),
        "wait_square": _rounded_up(pc.multiply(arrow_column(waits, "d"), 4.0)),
    }


def _rounded_up(values: Any) -> Any:
    """Return numbers as float32 with 8 bits of mantissa, which are stored in half the space; never less than given."""
    pa, pc = library("pyarrow"), library("pyarrow.compute")
    bits = pc.min_element_wise(values, 3e38).cast(pa.float32(), safe=False).view(pa.int32())
    return pc.bit_wise_and(pc.add(bits, _HALF), pa.scalar(_MASK, pa.int32())).cast(pa.int32()).view(pa.float32())
