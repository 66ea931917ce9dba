"""The folder of a dataset, and the writing of its files: each appears whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from seismo.dataset.schema import GROUP_ROWS, MARKER, RECORDINGS, SHARED, SORTED, TABLES, VERSION, arrow_type, library
from seismo.errors import RecordingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

AT_ONCE = 4 * GROUP_ROWS  # rows that are sorted and written together
MAGIC = b"PAR1"  # at both ends of a Parquet file
WRITING = ".writing"  # the folder of what is not yet complete
COMMIT = "recordings.parquet"  # the file without which a recording is not complete
# Columns with many distinct values, which a dictionary would not shorten.
MANY = {"calls", "own_ns", "total_ns", "own_square", "own_distortion", "hash", "parent"}
FORGOTTEN = 86400  # seconds after which an incomplete file is of a writer that was killed


class Folder:
    """A dataset's folder. path: as given. seismo.dataset.remote has one at a URL."""

    filesystem: Any = None  # that of fsspec which has the files, unless they are local

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def at(self, *parts: str) -> str:
        """Return a path in the folder."""
        return os.path.join(self.path, *parts)

    def create(self) -> None:
        """Make the folder a dataset unless it is one. Raise UsageError or RecordingError if that is not possible."""
        with writing(self.path):
            there = self.has(MARKER) and len(self.read(MARKER)) > 0  # not every store writes another's file at once
            if there:
                self.check()
            elif self._others() - {MARKER}:
                hint = "name an empty or a new folder, or a dataset"
                raise UsageError("the folder has other files and is no dataset", self.path, hint)
            self._prepare()
            if not there:
                self.place("", MARKER, _write_marker)

    def _others(self) -> set[str]:
        """Return what is in the folder and belongs to no dataset."""
        if os.path.exists(self.path) and not os.path.isdir(self.path):
            what = "the output of a dataset is a folder, and this is a file"
            raise UsageError(what, self.path, "name a folder: -o DIR")
        there = os.listdir(self.path) if os.path.isdir(self.path) else []
        return set(there) - {RECORDINGS, WRITING, *SHARED}

    def _prepare(self) -> None:
        """Make the folders, and remove what writers that were killed have left."""
        for name in (RECORDINGS, WRITING, *SHARED):
            os.makedirs(self.at(name), exist_ok=True)
        for name in os.listdir(self.at(WRITING)):
            with suppress(OSError):
                if os.stat(self.at(WRITING, name)).st_mtime < time.time() - FORGOTTEN:
                    _discard(self.at(WRITING, name))

    def check(self) -> None:
        """Raise RecordingError unless the folder is a dataset that this version can read."""
        try:
            version = json.loads(self.read(MARKER))["schema"]
        except FileNotFoundError:
            hint = "seismo export RECORDINGS... -f dataset -o DIR makes one"
            raise RecordingError("this folder is no dataset", self.path, hint) from None
        except OSError as error:
            what = f"the dataset cannot be read: {error.strerror or error}"
            raise RecordingError(what, self.at(MARKER), "check its permissions, and that it can be reached") from None
        except (ValueError, TypeError, KeyError, RecursionError):
            hint = f'its text should be {{"schema": {VERSION}}}'
            raise RecordingError("the dataset's marker cannot be read", self.at(MARKER), hint) from None
        if not isinstance(version, int) or version > VERSION:
            what = f"the dataset has schema {str(version)[:20]}, and this seismo reads {VERSION}"
            raise RecordingError(what, self.path, "install a newer seismo")

    def read(self, *parts: str) -> bytes:
        """Return the contents of a file."""
        with open(self.at(*parts), "rb") as file:
            return file.read()

    def has(self, *parts: str) -> bool:
        """Return True if there is a file."""
        return os.path.exists(self.at(*parts))

    def has_recording(self, name: str) -> bool:
        """Return True if a recording is in the dataset, whole."""
        return os.path.isdir(self.at(RECORDINGS, name))

    def recordings(self) -> dict[str, list[str]]:
        """Return the files of each recording, complete or not, by the path of its folder."""
        return {place: _in(place) for place in _in(self.at(RECORDINGS))}

    def listed(self, table: str) -> list[str]:
        """Return the files of a table that recordings share, the newest last."""
        return sorted(_in(self.at(table)), key=os.path.getmtime)

    @contextmanager
    def opened(self, path: str) -> Iterator[Any]:
        """Yield what PyArrow reads a file from."""
        yield path

    def copy(self, path: str, to: str) -> None:
        """Copy a file of the dataset to a local path."""
        shutil.copyfile(path, to)

    @contextmanager
    def temporary(self, name: str) -> Iterator[str]:
        """Yield a path for what is not complete, and remove what is there at the end."""
        path = self._temporary(f"{name}-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            yield path
        finally:
            _discard(path)

    def _temporary(self, name: str) -> str:
        return self.at(WRITING, name)

    def place(self, folder: str, name: str, write: Callable[[str], None]) -> None:
        """Write a file to a temporary path and rename it. Raise RecordingError if that fails."""
        with writing(self.at(folder, name)), self.temporary(name) as part:
            write(part)
            self._move(part, self.at(folder, name))

    def _move(self, part: str, path: str) -> None:
        os.replace(part, path)

    def place_folder(self, part: str, name: str) -> bool:
        """Rename a complete temporary folder to a recording's. Return False if another writer was faster."""
        try:
            os.rename(part, self.at(RECORDINGS, name))
        except OSError:
            if os.path.isdir(self.at(RECORDINGS, name)):
                return False
            raise
        return True


def _discard(path: str) -> None:
    """Remove a temporary file or folder if it is there."""
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)


