"""Large recordings: response times and memory.

paths    A program of 299,593 distinct paths (8 functions that call each other in every order, 6 deep): the growth of
         resident memory beyond that of the bare run, a path. Then the same paths are walked ten more times: the growth
         a call, which must be zero.
million  A recording of 1,111,111 paths (10 functions): the time until the first line of `seismo report`, with
         unbuffered output.
trace    A trace of 10^8 calls (functions, a recursion of 20, a generator): its peak memory beside that of the same
         process without seismo, and the first line of `seismo report`. Also pictures of 1,000 columns of windows at
         random positions, from the whole recording down to a millionth of it.
query    `seismo query` on such a trace of 10^7 calls: every query in a new process, from the command to the last
         line, and its peak memory.

The page cache is warm, because the files were just written.
"""

from __future__ import annotations

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

Part = tuple[dict[str, Any], list[list[str]]]  # results, and the rows of the table

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


def first_line(file: str, rounds: int) -> float:
    """Return the median seconds to the first line of `seismo report`. Raise RuntimeError on failure."""
    first = []
    for _ in range(rounds):
        start, command = time.perf_counter(), [sys.executable, "-u", "-m", "seismo", "report", file]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            first.append(time.perf_counter() - start)
            process.stdout.read()
        if process.returncode:
            raise RuntimeError(f"seismo report: exit {process.returncode}")
    return median(first)


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


def walked(recorded: bool) -> tuple[int, int]:
    """Walk the paths. Return the growth of memory by the first walk and by ten more. It needs a new process."""
    first, core = paths_of(FEWER), load_core()
    first(2)

    def walks(count: int) -> int:
        before = resident()
        for _ in range(count):
            first(DEPTH)
        return resident() - before

    gc.collect()
    if recorded:
        core.start(c_functions="none")
    grown = walks(1), walks(AGAIN)
    core.stop()
    return grown


def paths(folder: str, rounds: int, quick: bool) -> Part:
    taken = [(apart(walked, False), apart(walked, True)) for _ in range(rounds)]
    once, more = (
        median([recorded[at] for _, recorded in taken]) - median([bare[at] for bare, _ in taken]) for at in (0, 1)
    )
    total = count_of(FEWER, DEPTH)
    results = {"bytes_a_path": once / total, "bytes_a_call": more / (total * AGAIN)}
    return results, [
        [f"{total:,} paths: bytes a path", number(results["bytes_a_path"], 1)],
        ["bytes a call", number(results["bytes_a_call"], 3)],
    ]


def record_paths(target: str) -> None:
    """Record the million paths to a file. It needs a new process."""
    core = load_core()
    with open(target, "wb") as file:
        core.start(c_functions="none", fd=file.fileno(), max_paths=2_000_000)
        paths_of(WIDTH)(DEPTH)
        core.stop()


def million(folder: str, rounds: int, quick: bool) -> Part:
    file = f"{folder}/million.seismo"
    apart(record_paths, file)
    took = first_line(file, rounds)
    return {"first_line": took}, [[f"`seismo report` of {count_of(WIDTH, DEPTH):,} paths: first line, s", number(took)]]


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


def record_trace(target: str, calls: int) -> int:
    """Record the program, or run it without seismo if the target is "". Return the peak memory of the new process."""
    if not target:
        program(calls)
        return most_resident()
    import seismo

    with seismo.trace(output=target, c_functions="none"):
        program(calls)
        return most_resident()  # before the end, which reads the recording and maps its file


def pictures(target: str) -> tuple[float, int]:
    """Return the longest time of a picture at any zoom, in ms, and the peak memory of the process, a new one."""
    import seismo

    calls = seismo.open(target).calls
    end = calls.end_ns
    calls.overview(0, end, columns=COLUMNS)  # with all one-time work
    rnd = random.Random(1)
    worst = 0.0
    for zoom in ZOOMS:
        width = max(end // zoom, 1)
        for _ in range(WINDOWS if zoom > 1 else 3):
            start = rnd.randrange(end - width + 1)
            begun = time.perf_counter()
            calls.overview(start, start + width, columns=COLUMNS)
            worst = max(worst, (time.perf_counter() - begun) * 1000)
    return worst, most_resident()


def trace(folder: str, rounds: int, quick: bool) -> Part:
    file, calls = f"{folder}/trace.seismo", QUICK_CALLS if quick else CALLS
    bare, traced = apart(record_trace, "", calls), apart(record_trace, file, calls)
    shown, (worst, peak) = first_line(file, rounds), apart(pictures, file)
    results = {
        "recording_mb": (traced - bare) / 1e6,
        "report_s": shown,
        "worst_ms": worst,
        "reader_mb": peak / 1e6,
    }
    return results, [
        [f"a trace of {calls:,} calls: memory while recording, MB more than bare", number(results["recording_mb"], 1)],
        ["`seismo report`, first line, s", number(shown)],
        [f"a picture of {COLUMNS:,} columns of any window, worst, ms", number(worst, 1)],
        ["reader of pictures, resident, MB", number(results["reader_mb"], 0)],
    ]


# ---- queries ----


def query(folder: str, rounds: int, quick: bool) -> Part:
    from seismo.model import read

    file, calls, results, rows = f"{folder}/query.seismo", (QUICK_CALLS if quick else CALLS) // 10, {}, []
    apart(record_trace, file, calls)
    end = read(file).calls.end_ns
    for name, text in QUERIES.items():
        sql = text.format(from_ns=end // 2, to_ns=end // 2 + end // 100)
        taken = [asked("query", file, sql) for _ in range(rounds)]
        seconds = median([one["seconds"] for one in taken])
        peak = max(one["peak_bytes"] for one in taken) / 1e6
        results[name] = {"s": seconds, "mb": peak}
        rows.append([f"query of {calls:,} calls, {name}: s", number(seconds)])
        rows.append(["peak MB", number(peak, 0)])
    return results, rows


PARTS = {part.__name__: part for part in (paths, million, trace, query)}


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=1, only=PARTS).parse_args()
    load_core()
    results, rows = {}, []
    for name in options.only or PARTS:
        progress(name)
        with tempfile.TemporaryDirectory() as folder:
            results[name], more = PARTS[name](folder, rounds_of(options), options.quick)
        rows += more
    method = (
        f"medians of {rounds_of(options)} runs, page cache warm; pictures of {COLUMNS:,} columns, {WINDOWS} windows of "
        "each width"
    )
    finish("large", options, method, results, table(["", "value"], rows))


if __name__ == "__main__":
    main()
