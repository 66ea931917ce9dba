"""Drawing of progress on a terminal, for commands that work for more than a second.

A separate thread draws. So the elapsed time is shown even while native code reports no steps. The bar is erased before
anything else is written, and comes back if the work goes on for another second.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from io import FileIO
from typing import TYPE_CHECKING, Any, TextIO

from seismo import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DELAY = 1.0  # no bar is shown in the first second of work
INTERVAL = 0.1  # seconds between two drawings


@contextmanager
def shown() -> Iterator[None]:
    """Show the progress of the block on stderr if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    bar = _Bar()
    raws = [raw for raw in map(_raw_of, (sys.stdout, sys.stderr)) if raw is not None]
    for raw in raws:  # all that a stream writes passes here, whatever buffers it before
        raw.write = partial(bar.write, raw.write)
    progress.watcher = bar
    bar.thread.start()
    try:
        yield
        sys.stdout.flush()
    finally:
        progress.watcher = None
        bar.end()
        for raw in raws:
            del raw.write


class _Bar:
    """The current work and its bar, if one is drawn. The lock guards the bar."""

    def __init__(self) -> None:
        self._work = ("", 0, 0)  # one tuple, so that the drawing thread never reads a mixture of two states
        self._since = time.monotonic()
        self._within_line = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._picture: Any = None
        self.thread = threading.Thread(target=self._draw_until_the_end, name="seismo progress", daemon=True)

    def report(self, what: str, done: int, total: int) -> None:
        """Note what is done."""
        self._work = what, done, total

    def write(self, write: Callable[[Any], int | None], data: Any) -> int | None:
        """Erase the bar and write something else. No bar is drawn until the last line of that is complete."""
        with self._lock:
            self._erase()
            written = write(data)
            if written:
                self._within_line = bytes(data[written - 1 : written]) != b"\n"
            self._since = time.monotonic()
            return written

    def end(self) -> None:
        """Erase the bar for good."""
        self._ended.set()
        self.thread.join()

    def _draw_until_the_end(self) -> None:
        while not self._ended.wait(INTERVAL):
            self._draw()
        self._draw()  # draw once more, in case a bar became due during the last interval
        with self._lock:
            self._erase()

    def _draw(self) -> None:
        with self._lock:
            what, done, total = self._work
            if not what or self._within_line or time.monotonic() - self._since < DELAY:
                return
            if self._picture is None:
                self._picture = _picture()
                self._picture.add_task(what, amount="")
                self._picture.start()
            (task,) = self._picture.task_ids
            amount = f"{done:,} of {total:,}" if total else ""
            self._picture.update(task, description=what, completed=done, total=total or None, amount=amount)
            self._picture.refresh()

    def _erase(self) -> None:
        if self._picture is not None:
            self._picture.stop()
            self._picture = None


def _picture() -> Any:
    """Return rich's bar, which is imported only when it is drawn."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("seismo: {task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[amount]}", markup=False),
        TimeElapsedColumn(),
    )
    # A stream of its own, because stderr erases the bar before each write.
    terminal = open(2, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, closefd=False)  # noqa: SIM115
    return Progress(
        *columns,
        console=Console(file=terminal),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )


def _raw_of(stream: TextIO | None) -> Any:
    """Return what the stream writes to if that is a terminal or a pipe, which may lead to a pager, else None."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # python -u has no buffer between
    return raw if isinstance(raw, FileIO) and (raw.isatty() or stat.S_ISFIFO(os.fstat(raw.fileno()).st_mode)) else None
