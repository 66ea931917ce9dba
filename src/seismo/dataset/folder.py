"""Reading of a dataset: its recordings, what is wrong with some of them, and SQL over the others."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from seismo.dataset.files import COMMIT, MAGIC, clean
from seismo.dataset.remote import folder_at
from seismo.dataset.schema import MARKER, RECORDINGS, SHARED, SQL, TABLES, VERSION, arrow_type, library
from seismo.errors import RecordingError, UsageError, did_you_mean
from seismo.query.sql_tables import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from seismo.model import Recording

MEMORY = "1GB"
SUFFIX = ".parquet"
_OF_PROCESSES = ("processes", "threads", "calls_by_path", "calls_by_function")
# The attempts at tasks that do not count. An attempt may have several processes (Spark's Python workers of one task),
# and is finished if all are.
_SUPERSEDED = """
with tasks as (
    select process, labels['run'] as run, task, try_cast(labels['attempt'] as bigint) as attempt,
        coalesce(labels['state'] = 'finished', false) as finished
    from ({processes}) where labels['state'] is not null
), attempts as (
    select run, task, attempt, row_number() over (
        partition by run, task order by bool_and(finished) desc, attempt desc nulls last
    ) > 1 as superseded
    from tasks group by run, task, attempt
)
select process from tasks join attempts on attempts.superseded and tasks.task = attempts.task
    and tasks.run is not distinct from attempts.run and tasks.attempt is not distinct from attempts.attempt
order by process
"""


class Entry(NamedTuple):
    """A recording of a dataset: its kind, metadata and labels."""

    kind: str
    meta: dict[str, Any]
    labels: dict[str, str]


def is_dataset(path: str | os.PathLike[str]) -> bool:
    """Return True if the path or URL is a folder with a dataset's marker. Raise OSError if it cannot be reached."""
    return folder_at(path).has(MARKER)


