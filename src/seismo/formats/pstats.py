"""pstats: the file of cProfile and profiling.tracing, for pstats.Stats, snakeviz, gprof2dot and many more.

The file is one marshalled dict:

    {(file, line, name): (primitive calls, calls, own s, total s, {caller: (calls, primitive calls, own s, total s)})}

For a caller the calls come first, as in cProfile's files; print_callers() and gprof2dot rely on it. C functions have
cProfile's names, `("~", 0, "<built-in method builtins.len>")` and `("~", 0, "<method 'append' of 'list' objects>")`,
because pstats prints such names in a special way.

The reader does not call marshal.loads, which trusts its input: damaged data has crashed interpreters. read_marshal()
supports the few types in a pstats file, checks every length against the available data, and limits the depth.
"""

from __future__ import annotations

import marshal
import re
import struct
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from seismo.formats.base import MAX_NODES, Format, whole
from seismo.formats.call_graph import REBUILT, Cost, Graph, call_graph, into_tree
from seismo.formats.call_trees import CallTrees, frames
from seismo.formats.function_names import PYTHON, SYNTHETIC, C, Frame, escape, unescape
from seismo.model import Builder, Recording

if TYPE_CHECKING:
    Place: TypeAlias = tuple[str, int, str]

_BUILT_IN = re.compile(r"(?s)<built-in (?:method|function) (?:(.*)\.)?([^.]*)>\Z")
_METHOD = re.compile(r"(?s)<method '(.*)' of '(?:(.*)\.)?([^.]*)' objects>\Z")
_MARSHAL_VERSION = 4  # supported from Python 3.4 on


def _write(recording: Recording, out: BinaryIO) -> None:
    forest = CallTrees(recording)
    places: dict[Place, int] = {}
    keys = [places.setdefault(_place(frame), len(places)) for frame in frames(recording)]
    graph = call_graph(forest, keys, forest.busy_threads())
    named = list(places)
    callers: dict[int, dict[Place, tuple[int, int, float, float]]] = {}
    for (caller, callee), cost in graph.edges.items():
        if caller >= 0:
            times = (cost.own / 1e9, cost.total / 1e9)
            callers.setdefault(callee, {})[named[caller]] = (cost.calls, cost.primitive, *times)
    stats = {
        named[key]: (cost.primitive, cost.calls, cost.own / 1e9, cost.total / 1e9, callers.get(key, {}))
        for key, cost in graph.functions.items()
    }
    out.write(marshal.dumps(stats, _MARSHAL_VERSION))


def _place(frame: Frame) -> Place:
    """Return the name of a function as cProfile makes it."""
    module, qualname = escape(frame.module), escape(frame.qualname)
    if frame.kind != C:
        return (escape(frame.file) or "~", frame.line, qualname)
    owner, dot, method = qualname.rpartition(".")
    if dot:
        owner = owner if module in ("", "builtins") else f"{module}.{owner}"
        return ("~", 0, f"<method '{method}' of '{owner}' objects>")
    return ("~", 0, f"<built-in method {module}.{qualname}>" if module else f"<built-in method {qualname}>")


def _frame(place: Place) -> Frame:
    """Return the function of a name that cProfile made."""
    file, line, name = place
    if file not in ("~", ""):
        return Frame(PYTHON, "", unescape(name), unescape(file), line)
    built_in = _BUILT_IN.match(name)
    if built_in:
        return Frame(C, unescape(built_in[1] or ""), unescape(built_in[2]), "", 0)
    method = _METHOD.match(name)
    if method:
        module = unescape(method[2] or "builtins")
        return Frame(C, module, unescape(f"{method[3]}.{method[1]}"), "", 0)
    synthetic = name.startswith("<") and name.endswith(">")
    return Frame(SYNTHETIC if synthetic else PYTHON, "", unescape(name), "", max(line, 0))


def _read(data: bytes) -> Recording:
    stats = read_marshal(data)
    if not isinstance(stats, dict):
        raise ValueError("it is not a dict")  # noqa: TRY004 - the file is invalid, not the type of an argument
    places: dict[Place, int] = {}
    graph = Graph()
    for place, entry in stats.items():
        key = places.setdefault(_checked_place(place), len(places))
        cost, callers = _entry(entry)
        graph.functions[key] = cost
        for caller, caller_entry in callers.items():
            above = places.setdefault(_checked_place(caller), len(places))
            graph.edges[above, key] = _edge(caller_entry, cost)
        if len(graph.edges) > MAX_NODES:  # many functions may refer to the same dict of callers
            raise ValueError(f"it has more than {MAX_NODES} callers")
    for key in range(len(places)):
        graph.functions.setdefault(key, Cost())  # profiles that were cut by hand have callers without an entry
    builder = Builder()
    thread = builder.thread(builder.process(), name="all threads")
    into_tree(graph, [_frame(place) for place in places], builder, thread)
    builder.loss("paths-rebuilt", len(graph.edges), REBUILT)
    return builder.build({"source_format": "pstats"})


