"""What a profiler counted, as plain dicts without times."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

Counts = dict[str, tuple[int, int]]


def name_of(code: Any) -> str:
    return code if isinstance(code, str) else f"{code.co_name}:{code.co_firstlineno}"


def counts(profiler: Any) -> Counts:
    """Calls and recursive calls of each function, functions that look alike added up."""
    calls: Counter[str] = Counter()
    recursive: Counter[str] = Counter()
    for entry in profiler.getstats():
        calls[name_of(entry.code)] += entry.callcount
        recursive[name_of(entry.code)] += entry.reccallcount
    return {name: (calls[name], recursive[name]) for name in calls}


def by_name(profiler: Any) -> Counts:
    """The same by the bare name; of Python functions only."""
    return {name.partition(":")[0]: row for name, row in counts(profiler).items() if ":" in name and name[0] != "<"}


def callees(profiler: Any) -> dict[tuple[str, str], tuple[int, int]]:
    """The same of each function under each caller: {(caller, callee): (calls, recursive calls)}."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for entry in profiler.getstats():
        for sub in entry.calls or ():
            if sub.callcount:
                key = name_of(entry.code), name_of(sub.code)
                calls, recursive = found.get(key, (0, 0))
                found[key] = calls + sub.callcount, recursive + sub.reccallcount
    return found


def callees_by_name(profiler: Any) -> dict[tuple[str, str], tuple[int, int]]:
    """The same by their bare names."""
    return {(a.partition(":")[0], b.partition(":")[0]): row for (a, b), row in callees(profiler).items()}


def profiled(profiler: Any, work: Any, *args: Any) -> Any:
    """Runs work(*args) under the profiler, without the garbage collector's calls. Returns the profiler."""
    gc.disable()
    try:
        profiler.enable()
        try:
            work(*args)
        finally:
            profiler.disable()
    finally:
        gc.enable()
    return profiler
