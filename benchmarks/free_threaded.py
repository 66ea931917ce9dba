"""The CPU time that recorders add to an event on free-threaded builds, on 1 and 2 threads, and coverage on up to 8.

    python3.14t benchmarks/free_threaded.py

Every thread runs the same recursive function, or for lines a loop of four. In each round it runs bare, under an empty
callback on the events that the recorder uses, and under the recorder. A reading is the most CPU time that a thread
used, so threads that wait for a processor do not disturb it, but those that wait for each other's cache lines do. The
ratio is what the recorder adds by what the empty callback adds, of the same round. Coverage disables places, for which
the interpreter stops all threads. So threads run a function of 1,000 new lines once, or 20,000 times, under seismo
cover and under an empty callback that disables no line or each at once. The reading is the process's CPU time, and the
ratio is by the better of the two. The status is 3 on other builds.
"""

from __future__ import annotations

import contextlib
import runpy
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from common import arguments, empty_hook, finish, leave_out, load_core, number, progress, rounds_of, table
from inprocess import fib

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDERS = {"profile": "starts", "trace": "monitoring", "lines": "line"}  # and the empty hook of each
THREADS = (1, 2)
TURNS = 5  # of the loop, for each call of the other program
EVENTS = {"profile": 1, "trace": 2, "lines": 4 * TURNS}  # of a call
LINES, COVERED_BY, RUNS = 1000, (1, 2, 8), (1, 20_000)


def calls(n: int) -> int:
    return 1 if n < 2 else 1 + calls(n - 1) + calls(n - 2)


def loop(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
        total ^= i
        total -= i
    return total


def cpu_ns(threads: int, recorder: str, n: int) -> int:
    """Return the most CPU time of a thread, of so many that run the recorder's program side by side."""
    program, short, long = (loop, 100, TURNS * calls(n)) if recorder == "lines" else (fib, 12, n)
    ready = threading.Barrier(threads)

    def work(_: int) -> int:
        program(short)
        ready.wait()
        began = time.thread_time_ns()
        program(long)
        return time.thread_time_ns() - began

    with ThreadPoolExecutor(threads) as pool:
        return max(pool.map(work, range(threads)))


@contextmanager
def empty(recorder: str) -> Iterator[None]:
    start, stop = empty_hook(RECORDERS[recorder])
    start()
    yield
    stop()


@contextmanager
def recorded(recorder: str) -> Iterator[None]:
    core = load_core()
    if recorder == "lines":
        import seismo

        with seismo.lines():
            yield
        return
    with tempfile.TemporaryFile() as file:
        fd = file.fileno() if recorder == "trace" else -1
        core.start(source=RECORDERS[recorder], c_functions="none", calibrate=False, journal=fd >= 0, fd=fd)
        yield
        core.stop()


def covering_ms(folder: str, way: str, threads: int, runs: int) -> float:
    """Return the process's CPU time in ms while so many threads run a new function of 1,000 lines so often each."""
    import seismo

    path = Path(folder, "covered.py")
    path.write_text("def f(x):\n" + " x = x + 1\n" * LINES + " return x\n", encoding="utf-8")
    space = runpy.run_path(str(path))
    ready = threading.Barrier(threads + 1)

    def work() -> None:
        ready.wait()
        for _ in range(runs):
            space["f"](0)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    start, stop = empty_hook("line", "disabling" if way == "each at once" else "callback")
    with contextlib.ExitStack() as stack:
        if way == "cover":
            stack.enter_context(seismo.cover(source=folder, rcfile=""))
        elif way != "bare":
            start()
            stack.callback(stop)
        began = time.process_time_ns()
        ready.wait()
        for worker in workers:
            worker.join()
        return (time.process_time_ns() - began) / 1e6


def coverage(rounds: int) -> list[list[str]]:
    """Return the rows of coverage."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for runs in RUNS:
            for threads in COVERED_BY:
                ways: dict[str, list[float]] = {way: [] for way in ("bare", "none", "each at once", "cover")}
                for turn in range(rounds):
                    progress(f"coverage on {threads} threads, {runs:,} runs, round {turn + 1}")
                    for way, found in ways.items():
                        found.append(covering_ms(folder, way, threads, runs))
                of = {way: median(found) for way, found in ways.items()}
                ratio = of["cover"] / min(of["none"], of["each at once"])
                rows.append([f"{runs:,}", str(threads), *(number(of[way], 1) for way in ways), number(ratio)])
    return rows


def main() -> None:
    options = arguments(__doc__, rounds=21, quick_rounds=5).parse_args()
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        leave_out("needs a free-threaded build")
    n = 20 if options.quick else 24
    rows = []
    for recorder in RECORDERS:
        for threads in THREADS:
            ratios, added = [], []
            for turn in range(rounds_of(options)):
                progress(f"{recorder} on {threads} threads, round {turn + 1}")
                of = [cpu_ns(threads, recorder, n)]
                for way in (empty, recorded):
                    with way(recorder):
                        of.append(cpu_ns(threads, recorder, n))
                ratios.append((of[2] - of[0]) / (of[1] - of[0]))
                added.append((of[2] - of[0]) / (EVENTS[recorder] * calls(n)))
            rows.append([recorder, str(threads), number(median(added), 1), number(median(ratios))])
    assert not sys._is_gil_enabled(), "an extension has enabled the GIL"
    head = ["recorder", "threads", "added ns per event", "by the empty callback's"]
    covered = coverage(3 if options.quick else 5)
    of_coverage = [
        "runs",
        "threads",
        "bare, ms",
        "no line disabled",
        "each at once",
        "seismo cover",
        "by the better one",
    ]
    text = f"{table(head, rows)}\n\n{table(of_coverage, covered)}"
    finish("free_threaded", options, (__doc__ or "").split("\n\n")[2], {}, text)


if __name__ == "__main__":
    main()
