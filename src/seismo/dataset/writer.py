"""Appending of recordings to a dataset."""

from __future__ import annotations

import array
import gc
import json
import os
from contextlib import ExitStack
from hashlib import blake2b, file_digest
from typing import TYPE_CHECKING, Any, NamedTuple

from seismo import progress
from seismo.dataset import content_hash, tasks
from seismo.dataset.files import COMMIT, TableFile, arrow_column, clean, writing
from seismo.dataset.processes import by_process
from seismo.dataset.remote import folder_at, is_url
from seismo.dataset.schema import MARKER, RECORDINGS, SUMS, TABLES, VERSION, library
from seismo.dataset.shared import Known
from seismo.dataset.tasks import TASK
from seismo.errors import RecordingError, SeismoError, UsageError
from seismo.model.columns import KEY, named_rows, sum_by
from seismo.model.combine import problem_losses
from seismo.model.enums import TYPE_AT_MOST, TYPE_ESTIMATED
from seismo.model.lines.merge import PLACES
from seismo.model.recording import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from seismo.model import Recording

LONGEST_LABEL = 4096  # characters
_MASK, _BELOW = -(1 << 18), (1 << 18) - 1  # of a float32's bits, to round it up to 5 bits of mantissa


class Appended(NamedTuple):
    """A recording that was given. remark: why it was not added, or only in part, or "". failed: it cannot be read."""

    name: str
    added: bool
    remark: str = ""
    failed: bool = False


def append(
    folder: str | os.PathLike[str],
    recordings: Iterable[str | os.PathLike[str] | Recording],
    labels: Mapping[str, str] | None = None,
    opener: Callable[[str], Recording] = read,
) -> list[Appended]:
    """Append recordings, or files of recordings, to a dataset, which is created if there is none.

    A recording that cannot be read or is there already is left out, with a remark. opener: reads a file. Raise
    UsageError for labels that are none, RecordingError if the folder cannot be written. At a URL, a recording that
    cannot be written is left out, too, and the others are appended.
    """
    from seismo.model import Recording

    labels, writer, found = checked_labels(labels or {}), Writer(folder), []
    given = list(recordings)
    for one in progress.over("appending recordings", given, len(given)):
        name = "the recording" if isinstance(one, Recording) else os.fspath(one)
        try:
            if os.path.exists(os.path.join(name, MARKER)):
                raise UsageError("this is a dataset, not a recording", hint="give the recordings that it was made of")
            recording = one if isinstance(one, Recording) else opener(name)
        except SeismoError as error:
            what = "; ".join(part for part in (error.what, error.hint) if part)
            found.append(Appended(name, False, f"left out: {what}", True))
            continue
        try:
            found.append(writer.add(name, recording, labels))
        except RecordingError as error:
            if not is_url(folder):
                raise
            found.append(Appended(name, False, f"left out: {error.what}; append it again", True))
    return found


class Writer:
    """A writer of a dataset, for any number of recordings. Any number of writers may append at the same time."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Create the dataset unless it exists."""
        library("pyarrow.parquet")
        self._folder = folder_at(folder)
        self._folder.create()
        with writing(self._folder.path):
            self._known = Known(self._folder)
        self._processes: dict[int, str] = {}  # the recordings that have them
        self._seen: set[str] = set()

    def add(self, name: str, recording: Recording, labels: Mapping[str, str]) -> Appended:
        """Append a recording. name: of its file, or for remarks. labels: as checked_labels() returns them."""
        gc.collect()  # the one before: a recording that was asked for its functions is part of a cycle
        recording = problem_losses(recording).timed("wall")
        content = _content(name, recording)
        with writing(self._folder.path):
            if self._folder.has_recording(content):
                return Appended(name, False, self._present(content, labels))
            self._read_processes()
        parts = [(content_hash.of_process(row, part), row, part) for row, part in by_process(recording)]
        there = [key for key, row, _ in parts if row and content_hash.numbers([key])[0] in self._processes]
        kept = f"{len(there)} of its {len(parts)} processes are in the dataset already" if there else ""
        if len(there) == len(parts) or (there and any(len(recording._raw[kind]["id"]) for kind in (*PLACES, "types"))):
            return Appended(name, False, kept)
        with writing(self._folder.path), self._folder.temporary(content) as part_path:
            os.mkdir(part_path)
            with _Tables(part_path, content, labels, self._known) as tables:
                tables.write(recording, [one for one in parts if one[0] not in there])
            if not self._folder.place_folder(part_path, content):
                return Appended(name, False, self._present(content, labels))
        self._seen.add(content)
        self._processes |= dict.fromkeys(content_hash.numbers(key for key, row, _ in parts if row), content)
        return Appended(name, True, kept and f"{kept}, and left out")

    def _present(self, content: str, labels: Mapping[str, str]) -> str:
        """Return the remark on a recording that is in the dataset."""
        remark = "it is in the dataset already"
        try:
            with self._folder.opened(self._folder.at(RECORDINGS, content, COMMIT)) as source:
                table = library("pyarrow.parquet").read_table(source)
            had = dict(table["labels"][0].as_py())
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            return f"{remark}, and damaged: remove {self._folder.at(RECORDINGS, content)} to append it again"
        return remark if had == labels else f"{remark}, with other labels, which stay"

    def _read_processes(self) -> None:
        """Find out which processes are in recordings that other writers have appended."""
        parquet = library("pyarrow.parquet")
        for place, files in self._folder.recordings().items():
            content, wanted = os.path.basename(place), os.path.join(place, "processes.parquet")
            new = content not in self._seen and os.path.join(place, COMMIT) in files
            if not new or not self._folder.has_recording(content):
                continue
            self._seen.add(content)
            if wanted not in files:
                continue
            try:
                with self._folder.opened(wanted) as source:
                    table = parquet.read_table(source, columns=["process"])
            except ValueError:
                continue  # it is damaged
            except OSError:
                if self._folder.filesystem is not None:  # it may be whole, and its processes would count twice
                    self._seen.remove(content)
                    raise
                continue
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
    if not os.path.isfile(name):
        return blake2b(recording.to_bytes(), digest_size=10).hexdigest()
    with open(name, "rb") as file:
        return file_digest(file, lambda: blake2b(digest_size=10)).hexdigest()


