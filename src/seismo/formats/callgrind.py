"""callgrind: the text format of valgrind's tool, for KCachegrind, QCachegrind, callgrind_annotate and gprof2dot.

Each thread is a part, with the ids of process and thread in its header. Costs are own nanoseconds and calls and, if
there was waiting, nanoseconds off the CPU:

    fl=(1) app.py            a function: its file, its name, then line, own ns, calls
    fn=(1) app:main
    3 1200 1
    cfi=(1)                  a callee: file, name, calls and line, then the caller's line with the inclusive costs
    cfn=(2) app:work
    calls=5 7
    3 900 5

Names are compressed to ids, with the text at their first use. The inclusive cost of a call counts the outermost calls
of the edge (call_graph.py). A function's calls of itself have none, because readers add up the costs of callees.

A generator that was only resumed, or a function that ran at the start of the recording, has a cost and no call.
callgrind_annotate would take a cost after `calls=0` for the caller's own. So such an edge has its resumes as calls, at
least one, and a comment before it marks that none of them was a call.

The reader supports valgrind's files as well: relative and hexadecimal positions, changes of the file inside a function,
and jumps. Missing calls and the callers' shares of own time are filled in (graph.complete).
"""

from __future__ import annotations

import re
from typing import NamedTuple, TextIO

from seismo.formats.base import MAX_VALUE, Format, number
from seismo.formats.call_graph import REBUILT, Cost, Graph, call_graph, complete, into_tree
from seismo.formats.call_path_builder import Paths
from seismo.formats.call_trees import CallTrees, frames, pids, program
from seismo.formats.function_names import distinct_names, escape, parse, unescape
from seismo.model import Builder, Recording

_TIME, _CALLS, _WAIT = "ns_time", "calls", "ns_waiting"
_NO_CALLS = "# no call: resumed, or running since the start"


class _Writer:
    """The state that the parts of a file share: the names of functions and files, and the sums of costs."""

    def __init__(self, recording: Recording, out: TextIO) -> None:
        self._out = out
        self._forest = CallTrees(recording)
        self._frames = frames(recording)
        self._words = distinct_names(self._frames)
        self._files: dict[str, int] = {}
        self._functions: dict[str, int] = {}
        self._events = [_TIME, _CALLS, *([_WAIT] if any(recording.functions["wait_ns"]) else [])]
        self._sums = Cost()

    def write(self, recording: Recording) -> None:
        """Write the threads that ran, or the first, because a file needs a part."""
        titles, natives, processes = recording.threads["name"], recording.threads["native_id"], pids(recording)
        rows = self._forest.busy_threads() or ([0] if self._forest.threads else [])
        for place, row in enumerate(rows, 1):
            self._out.write(f"pid: {max(processes[row], 0)}\nthread: {max(natives[row], 0)}\npart: {place}\n")
            self._out.write(f"desc: Thread: {escape(titles[row])}\n")
            self._part(row)
        if not rows:
            self._out.write(f"positions: line\nevents: {' '.join(self._events)}\n\n")
        # one line for the whole file, because callgrind_annotate would take the last part's for all parts
        self._out.write(f"totals: {self._costs(self._sums.own, self._sums.calls, self._sums.wait)}\n")

    def _part(self, thread: int) -> None:
        graph = call_graph(self._forest, range(len(self._frames)), [thread])
        calls: dict[int, list[tuple[int, Cost]]] = {}
        for (caller, callee), cost in graph.edges.items():
            calls.setdefault(caller, []).append((callee, cost))
        write = self._out.write
        write(f"positions: line\nevents: {' '.join(self._events)}\n\n")
        for key, cost in graph.functions.items():
            self._sums.own += number(cost.own)
            self._sums.calls += cost.calls
            self._sums.wait += number(cost.wait)
            line = max(self._frames[key].line, 0)
            write(f"fl={self._file(key)}\nfn={self._function(key)}\n")
            write(f"{line} {self._costs(cost.own, cost.calls, cost.wait)}\n")
            for callee, edge in calls.get(key, ()):
                write(f"cfi={self._file(callee)}\ncfn={self._function(callee)}\n")
                if not edge.calls:
                    write(f"{_NO_CALLS}\n")
                write(f"calls={edge.calls or max(edge.resumes, 1)} {max(self._frames[callee].line, 0)}\n")
                inclusive = (0, 0, 0) if callee == key else (edge.total, edge.nested_calls, edge.total_wait)
                write(f"{line} {self._costs(*inclusive)}\n")
            write("\n")

    def _costs(self, time: float, calls: int, wait: float) -> str:
        """Return the costs of a line, in the order of the events."""
        return " ".join(map(str, (number(time), calls, number(wait))[: len(self._events)]))

    def _file(self, key: int) -> str:
        return _compressed(escape(self._frames[key].file) or "~", self._files)

    def _function(self, key: int) -> str:
        return _compressed(self._words[key], self._functions)


