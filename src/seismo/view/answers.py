"""What the browser asks of recordings, and the answers: pages, lists in JSON, and columns.

    /                     the viewer's own page
    recordings            the recordings that are shown, with what is said of each before its numbers
    N/page                the page of recording N, as `seismo report --html` writes it
    N/trace               of a trace: its threads, processes and functions, and which paths mostly wait
    N/rows?from=&to=&columns=&threads=     what to draw of a stretch, one row a call or a run of calls
    N/call?thread=&depth=&at=    the call that is open at a time, whole
    N/density?columns=    how many calls began in each part of the whole
    N/said                marks, spans, counts and gaps
    N/range?from=&to=     the functions of a stretch
    N/find?functions=&from=&back=     the next call of one of the functions
    N/state               whether the file has grown, for --live

Times are nanoseconds from the start of the recording's first process. A number of recordings is small, their content is
not: nothing here holds more rows than are asked for, and what is asked for has limits.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from functools import cached_property
from typing import TYPE_CHECKING, Any

from seismo import model
from seismo.errors import SeismoError, UsageError
from seismo.escape import printable
from seismo.report.facts import command_line, losses
from seismo.report.kind import of
from seismo.report.libraries import library_of
from seismo.report.words import Signs
from seismo.view import columns, shell
from seismo.view.ranges import call_at, functions_of, next_call
from seismo.view.server import Answer, NothingThereError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seismo.model import Recording

MOST_COLUMNS = 4096
MOST_THREADS = 64
MOST_SAID = 20_000
MOST_NAME = 400
MOST_NAMED = 20_000  # bytes of the numbers of functions in a question
FOREVER = 2**62

JSON = "application/json; charset=utf-8"


class Shown:
    """One recording that is shown, read again when its file has grown. path: of the file."""

    def __init__(self, path: str, recording: Recording, live: bool = False) -> None:
        self.path, self.live = path, live
        self.recording = recording
        self._stamp = _stamp(path)

    def refreshed(self) -> bool:
        """Whether the file had grown, and was read again."""
        if not self.live or _stamp(self.path) == self._stamp:
            return False
        stamp = _stamp(self.path)
        try:
            self.recording = model.read(self.path, running=True)
        except SeismoError:
            return False  # in the middle of being written anew: the next look finds it
        self._stamp = stamp
        self.__dict__.pop("depths", None)
        return True

    @cached_property
    def depths(self) -> list[int]:
        """For each thread how many calls are open on its deepest path."""
        deepest = [0] * len(self.recording.threads)
        tree = self.recording.tree
        for thread, depth in zip(tree["thread"], tree["depth"], strict=True):
            deepest[thread] = max(deepest[thread], depth + 1)
        return deepest


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return (status.st_size, status.st_mtime_ns)


class Answers:
    """Answers for the recordings that are shown."""

    def __init__(self, shown: Sequence[Shown]) -> None:
        self.shown = list(shown)

    def __call__(self, path: str, query: Mapping[str, str]) -> Answer:
        """The answer for a path below the token. Raises NothingThereError, UsageError."""
        if path == "":
            return Answer(shell.page().encode(), "text/html; charset=utf-8", shell.policy())
        if path == "recordings":
            return _json([self._about(number) for number in range(len(self.shown))])
        number, _, what = path.partition("/")
        if not (number.isascii() and number.isdigit() and int(number[:6]) < len(self.shown)):
            raise NothingThereError("there is no such recording")
        entry = self.shown[int(number[:6])]
        if what == "page":
            return Answer(_page(entry), "text/html; charset=utf-8")
        answer = _OF_TRACES.get(what)
        if answer is None:
            raise NothingThereError("there is nothing of this name")
        if not entry.recording.calls:
            raise NothingThereError("the recording is no trace: it has no calls in time")
        return answer(entry, query)

    def _about(self, number: int) -> dict[str, Any]:
        entry = self.shown[number]
        recording = entry.recording
        kind, signs = of(recording), Signs()
        return {
            "name": printable(os.path.basename(entry.path))[:MOST_NAME],
            "command": command_line(recording)[:MOST_NAME],
            "kind": kind.name,
            "what": kind.what,
            "trace": bool(recording.calls),
            "live": entry.live,
            "facts": kind.facts(recording, signs),
            "losses": [printable(text) for text in losses(recording, signs)],
        }


def _page(entry: Shown) -> bytes:
    with tempfile.TemporaryDirectory(prefix="seismo-view-") as folder:
        place = os.path.join(folder, "page.html")
        kind = of(entry.recording)
        at = kind.page_at(place)
        kind.page(entry.recording, place)
        with open(at, "rb") as file:
            return file.read()


def _json(value: object) -> Answer:
    return Answer(json.dumps(value, separators=(",", ":"), allow_nan=False).encode(), JSON)


def _packed(info: Mapping[str, Any], table: Mapping[str, tuple[str, Any]]) -> Answer:
    return Answer(columns.packed(info, table), columns.MEDIA_TYPE)


def _whole(query: Mapping[str, str], name: str, least: int, most: int, default: int | None = None) -> int:
    word = query.get(name, "")
    if not word and default is not None:
        return default
    try:
        number = int(float(word[:32]))
    except (ValueError, OverflowError):
        raise UsageError(f"{name} is no number") from None
    return max(least, min(number, most))


def _stretch(query: Mapping[str, str]) -> tuple[int, int]:
    start = _whole(query, "from", -FOREVER, FOREVER, 0)
    return start, max(start, _whole(query, "to", -FOREVER, FOREVER, FOREVER))


# ---- traces ----


def _trace(entry: Shown, _query: Mapping[str, str]) -> Answer:
    recording = entry.recording
    calls = recording.calls
    functions = recording.functions
    libraries: dict[str, bool] = {}
    for file in functions["file"]:
        if file not in libraries:
            libraries[file] = bool(library_of(file)[0])
    whole = not all(libraries.values())  # where nothing is the program's own, everything is
    tree = recording.tree
    waits = [int(2 * wait > own) for own, wait in zip(tree["own_ns"], tree["wait_ns"], strict=True)]
    several = len(recording.processes) > 1
    return _json(
        {
            "from": 0,
            "to": calls.end_ns,
            "start": calls.start_ns,
            "processes": [
                {"id": row.id, "title": _title(recording, row.id, row.pid, row.argv) if several else ""}
                for row in recording.processes
            ],
            "threads": [
                {
                    "id": row.id,
                    "name": printable(row.name)[:MOST_NAME] + (f" and {row.folded} more" if row.folded else ""),
                    "process": row.process,
                    "start": row.start_ns - calls.start_ns,
                    "end": row.end_ns - calls.start_ns,
                    "depth": entry.depths[number],
                }
                for number, row in enumerate(recording.threads)
            ],
            "functions": {
                "name": [printable(name)[:MOST_NAME] for name in functions["qualname"]],
                "module": [printable(name)[:MOST_NAME] for name in functions["module"]],
                "file": [printable(name)[:MOST_NAME] for name in functions["file"]],
                "line": list(functions["line"]),
                "kind": [int(kind) for kind in functions["kind"]],
                "foreign": [int(whole and libraries[file]) for file in functions["file"]],
            },
            "waits": "".join(map(str, waits)),
        }
    )


def _title(recording: Recording, number: int, pid: int, argv: str) -> str:
    try:
        words = json.loads(argv)
    except ValueError:
        words = []
    line = " ".join(str(word) for word in words) if isinstance(words, list) else ""
    return f"process {pid}  {printable(line)[:120]}" if pid else f"process {number} of {len(recording.processes)}"


def _threads(entry: Shown, query: Mapping[str, str]) -> list[int]:
    count = len(entry.recording.threads)
    words = query.get("threads", "")[:4096].split(",")
    chosen = [int(word) for word in words if word.isascii() and word.isdigit() and int(word[:9]) < count]
    return (chosen or list(range(count)))[:MOST_THREADS]


def _rows(entry: Shown, query: Mapping[str, str]) -> Answer:
    start, end = _stretch(query)
    width = _whole(query, "columns", 1, MOST_COLUMNS, 1024)
    rows = entry.recording.calls.overview(start, end, width, _threads(entry, query)).runs
    return _packed(
        {"from": start, "to": end},
        {
            "thread": ("i", rows["thread"]),
            "depth": ("i", rows["depth"]),
            "start": ("d", rows["start_ns"]),
            "end": ("d", rows["end_ns"]),
            "bound": ("d", rows["bound_ns"]),
            "busy": ("d", rows["busy_ns"]),
            "function": ("i", rows["function"]),
            "node": ("i", rows["node"]),
            "calls": ("d", rows["calls"]),
            "flags": ("i", rows["flags"]),
        },
    )


def _call(entry: Shown, query: Mapping[str, str]) -> Answer:
    """The call that was open at a time, with its own times, where a stretch that was read has but a part of it."""
    thread = _whole(query, "thread", 0, len(entry.recording.threads) - 1)
    depth = _whole(query, "depth", 0, 1 << 30)
    return _json({"row": call_at(entry.recording, thread, depth, _whole(query, "at", 0, FOREVER))})


def _density(entry: Shown, query: Mapping[str, str]) -> Answer:
    width = _whole(query, "columns", 1, MOST_COLUMNS, 1000)
    calls = entry.recording.calls
    whole = calls.end_ns + 1
    began = [0.0] * width
    runs = calls.overview(0, whole, width).runs
    for start, end, count in zip(runs["start_ns"], runs["end_ns"], runs["calls"], strict=True):
        first, last = (max(0, min(width - 1, when * width // whole)) for when in (start, end))
        if count == 1 or first == last:
            began[first] += count
        else:  # a run is no wider than a column, and may lie in two
            began[first] += count / 2
            began[last] += count / 2
    return _packed({"from": 0, "to": whole}, {"calls": ("d", began)})


def _said(entry: Shown, _query: Mapping[str, str]) -> Answer:
    calls = entry.recording.calls
    found = calls.instants
    return _json(
        {
            "instants": [
                {
                    "time": row.time_ns,
                    "thread": row.thread,
                    "kind": row.kind,
                    "span": row.span,
                    "name": printable(row.name)[:MOST_NAME],
                    "value": _value(row.data) if row.kind == "counter" else None,
                    "text": printable(_spelled(row.data))[:MOST_NAME],
                }
                for row in found[:MOST_SAID]
            ],
            "left": max(0, len(found) - MOST_SAID),
            "gaps": [
                {"thread": row.thread, "start": row.start_ns, "end": row.end_ns} for row in calls.gaps[:MOST_SAID]
            ],
        }
    )


def _value(data: object) -> float | None:
    """What a counter was from then on; None: what is there makes no sense."""
    value = data.get("value") if isinstance(data, dict) else None
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _spelled(data: object) -> str:
    if data is None:
        return ""
    if isinstance(data, dict):
        return ", ".join(f"{name}={value}" for name, value in data.items())
    return str(data)


def _range(entry: Shown, query: Mapping[str, str]) -> Answer:
    start, end = _stretch(query)
    return _json(functions_of(entry.recording, start, end, _threads(entry, query)))


def _find(entry: Shown, query: Mapping[str, str]) -> Answer:
    """The next call of one of the functions after a time. Which names match, the browser knows."""
    words = query.get("functions", "")[:MOST_NAMED].split(",")
    wanted = {int(word) for word in words if word.isascii() and word.isdigit()}
    start = _whole(query, "from", -FOREVER, FOREVER, 0)
    return _json(next_call(entry.recording, wanted, start, query.get("back") == "1"))


def _state(entry: Shown, _query: Mapping[str, str]) -> Answer:
    grown = entry.refreshed()
    return _json({"grown": grown, "to": entry.recording.calls.end_ns})


_OF_TRACES = {
    "trace": _trace,
    "rows": _rows,
    "call": _call,
    "density": _density,
    "said": _said,
    "range": _range,
    "find": _find,
    "state": _state,
}