class _Tables(ExitStack):
    """The files of one recording. folder: where they are written."""

    def __init__(self, folder: str, content: str, labels: Mapping[str, str], known: Known) -> None:
        super().__init__()
        self._folder, self._known = folder, known
        self._open: dict[str, TableFile] = {}
        self._common: dict[str, Any] = {"recording": content, "labels": labels, "task": labels.get(TASK, "")}

    def _write(self, table: str, columns: Mapping[str, Any]) -> None:
        if table not in self._open:
            path = os.path.join(self._folder, f"{table}.parquet")
            self._open[table] = self.enter_context(TableFile(path, table))
        self._open[table].add({**self._common, **columns})

    def _rows(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows to a table's file, if there are any."""
        found = list(rows)
        if found:
            self._write(table, {name: [row[name] for row in found] for name, _ in TABLES[table] if name in found[0]})

    def write(self, recording: Recording, parts: list[tuple[bytes, dict[str, Any], Recording]]) -> None:
        """Write all tables that have rows; that of recordings always has one."""
        meta = json.dumps(recording.meta, sort_keys=True, default=str)
        self._rows("recordings", [{"schema": VERSION, "kind": recording.kind, "meta": meta}])
        marks = tasks.find_marks(recording)
        functions = self._functions(recording, marks)
        numbers = content_hash.numbers(key for key, _, _ in parts)
        rows = []
        for process, (key, row, part) in zip(numbers, parts, strict=True):
            whole = tasks.split(part, marks) if marks.markers else None
            labels = whole.labels if whole is not None else []
            of_tasks = content_hash.numbers(content_hash.digest(key + b"%d" % task) for task in range(len(labels)))
            common = {TASK: self._common[TASK]}
            rows += [
                {**row, "process": number, "labels": {**self._common["labels"], **own}, TASK: (common | own)[TASK]}
                for number, own in zip([process, *of_tasks], [{}, *labels], strict=True)
                if row
            ]
            self._calls(part, process, functions, whole, of_tasks)
        self._rows("processes", rows)
        process = numbers[0] if len(parts) == 1 else 0
        self._rows("losses", ({**row, "process": process} for row in named_rows(recording, "losses")))
        hashes = [*content_hash.numbers(functions), 0]  # the last is that of no function, -1
        for kind in PLACES:
            rows = named_rows(recording, kind)
            self._rows(kind, ({**row, "function": hashes[row.get("function", -1)]} for row in rows))
        self._contexts(recording, hashes)
        self._births(recording, hashes, functions)

    def _functions(self, recording: Recording, marks: tasks.Marks) -> list[bytes]:
        """Write the functions, and return their hashes. All markers are one, and notes are left out."""
        functions, rows = content_hash.of_functions(recording), named_rows(recording, "functions")
        for marker in marks.markers:
            rows[marker] |= {"module": "", "qualname": tasks.MARKER, "line": 0}
            functions[marker] = content_hash.digest(json.dumps([rows[marker][name] for name in KEY]).encode())
        pairs = zip(functions, rows, strict=True)
        self._known.add_functions({key: row for number, (key, row) in enumerate(pairs) if number not in marks.notes})
        return functions

    def _calls(
        self, part: Recording, process: Any, functions: list[bytes], whole: tasks.Split | None, of_tasks: Sequence[int]
    ) -> None:
        """Write the threads and calls of a process, and of its tasks, which have numbers of their own."""
        pc = library("pyarrow.compute")
        threads = [
            {**row, "thread": thread, "process": process} for thread, row in enumerate(named_rows(part, "threads"))
        ]
        common: dict[str, Any] = {"process": process}
        of_functions = common
        if whole is not None:
            part, functions = whole.recording, [functions[number] for number in whole.functions]
            pairs = zip(of_tasks, whole.threads, strict=True)
            threads += [{**threads[thread], "process": number} for number, thread in pairs]
            numbers = [*of_tasks, process]  # the last, -1, is that of no task
            names = [*(own.get(TASK, self._common[TASK]) for own in whole.labels), self._common[TASK]]
            common, of_functions = (
                {"process": array.array("q", [numbers[task] for task in of]), TASK: [names[task] for task in of]}
                for of in (whole.node_tasks, whole.function_tasks)
            )
        self._rows("threads", threads)
        nodes, times = part._raw["nodes"], part._estimated
        if not len(nodes["id"]):
            return
        paths = self._known.path_numbers(content_hash.of_paths(part, functions))
        hashes = arrow_column(content_hash.numbers(functions), "q")
        main = arrow_column(part._raw["threads"]["main"], "q")
        values = {
            **common,
            "thread": nodes["thread"],
            "main": pc.take(pc.not_equal(main, 0), arrow_column(nodes["thread"], "q")),
            "function": pc.take(hashes, arrow_column(nodes["function"], "q")),
            "path": array.array("q", paths),
            **{name: nodes[name] for name in (*SUMS, "flags")},
            **{name: pc.round(arrow_column(times[name], "d")) for name in ("own_ns", "total_ns")},
            **_errors(times["own_sq"], times["shared_ns"], nodes["wait_sq"]),
        }
        self._write("calls_by_path", values)
        self._by_function(part, of_functions, hashes)

    def _by_function(self, part: Recording, common: dict[str, Any], hashes: Any) -> None:
        """Write the calls of each function. common: columns, as long as there are functions with calls if they are."""
        pc = library("pyarrow.compute")
        nodes, functions, times = part._raw["nodes"], part.functions, part._estimated
        of, count = nodes["function"], len(functions)
        known = times["own_sq"], times["shared_ns"], nodes["wait_sq"]
        columns = {name: arrow_column(functions.numbers(name), "q") for name in SUMS}
        columns |= {name: pc.round(arrow_column(functions.numbers(name), "d")) for name in ("own_ns", "total_ns")}
        columns |= {"function": hashes, "flags": arrow_column(functions.numbers("lower_bound"), "q")}
        columns |= _errors(*(sum_by(one, of, count) for one in known))
        used = arrow_column(sorted(set(of.tolist())), "q")
        chosen = {name: pc.take(column, used) for name, column in columns.items()}
        self._write("calls_by_function", {**common, **chosen})

    def _contexts(self, recording: Recording, hashes: list[int]) -> None:
        """Write which lines and arcs ran in which context, one by one."""
        names = recording.contexts["name"]
        places = []
        for kind in ("lines", "arcs"):
            of, *lines = (recording._raw[kind][name].tolist() for name in PLACES[kind])
            places.append(list(zip(map(hashes.__getitem__, of), *lines, strict=True)))
        columns = ("context", "arc", "function", "line", "to_line")
        ran = ((names[context], bool(kind), *places[kind][row]) for context, kind, row in recording.context_rows())
        self._rows("contexts", (dict(zip(columns, (*row, 0), strict=False)) for row in ran))

    def _births(self, recording: Recording, hashes: list[int], functions: list[bytes]) -> None:
        """Write types, objects by type, line and path, and how long they lived."""
        types = named_rows(recording, "types")
        for row in types:
            row["type_flags"] = row["flags"] & ~(TYPE_ESTIMATED | TYPE_AT_MOST)
            row |= {"type_module": row["module"], "type_name": row["name"]}
        self._rows("types", types)
        objects = named_rows(recording, "objects")
        paths = [*content_hash.numbers(content_hash.of_paths(recording, functions).paths if objects else ()), 0]
        objects = [
            {**types[row["type"]], **row, "function": hashes[row["function"]], "path_hash": paths[row["node"]]}
            for row in objects
        ]
        self._rows("births", objects)
        self._rows("lifetimes", ({**objects[row["object"]], **row} for row in named_rows(recording, "lifetimes")))


def _errors(running: Any, shared: Any, waiting: Any) -> dict[str, Any]:
    """Return the columns of errors, given the variances of running and waiting times and the shared errors."""
    pc = library("pyarrow.compute")
    waits = pc.multiply(arrow_column(waiting, "d"), 4.0)
    return {
        "own_square": _rounded_up(pc.add(pc.multiply(arrow_column(running, "d"), 4.0), waits)),
        "own_distortion": _rounded_up(arrow_column(shared, "d")),
        "wait_square": _rounded_up(waits),
    }


def _rounded_up(values: Any) -> Any:
    """Return numbers as float32 with 5 bits of mantissa, which take less space; never less than given."""
    pa, pc = library("pyarrow"), library("pyarrow.compute")
    bits = pc.min_element_wise(values, 3e38).cast(pa.float32(), safe=False).view(pa.int32())
    return pc.bit_wise_and(pc.add(bits, _BELOW), pa.scalar(_MASK, pa.int32())).cast(pa.int32()).view(pa.float32())
