"""Conversion of recordings to a measurement: calls and exceptions, lines of coverage, births of objects.

The import system is left out with everything that it calls, except the code of the modules that it runs. So earlier
imports and .pyc files make no difference. A module's code counts as called by its importer. The recorder already leaves
out the frames of seismo itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from seismo.check.code_hashes import code_hashes_of
from seismo.check.measurement import ELSEWHERE, Function, Measurement, Range
from seismo.check.portable_paths import PortablePaths, is_import
from seismo.model.enums import FunctionKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from seismo.model import Recording


# The sums of each quantity over the recordings; a quantity counts as measured once it was looked up.
_Numbers = defaultdict[str, Counter[Function]]


def of_recordings(
    places: PortablePaths,
    calls: Iterable[Recording] = (),
    lines: Iterable[Recording] = (),
    objects: Iterable[Recording] = (),
    below: Callable[[str, str], bool] | None = None,
    since: int | None = None,
) -> Measurement:
    """Return the measurement of one run: the sum over the recordings of its processes.

    `below(file, qualname)` selects functions of which only the callees count. Calls elsewhere are left out, except on
    threads that began at `since` (ns since the Unix epoch) or later.
    """
    found, numbers = Measurement(inclusive=Counter()), _Numbers(Counter)
    for recording in calls:
        _add_calls(recording, places, found, numbers, below, since)
    for recording in lines:
        _add_lines(recording, places, found, numbers)
    for recording in objects:
        _add_objects(recording, places, found, numbers)
    for quantity, of_functions in numbers.items():
        for function, number in of_functions.items():
            if number or quantity == "calls":
                found.functions.setdefault(function, {})[quantity] = Range(number, number)
    read_sources(found, places)
    return found


def read_sources(measurement: Measurement, places: PortablePaths) -> None:
    """Store the text of the project's own files, and hashes of their functions."""
    known: dict[str, dict[str, str]] = {}
    for function in measurement.functions:
        path = measurement.sources.get(function, "")
        if not path or not places.is_own(path):
            continue
        if path not in known:
            try:
                text = Path(path).read_bytes().decode("utf-8", "replace")
            except OSError:
                text = ""
            known[path] = code_hashes_of(text)
            measurement.texts[function.file] = text.splitlines()
        if code := known[path].get(function.qualname):
            measurement.codes[function] = code


def functions_of(recording: Recording, places: PortablePaths, into: Measurement | None = None) -> list[Function | None]:
    """Return the function of each row, or None for those of the import system and synthetic ones."""
    found: list[Function | None] = []
    table = recording.functions
    columns = [table[name] for name in ("kind", "module", "qualname", "file", "line")]
    for kind, module, qualname, path, line in zip(*columns, strict=True):
        if kind == FunctionKind.SYNTHETIC or is_import(path):
            found.append(None)
            continue
        function = Function(module, qualname, places.name(path) if kind == FunctionKind.PYTHON else "")
        found.append(function)
        if into is not None and kind == FunctionKind.PYTHON:
            into.sources[function] = path
            into.first[function] = min(line, into.first.get(function, line))
    return found


def _add_calls(
    recording: Recording,
    places: PortablePaths,
    found: Measurement,
    numbers: _Numbers,
    only_below: Callable[[str, str], bool] | None,
    since: int | None,
) -> None:
    functions = functions_of(recording, places, found)
    modules = [function is not None and function.qualname == "<module>" for function in functions]
    calls, exceptions = numbers["calls"], numbers["exceptions"]
    tree = recording.tree
    rows = [tree[name].tolist() for name in ("parent", "function", "calls", "exceptions")]
    size = len(rows[0])
    # Lists by node, with one more item at the end: the parent of a root is -1.
    nearest: list[Function | None] = [None] * (size + 1)  # the function of the node, or else of the nearest one above
    counted, hidden = [False] * (size + 1), [False] * (size + 1)
    depth, below = [0] * (size + 1), [0] * (size + 1)
    tops: set[int] | None = None  # functions of which only the callees count
    if only_below is not None:
        files, names = recording.functions["file"], recording.functions["qualname"]
        tops = {number for number in range(len(functions)) if only_below(files[number], names[number])}
    inside = [False] * size
    late = _late(recording, since) if tops is not None and since is not None else set()
    for node, (parent, number, called, raised) in enumerate(zip(*rows, strict=True)):
        function = functions[number]
        if tops is not None:
            inside[node] = number in tops or (inside[parent] if parent >= 0 else node in late)
            if number in tops or not inside[node]:
                continue
        caller = nearest[parent]
        if function is None or (hidden[parent] and not modules[number]):
            hidden[node], nearest[node], depth[node] = True, caller, depth[parent]
            continue
        counted[node], nearest[node], depth[node] = True, function, depth[parent] + 1
        below[node] = called
        calls[function] += called
        exceptions[function] += raised
        if called and caller is not None:
            found.callers.setdefault(function, Counter())[caller] += called
    deepest = max([found.depth.high if found.depth is not None else 0, *depth])
    found.depth = Range(deepest, deepest) if deepest else None
    for node in range(size - 1, -1, -1):
        if counted[node] and (function := nearest[node]) is not None:
            found.inclusive[function] += below[node]
        below[rows[0][node]] += below[node]


def _late(recording: Recording, since: int) -> set[int]:
    """Return the root nodes of threads that began at this time or later."""
    threads = {row.id for row in recording.threads if row.start_ns >= since and not row.main}
    rows = zip(recording.tree["parent"], recording.tree["thread"], strict=True)
    return {node for node, (parent, thread) in enumerate(rows) if parent < 0 and thread in threads}


def _add_lines(recording: Recording, places: PortablePaths, found: Measurement, numbers: _Numbers) -> None:
    functions = functions_of(recording, places, found)
    total = numbers["lines"]
    table = recording.lines
    for number, line, hits in zip(*(table[name].tolist() for name in ("function", "line", "hits")), strict=True):
        function = functions[number]
        if function is not None:
            total[function] += hits
            found.lines.setdefault(function, Counter())[line] += hits


def _add_objects(recording: Recording, places: PortablePaths, found: Measurement, numbers: _Numbers) -> None:
    functions = functions_of(recording, places, found)
    births, size = numbers["births"], numbers["bytes"]
    sizes = recording.types["size"].tolist()
    types = recording.types
    # Objects without a known line (of the import system, or that the recorder could not attribute) are summed
    # separately: types are counted exactly, whereas the lines of a few births vary between runs.
    rest = sum(types["born"])
    rest_size = sum(types["item_bytes"]) + sum(
        born * size for born, size in zip(types["born"].tolist(), sizes, strict=True)
    )
    table = recording.objects
    names = ("type", "function", "line", "born", "item_bytes")
    for kind, number, line, born, item_bytes in zip(*(table[name].tolist() for name in names), strict=True):
        function = functions[number] if number >= 0 else None
        if function is not None:
            made = born * sizes[kind] + item_bytes
            births[function] += born
            size[function] += made
            found.births.setdefault(function, Counter())[line] += born
            rest -= born
            rest_size -= made
    births[ELSEWHERE] += max(0, rest)
    size[ELSEWHERE] += max(0, rest_size)