def _compressed(text: str, ids: dict[str, int]) -> str:
    """Return `(id) text` at the first use of a text, and `(id)` afterwards."""
    if text in ids:
        return f"({ids[text]})"
    ids[text] = len(ids) + 1
    return f"({ids[text]}) {text}"


def _write(recording: Recording, out: TextIO) -> None:
    out.write(f"# callgrind format\nversion: 1\ncreator: seismo\ncmd: {escape(program(recording))}\n")
    lost = ((escape(row.kind), row.count, escape(row.detail)) for row in recording.losses)
    out.writelines("# lost: {} {} {}\n".format(*row) for row in lost)
    _Writer(recording, out).write(recording)


_HEADER = re.compile(r"([a-z]+):\s?(.*)\Z")
_POSITION = re.compile(r"(c?(?:ob|fl|fi|fe|fn)|jfi|jfn)=\s?(?:\(([0-9]{1,9})\))?\s?(.*)\Z")
_COST = re.compile(r"(?:0x[0-9a-fA-F]+|[0-9+*-])")


class _Part(NamedTuple):
    """One thread's costs while they are read."""

    pid: int
    title: str
    has_calls: bool
    graph: Graph


class _Reader:
    """A reader of lines. The attributes hold the context that earlier lines set."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, str], int] = {}
        self.lines: dict[int, int] = {}  # of functions: the first that is not 0
        self.parts: list[_Part] = []
        self._texts: dict[tuple[bool, str | None], str] = {}  # by (True for a function's text, id)
        self._current = {"fl": "", "fn": "", "cfl": "", "cfn": ""}
        self._positions = ["line"]
        self._last = [0]
        self.events: list[str] = []
        self._header: dict[str, int] = {"pid": 0, "thread": 0}
        self._fresh = True  # a header came after the last cost, so the next cost begins a new part
        self._title = ""
        self._call: tuple[int, int] | None = None  # calls and target line of a calls= before its cost line
        self._no_calls = False  # _NO_CALLS came after the last calls=

    def line(self, text: str) -> None:
        if not text or text.startswith("#"):
            self._no_calls = self._no_calls or text == _NO_CALLS
            return
        position = _POSITION.match(text)
        if position:
            self._position(*position.groups())
        elif text.startswith("calls="):
            fields = text[6:].split()
            calls, target = _amount(fields[0] if fields else ""), _whole(fields[-1]) if len(fields) > 1 else 0
            self._call = (0 if self._no_calls else calls, target)
            self._no_calls = False
        elif text.startswith(("jump=", "jcnd=")):
            self._call = None
        elif _COST.match(text):
            self._cost(text.split())
        else:
            header = _HEADER.match(text)
            if not header:
                raise ValueError(f"unknown line {text[:40]!r}")
            self._head(header[1], header[2])

    def _head(self, key: str, value: str) -> None:
        if key == "events":
            self.events = value.split()
        elif key == "positions":
            self._positions = value.split() or ["line"]
            self._last = [0] * len(self._positions)
        elif key in self._header:
            self._header[key] = _whole(value)
            self._fresh = True
        elif key == "part":
            self._fresh = True
        elif key == "desc" and value.startswith("Thread: "):
            self._title = unescape(value[8:])

    def _position(self, key: str, id_: str | None, text: str) -> None:
        name = (key.endswith("fn"), id_)
        if id_ is not None and text:
            self._texts[name] = text
        text = text or self._texts.get(name, "")
        if key in ("fl", "fn", "cfn"):
            self._current[key] = text
        if key in ("fl", "cfl", "cfi"):  # the default file of callees is the caller's
            self._current["cfl"] = text
        # fi and fe mark code from other files, whose cost is still the function's.

    def _function(self, file: str, text: str, line: int) -> int:
        key = self.places.setdefault((file, text), len(self.places))
        self.lines[key] = self.lines.get(key) or line
        return key

    def _cost(self, fields: list[str]) -> None:
        columns = len(self._positions)
        if len(fields) < columns or not self.events:
            raise ValueError(f"a line of costs before the line of events: {' '.join(fields)[:40]!r}")
        self._last = list(map(_moved, fields, self._last))
        line = self._last[self._positions.index("line")] if "line" in self._positions else 0
        values = dict(zip(self.events, fields[columns:], strict=False))
        time = _TIME if _TIME in self.events else self.events[0]
        own, calls = (_amount(values.get(event, "0")) for event in (time, _CALLS))
        part = self._part()
        caller = self._function(self._current["fl"], self._current["fn"], line)
        cost = part.graph.functions.setdefault(caller, Cost())
        if self._call is None:
            cost.own += own
            cost.calls += calls
            return
        count, target = self._call
        callee = self._function(self._current["cfl"], self._current["cfn"], target)
        part.graph.functions.setdefault(callee, Cost())
        edge = part.graph.edges.setdefault((caller, callee), Cost())
        edge.calls += count
        edge.total += own
        self._call = None
        self._current["cfl"] = self._current["fl"]

    def _part(self) -> _Part:
        if self._fresh:
            title = self._title or f"thread {self._header['thread']}"
            self.parts.append(_Part(self._header["pid"], title, _CALLS in self.events, Graph()))
            self._fresh = False
        return self.parts[-1]


def _whole(text: str) -> int:
    """Return the number, or 0 for other texts."""
    return int(text) if text.strip().isdecimal() and len(text) < 19 else 0


def _amount(text: str) -> int:
    if not text.isdecimal() or len(text) > 19 or int(text) > MAX_VALUE:
        raise ValueError(f"no number from 0 to 2**60: {text[:40]!r}")
    return int(text)


def _moved(text: str, last: int) -> int:
    if text == "*":
        return last
    if len(text) > 20:
        raise ValueError(f"no position: {text[:40]!r}")
    moved = int(text, 16) if text.startswith("0x") else int(text, 10)
    moved += last if text[0] in "+-" else 0
    if abs(moved) > MAX_VALUE:
        raise ValueError(f"no position up to 2**60: {text[:40]!r}")
    return moved


def _read(data: bytes) -> Recording:
    reader = _Reader()
    for place, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        try:
            reader.line(line.rstrip("\r"))
        except ValueError as error:
            raise ValueError(f"line {place}: {error}") from error
    if not reader.events:
        raise ValueError("it has no line of events")
    found = []
    for (file, text), line_number in zip(reader.places, reader.lines.values(), strict=True):
        known = file not in ("~", "???")
        found.append(parse(text, unescape(file) if known else "", max(line_number, 0) if known else 0))
    builder = Builder()
    paths = Paths(builder)
    edges = 0
    for place, part in enumerate(reader.parts):
        complete(part.graph, part.has_calls)
        thread = paths.thread(place, part.pid, part.title)
        edges += len(part.graph.edges)
        into_tree(part.graph, found, builder, thread)
    builder.loss("paths-rebuilt", edges, REBUILT)
    return builder.build({"source_format": "callgrind"})


FORMAT = Format(
    name="callgrind",
    description="valgrind's profile: KCachegrind, QCachegrind, gprof2dot",
    suffixes=(".callgrind", ".cachegrind"),
    prefixes=("callgrind.out",),
    counts=True,
    writer=_write,
    reader=_read,
    lost="paths beyond caller and callee, resumes, exceptions, awaits, errors, lower bounds",
    kept="processes and threads, calls and own time of functions, calls and total time of callers; "
    "the tree is rebuilt from them",
    mark=b"creator: seismo",
)