class Dataset:
    """A dataset, read with DuckDB. Damaged recordings and those of later versions are left out, as `problems` says."""

    def __init__(
        self, path: str | os.PathLike[str], *, memory: str = MEMORY, attempts: Literal["last", "all"] = "last"
    ) -> None:
        """Open a dataset. Raise RecordingError if the folder is none or holds no recording that can be read.

        memory: the most memory that DuckDB may use, as it parses it. attempts: of a task that was retried, take the
        last attempt that finished (the last one if none did), or all.
        """
        folder = folder_at(path)
        self.path = folder.path
        if clean(self.path) != self.path:
            raise RecordingError("DuckDB reads no folder whose name is not UTF-8", self.path, "rename it")
        self.problems: list[str] = []
        folder.check()
        self.folder, self.filesystem, self._memory = folder, folder.filesystem, memory
        self._files: dict[str, list[str]] = {name: [] for name in TABLES}
        try:
            for table in SHARED:
                self._files[table] = [file for file in sorted(folder.listed(table)) if self._is_whole(file)]
            for place, files in folder.recordings().items():
                self._find(place, files)
        except OSError as error:
            what = f"the dataset cannot be read: {error.strerror or error}"
            raise RecordingError(what, self.path, "check that it can be reached") from None
        self.recordings: dict[str, Entry] = {}
        self._attempts = attempts
        self.superseded: list[int] = []  # attempts at tasks that are left out, as processes
        self._chosen: str | None = None  # the only recording in the views
        self._connection = self._connect()
        self._changed = True  # files have been left out since the views were made
        self._read_recordings()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close DuckDB's connection."""
        self._connection.close()

    # ---- files ----

    def _find(self, recording: str, files: list[str]) -> None:
        """Add the files of a recording if all are whole."""
        file_of = {os.path.basename(file): file for file in files}
        found = {table: file_of[table + SUFFIX] for table in TABLES if table + SUFFIX in file_of}
        if "recordings" not in found:
            self._leave_out(recording, f"it has no {COMMIT}: it is being written, or its writer failed")
        elif all(self._is_whole(file, recording) for file in found.values()):
            for table, file in found.items():
                self._files[table].append(file)

    def _is_whole(self, file: str, recording: str = "") -> bool:
        """Return True if the file begins and ends as a Parquet file, else note the problem.

        A store of objects has them whole only, and opening each would take longer than most questions.
        """
        if self.filesystem is not None:
            return True
        try:
            with open(file, "rb") as stream:
                start = stream.read(len(MAGIC))
                stream.seek(-len(MAGIC), os.SEEK_END)
                whole = start == stream.read() == MAGIC
        except OSError as error:
            self._leave_out(recording or file, f"{os.path.basename(file)} cannot be read: {error.strerror or error}")
            return False
        if not whole:
            self._leave_out(recording or file, f"{os.path.basename(file)} is cut short")
        return whole

    def _leave_out(self, path: str, why: str) -> None:
        what = os.path.relpath(path, self.path)
        self.problems.append(f"{what} is left out: {why}")

    # ---- SQL ----

    def _connect(self) -> Any:
        config = {"autoinstall_known_extensions": False, "python_enable_replacements": False}
        duckdb = library("duckdb")
        try:
            connection = duckdb.connect(":memory:", config={**config, "memory_limit": self._memory})
        except duckdb.Error as error:
            raise UsageError(f"DuckDB does not start: {str(error).splitlines()[0]}", f"memory {self._memory}") from None
        if self.filesystem is not None:
            connection.register_filesystem(self.filesystem)
        connection.execute("set preserve_insertion_order = false")
        connection.execute("set enable_progress_bar = false")
        return connection

    def files(self, table: str) -> list[str]:
        """Return the files of a table that can be read."""
        if self._chosen is None or table in SHARED:
            return list(self._files[table])
        return [file for file in self._files[table] if os.path.basename(os.path.dirname(file)) == self._chosen]

    def views(self) -> dict[str, str]:
        """Return the SQL of each table over the files that can be read."""
        found = {}
        for name, columns in TABLES.items():
            files = ", ".join(map(quoted, self.files(name)))
            typed = (f'"{column}"::{SQL[code]} as "{column}"' for column, code in columns)
            nothing = (f'null::{SQL[code]} as "{column}"' for column, code in columns)
            found[name] = f"select {', '.join(nothing)} where false"
            if files:
                found[name] = f"select {', '.join(typed)} from read_parquet([{files}])"
            found[name] += self.without_superseded(name) if files else ""
            if name == "functions":  # several files may have the same one
                one = (f"any_value({column}) as {column}" for column, _ in columns[1:-1])
                found[name] = (
                    f"select function, {', '.join(one)}, bit_or(flags) as flags from ({found[name]}) group by function"
                )
        return found

    def without_superseded(self, table: str) -> str:
        """Return the SQL condition that leaves out attempts of the same task, or ""."""
        if not self.superseded or table not in _OF_PROCESSES:
            return ""
        return f" where process not in ({', '.join(map(str, self.superseded))})"

    def _create_views(self) -> None:
        self.superseded = []
        if self._attempts == "last":
            rows = self._connection.execute(_SUPERSEDED.format(processes=self.views()["processes"])).fetchall()
            self.superseded = [row[0] for row in rows]
        for name, sql in self.views().items():
            self._connection.execute(f"create or replace temp view {name} as {sql}")
        self._changed = False

    def run(self, sql: str, given: Mapping[str, Any] | None = None) -> Any:
        """Return the result of SQL over the tables as an Arrow table. given: more tables, as Arrow tables by name.

        Files that prove to be damaged are left out, with their recordings, and the query begins again.
        """
        for name, table in (given or {}).items():
            self._connection.register(name, table)
        try:
            return self._retry(lambda: self._connection.sql(sql).to_arrow_table())
        finally:
            for name in given or ():
                self._connection.unregister(name)

    def rows(self, sql: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the result of SQL as rows."""
        given = list(parameters)
        found: list[tuple[Any, ...]] = self._retry(lambda: self._connection.execute(sql, given).fetchall())
        return found

    def _retry(self, query: Callable[[], Any]) -> Any:
        duckdb = library("duckdb")
        while True:
            try:
                if self._changed:
                    self._create_views()
                return query()
            except duckdb.OutOfMemoryException:
                hint = "ask for fewer groups, or give more memory"
                raise RecordingError(f"the query needs more than {self._memory} of memory", self.path, hint) from None
            except duckdb.Error as error:
                if not self.verify():
                    what = f"the dataset cannot be read: {str(error).splitlines()[0]}"
                    raise RecordingError(what, self.path, "was a part of it removed?") from None

    def verify(self) -> bool:
        """Read every file and leave out what is damaged, with its recording. Return True if there was any.

        DuckDB notices damage only if it makes a file unreadable; this compares the checksums of all pages.
        """
        bad: dict[str, str] = {}
        for name, files in self._files.items():
            for file in files:
                place = file if name in SHARED else os.path.dirname(file)
                if place not in bad and (why := self._damage(name, file)):
                    bad[place] = why
        self._changed = True
        for place, why in bad.items():
            self._leave_out(place, why)
        for name, files in self._files.items():
            self._files[name] = [file for file in files if file not in bad and os.path.dirname(file) not in bad]
        if bad and self.recordings:
            self._check_any()
        return bool(bad)

    def _damage(self, table: str, file: str) -> str:
        """Return why a file of a table cannot be read, or ""."""
        try:
            with self.folder.opened(file) as source:
                return damage(table, source, os.path.basename(file))
        except OSError as error:
            return f"{os.path.basename(file)} cannot be read: {error.strerror or error}"

    # ---- recordings ----

    def _read_recordings(self) -> None:
        rows = self.rows("select recording, schema, kind, meta, labels from recordings order by recording")
        later = {}
        for name, schema, kind, meta, labels in rows:
            if schema != VERSION:
                later[self.folder.at(RECORDINGS, name)] = schema
                continue
            try:
                found = json.loads(meta)
            except (ValueError, TypeError, RecursionError):
                found = {}
            self.recordings[name] = Entry(kind or "", found if isinstance(found, dict) else {}, dict(labels or {}))
        for place, schema in later.items():
            self._leave_out(place, f"it has schema {schema}, and this seismo reads {VERSION}; a newer seismo reads it")
        self._changed = True
        for name, files in self._files.items():
            self._files[name] = [file for file in files if os.path.dirname(file) not in later]
        self._check_any()

    def _check_any(self) -> None:
        """Forget recordings that were left out. Raise RecordingError if none is left."""
        there = {os.path.basename(os.path.dirname(file)) for file in self._files["recordings"]}
        self.recordings = {name: entry for name, entry in self.recordings.items() if name in there}
        if not self.recordings:
            why = "; ".join(self.problems[:3]) or "no recording was appended yet"
            raise RecordingError("the dataset has no recording that can be read", self.path, why)

    def label_values(self, label: str) -> dict[str, list[str]]:
        """Return the recordings by their values of a label, oldest first. Raise UsageError if none has the label."""
        label = clean(label)
        starts = dict(self.rows("select recording, min(start_ns) from processes group by recording"))
        found: dict[str, list[str]] = {}
        for name in sorted(self.recordings, key=lambda name: (starts.get(name) or 0, name)):
            if label in self.recordings[name].labels:
                found.setdefault(self.recordings[name].labels[label], []).append(name)
        if not found:
            known = sorted({label for entry in self.recordings.values() for label in entry.labels})
            there = f"there are: {', '.join(map(ascii, known[:12]))}" if known else "no recording has a label"
            raise UsageError(f"no recording has the label {label!a}", self.path, did_you_mean(label, known) + there)
        return found

    def read(self, recording: str | None = None, *, by_tasks: bool = False) -> Recording:
        """Return the sum of all recordings, or the given one, as a recording with the distinct paths only.

        by_tasks: keep the paths of each host and task, named by `Recording.thread_labels`, unless these are too many.
        Raise RecordingError if they are of different kinds.
        """
        from seismo.dataset.reduce import reduced

        while True:
            problems = len(self.problems)
            if recording is not None and recording not in self.recordings:
                raise RecordingError(f"the dataset has no recording {recording!a} that can be read", self.path)
            self._chosen, self._changed = recording, True
            try:
                entries = [self.recordings[recording]] if recording else list(self.recordings.values())
                found = reduced(self, entries, by_tasks)
            finally:
                self._chosen, self._changed = None, True
            if len(self.problems) == problems:  # else a part of it has what was found to be damaged later
                return found


def damage(name: str, file: Any, shown: str) -> str:
    """Return why a file of a table cannot be read, or "". file: a path or a file; shown: its name."""
    parquet = library("pyarrow.parquet")
    try:
        found = parquet.ParquetFile(file, page_checksum_verification=True)
        types = {field.name: field.type for field in found.schema_arrow}
        wrong = [column for column, code in TABLES[name] if types.get(column) != arrow_type(code)]
        if wrong:
            return f"{shown} lacks the column {wrong[0]}, or has another type of it"
        for _ in found.iter_batches():
            pass
    except (OSError, ValueError, ArithmeticError) as error:
        return f"{shown} is damaged: {str(error).splitlines()[0][:120] if str(error) else type(error).__name__}"
    return ""
