"""Datasets at a URL, through fsspec: on object stores, which cannot rename.

A file is written here first and then uploaded whole. The files of a recording have names that follow from its
contents. recordings.parquet, which is small, comes last: a recording without it is none yet. So a writer that fails
half-way leaves nothing that counts, and the next one that appends the recording overwrites what is there with the same
rows. Files of functions and paths are complete before the rows that refer to them.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from typing import TYPE_CHECKING, Any

from seismo.dataset.files import COMMIT, MAGIC, Folder
from seismo.dataset.schema import RECORDINGS, SHARED, library
from seismo.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterator

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")
_LOCAL = {"file", "local"}


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return True if the path is a URL."""
    return _URL.match(os.fspath(path)) is not None


def folder_at(path: str | os.PathLike[str]) -> Folder:
    """Return the folder of a dataset, given by its path or its URL."""
    text = os.fspath(path)
    url = _URL.match(text)
    if url is None:
        return Folder(text)
    if url["scheme"].lower() in _LOCAL:
        return Folder(text[url.end() :])
    return RemoteFolder(text)


class RemoteFolder(Folder):
    """A dataset's folder at a URL, for which fsspec has a filesystem."""

    def __init__(self, url: str) -> None:
        """Find the filesystem. Raise UsageError without fsspec, RecordingError if the URL cannot be used."""
        core = library("fsspec.core")
        try:
            self.filesystem, self._root = core.url_to_fs(url.rstrip("/"))
        except Exception as error:  # noqa: BLE001 - each filesystem raises what it likes
            what = f"the URL cannot be used: {_first_line(error)}"
            raise RecordingError(what, url, "is the package of its filesystem installed, such as s3fs?") from None
        names = self.filesystem.protocol
        scheme = names if isinstance(names, str) else names[0]
        # The name by which DuckDB finds its files as well: memory://x is memory:///x there.
        super().__init__(self._root if is_url(self._root) else f"{scheme}://{self._root}")

    @contextlib.contextmanager
    def _using(self) -> Iterator[Any]:
        """Yield the filesystem. Whatever it raises becomes an OSError."""
        try:
            yield self.filesystem
        except OSError:
            raise
        except Exception as error:  # those of s3fs and gcsfs have no common class
            raise OSError(_first_line(error)) from error

    def _key(self, path: str) -> str:
        """Return the filesystem's own name of a URL in the folder."""
        return str(self._root) + path[len(self.path) :]

    def _found(self, *parts: str) -> dict[str, dict[str, Any]]:
        """Return all that is below a folder, as the filesystem describes it, by URL."""
        with self._using() as filesystem:
            filesystem.invalidate_cache()  # other writers append
            entries = filesystem.find(self._key(self.at(*parts)), detail=True)
        return {self.path + name[len(self._root) :]: entry for name, entry in sorted(entries.items())}

    def _others(self) -> set[str]:
        return {name[len(self.path) + 1 :].partition("/")[0] for name in self._found()} - {RECORDINGS, *SHARED}

    def _prepare(self) -> None:
        """Do nothing: an object store makes folders itself."""

    def read(self, *parts: str) -> bytes:
        """Return the contents of a file."""
        with self._using() as filesystem:
            return bytes(filesystem.cat_file(self._key(self.at(*parts))))

    def has(self, *parts: str) -> bool:
        """Return True if there is a file."""
        with self._using() as filesystem:
            filesystem.invalidate_cache()
            return bool(filesystem.isfile(self._key(self.at(*parts))))

    def has_recording(self, name: str) -> bool:
        """Return True if a recording is in the dataset, whole."""
        try:
            data = self.read(RECORDINGS, name, COMMIT)
        except FileNotFoundError:
            return False
        return data.startswith(MAGIC) and data.endswith(MAGIC)  # not every filesystem stores a file whole or not at all

    def recordings(self) -> dict[str, list[str]]:
        """Return the files of each recording, complete or not, by the URL of its folder."""
        found: dict[str, list[str]] = {}
        for url in self._found(RECORDINGS):
            found.setdefault(os.path.dirname(url), []).append(url)
        return found

    def listed(self, table: str) -> list[str]:
        """Return the files of a table that recordings share, the newest last if the filesystem has their times."""
        times = ("LastModified", "last_modified", "mtime", "updated", "created")
        ages = {
            url: next((str(entry[name]) for name in times if entry.get(name)), "")
            for url, entry in self._found(table).items()
        }
        return sorted(ages, key=lambda url: (ages[url], url))

    @contextlib.contextmanager
    def opened(self, path: str) -> Iterator[Any]:
        """Yield what PyArrow reads a file from."""
        with self._using() as filesystem, filesystem.open(self._key(path), "rb") as file:
            yield file

    def copy(self, path: str, to: str) -> None:
        """Copy a file of the dataset to a local path."""
        with self._using() as filesystem:
            filesystem.get_file(self._key(path), to)

    def _temporary(self, name: str) -> str:
        return os.path.join(tempfile.gettempdir(), f"seismo-{name}")

    def _move(self, part: str, path: str) -> None:
        with self._using() as filesystem:
            filesystem.put_file(part, self._key(path))

    def place_folder(self, part: str, name: str) -> bool:
        """Upload a complete local folder as a recording's. Return False if another writer was faster."""
        if self.has_recording(name):
            return False
        for file in sorted(os.listdir(part), key=lambda file: (file == COMMIT, file)):
            self._move(os.path.join(part, file), self.at(RECORDINGS, name, file))
        return True


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")[:300] or type(error).__name__
