"""Writing of recordings to files."""

from __future__ import annotations

import json
import os
from itertools import islice
from typing import TYPE_CHECKING

from seismo import _core
from seismo.errors import RecordingError, missing_folder
from seismo.model.columns import SCHEMA, Texts
from seismo.model.combine import problem_losses
from seismo.model.replaced_file import is_replaceable, replaced
from seismo.model.trace.copy_to_file import copied

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model.columns import Columns
    from seismo.model.recording import Recording
    from seismo.model.table import Strings


class TableWriter:
    """A writer of tables that unites the strings of several string tables."""

    def __init__(self, writer: _core.Writer) -> None:
        self._writer = writer
        self._texts, self._written = Texts(), 1  # the string 0 is empty

    def table(self, kind: str, table: Columns, strings: Strings | Sequence[str]) -> None:
        """Write a table whose string columns have indexes into `strings`."""
        columns = self._texts.table(kind, table, strings)
        for text in islice(self._texts.index, self._written, None):
            self._writer.string(text)
        self._written = len(self._texts.index)
        self._writer.table(kind, columns)


def write_recording(recording: Recording, fd: int | None) -> bytes | None:
    """Write the recording to a descriptor, or return its contents if there is none."""
    writer = _core.Writer(fd)
    write_tables(recording, writer)
    journal = recording._journal
    if journal is not None and journal.fits(recording._raw):
        for kind, payload in copied(recording):
            writer.chunk(kind, payload)
    return writer.finish()


def write_tables(recording: Recording, writer: _core.Writer) -> None:
    """Write everything except the journal."""
    writer.meta(json.dumps(recording.meta, sort_keys=True))
    with_losses = problem_losses(recording)
    out = TableWriter(writer)
    for kind in SCHEMA:
        out.table(kind, with_losses._raw[kind], with_losses._strings)


def write_file(path: str | os.PathLike[str], write: Callable[[int | None], bytes | None]) -> None:
    """Write a file, whole or not at all. Raise RecordingError if it cannot be written.

    `write(fd)` writes to the descriptor. `write(None)` returns the content, for a path that cannot be replaced.
    """
    target = os.fspath(path)
    try:
        if is_replaceable(target):
            with replaced(target, 0o600) as file:  # private to its owner, because it has the program's arguments
                write(file.fileno())
        else:
            with open(target, "wb") as file:
                file.write(write(None) or b"")
    except OSError as error:
        hint = missing_folder(target) or "check the folder, its permissions and free space"
        raise RecordingError(f"the recording cannot be written: {error.strerror or error}", target, hint) from None
