"""The routes of `seismo view` and their answers: pages, JSON and columns.

    /                     the viewer's own page
    recordings            the recordings that are shown, each with its facts and losses
    N/page                the page of recording N, as `seismo report --html` writes it
    N/changes?with=       its changes to another one of its kind, as `seismo diff --html` writes them
    N/page?from=&to=      of a trace: the page of a part of it
    N/trace               of a trace: its threads, processes and functions, and which paths mostly wait
    N/rows?from=&to=&columns=&threads=     the rows to draw for a part: one per call or run of calls
    N/call?thread=&depth=&at=    the whole call that is open at a time
    N/density?columns=    the number of calls that began in each column of the whole trace
    N/events?from=&to=    marks, spans, counts, pauses and gaps of a part
    N/range?from=&to=     the functions of a part
    N/find?functions=&from=&back=     the next call of one of the functions
    N/source?function=    the source of a function, or null if it has none
    N/state?version=      for --live: has the file grown since that version, and is it still growing

Times are nanoseconds from the start of the recording's first process. There are few recordings, but they may be large,
so the code here holds only the requested rows, and limits every request.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
import time
from typing import TYPE_CHECKING, Any

from seismo import _core, model
from seismo.errors import SeismoError, UsageError
from seismo.escape import printable
from seismo.report.calls.sources import source_of
from seismo.report.calls.timeline import program_events, threads, waiting
from seismo.report.facts import command_line, first_process, gone, losses
from seismo.report.kind import changes_page, of, page_at
from seismo.report.libraries import library_of
from seismo.report.page.document import MARK, _asset, _hash
from seismo.report.page.payload import doubles, integers, laid_out, shown
from seismo.report.sources import Sources
from seismo.report.words import Signs
from seismo.view.server import POLICY, Answer, NothingThereError
from seismo.view.trace_ranges import call_at, functions_of, next_call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from seismo.model import Recording

MOST_COLUMNS = 4096
MOST_THREADS = 64
BLOCKS_A_STEP = 16  # blocks of the journal that are read per request of events, in a few milliseconds
MOST_STEPS = 1000
MOST_CUT = 3_000_000  # the most calls of a part that gets a page
MOST_NAMED = 20_000  # bytes of the function numbers in a request
FOREVER = 2**62
PATIENCE = 5
SILENT_S = 5.0  # a running program with any activity writes more often

COLUMNS = "application/octet-stream"  # the layout of seismo.report.page.payload
JSON = "application/json; charset=utf-8"
_HTML = "text/html; charset=utf-8"


class ServedRecording:
    """A recording that is shown, and read again after its file has grown.

    The file is read from its start, but most of it (the journal of a trace) stays on disk and only its index is built.
    To leave the CPU to the program, the next reading waits PATIENCE times as long as the last one took.
    """

    def __init__(self, path: str, recording: Recording, live: bool = False) -> None:
        self.path, self.live = path, live
        self.recording = recording
        self.version = 0
        self._stamp = _stamp(path)
        self._due = 0.0

    def refresh(self) -> None:
        """Read the file again if it has grown and the next reading is due."""
        stamp = _stamp(self.path)
        began = time.monotonic()
        if not self.live or stamp == self._stamp or began < self._due:
            return
        try:
            self.recording = model.read(self.path, running=True)
        except SeismoError:
            return  # the file is being replaced; the next check will succeed
        self._stamp = stamp
        self.version += 1
        self._due = time.monotonic() + PATIENCE * (time.monotonic() - began)

    @property
    def ending(self) -> str:
        """Return "ended" after a regular end, "stopped" if the process is gone without one, or "" if it may be running.

        Only processes of this machine can be checked. A recording that was written recently does not count as stopped.
        """
        pid, ended = first_process(self.recording)
        if ended:
            return "ended"
        silent = time.time() - self._stamp[1] / 1e9
        return "stopped" if silent > SILENT_S and gone(pid) else ""


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return (status.st_size, status.st_mtime_ns)


class Routes:
    """The answers for the recordings that are shown."""

    def __init__(self, shown: Sequence[ServedRecording]) -> None:
        self.shown = list(shown)

    def __call__(self, path: str, query: Mapping[str, str]) -> Answer:
        """Return the answer for a path below the token. Raise NothingThereError or UsageError."""
        if path == "":
            return _viewer()
        if path == "recordings":
            return _json([self._about(number) for number in range(len(self.shown))])
        number, _, what = path.partition("/")
        if not (number.isascii() and number.isdigit() and int(number[:6]) < len(self.shown)):
            raise NothingThereError("there is no such recording")
        entry = self.shown[int(number[:6])]
        if what == "page":
            return Answer(_page(_part(entry, query)), _HTML)
        if what == "state":
            return _state(entry, query)
        if what == "changes":
            return Answer(_changes(entry, self.shown[_whole(query, "with", 0, len(self.shown) - 1)]), _HTML)
        answer = _OF_TRACES.get(what)
        if answer is None:
            raise NothingThereError("there is nothing of this name")
        if not entry.recording.calls:
            raise NothingThereError("the recording is no trace: it has no calls in time")
        return answer(entry, query)

    def _about(self, number: int) -> dict[str, Any]:
        entry = self.shown[number]
        entry.refresh()
        recording = entry.recording
        kind, signs = of(recording), Signs()
        return {
            "name": shown(os.path.basename(entry.path)),
            "command": shown(command_line(recording)),
            "kind": kind.name,
            "what": kind.what,
            "trace": bool(recording.calls) and not hasattr(_core, "NOTE"),  # the core alone sums up calls for a picture
            "compares": bool(kind.compares),
            "live": entry.live,
            "ending": entry.ending,
            "version": entry.version,
            "facts": [fact for fact in kind.facts(recording, signs) if fact[0] not in ("measured", "note")],
            "losses": [printable(text) for text in losses(recording, signs)],
        }


@functools.cache
def _viewer() -> Answer:
    """Return the viewer's page, with a policy that allows no code but the bundle of the front end.

    It requests everything else by relative addresses, because its own holds the token.
    """
    style, script = _asset("built/view.css"), _asset("built/view.js")
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{MARK}\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n<title>seismo view</title>\n'
        f"<style>{style}</style>\n</head>\n"
        '<body><div id="app"><noscript>This page draws with JavaScript, which is switched off in this '
        "browser.</noscript></div>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )
    policy = POLICY.format(style=f"'sha256-{_hash(style)}'", script=f"'sha256-{_hash(script)}'")
    return Answer(page.encode(), _HTML, policy)


def _part(entry: ServedRecording, query: Mapping[str, str]) -> Recording:
    """Return the recording, or the requested part of it. Raise UsageError if that has too many calls."""
    recording = entry.recording
    if not (recording.calls and ("from" in query or "to" in query)):
        return recording
    start, end = _stretch(query)
    inside = sum(recording.calls.overview(start, end, 100).runs["calls"])
    if inside > MOST_CUT:
        raise UsageError(
            f"this stretch has some {inside:,} calls, more than can be cut out at once",
            hint=f"choose one with less than {MOST_CUT:,}, or use: seismo export --from TIME --to TIME",
        )
    return recording.cut(start, end)


def _changes(old: ServedRecording, new: ServedRecording) -> bytes:
    """Return the page of changes between two recordings. Raise UsageError if they cannot be compared."""
    kind, other = of(old.recording), of(new.recording)
    if kind is not other:
        raise UsageError(f"a recording of {other.what} cannot be compared with one of {kind.what}")
    sides = ([_ran(old.recording)], [_ran(new.recording)])
    names = ([os.path.basename(old.path)], [os.path.basename(new.path)])
    return _written(lambda place: changes_page(kind, sides, place, names))


def _ran(recording: Recording) -> Recording:
    """Return the recording by running time, as `seismo diff` compares it."""
    return recording.timed("cpu") if of(recording).times else recording


def _page(recording: Recording) -> bytes:
    if recording.calls:  # the viewer draws the timeline itself
        from seismo.report.calls.page import calls_page

        return calls_page(recording, most_calls=0).encode()
    kind = of(recording)
    return _written(lambda place: kind.page(recording, place), lambda path: page_at(kind, path))


def _written(write: Callable[[str], object], at: Callable[[str], str] = str) -> bytes:
    """Return the content of a page that `write` writes to a path. at: returns the path of the page's first file."""
    with tempfile.TemporaryDirectory(prefix="seismo-view-") as folder:
        place = os.path.join(folder, "page.html")
        write(place)
        with open(at(place), "rb") as file:
            return file.read()


