"""Large recordings: response times and memory.

million  A recording of 1,111,111 paths (10 functions that call each other in every order, 6 deep): the time until the
         first line of `seismo report` and until its end, on a pseudo-terminal, because output to a pipe is buffered.
trace    A trace of 10^8 calls (functions, a recursion of 20, a generator): its peak memory beside that of the same
         process without seismo, and the first line of `seismo report`. Also pictures of 1,000 columns of windows at
         random positions, from the whole recording down to a millionth of it. `first picture` is the first one of a
         process, including all one-time work.
query    `seismo query` on such a trace of 10^7 calls: every query in a new process, from the command to the last
         line, and its peak memory.

The page cache is warm, because the files were just written.
"""

from __future__ import annotations

import os
import pty
import random
import subprocess
import sys
import tempfile
import time
from typing import Any

from common import (
    apart,
    arguments,
    finish,
    load_core,
    median,
    most_resident,
    number,
    output_of,
    progress,
    rounds_of,
    table,
)
from memory import count_of, paths_of

WIDTH, DEPTH = 10, 6
CALLS, QUICK_CALLS, ROUND = 100_000_000, 4_000_000, 1224
COLUMNS, WINDOWS = 1000, 20
ZOOMS = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
QUERIES = {
    "aggregate": "select count(*), sum(end_ns - start_ns) from calls",
    "a hundredth of the time": "select count(*), sum(end_ns - start_ns) from calls_between({from_ns}, {to_ns})",
    "the same by a condition": "select count(*), sum(end_ns - start_ns) from calls "
    "where start_ns between {from_ns} and {to_ns}",
    "open at one moment": "select count(*), min(start_ns) from calls "
    "where start_ns <= {from_ns} and end_ns >= {from_ns}",
    "by function": "select f.qualname, count(*), max(end_ns - start_ns) from calls c "
    "join functions f on f.id = c.function group by all",
}
PEAK = (
    "import sys; from seismo.cli.main import main; main(['query', *sys.argv[1:]]); "
    "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0], file=sys.stderr)"
)


def report(file: str) -> dict[str, float]:
    """Return seconds to the first line and to the end of `seismo report`, and its peak bytes.

    Raise RuntimeError on failure.
    """
    import termios

    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (40, 80))
    environment = {**os.environ, "COLUMNS": "80", "LINES": "40", "PAGER": "cat", "TERM": "xterm"}
    start, command = time.perf_counter(), [sys.executable, "-m", "seismo", "report", file]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=follower, stderr=subprocess.STDOUT, env=environment
    )
    os.close(follower)
    seen, first = b"", 0.0
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # a pseudo-terminal reports EIO when its other end is closed
            break
        seen += piece
        if not first and b"\n" in seen:
            first = time.perf_counter() - start
    os.close(leader)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"seismo report: exit {process.returncode}\n{seen.decode(errors='replace')}")
    return {"first_line": first, "whole": time.perf_counter() - start, "peak": usage.ru_maxrss * 1024.0}


def reports(file: str, rounds: int) -> dict[str, float]:
    """Return the medians over this number of reports."""
    taken = [report(file) for _ in range(rounds)]
    return {key: median([one[key] for one in taken]) for key in taken[0]}


# ---- a million paths ----


def record_paths(target: str) -> None:
    """Record the million paths to a file. It needs a new process."""
    core = load_core()
    with open(target, "wb") as file:
        core.start(c_functions="none", fd=file.fileno(), max_paths=2_000_000)
        paths_of(WIDTH)(DEPTH)
        core.stop()


def million(folder: str, rounds: int, quick: bool) -> tuple[dict[str, Any], str]:
    file = f"{folder}/million.seismo"
    apart(record_paths, file)
    results = {**reports(file, rounds), "paths": count_of(WIDTH, DEPTH), "file": os.path.getsize(file)}
    rows = [
        ["first line, s", number(results["first_line"])],
        ["whole report, s", number(results["whole"])],
        ["peak memory, MB", number(results["peak"] / 1e6, 0)],
        ["file, MB", number(results["file"] / 1e6, 1)],
    ]
    return results, table([f"`seismo report` of {results['paths']:,} paths", "value"], rows)


# ---- a trace ----


def leaf(number: int) -> int:
    return number


def inner(rounds: int) -> None:
    for i in range(rounds):
        leaf(i)


def outer(rounds: int) -> None:
    for _ in range(rounds):
        inner(99)


def deeper(depth: int) -> None:
    if depth:
        deeper(depth - 1)


def numbers(count: int) -> Any:
    yield from range(count)


def program(calls: int) -> None:
    """Make at least this number of calls and generator steps."""
    for _ in range(-(-calls // ROUND)):
        outer(10)
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
        "report_mb": shown["peak"] / 1e6,
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
        "`seismo report`, resident, MB": ("report_mb", 0),
        "opened and first picture, ms": ("first_ms", 0),
        "reader of pictures, resident, MB": ("reader_mb", 0),
    }
    rows = [[text, number(results[key], digits)] for text, (key, digits) in words.items()]
    zooms = [
        [f"1/{int(zoom):,}", number(one["median_ms"], 1), number(one["worst_ms"], 1), f"{one['runs']:,}"]
        for zoom, one in drawn["zooms"].items()
    ]
    text = table([f"a trace of {calls:,} calls", "value"], rows)
    return results, f"{text}\n\n{table(['window, of the whole', 'median ms', 'worst ms', 'runs, most'], zooms)}"


# ---- queries ----


def asked(file: str, sql: str) -> tuple[float, float]:
    """Return seconds and peak MB of a process that runs a query. Raise RuntimeError with its output if it fails."""
    begun = time.perf_counter()
    peak = output_of([sys.executable, "-c", PEAK, file, sql], stderr=subprocess.STDOUT).split()[-1]
    return time.perf_counter() - begun, int(peak) / 1000


def query(folder: str, rounds: int, quick: bool) -> tuple[dict[str, Any], str]:
    from seismo.model import read

    file, calls, results = f"{folder}/query.seismo", (QUICK_CALLS if quick else CALLS) // 10, {}
    apart(record_trace, file, calls)
    end = read(file).calls.end_ns
    for name, text in QUERIES.items():
        sql = text.format(from_ns=end // 2, to_ns=end // 2 + end // 100)
        found = [asked(file, sql) for _ in range(rounds)]
        results[name] = {"s": median([one[0] for one in found]), "mb": max(one[1] for one in found)}
    rows = [[name, number(one["s"]), number(one["mb"], 0)] for name, one in results.items()]
    return results, table([f"query of {calls:,} calls", "s", "peak MB"], rows)


PARTS = {part.__name__: part for part in (million, trace, query)}


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