def _write_marker(path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema": VERSION}, file)


def _in(folder: str) -> list[str]:
    """Return the paths of what is in a folder, or [] if it cannot be read."""
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return []


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Make an OSError the error of a dataset that cannot be written."""
    try:
        yield
    except OSError as error:
        what = f"the dataset cannot be written: {error.strerror or error}"
        raise RecordingError(what, path, "check the folder, its permissions and free space") from None


def clean(text: str) -> str:
    """Return text as UTF-8 can hold it: lone surrogates become '?'."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def arrow_column(values: Any, code: str) -> Any:
    """Return an Arrow array of a memoryview or array, which is not copied, or of a sequence."""
    pa = library("pyarrow")
    kind = arrow_type(code)
    form = getattr(values, "format", getattr(values, "typecode", ""))
    if form in ("q", "d"):
        values = pa.Array.from_buffers(arrow_type(form), len(values), [None, pa.py_buffer(values)])
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values if values.type == kind else values.cast(kind, safe=False)
    if code == "s":
        return pa.array(map(clean, values), kind)
    return pa.array(values, kind)


class TableFile:
    """A Parquet file of a table of the schema under construction. Rows are sorted within each part that is written."""

    def __init__(self, path: str, name: str) -> None:
        pa, parquet = library("pyarrow"), library("pyarrow.parquet")
        self._name, self._rows = name, 0
        self._parts: list[Any] = []
        self._schema = pa.schema([pa.field(column, arrow_type(code)) for column, code in TABLES[name]])
        numbered = "path" in SORTED.get(name, ())
        in_full = MANY | {"path"} if numbered else MANY
        self._writer = parquet.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            use_dictionary=[column for column, _ in TABLES[name] if column not in in_full],
            column_encoding={"path": "DELTA_BINARY_PACKED"} if numbered else None,
            write_page_checksum=True,
            store_schema=False,  # Arrow's own schema repeats the file's in most of a small file
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._writer.close()

    def add(self, columns: Mapping[str, Any]) -> None:
        """Add rows. A column that is a single value is the same in all of them."""
        pa = library("pyarrow")
        rows = max((len(column) for column in columns.values() if _is_column(column)), default=1)
        arrays = []
        for column, code in TABLES[self._name]:
            values = columns[column]
            if _is_column(values):
                arrays.append(arrow_column(values, code))
            else:
                value = clean(values) if isinstance(values, str) else values
                arrays.append(pa.array([value] * rows, arrow_type(code)))
        self._parts.append(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows += rows
        if self._rows >= AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._parts:
            table = library("pyarrow").concat_tables(self._parts)
            if self._name in SORTED:
                table = table.sort_by([(column, "ascending") for column in SORTED[self._name]])
            self._writer.write_table(table, row_group_size=GROUP_ROWS)
        self._parts, self._rows = [], 0


def write_table(path: str, name: str, columns: Mapping[str, Any]) -> None:
    """Write a table of the schema to a Parquet file."""
    with TableFile(path, name) as file:
        file.add(columns)


def _is_column(values: Any) -> bool:
    return hasattr(values, "__len__") and not isinstance(values, (str, dict))
