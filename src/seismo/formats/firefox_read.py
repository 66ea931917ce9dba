"""Reads the Firefox profiler's processed profiles: of seismo, of Python 3.15's `profiling.sampling --gecko`, of samply.

Each sample gives its weight, in ms or in numbers of samples (each an interval long), to its stack. The tables stand in
each thread or, since version 60, are shared by all; texts are shared since version 56.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from seismo.formats.base import MAX_VALUE, unzip
from seismo.formats.paths import ROOT, Paths
from seismo.formats.text import C, parse, unescape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model import Recording


def is_profile(document: object) -> bool:
    """Whether a JSON document is a processed profile."""
    if not isinstance(document, dict):
        return False
    meta = document.get("meta")
    return isinstance(meta, dict) and "preprocessedProfileVersion" in meta and isinstance(document.get("threads"), list)


def read(data: bytes) -> Recording:
    """The recording of a file, which may be gzipped. ValueError: it is no processed profile."""
    if data.startswith(b"\x1f\x8b"):
        data = unzip(data)
    return read_document(json.loads(data))


def read_document(document: Any) -> Recording:
    """The recording of a parsed file."""
    from seismo.model import Builder

    if not is_profile(document):
        raise ValueError("it has no meta.preprocessedProfileVersion and no threads")
    builder = Builder()
    paths = Paths(builder)
    shared = document.get("shared")
    shared = shared if isinstance(shared, dict) else {}
    interval = document["meta"].get("interval")
    for place, thread in enumerate(document["threads"]):
        if not isinstance(thread, dict):
            raise ValueError("a thread is no object")  # noqa: TRY004 - what is wrong is the file
        _Thread(paths, shared, thread, interval).read(place)
    builder.loss("calls-unknown", 1, "files of the Firefox profiler have times and no calls")
    return paths.build("firefox")


class _Thread:
    def __init__(self, paths: Paths, shared: dict[str, Any], thread: dict[str, Any], interval: Any) -> None:
        self._paths = paths
        self._shared = shared
        self._thread = thread
        self._interval = interval
        texts = thread.get("stringArray", shared.get("stringArray", []))
        self._texts: list[Any] = texts if isinstance(texts, list) else []

    def _table(self, name: str) -> dict[str, Any]:
        found = self._thread.get(name, self._shared.get(name))
        if not isinstance(found, dict):
            raise ValueError(f"there is no {name}")  # noqa: TRY004
        return found

    def read(self, place: int) -> None:
        """Adds the thread's samples to the paths."""
        functions = self._functions()
        stacks = self._stacks(functions)
        pid, tid, title = (self._thread.get(key) for key in ("pid", "tid", "name"))
        number = int(pid) if isinstance(pid, str) and pid.isascii() and pid.isdigit() and len(pid) < 18 else 0
        tid = tid if type(tid) is int and 0 <= tid < 1 << 62 else 0
        shown = unescape(title) if isinstance(title, str) else ""
        thread = self._paths.thread((place, str(pid), tid), number, shown, tid)
        nodes: list[int] = []
        for above, function in stacks:
            nodes.append(self._paths.child(thread, ROOT if above < 0 else nodes[above], function))
        for stack, weight in self._weighted():
            if stack is None:
                continue
            self._paths.own[nodes[_index(stack, len(nodes), "a stack")]] += weight

    def _functions(self) -> list[int]:
        table = self._table("funcTable")
        names, lines = _column(table, "name"), _column(table, "lineNumber", [])
        python = _column(table, "isJS", [])
        files = self._files(table, len(names))
        found = []
        for row, text in enumerate(names):
            line = lines[row] if row < len(lines) else None
            line = line if type(line) is int and 0 < line < 1 << 40 else 0
            frame = parse(self._text(text), files[row], line)
            if row < len(python) and python[row] is False and not frame.file:
                frame = frame._replace(kind=max(frame.kind, C))
            found.append(self._paths.function(frame))
        return found

    def _files(self, table: dict[str, Any], count: int) -> list[str]:
        """The file of each function: a text of its own, or, since version 58, a source's."""
        files = table.get("fileName")
        if files is None and isinstance(self._shared.get("sources"), dict):
            names = _column(self._shared["sources"], "filename", [])
            sources = _column(table, "source", [])
            files = [None if source is None else names[_index(source, len(names), "a source")] for source in sources]
        files = files if isinstance(files, list) else []
        return [unescape(self._text(files[row])) if row < len(files) else "" for row in range(count)]

    def _text(self, number: object) -> str:
        if number is None:
            return ""
        text = self._texts[_index(number, len(self._texts), "a text")]
        if not isinstance(text, str):
            raise ValueError("a text is none")  # noqa: TRY004
        return text

    def _stacks(self, functions: Sequence[int]) -> list[tuple[int, int]]:
        """Of each stack the one above it (-1: none), and its function."""
        table, frames = self._table("stackTable"), self._table("frameTable")
        of = _column(frames, "func")
        prefixes = _column(table, "prefix")
        found: list[tuple[int, int]] = []
        for row, frame in enumerate(_column(table, "frame")):
            function = functions[_index(of[_index(frame, len(of), "a frame")], len(functions), "a function")]
            prefix = prefixes[row] if row < len(prefixes) else None
            found.append((-1 if prefix is None else _index(prefix, row, "a prefix"), function))
        return found

    def _weighted(self) -> list[tuple[object, int]]:
        """The samples: stack and ns."""
        table = self._table("samples")
        stacks = _column(table, "stack")
        weights = table.get("weight")
        in_ms = table.get("weightType") == "tracing-ms"
        unit = 1e6 if in_ms else 1e6 * (self._interval if _is_number(self._interval) else 1)
        if not isinstance(weights, list):
            return [(stack, _ns(1, unit)) for stack in stacks]
        if len(weights) != len(stacks):
            raise ValueError("there are not as many weights as samples")
        return [(stack, _ns(weight, unit)) for stack, weight in zip(stacks, weights, strict=True)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ns(weight: object, unit: float) -> int:
    if not _is_number(weight):
        raise ValueError("a weight is no number")
    ns = weight * unit  # type: ignore[operator]
    if not (math.isfinite(ns) and abs(ns) <= MAX_VALUE):
        raise ValueError("a weight is too large")
    return max(0, round(ns))


def _index(value: object, count: int, what: str) -> int:
    if type(value) is not int or not 0 <= value < count:
        raise ValueError(f"the number of {what} leads nowhere")
    return value


def _column(table: dict[str, Any], name: str, default: list[Any] | None = None) -> list[Any]:
    found = table.get(name, default)
    if not isinstance(found, list):
        raise ValueError(f"there is no column {name}")  # noqa: TRY004
    return found