def _checked_place(value: object) -> Place:
    if isinstance(value, tuple) and len(value) == 3:
        file, line, name = value
        if isinstance(file, str) and isinstance(line, int) and abs(line) < 1 << 40 and isinstance(name, str):
            return (file, line, name)
    raise ValueError("a function is not named by (file, line, name)")


def _entry(value: object) -> tuple[Cost, dict[object, object]]:
    if isinstance(value, tuple) and len(value) == 5 and isinstance(value[4], dict):
        primitive, calls, own, total, callers = value
        return _cost(calls, primitive, own, total), callers
    raise ValueError("a function's entry is not (primitive calls, calls, own, total, callers)")


def _edge(value: object, callee: Cost) -> Cost:
    if isinstance(value, tuple) and len(value) == 4:
        return _cost(*value)
    calls = whole(value, "a caller's number of calls")  # the pure-Python `profile` has only the calls
    share = calls / callee.calls if callee.calls else 0.0
    return Cost(calls, calls, int(callee.own * min(share, 1.0)), callee.total * min(share, 1.0))


def _cost(calls: object, primitive: object, own: object, total: object) -> Cost:
    every, outermost = (whole(count, "a number of calls") for count in (calls, primitive))
    return Cost(every, outermost, _nanoseconds(own), _nanoseconds(total))


def _nanoseconds(seconds: object) -> int:
    if isinstance(seconds, int | float) and -1.0 < seconds < 0:
        return 0  # cProfile subtracts overheads, which leaves small negative times
    return whole(seconds * 1e9 if isinstance(seconds, int | float) else seconds, "a time")


class _Marshal:
    """A reader of the part of the marshal format that pstats files use. The depth and every length are bounded."""

    MAX_DEPTH = 8  # a pstats file needs 4: a dict of tuples that hold a dict of tuples
    _END = object()

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._references: list[object] = []

    def _take(self, count: int) -> bytes:
        if not 0 <= count <= len(self._data) - self._at:
            raise ValueError(f"a length at byte {self._at} goes past the end")
        self._at += count
        return self._data[self._at - count : self._at]

    def _int(self) -> int:
        return int.from_bytes(self._take(4), "little", signed=True)

    def value(self, depth: int = 0) -> object:
        """Return the next value. Raise ValueError if there is none, or if pstats files never have its type."""
        if depth > self.MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        code = self._take(1)[0]
        kind, remember = chr(code & 0x7F), code >= 0x80
        place = len(self._references)
        if remember:
            self._references.append(None)  # a container is numbered before its items
        value = self._container(kind, depth) if kind in "{()" else self._scalar(kind)
        if remember:
            self._references[place] = value
        return value

    def _container(self, kind: str, depth: int) -> object:
        if kind == "{":
            items: dict[object, object] = {}
            while True:
                key = self.value(depth + 1)
                if key is self._END:
                    return items
                # Before hashing, which would take forever for nested tuples of tuples.
                if not (isinstance(key, tuple) and len(key) == 3 and all(isinstance(part, str | int) for part in key)):
                    raise ValueError("a key of a dict is not a function")
                items[key] = self.value(depth + 1)
        count = self._take(1)[0] if kind == ")" else self._int()
        if not 0 <= count <= len(self._data) - self._at:  # each item takes at least a byte
            raise ValueError(f"a tuple at byte {self._at} goes past the end")
        return tuple([self.value(depth + 1) for _ in range(count)])

    def _scalar(self, kind: str) -> object:
        if kind in "zZaAut":
            count = self._take(1)[0] if kind in "zZ" else self._int()
            return self._take(count).decode("utf-8" if kind in "ut" else "latin-1", "surrogatepass")
        if kind == "i":
            return self._int()
        if kind == "g":
            return struct.unpack("<d", self._take(8))[0]
        if kind == "l":
            return self._long()
        if kind == "r":
            place = self._int()
            if not 0 <= place < len(self._references) or self._references[place] is None:
                raise ValueError(f"a reference at byte {self._at} is invalid")
            return self._references[place]
        if kind == "0":
            return self._END
        raise ValueError(f"byte {self._at - 1} begins a value of a type that pstats files do not use")

    def _long(self) -> int:
        count = self._int()
        if abs(count) > 8:  # digits of 15 bits; 120 bits are more than any count has
            raise ValueError("a number is too large")
        digits = [int.from_bytes(self._take(2), "little") for _ in range(abs(count))]
        value = sum(digit << (15 * place) for place, digit in enumerate(digits))
        return -value if count < 0 else value


def read_marshal(data: bytes) -> object:
    """Return the value of marshalled dicts, tuples, texts, ints and floats. Raise ValueError for anything else."""
    reader = _Marshal(data)
    value = reader.value()
    if value is _Marshal._END:
        raise ValueError("it is empty")
    return value


FORMAT = Format(
    name="pstats",
    description="cProfile's file: pstats.Stats, snakeviz, gprof2dot",
    suffixes=(".pstats", ".prof", ".cprof"),
    binary=True,
    counts=True,
    writer=_write,
    reader=_read,
    lost="paths beyond caller and callee, threads and processes, modules of Python functions, resumes, exceptions, "
    "awaits, errors, lower bounds, losses",
    kept="calls, own and total time of functions, calls and times of callers; the tree is rebuilt from them",
)
