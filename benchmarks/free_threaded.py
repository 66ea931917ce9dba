"""The CPU time that recorders of calls add to an event on free-threaded builds, on 1 and 2 threads.

    python3.14t benchmarks/free_threaded.py

Every thread runs the same recursive function. In each round it runs bare, under an empty callback on the events that
the recorder uses, and under the recorder. A reading is the most CPU time that a thread used, so threads that wait for
a processor do not disturb it, but those that wait for each other's cache lines do. The ratio is what the recorder adds
by what the empty callback adds, of the same round. The status is 3 on other builds.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING

from common import arguments, empty_hook, finish, leave_out, load_core, number, progress, rounds_of, table

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDERS = {"profile": "starts", "trace": "monitoring"}
THREADS = (1, 2)
EVENTS = {"profile": 1, "trace": 2}  # of a call


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def calls(n: int) -> int:
    return 1 if n < 2 else 1 + calls(n - 1) + calls(n - 2)


def cpu_ns(threads: int, n: int) -> int:
    """Return the most CPU time of a thread, of so many that run fib(n) side by side."""
    used: list[int] = []
    ready = threading.Barrier(threads)

    def work() -> None:
        fib(12)
        ready.wait()
        began = time.thread_time_ns()
        fib(n)
        used.append(time.thread_time_ns() - began)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return max(used)


@contextmanager
def empty(recorder: str) -> Iterator[None]:
    start, stop = empty_hook(RECORDERS[recorder])
    start()
    yield
    stop()


@contextmanager
def recorded(recorder: str) -> Iterator[None]:
    core = load_core()
    with tempfile.TemporaryFile() as file:
        fd = file.fileno() if recorder == "trace" else -1
        core.start(source=RECORDERS[recorder], c_functions="none", calibrate=False, journal=fd >= 0, fd=fd)
        yield
        core.stop()


def main() -> int:
    options = arguments(__doc__, rounds=21, quick_rounds=5).parse_args()
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        leave_out("needs a free-threaded build")
    n = 20 if options.quick else 24
    results: dict[str, dict[str, dict[str, float]]] = {}
    rows = []
    for recorder in RECORDERS:
        for threads in THREADS:
            ratios, added = [], []
            for turn in range(rounds_of(options)):
                progress(f"{recorder} on {threads} threads, round {turn + 1}")
                of = [cpu_ns(threads, n)]
                for way in (empty, recorded):
                    with way(recorder):
                        of.append(cpu_ns(threads, n))
                ratios.append((of[2] - of[0]) / (of[1] - of[0]))
                added.append((of[2] - of[0]) / calls(n) / EVENTS[recorder])
            found = {"ratio": median(ratios), "added_ns": median(added)}
            results.setdefault(recorder, {})[str(threads)] = found
            rows.append([recorder, str(threads), number(found["added_ns"], 1), number(found["ratio"])])
    assert not sys._is_gil_enabled(), "an extension has enabled the GIL"
    head = ["recorder", "threads", "added ns per event", "by the empty callback's"]
    finish("free_threaded", options, (__doc__ or "").split("\n\n")[2], results, table(head, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
