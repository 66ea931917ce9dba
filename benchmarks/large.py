"""Large recordings: response times and memory.

paths    A program of 299,593 distinct paths (8 functions that call each other in every order, 6 deep): the growth of
         resident memory beyond that of the bare run, a path. Then the same paths are walked ten more times: the growth
         a call, which must be zero. In memory; with a file that is flushed every 100 ms; and under cProfile, which
         records no paths.
million  A recording of 1,111,111 paths (10 functions): the time until the first line of `seismo report` and until its
         end, with unbuffered output.
trace    A trace of 10^8 calls (functions, a recursion of 20, a generator): its peak memory beside that of the same
         process without seismo, and the first line of `seismo report`. Also pictures of 1,000 columns of windows at
         random positions, from the whole recording down to a millionth of it. `first picture` is the first one of a
         process, including all one-time work.
query    `seismo query` on such a trace of 10^7 calls: every query in a new process, from the command to the last
         line, and its peak memory.

The page cache is warm, because the files were just written.
"""

from __future__ import annotations

import cProfile
import gc
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import (
    apart,
    arguments,
    asked,
    finish,
    load_core,
    median,
    most_resident,
    number,
    progress,
    rounds_of,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH, DEPTH = 10, 6
FEWER, AGAIN = 8, 10  # functions of the paths whose memory is measured, and more walks of them
TEMPLATE = """
def f{0}(depth):
    if depth:
        for function in functions:
            function(depth - 1)
"""
CALLS, QUICK_CALLS, ROUND = 100_000_000, 4_000_000, 1223
COLUMNS, WINDOWS = 1000, 20
ZOOMS = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
QUERIES = {
    "aggregate": "select count(*), sum(end_ns - start_ns) from calls",
    "a hundredth of the time": "select count(*), sum(end_ns - start_ns) from calls_between({from_ns}, {to_ns})",
    "by function": "select f.qualname, count(*), max(end_ns - start_ns) from calls c "
    "join functions f on f.id = c.function group by all",
}


def reports(file: str, rounds: int) -> dict[str, float]:
    """Return the median seconds to the first line and to the end of `seismo report`. Raise RuntimeError on failure."""
    first, whole = [], []
    for _ in range(rounds):
        start, command = time.perf_counter(), [sys.executable, "-u", "-m", "seismo", "report", file]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            first.append(time.perf_counter() - start)
            process.stdout.read()
        whole.append(time.perf_counter() - start)
        if process.returncode:
            raise RuntimeError(f"seismo report: exit {process.returncode}")
    return {"first_line": median(first), "whole": median(whole)}


# ---- paths ----


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


def walked(kind: str) -> tuple[int, int]:
    """Walk the paths. Return the growth of memory by the first walk and by ten more. It needs a new process."""
    first, core, profiler = paths_of(FEWER), load_core(), cProfile.Profile()
    first(2)
    seismo, flushed = kind.startswith("seismo"), kind == "seismo file"

    def walks(count: int) -> int:
        before = resident()
        for _ in range(count):
            first(DEPTH)
        if flushed:
            core.flush()
        return resident() - before

    with tempfile.TemporaryFile() as file:
        gc.collect()
        if seismo:
            core.start(c_functions="none", fd=file.fileno() if flushed else -1, flush_ms=100)
        elif kind == "cProfile":
            profiler.enable()
        grown = walks(1), walks(AGAIN)
        core.stop()
        profiler.disable()
    return grown


def paths(folder: str, rounds: int, quick: bool) -> tuple[dict[str, Any], str]:
    kinds, total = ("bare", "seismo memory", "seismo file", "cProfile"), count_of(FEWER, DEPTH)
    taken = [{kind: apart(walked, kind) for kind in kinds} for _ in range(rounds)]
    grown = {kind: [median([one[kind][at] for one in taken]) for at in (0, 1)] for kind in kinds}
    results = {
        kind: {
            "bytes_a_path": (once - grown["bare"][0]) / total,
            "bytes_a_call": (more - grown["bare"][1]) / (total * AGAIN),
        }
        for kind, (once, more) in grown.items()
    }
    rows = [[kind, number(one["bytes_a_path"], 1), number(one["bytes_a_call"], 3)] for kind, one in results.items()]
    return results, table([f"{total:,} paths", "bytes a path", "bytes a call"], rows)


def record_paths(target: str) -> None:
    """Record the million paths to a file. It needs a new process."""
    core = load_core()
    with open(target, "wb") as file:
        core.start(c_functions="none", fd=file.fileno(), max_paths=2_000_000)
        paths_of(WIDTH)(DEPTH)
        core.stop()


def listed(title: str, results: dict[str, Any], words: dict[str, tuple[str, int]]) -> str:
    """Return a table of results: {text: (key, digits)}."""
    return table([title, "value"], [[text, number(results[key], digits)] for text, (key, digits) in words.items()])


def million(folder: str, rounds: int, quick: bool) -> tuple[dict[str, Any], str]:
    file = f"{folder}/million.seismo"
    apart(record_paths, file)
    results = {**reports(file, rounds), "file_mb": os.path.getsize(file) / 1e6}
    words = {"first line, s": ("first_line", 2), "whole report, s": ("whole", 2), "file, MB": ("file_mb", 1)}
    return results, listed(f"`seismo report` of {count_of(WIDTH, DEPTH):,} paths", results, words)


# ---- a trace ----


def leaf(number: int) -> int:
    return number


def inner(rounds: int) -> None:
    for i in range(rounds):
        leaf(i)


def deeper(depth: int) -> None:
    if depth:
        deeper(depth - 1)


def numbers(count: int) -> Any:
    yield from range(count)


def program(calls: int) -> None:
    """Make at least this number of calls and generator steps."""
    for _ in range(-(-calls // ROUND)):
        for _ in range(10):
            inner(99)
        for _ in range(8):
            deeper(20)
        for i in numbers(27):
            leaf(i)


def record_trace(target: str, calls: int) -> dict[str, Any]:
    """Record the program, or run it without seismo if the target is "". It needs a new process."""
    begun = time.perf_counter()
    if target:
        import seismo

        with seismo.trace(output=target, c_functions="none"):
            program(calls)
            most = most_resident()  # before the end, which reads the recording and maps its file
    else:
        program(calls)
        most = most_resident()
    return {"seconds": time.perf_counter() - begun, "peak": most}


def pictures(target: str) -> dict[str, Any]:
    """Return the times of pictures at each zoom, in ms. It needs a new process."""
    import seismo

    begun = time.perf_counter()
    calls = seismo.open(target).calls
    end = calls.end_ns
    calls.overview(0, end, columns=COLUMNS)
    found: dict[str, Any] = {"first_ms": (time.perf_counter() - begun) * 1000, "zooms": {}}
    rnd = random.Random(1)
    for zoom in ZOOMS:
        width, taken, runs = max(end // zoom, 1), [], 0
        for _ in range(WINDOWS if zoom > 1 else 3):
            start = rnd.randrange(end - width + 1)
            begun = time.perf_counter()
            runs = max(runs, len(calls.overview(start, start + width, columns=COLUMNS).runs))
            taken.append((time.perf_counter() - begun) * 1000)
        found["zooms"][zoom] = {"median_ms": median(taken), "worst_ms": max(taken), "runs": runs}
    return {**found, "peak": most_resident()}


def trace(folder: str, rounds: int, quick: bool) -> tuple[dict[str, Any], str]:
    file, calls = f"{folder}/trace.seismo", QUICK_CALLS if quick else CALLS
    bare, traced = apart(record_trace, "", calls), apart(record_trace, file, calls)
    shown, drawn = reports(file, rounds), apart(pictures, file)
    results = {
        "calls": calls,
        "seconds": traced["seconds"],
        "bare_seconds": bare["seconds"],
        "bytes_a_call": os.path.getsize(file) / calls,
        "recording_mb": (traced["peak"] - bare["peak"]) / 1e6,
        "report_s": shown["first_line"],
        "report_whole_s": shown["whole"],
        "first_ms": drawn["first_ms"],
        "worst_ms": max(one["worst_ms"] for one in drawn["zooms"].values()),
        "reader_mb": drawn["peak"] / 1e6,
        "zooms": drawn["zooms"],
    }
    words = {
        "recording, s": ("seconds", 1),
        "the same program bare, s": ("bare_seconds", 1),
        "bytes a call": ("bytes_a_call", 2),
        "memory while recording, MB more than bare": ("recording_mb", 1),
        "`seismo report`, first line, s": ("report_s", 2),
        "`seismo report`, whole, s": ("report_whole_s", 2),
        "opened and first picture, ms": ("first_ms", 0),
        f"a picture of {COLUMNS:,} columns of any window, worst, ms": ("worst_ms", 1),
        "reader of pictures, resident, MB": ("reader_mb", 0),
    }
    return results, listed(f"a trace of {calls:,} calls", results, words)


# ---- queries ----


def query(folder: str, rounds: int, quick: bool) -> tuple[dict[str, Any], str]:
    from seismo.model import read

    file, calls, results = f"{folder}/query.seismo", (QUICK_CALLS if quick else CALLS) // 10, {}
    apart(record_trace, file, calls)
    end = read(file).calls.end_ns
    for name, text in QUERIES.items():
        sql = text.format(from_ns=end // 2, to_ns=end // 2 + end // 100)
        taken = [asked("query", file, sql) for _ in range(rounds)]
        results[name] = {
            "s": median([one["seconds"] for one in taken]),
            "mb": max(one["peak_bytes"] for one in taken) / 1e6,
        }
    rows = [[name, number(one["s"]), number(one["mb"], 0)] for name, one in results.items()]
    return results, table([f"query of {calls:,} calls", "s", "peak MB"], rows)


PARTS = {part.__name__: part for part in (paths, million, trace, query)}


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=1, only=PARTS).parse_args()
    load_core()
    results, texts = {}, []
    for name in options.only or PARTS:
        progress(name)
        with tempfile.TemporaryDirectory() as folder:
            results[name], text = PARTS[name](folder, rounds_of(options), options.quick)
        texts.append(text)
    method = (
        f"medians of {rounds_of(options)} runs, page cache warm; pictures of {COLUMNS:,} columns, {WINDOWS} windows of "
        "each width"
    )
    finish("large", options, method, results, "\n\n".join(texts))


if __name__ == "__main__":
    main()
