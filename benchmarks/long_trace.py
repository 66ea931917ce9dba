"""A trace of 10^8 calls: what recording it takes, how soon `seismo report` answers, and any window as a picture.

A loop of small functions (one that calls another, a recursion of 20, a generator) runs under `seismo trace` in a
process of its own until it has made so many calls; its peak memory is taken beside that of the same process without
seismo. Then `seismo report` runs on a pseudo-terminal, as in report_million.py, and a process of its own asks for
pictures of 1,000 columns: windows at random places, from the whole recording down to a millionth of it. The page cache
is warm.

`first picture` is the first one of a process, with all that it has to find out once. `picture` times are those of
`recording.calls.overview(...)`, which gives columns.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import HERE, arguments, finish, median, number, rounds_of, table
from report_million import report

CALLS, QUICK_CALLS, ROUND = 100_000_000, 4_000_000, 1224
COLUMNS, WINDOWS = 1000, 20
ZOOMS = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)


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
    """So many calls and steps of generators, or a few more."""
    for _ in range(-(-calls // ROUND)):
        outer(10)
        for _ in range(8):
            deeper(20)
        for i in numbers(27):
            leaf(i)


def peak() -> int:
    """Most resident bytes of this process so far; what getrusage has is also that of the process it was forked from."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def record(target: str, calls: int) -> dict[str, Any]:
    """Records the program; target "": runs it without seismo."""
    begun, cpu = time.perf_counter(), time.process_time()
    if target:
        import seismo

        with seismo.trace(output=target, c_functions="none"):
            program(calls)
            most = peak()  # at its end, the recording is read, and its file is mapped
    else:
        program(calls)
        most = peak()
    return {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - cpu, "peak": most}


def pictures(target: str) -> dict[str, Any]:
    """The times of pictures at each zoom, in ms."""
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
    return {**found, "peak": peak()}


def child(*words: str) -> dict[str, Any]:
    """What this file says in a process of its own. RuntimeError with its words when it fails."""
    command = [sys.executable, str(HERE / "long_trace.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def recorded(file: str, calls: int) -> dict[str, Any]:
    """The program bare and traced. What it took is kept beside the recording, for `--again`."""
    bare, traced = child("--record", "", "--calls", str(calls)), child("--record", file, "--calls", str(calls))
    taken = {"bare": bare, "traced": traced}
    Path(f"{file}.json").write_text(json.dumps(taken))
    return taken


def measure(file: str, calls: int, rounds: int, again: bool) -> dict[str, Any]:
    taken = json.loads(Path(f"{file}.json").read_text()) if again else recorded(file, calls)
    bare, traced = taken["bare"], taken["traced"]
    reports = [report(file) for _ in range(rounds)]
    drawn = child("--pictures", file)
    worst = max(one["worst_ms"] for one in drawn["zooms"].values())
    return {
        "calls": calls,
        "seconds": traced["seconds"],
        "bare_seconds": bare["seconds"],
        "bytes_a_call": os.path.getsize(file) / calls,
        "recording_mb": (traced["peak"] - bare["peak"]) / 1e6,
        "report_s": median([one["first_line"] for one in reports]),
        "report_whole_s": median([one["whole"] for one in reports]),
        "report_mb": max(one["peak"] for one in reports) / 1e6,
        "first_ms": drawn["first_ms"],
        "worst_ms": worst,
        "reader_mb": drawn["peak"] / 1e6,
        "zooms": drawn["zooms"],
    }


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=1)
    parser.add_argument("--calls", type=int, help=f"how many to record (default {CALLS:,})")
    parser.add_argument("--keep", metavar="FILE", help="keep the recording in this file")
    parser.add_argument("--record-only", action="store_true", help="make the recording (--keep), and read nothing")
    parser.add_argument("--again", action="store_true", help="read what --keep has kept, and record nothing")
    parser.add_argument("--record", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--pictures", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    calls = options.calls or (QUICK_CALLS if options.quick else CALLS)
    if options.record is not None:
        print(json.dumps(record(options.record, calls)))
        return
    if options.pictures:
        print(json.dumps(pictures(options.pictures)))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = options.keep or str(Path(folder) / "long.seismo")
        if options.record_only:
            recorded(file, calls)
            return
        results = measure(file, calls, rounds_of(options), options.again)
    rows = [
        ["recording, s (bare)", f"{number(results['seconds'], 1)} ({number(results['bare_seconds'], 1)})"],
        ["bytes a call", number(results["bytes_a_call"])],
        ["memory while recording, MB more than bare", number(results["recording_mb"], 1)],
        ["`seismo report`, first line, s", number(results["report_s"])],
        ["`seismo report`, whole, s", number(results["report_whole_s"])],
        ["`seismo report`, resident, MB", number(results["report_mb"], 0)],
        ["opened and first picture, ms", number(results["first_ms"], 0)],
        ["reader of pictures, resident, MB", number(results["reader_mb"], 0)],
    ]
    zooms = [
        [f"1/{int(zoom):,}", number(one["median_ms"], 1), number(one["worst_ms"], 1), f"{one['runs']:,}"]
        for zoom, one in results["zooms"].items()
    ]
    text = table(["a trace", "value"], rows) + "\n\n"
    text += table(["window, of the whole", "median ms", "worst ms", "runs, most"], zooms)
    method = f"{calls:,} calls, {COLUMNS:,} columns, {WINDOWS} windows of each width; page cache warm"
    finish("long_trace", options, method, results, text)


if __name__ == "__main__":
    main()
