"""What a watch counted and timed, as a .seismo file: for `seismo report`, export, diff and merge.

A watch knows of each function how often it matched and how long its matched calls took, not who called whom nor on
which thread. So each function is one node without a parent, on one thread that stands for all; `recorder` in the meta
data is "watch", and by that the report says it. A node's time is what the function's matched calls ran (waiting of
generators and coroutines left out), without the matched calls inside them: so the times add up. Every one of them was
measured: there is no error of estimation, and nothing is taken off for what measuring cost.
"""

from __future__ import annotations

import os
from array import array

from seismo.originals import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.record import engine
from seismo.record.output import Output, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo import _core
    from seismo.watching.actions import Row
    from seismo.watching.watch import Watch
else:
    from seismo import _core

_MOST = 2**63 - 1


class File:
    """The file of a watch's `record`: seen to be writable when the watch is made, written when it ends."""

    def __init__(self, path: str, option: str) -> None:
        """path: absolute. Raises RecordingError if it cannot be written or is something else's."""
        self.path, self.pid = path, os.getpid()
        output = Output(path, option=option)
        output.discard()

    def write(self, watch: Watch) -> str:
        """Writes it, whole or not at all. Returns what went wrong, or ''. A forked child leaves the parent's alone."""
        if os.getpid() != self.pid:
            return ""
        try:
            replace(self.path, image(watch))
        except (OSError, MemoryError) as error:
            return f"the recording was not written: {getattr(error, 'strerror', None) or error}: {self.path}"
        return ""


def image(watch: Watch) -> bytes:
    """What the watch has counted so far as the content of a .seismo file."""
    writer = _core.Writer(None)
    settings: dict[str, object] = {"expression": engine.printable(watch.expression.source.strip())}
    if watch.limit is not None:
        settings["limit"] = watch.limit
    writer.meta(engine.meta(settings, "watch"))
    rows = [row for row in watch.functions if row.matches]
    began, ended = watch.span
    strings = {"": 0}

    def add(table: str, values: list[dict[str, Any]]) -> None:
        columns: dict[str, Any] = {}
        for name, code in _core.schema()[table]:
            given = [value.get(name, 0) for value in values]
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
        "exit": "",
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
    add("losses", [{"id": number, "thread": -1, **loss} for number, loss in enumerate(losses)])
    content = writer.finish()
    assert content is not None
    return content


def _node(number: int, row: Row) -> dict[str, int]:
    """The root of a function. timed: all its segments, so that its time is taken as it is."""
    own = min(round(row.own), _MOST)
    return {"id": number, "parent": -1, "function": number, "calls": row.matches, "timed": row.matches, "timed_ns": own}


def _losses(watch: Watch, rows: list[Row]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if watch.only_calls:
        unended = sum(row.matches - row.timed for row in rows)
        found += [{"kind": "calls-unended", "count": unended, "detail": ""}] if unended > 0 else []
    if watch.interpreters:
        found.append({"kind": "other-interpreters", "count": watch.interpreters, "detail": ""})
    if watch.lost:
        found.append({"kind": "matches-lost", "count": watch.lost, "detail": ""})
    if watch.limit is not None and watch.count >= watch.limit:
        found.append({"kind": "limit-reached", "count": watch.count, "detail": ""})
    if watch.failed:
        detail = engine.printable(f"the watch was taken out early, its action failed: {watch.failed}")
        found.append({"kind": "action-failed", "count": 1, "detail": detail})
    return found
