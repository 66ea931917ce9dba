"""Adding up a dataset into another one, which then holds a single recording.

Rows of equal keys become one, as in the sum that Dataset.read() returns. Processes and threads stay, but no number is
of one of them any more: `process` is 0, `thread` is 0 for main threads and 1 for others, and `task` is empty.
"""

from __future__ import annotations

import functools
import json
import os
from contextlib import nullcontext
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from seismo import progress
from seismo.dataset.engines import ENGINES, LOW_BITS, ROWS, Reduction, halves, started
from seismo.dataset.files import TableFile, writing
from seismo.dataset.reduce import loss, merged_meta
from seismo.dataset.remote import folder_at
from seismo.dataset.schema import KEYS, SHARED, TABLES, VERSION, D, F, library, sum_of
from seismo.errors import RecordingError, SeismoError, UsageError, did_you_mean
from seismo.query.sql_tables import quoted

if TYPE_CHECKING:
    from seismo.dataset.engines import Summed
    from seismo.dataset.files import Folder
    from seismo.dataset.folder import Dataset

# The keys of tables whose rows are added up, and what is the same in all rows then.
SUMMED: dict[str, tuple[str, ...]] = {
    **KEYS,
    "calls_by_path": ("main", "function", "path"),
    "calls_by_function": ("function",),
    "contexts": tuple(name for name, _ in TABLES["contexts"] if name != "recording"),
}
NOBODY: dict[str, Any] = {"process": 0, "thread": 0, "task": ""}


def compact(dataset: Dataset, folder: str | os.PathLike[str], engine: str = "duckdb") -> None:
    """Write the sum of all recordings as the only recording of a new dataset.

    engine: duckdb, dask, spark or ray (seismo.dataset.engines). Raise UsageError for another word, if the engine is
    not installed, or if the folder has recordings already. Raise RecordingError if the recordings are of different
    kinds, or cannot be read or written.
    """
    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!a}", hint=did_you_mean(engine, ENGINES) + ", ".join(ENGINES))
    target = folder_at(folder)
    target.create()
    if any(target.has_recording(os.path.basename(place)) for place in target.recordings()):
        raise UsageError("the dataset has recordings already", target.path, "name a new folder for the sum")
    merged_meta(list(dataset.recordings.values()))  # raises if the kinds differ
    with started(engine) if engine != "duckdb" else nullcontext() as summed:
        _Sum(dataset, target, engine, summed).write()


class _Sum:
    """The sum of a dataset under construction. summed: adds up a table; None: DuckDB does."""

    def __init__(self, dataset: Dataset, target: Folder, engine: str, summed: Summed | None) -> None:
        self._dataset, self._target, self._engine, self._summed = dataset, target, engine, summed

    def write(self) -> None:
        """Write all tables, and again if a recording proves to be damaged meanwhile."""
        while True:
            problems = len(self._dataset.problems)
            content = blake2b("".join(sorted(self._dataset.recordings)).encode(), digest_size=10).hexdigest()
            with writing(self._target.path), self._target.temporary(content) as part:
                os.mkdir(part)
                for table in TABLES:
                    if table not in SHARED:
                        self._write(part, table, content)
                if len(self._dataset.problems) == problems:
                    for table in SHARED:
                        for file in self._dataset.files(table):
                            copy = functools.partial(self._dataset.folder.copy, file)
                            self._target.place(table, os.path.basename(file), copy)
                    self._target.place_folder(part, content)
                    return

    def _write(self, folder: str, table: str, content: str) -> None:
        progress.begin(f"adding up {table}")
        parts: list[dict[str, Any]] = []
        if table == "recordings":
            parts.append(self._recording())
        elif self._dataset.files(table):
            rows = self._sums(table) if table in SUMMED else self._dataset.run(f"select * from {table}")
            same = NOBODY if table in SUMMED else {}
            parts.append({**same, **dict(zip(rows.schema.names, rows.columns, strict=True))})
        if table == "losses":
            parts += [{**NOBODY, **loss(problem)} for problem in self._dataset.problems]
        if parts:
            with TableFile(os.path.join(folder, f"{table}.parquet"), table) as file:
                for part in parts:
                    file.add({**part, "recording": content})

    def _recording(self) -> dict[str, Any]:
        """Return the row of the sum, with the labels that all recordings share."""
        entries = list(self._dataset.recordings.values())
        kind, meta = merged_meta(entries)
        labels = set.intersection(*(set(entry.labels.items()) for entry in entries))
        text = json.dumps(meta, sort_keys=True, default=str)
        return {"schema": VERSION, "kind": kind, "meta": text, "labels": dict(sorted(labels))}

    def _sums(self, table: str) -> Any:
        keys = [quoted(name, '"') for name in SUMMED[table]]
        columns = [one for one in TABLES[table] if one[0] not in ("recording", *NOBODY, *SUMMED[table])]
        has_thread = any(name == "thread" for name, _ in TABLES[table])
        more = ["(not main)::bigint as thread"] if has_thread else []
        source, given = table, {}
        sums = [sum_of(name, code, table) for name, code in columns]
        if self._summed is not None:
            given = {"partial": self._partial(table, columns)}
            source = f"partial{self._dataset.without_superseded(table)}"
            sums = [_sum_of_partial(name, code, table) for name, code in columns]
        sql = f"select {', '.join([*keys, *more, *sums])} from {source} group by {', '.join(keys)}"
        return self._dataset.run(sql, given=given)

    def _partial(self, table: str, columns: list[tuple[str, str]]) -> Any:
        """Return the engine's partial sums as an Arrow table."""
        flags = [name for name, _ in columns if name == "flags"]
        summed = [(name, code) for name, code in columns if name != "flags"]
        while True:
            reduction = Reduction(
                self._dataset.files(table),
                [*SUMMED[table], *flags, *(["process"] if self._dataset.without_superseded(table) else [])],
                [name for name, code in summed if code not in (D, F)],
                [name for name, code in summed if code in (D, F)],
                self._dataset.rows(f"select count(*) from {table}")[0][0],
            )
            assert self._summed is not None
            try:
                return library("pyarrow").concat_tables(self._summed(reduction))
            except SeismoError:
                raise
            except Exception as error:  # noqa: BLE001 - the engines have no common class
                if not self._dataset.verify():
                    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
                    what = f"{self._engine} cannot add up {table}: {type(error).__name__}: {(lines or [''])[-1][:300]}"
                    raise RecordingError(what, self._dataset.path, "--engine duckdb needs no cluster") from None


def _sum_of_partial(name: str, code: str, table: str) -> str:
    """Return SQL that completes the sum of a column, limited to 64 bits, from an engine's partial sums."""
    if name == "flags" or code in (D, F):
        return sum_of(name, code, table, f"sum({ROWS})")
    high, low = (f"sum({quoted(half, chr(34))}::hugeint)" for half in halves(name))
    return f'least({high} * {1 << LOW_BITS} + {low}, 9223372036854775807)::bigint as "{name}"'
