"""The end of a recording of several processes: their parts become one file.

The merge waits a moment for processes that still run. After that their parts remain, and so does the folder. The merged
file lists three kinds of losses: processes that left a mark because they could not be recorded
(child_startup/unrecorded_mark.py), unreadable parts, and processes that still ran.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from seismo.model import merge_files
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process.child_startup.unrecorded_mark import LINES, MARK, SHARED
from seismo.process.children import PATIENCE, make_folder, part, remove_folder
from seismo.process.output_file import SUFFIX, Output, identity, out_of_the_way, put, write_all

if TYPE_CHECKING:
    from collections.abc import Callable


_MARK_BYTES = 8192
_MOST_MARKS = 1000  # the most marks that are listed one by one
_MOVES = 5  # attempts to copy a file while another thread may write to it


class TakenParts:
    """The merged parts before an exec, kept in case the exec fails and the recording continues.

    losses: those of the marks, which are removed. fd: a file without a name with all parts, which vanishes if the exec
    succeeds, or -1. merged: device and inode of the merged file that took the recording's name.
    """

    def __init__(self) -> None:
        self.losses: list[dict[str, Any]] = []
        self.fd = -1
        self.merged: tuple[int, int] | None = None

    def put_back(self, folder: str, output: Output, move: Callable[[int], bool]) -> None:
        """Put the parts back into the folder as one part, and give the recording its name, after the exec has failed.

        No system call can restore the name of a file that was replaced. So a copy of the recording gets the name, and
        the recorder continues in the copy (`move`). If the process is killed in between, the file has no end.
        """
        make_folder(folder)
        fd, self.fd = self.fd, -1
        if fd >= 0:
            together = part(folder)
            write_all(together.fd, fd)
            os.close(fd)
            together.close()
        merged, self.merged = self.merged, None
        if merged != identity(output.path):
            return  # another process has put its file there, which stays
        for _ in range(_MOVES):
            fd = put(output.path, output.fd)
            try:
                if move(fd):
                    return
            finally:
                os.close(fd)


def merge_folder(recording: str, folder: str, taken: TakenParts | None = None, goes_on: bool = False) -> list[str]:
    """Merge the parts into the recording and remove them; if the exec may fail (goes_on), keep them in `taken`."""
    from seismo.model import read

    taken = taken or TakenParts()
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(SUFFIX)]
    alive = still_written(paths)
    losses, left = marks(folder)
    losses = taken.losses + losses
    merged, messages, parts = [], [], []
    for path in paths:
        if path in alive:
            continue
        try:
            if os.path.getsize(path):
                read(path)
                parts.append(path)
            merged.append(path)
        except Exception as error:  # noqa: BLE001  one unreadable part must not lose the others
            messages.append(f"a child's recording cannot be merged, and stays in its file: {error}")
            losses.append(_loss("child-unread", 1, path))
    if alive:
        messages.append(
            f"{len(alive)} child processes still run; add their parts later: seismo merge -o OUT {folder}/*"
        )
        losses.append(_loss("child-running", len(alive), folder))
    if goes_on:
        # The marks of these losses are removed below.
        taken.losses = [loss for loss in losses if loss["kind"] == "child-unrecorded"]
    if parts or losses:
        result = f"{recording}.{os.getpid()}.tmp"
        if goes_on and parts:
            together = f"{folder}/{os.getpid()}.tmp"
            merge_files(parts, together)
            taken.fd = out_of_the_way(os.open(together, os.O_RDONLY | os.O_CLOEXEC))
            parts = [together]
            merged.append(together)
        merge_files([recording, *parts], result, losses)
        taken.merged = identity(result)
        os.replace(result, recording)
    for path in (*merged, *left):
        os.unlink(path)
    remove_folder(folder)
    return messages


def _loss(kind: str, count: int, detail: str) -> dict[str, Any]:
    return {"kind": kind, "count": count, "thread": -1, "detail": detail}


def marks(folder: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the losses from the marks in the folder, and the marks' paths."""
    losses, paths = [], []
    for place in (folder, os.path.join(folder, SHARED)):
        names = sorted(os.listdir(place)) if os.path.isdir(place) else []
        paths += [os.path.join(place, name) for name in names if name.endswith(MARK)]
    for path in paths[:_MOST_MARKS]:
        found = dict(zip(LINES, _lines(path), strict=False))
        who = f"{found.get('argv', '')} (pid {found.get('pid', '?')}, Python {found.get('version', '?')})"
        losses.append(_loss("child-unrecorded", 1, f"{who}: {found.get('why', 'no reason is known')}"))
    if len(paths) > _MOST_MARKS:
        losses.append(_loss("child-unrecorded", len(paths) - _MOST_MARKS, "and others"))
    return losses, paths


def _lines(path: str) -> list[str]:
    """Return the lines of a mark, which any process may have written."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(fd, "rb", buffering=0) as file:
            return (file.read(_MARK_BYTES) or b"").decode("ascii", "replace").split("\n")
    except OSError:
        return []


def still_written(paths: list[str]) -> set[str]:
    """Wait for a moment, and return the parts that a running process still locks."""
    import fcntl
    from time import monotonic, sleep

    until = monotonic() + PATIENCE
    alive = set(paths)
    while True:
        for path in sorted(alive):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                # The files differ if the writer has just replaced its file.
                if os.path.samestat(os.fstat(fd), os.stat(path)):
                    alive.discard(path)
            except BlockingIOError:
                pass
            finally:
                os.close(fd)
        if not alive or monotonic() > until:
            return alive
        sleep(0.005)