def _json(value: object) -> Answer:
    return Answer(json.dumps(value, separators=(",", ":"), allow_nan=False).encode(), JSON)


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


def _trace(entry: ServedRecording, _query: Mapping[str, str]) -> Answer:
    recording = entry.recording
    functions = recording.functions
    libraries = {file: bool(library_of(file)[0]) for file in set(functions["file"])}
    whole = not all(libraries.values())  # if no function is the program's own, none counts as foreign
    return _json(
        {
            "from": 0,
            "version": entry.version,
            "sizes": _sizes(recording),
            "steps": max(1, min(MOST_STEPS, len(recording.calls.blocks) // BLOCKS_A_STEP)),
            **threads(recording),
            "names": [shown(name) for name in functions["qualname"]],
            "modules": [shown(name) for name in functions["module"]],
            "places": [
                f"{shown(file)}:{line}" if line > 0 else shown(file)
                for file, line in zip(functions["file"], functions["line"], strict=True)
            ],
            "kinds": [int(kind) for kind in functions["kind"]],
            "foreign": [int(whole and libraries[file]) for file in functions["file"]],
            "waits": "".join("01"[waits] for waits in waiting(recording)),
        }
    )


def _threads(entry: ServedRecording, query: Mapping[str, str]) -> list[int]:
    count = len(entry.recording.threads)
    words = query.get("threads", "")[:4096].split(",")
    chosen = [int(word) for word in words if word.isascii() and word.isdigit() and int(word[:9]) < count]
    return (chosen or list(range(count)))[:MOST_THREADS]


def _rows(entry: ServedRecording, query: Mapping[str, str]) -> Answer:
    start, end = _stretch(query)
    width = _whole(query, "columns", 1, MOST_COLUMNS, 1024)
    rows = entry.recording.calls.overview(start, end, width, _threads(entry, query)).runs
    table: dict[str, Any] = {name: integers(rows[name]) for name in ("thread", "depth", "function", "node", "flags")}
    table |= {name: doubles(rows[f"{name}_ns"]) for name in ("start", "end", "bound", "busy")}
    return Answer(laid_out({}, table | {"calls": doubles(rows["calls"])}), COLUMNS)


def _call(entry: ServedRecording, query: Mapping[str, str]) -> Answer:
    """Answer with the whole call that was open at a time; the rows of a part may hold only a piece of it."""
    thread = _whole(query, "thread", 0, len(entry.recording.threads) - 1)
    depth = _whole(query, "depth", 0, 1 << 30)
    return _json({"row": call_at(entry.recording, thread, depth, _whole(query, "at", 0, FOREVER))})


def _density(entry: ServedRecording, query: Mapping[str, str]) -> Answer:
    width = _whole(query, "columns", 1, MOST_COLUMNS, 1000)
    calls = entry.recording.calls
    whole = calls.end_ns + 1
    began = [0.0] * width
    runs = calls.overview(0, whole, width).runs
    for start, end, count in zip(runs["start_ns"], runs["end_ns"], runs["calls"], strict=True):
        first, last = (max(0, min(width - 1, when * width // whole)) for when in (start, end))
        if count == 1 or first == last:
            began[first] += count
        else:  # a run is no wider than a column, so it lies in at most two
            began[first] += count / 2
            began[last] += count / 2
    return Answer(laid_out({"from": 0, "to": whole}, {"calls": doubles(began)}), COLUMNS)


def _marks(entry: ServedRecording, query: Mapping[str, str]) -> Answer:
    return _json(program_events(entry.recording, *_stretch(query)))


def _range(entry: ServedRecording, query: Mapping[str, str]) -> Answer:
    start, end = _stretch(query)
    return _json(functions_of(entry.recording, start, end, _threads(entry, query)))


def _find(entry: ServedRecording, query: Mapping[str, str]) -> Answer:
    """Answer with the next call of one of the functions. The browser decides which functions match a name."""
    words = query.get("functions", "")[:MOST_NAMED].split(",")
    wanted = {int(word) for word in words if word.isascii() and word.isdigit()}
    start = _whole(query, "from", -FOREVER, FOREVER, 0)
    return _json(next_call(entry.recording, wanted, start, query.get("back") == "1"))


def _source(entry: ServedRecording, query: Mapping[str, str]) -> Answer:
    function = _whole(query, "function", 0, len(entry.recording.functions) - 1)
    return _json(source_of(entry.recording, Sources(entry.recording), function))


def _sizes(recording: Recording) -> list[int]:
    """Return the numbers of functions, of threads, and of threads whose name is known by now."""
    return [len(recording.functions), len(recording.threads), sum(map(bool, recording.threads["name"]))]


def _state(entry: ServedRecording, query: Mapping[str, str]) -> Answer:
    """Answer with the version, the size and the ending of the recording, and whether the version is new."""
    entry.refresh()
    recording = entry.recording
    known = _whole(query, "version", 0, FOREVER, 0)
    sizes = _sizes(recording) if recording.calls else []
    to = recording.calls.end_ns if recording.calls else 0
    grown = entry.version != known
    return _json({"version": entry.version, "grown": grown, "ending": entry.ending, "to": to, "sizes": sizes})


_OF_TRACES = {
    "trace": _trace,
    "rows": _rows,
    "call": _call,
    "density": _density,
    "events": _marks,
    "range": _range,
    "find": _find,
    "source": _source,
}
