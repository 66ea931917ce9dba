"""Drawing of progress on a terminal, for commands that work for more than a second.

A separate thread draws. So the elapsed time is shown even while native code reports no steps. The bar is erased before
anything else is written, and comes back if the work goes on for another second.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import threading
import time
from contextlib import contextmanager
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
    bar = _Bar(sys.stderr)
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_after(bar, stream) for stream in streams)
    progress.watcher = bar
    bar.thread.start()
    try:
        yield
        sys.stdout.flush()
    finally:
        progress.watcher = None
        bar.end()
        sys.stdout, sys.stderr = streams


class _Bar:
    """The current work and its bar, if one is drawn. The lock guards the bar."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
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
                self._picture = _picture(self._stream)
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


def _picture(stream: TextIO) -> Any:
    """Return rich's bar, which is imported only when it is drawn."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("seismo: {task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[amount]}", markup=False),
        TimeElapsedColumn(),
    )
    return Progress(
        *columns,
        console=Console(file=stream),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,  # the streams erase the bar themselves
        redirect_stderr=False,
    )


class _Raw(io.FileIO):
    """A terminal or pipe for which the bar is erased before each write."""

    def __init__(self, bar: _Bar, fd: int) -> None:
        super().__init__(fd, "w", closefd=False)
        self._bar = bar
        self._failed = False

    def write(self, data: Any, /) -> int | None:  # type: ignore[override]
        """Erase the bar and write. After an error, which is raised once, drop the data like a closed stream."""
        if self._failed:
            return len(data)
        try:
            return self._bar.write(super().write, data)
        except OSError:
            self._failed = True
            raise


def _after(bar: _Bar, stream: TextIO | None) -> Any:
    """Return a stream to the same terminal or pipe, which may lead to a pager, that erases the bar first.

    Return the stream itself if it leads to a file.
    """
    if stream is None or not (stream.isatty() or _is_pipe(stream)):
        return stream
    stream.flush()
    raw = _Raw(bar, stream.fileno())
    lines = stream.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=lines)


def _is_pipe(stream: TextIO) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except OSError:
        return False
