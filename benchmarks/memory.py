"""Memory of paths and calls, and the size of a service's file.

paths    A program of 299,593 distinct paths (8 functions that call each other in every order, 6 deep) runs once under
         seismo. The growth of resident memory beyond that of the bare run, divided by the number of paths, is the cost
         of a path. Then the same paths are walked ten more times (3 million calls): growth is now the cost of a call,
         which must be zero. In memory only; with a file that is flushed every 100 ms; and under cProfile, which
         records no paths. `engine bytes` is the size that the engine reports.
flushes  A service of 2,000 functions calls each of them between two flushes, 600 and 3,600 times: the flushes of ten
         minutes and of an hour. The file is compared with the bytes of the recording that is read from it, in which
         every row occurs once.
"""

from __future__ import annotations

import cProfile
import gc
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import apart, arguments, finish, load_core, median, number, progress, rounds_of, table

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH, DEPTH, AGAIN = 8, 6, 10
TEMPLATE = """
def f{0}(depth):
    if depth:
        for function in functions:
            function(depth - 1)
"""


def paths_of(width: int) -> Callable[[int], None]:
    """Return one of `width` functions, each of which calls all of them with a depth less by one, down to zero."""
    functions: list[Callable[[int], None]] = []
    for i in range(width):
        scope: dict[str, Any] = {"functions": functions}
        exec(compile(TEMPLATE.format(i), f"paths_{i}.py", "exec"), scope)
        functions.append(scope[f"f{i}"])
    return functions[0]


def count_of(width: int, depth: int) -> int:
    """Return the number of distinct paths in a walk of this width and depth, including the first function's own."""
    return sum(width**level for level in range(depth + 1))


def resident() -> int:
    """Return the current resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ---- paths ----


def walked(kind: str) -> dict[str, Any]:
    """Walk the paths: bytes after the first walk and after ten more, and the engine's own report.

    It needs a new process.
    """
    first = paths_of(WIDTH)
    first(2)
    core, profiler = load_core(), cProfile.Profile()
    seismo, flushed = kind.startswith("seismo"), kind == "seismo file"
    with tempfile.TemporaryFile() as file:
        gc.collect()
        if seismo:
            core.start(c_functions="none", fd=file.fileno() if flushed else -1, flush_ms=100)
        elif kind == "cProfile":
            profiler.enable()
        before = resident()
        first(DEPTH)
        if flushed:
            core.flush()
        after, status = resident(), core.status() if seismo else {}
        for _ in range(AGAIN):
            first(DEPTH)
        if flushed:
            core.flush()
        again, start = resident(), time.perf_counter()
        if seismo:
            core.stop()
        profiler.disable()
        took = time.perf_counter() - start
        words = {key: status[key] for key in ("paths", "path_bytes") if key in status}
        size = os.fstat(file.fileno()).st_size
    return {"first": after - before, "more": again - after, "file": size, "stop_seconds": took, **words}


def paths(rounds: int, quick: bool) -> tuple[dict[str, Any], str]:
    kinds = ("bare", "seismo memory", "seismo file", "cProfile")
    taken: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind in kinds:
            taken[kind].append(apart(walked, kind))
    total = count_of(WIDTH, DEPTH)
    middle = {kind: {key: median([one[key] for one in of]) for key in of[0]} for kind, of in taken.items()}
    results: dict[str, Any] = {"paths": total, "calls_again": total * AGAIN}
    for kind, one in middle.items():
        results[kind] = {
            "bytes_a_path": (one["first"] - middle["bare"]["first"]) / total,
            "bytes_a_call": (one["more"] - middle["bare"]["more"]) / (total * AGAIN),
            "engine_bytes_a_path": one["path_bytes"] / one["paths"] if one.get("paths") else None,
            "file_bytes_a_path": one["file"] / total,
            "stop_seconds": one["stop_seconds"],
        }
    digits = {"bytes_a_path": 1, "bytes_a_call": 3, "engine_bytes_a_path": 1, "file_bytes_a_path": 1}
    rows = [[kind, *(number(results[kind][key], n) for key, n in digits.items())] for kind in kinds]
    head = ["kind", "bytes a path", "bytes a call", "engine bytes a path", "file bytes a path"]
    return results, table(head, rows)


# ---- flushes ----

FUNCTIONS = 2000
CONTEXTS = 40  # kinds of requests, for coverage with contexts
NEVER = 1_000_000  # seconds, so that only explicit flushes occur
KINDS: dict[str, dict[str, Any]] = {
    "calls": {"recorder": "calltree"},
    "lines": {"recorder": "linetimes"},
    "objects": {"recorder": "lifetimes"},
    "objects --paths": {"recorder": "lifetimes", "paths": 1},
    "cover": {"recorder": "coverage"},
    "cover --counts": {"recorder": "coverage", "counts": True},
    "cover, contexts": {"recorder": "coverage"},
}


def served(kind: str, counts: list[int]) -> dict[str, Any]:
    """Run the service: at each count of flushes, the sizes of the file and of its merge. It needs a new process."""
    from seismo.model import read

    core, names = load_core(), {}
    text = "\n".join(f"def f{i}():\n    return [object()]" for i in range(FUNCTIONS))
    exec(compile(text, "service.py", "exec"), names)
    functions = [names[f"f{i}"] for i in range(FUNCTIONS)]
    recorder, contexts = KINDS[kind]["recorder"], kind.endswith("contexts")
    taken, largest, merged = {}, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "service.seismo"
        fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        core.start(fd=fd, flush_ms=1000 * NEVER, **KINDS[kind])
        for count in range(1, max(counts) + 1):
            if contexts:
                core.cover_context(f"kind {count % CONTEXTS}")
            for function in functions[count % CONTEXTS :: CONTEXTS] if contexts else functions:
                function()
            core.flush(recorder)
            size = path.stat().st_size
            if count >= min(counts) // 2:  # all paths exist by then
                largest = max(largest, size)
            if count in counts:
                merged = len(read(str(path), running=True).to_bytes())
                taken[count] = {"file": path.stat().st_size, "merged": merged, "ratio": path.stat().st_size / merged}
        core.stop(recorder=recorder)
    return {"flushes": taken, "largest": largest, "largest_ratio": largest / merged}


def flushes(rounds: int, quick: bool) -> tuple[dict[str, Any], str]:
    results, rows = {}, []
    for kind in KINDS:
        if kind.startswith("objects") and load_core().ref_objection() is not None:
            continue
        progress(f"flushes: {kind}")
        results[kind] = taken = apart(served, kind, [60, 360] if quick else [600, 3600])
        for count, one in taken["flushes"].items():
            cells = [number(one["file"] / 1000, 0), number(one["merged"] / 1000, 0), number(one["ratio"], 2)]
            rows.append([kind, f"{int(count):,}", *cells, number(taken["largest_ratio"], 2)])
    return results, table(["what", "flushes", "file, kB", "its merge, kB", "ratio", "largest ratio"], rows)


PARTS = {part.__name__: part for part in (paths, flushes)}


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=1, only=PARTS).parse_args()
    load_core()
    results, texts = {}, []
    for name in options.only or PARTS:
        progress(name)
        results[name], text = PARTS[name](rounds_of(options), options.quick)
        texts.append(text)
    method = (
        f"paths: growth of resident memory over {count_of(WIDTH, DEPTH):,} paths of one call each and {AGAIN} more "
        f"walks of them, less that of the bare run, median of {rounds_of(options)} processes; the others: one each"
    )
    finish("memory", options, method, results, "\n\n".join(texts))


if __name__ == "__main__":
    main()
