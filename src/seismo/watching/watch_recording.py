"""The counts and times of a watch as a .seismo file, for `seismo report`, export, diff and merge.

For each function, a watch has the number of matches and the time of the matched calls, but neither callers nor threads.
So each function is one node without a parent, and all threads are one. The report shows this because `recorder` in the
metadata is "watch".

A node's time is the time in the function's matched calls. The time excludes matched calls inside them, and the
suspensions of generators and coroutines. So the sum of all times is the time in matched calls. All times were measured:
there is no estimation error, and no overhead is subtracted.
"""

from __future__ import annotations

import os
from array import array
from time import monotonic_ns, time_ns

from seismo import _core
from seismo.errors import RecordingError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine
from seismo.process.fork_handlers import new_lock
from seismo.process.output_file import Output
from seismo.process.signal_handler_errors import is_ours, reraise_if_the_programs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo.watching.actions import Row
    from seismo.watching.active_watch import ActiveWatch

_MOST = 2**63 - 1
# Between two writes there are at least this many ns, and 50 times the duration of a write.
_EVERY = _core.DEFAULTS["flush_ms"] * 1_000_000
_open: dict[int, tuple[File, ActiveWatch]] = {}  # the files to update, each with its running watch


class File:
    """The file of a watch's `record`, complete after each update, and without an end until the watch has one."""

    def __init__(self, path: str, option: str) -> None:
        """Check that the file can be written, or raise RecordingError. path is absolute."""
        self.path, self.option, self.pid = path, option, os.getpid()
        self._lock = new_lock()
        self._every = _EVERY
        self._output: Output | None = None
        self._ended: bytes | None = None
        self._refused = ""
        Output(path, option=option).discard()

    def begin(self, watch: ActiveWatch) -> None:
        """Start updating the file, except in a forked child. end() reports an error of this."""
        if os.getpid() != self.pid:
            return
        self._ended, self._refused = None, ""
        try:
            self._output = Output(self.path, option=self.option)
        except RecordingError as error:
            self._refused = error.args[0]
            return
        _open[id(self)] = (self, watch)
        try:
            self.write(watch)
            _core.keep(_keep)
        except (OSError, RuntimeError) as error:  # end() reports that no thread is available or the disk is full
            reraise_if_the_programs(error)

    def write(self, watch: ActiveWatch, exit_: str = "", last: bool = False) -> None:
        """Write the file atomically. exit_ describes the end of the process. Raise OSError if that fails."""
        with self._lock:
            if self._output is None or os.getpid() != self.pid:
                return
            began = monotonic_ns()
            if last:
                self._ended = content = image(watch, exit_)
            else:
                content = image(watch, unended=True)
            self._output.put(content, last)
            if not last and self._ended is not None:  # a signal handler has written the end in the meantime
                self._output.put(self._ended, True)
            self._every = max(_EVERY, 50 * (monotonic_ns() - began))

    def end(self, watch: ActiveWatch, go_on: bool = False) -> str:
        """Write the file with its end, and return an error message or "". go_on: True if the watch may continue."""
        if os.getpid() != self.pid or self._output is None:
            return f"the recording was not written: {self._refused}: {self.path}" if self._refused else ""
        wrong = ""
        try:
            self.write(watch, last=True)
        except Exception as error:
            if not is_ours(error):
                raise
            wrong = f"the recording was not written: {getattr(error, 'strerror', None) or error}: {self.path}"
        if go_on:
            self._ended = None
        else:
            self.close()
        return wrong

    def forked(self) -> None:
        """Release the file in a forked child, because it belongs to the parent."""
        _open.clear()
        self.close()

    def close(self) -> None:
        """Stop updating the file."""
        _open.pop(id(self), None)
        output, self._output = self._output, None
        if output is not None:
            output.close()
        if not _open:
            _core.keep(None)


def _keep(how: str) -> int:
    """Update all files, and return the ns until the next update, for the core. how: why the process ends, or ""."""
    every = _EVERY
    for file, watch in list(_open.values()):
        try:
            file.write(watch, how, last=bool(how))
        except Exception as error:
            if not is_ours(error):
                raise
        every = max(every, file._every)
    return every


def image(watch: ActiveWatch, exit_: str = "", unended: bool = False) -> bytes:
    """Return a .seismo file with the counts so far. exit_: how the process ended. unended: the watch continues."""
    writer = _core.Writer(None)
    settings: dict[str, object] = {"expression": engine.printable(watch.expression.text.strip())}
    if watch.selection.limit is not None:
        settings["limit"] = watch.selection.limit
    writer.meta(engine.meta(settings, "watch"))
    rows = [row for row in watch.functions if row.matches]
    began, ended = watch.span[0], watch.span[1] or time_ns()
    strings = {"": 0}

    def add(table: str, values: list[dict[str, Any]]) -> None:
        columns: dict[str, Any] = {}
        for name, code in _core.schema()[table]:
            given = [value.get(name, "" if code == "s" else 0) for value in values]
            if code == "s":
                for text in given:
                    if text not in strings:
                        strings[text] = writer.string(text)
                given = [strings[text] for text in given]
            columns[name] = array("d" if code == "d" else "q", given)
        writer.table(table, columns)

    process = {
        "pid": os.getpid(),
        "ppid": os.getppid(),
        **engine.about_process(),
        "start_ns": began,
        "end_ns": ended,
        "exit": exit_,
        "clock": "monotonic",
        "source": "watch",
    }
    add("processes", [process])
    thread = {"name": "all threads", "start_ns": began, "end_ns": ended, "wall_ns": max(0, ended - began), "cpu_ns": -1}
    add("threads", [{**thread, "main": 1}])
    places = [(row.module, row.qualname, row.file, row.line) for row in rows]
    names = ("module", "qualname", "file", "line")
    add("functions", [{"id": n, **dict(zip(names, place, strict=True))} for n, place in enumerate(places)])
    add("nodes", [_node(number, row) for number, row in enumerate(rows)])
    losses = _losses(watch, rows)
    if unended:
        losses.append({"kind": "cut-short", "count": 1, "detail": f"process {os.getpid()}"})
    add("losses", [{"id": number, "thread": -1, **loss} for number, loss in enumerate(losses)])
    content = writer.finish()
    assert content is not None
    return content


def _node(number: int, row: Row) -> dict[str, int]:
    """Return the root node of a function; all its times are exact."""
    own = min(round(row.own), _MOST)
    counts = dict.fromkeys(("calls", "entered", "timed"), row.matches)
    return {"id": number, "parent": -1, "function": number, "timed_ns": own, **counts}


def _losses(watch: ActiveWatch, rows: list[Row]) -> list[dict[str, Any]]:
    unended = sum(row.matches - row.timed for row in rows) if watch.selection.kinds == {"call"} else 0
    limit, count = watch.selection.limit, watch.count
    failed = engine.printable(f"the watch ended early because its action failed: {watch.failed}")
    losses = (
        ("calls-unended", unended, ""),
        ("other-interpreters", watch.interpreters, ""),
        ("matches-lost", watch.lost, ""),
        ("limit-reached", count if limit is not None and count >= limit else 0, ""),
        ("action-failed", int(watch.failed != ""), failed),
    )
    return [{"kind": kind, "count": count, "detail": detail} for kind, count, detail in losses if count > 0]
