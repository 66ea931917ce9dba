"""Scaling: the cost of an event when several threads produce events.

Python threads: 1 to 8 threads make the same number of calls each at once, of separate functions; bare, under the empty
hook, and under seismo's profile and trace. Because of the GIL only one runs at a time, so the time per call should not
depend on the number of threads. An increase is the cost of state that threads share (cache lines that move between
cores at every switch). The result is nanoseconds added per call compared with the bare run with as many threads, and
the ratio to one thread's.
"""

from __future__ import annotations

import math
import os
import tempfile
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from common import arguments, finish, load_core, number, rounds_of, table, timed
from inprocess import Tool, bare, empty, measure

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = (1, 2, 4, 8)
SOURCE = """
def leaf{0}(x):
    return x + 1

def work{0}(count):
    x = 0
    for _ in range(count):
        x = leaf{0}(x)
"""


def workers(threads: int) -> list[Callable[[int], None]]:
    """Return a separate function for each thread, which calls another separate function."""
    made: list[Callable[[int], None]] = []
    for i in range(threads):
        scope: dict[str, Any] = {}
        exec(compile(SOURCE.format(i), f"worker_{i}.py", "exec"), scope)
        made.append(scope[f"work{i}"])
    return made


def together(bodies: list[Callable[[int], None]], count: int) -> None:
    """Run the bodies, each on a new thread, started at once."""
    barrier = threading.Barrier(len(bodies))

    def begin(body: Callable[[int], None]) -> None:
        barrier.wait()
        body(count)

    threads = [threading.Thread(target=begin, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tools() -> dict[str, Tool]:
    """Return the tools. On 3.11 the empty hook is that of PEP 523, the only one that covers all threads by itself."""
    core, file = load_core(), tempfile.TemporaryFile()  # noqa: SIM115  open as long as the process

    def trace() -> None:
        file.truncate(0)
        file.seek(0)
        core.start(fd=file.fileno(), c_functions="none", journal=True)

    return {
        "bare": bare(),
        "floor": empty("floor py"),
        "seismo": Tool(partial(core.start, c_functions="none"), core.stop),
        "trace": Tool(trace, core.stop),
    }


def turn(tool: Tool, case: tuple[int, int]) -> dict[str, list[float]]:
    """Take one turn with these numbers of threads and calls: nanoseconds per call."""
    threads, count = case
    bodies = workers(threads)
    tool.start()
    try:
        together(bodies, count // 20)
        took = timed(partial(together, bodies, count // threads)) * 1e9
        return {"ns": [took / (count // threads * threads)]}
    finally:
        tool.stop()


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=2).parse_args()
    count = 400_000 if options.quick else 1_600_000
    readings = measure({str(n): (n, count) for n in THREADS}, tools(), rounds_of(options), turn)
    best = {name: {n: min(readings[n][name]["ns"]) for n in readings} for name in readings["1"]}
    rows = [["bare, ns a call", *(number(ns, 1) for ns in best["bare"].values())]]
    results: dict[str, Any] = {"ns_a_call": best}
    for name in ("floor", "seismo", "trace"):
        added = {n: best[name][n] - best["bare"][n] for n in best["bare"]}
        results[f"{name}_added"] = added
        results[f"{name}_most_to_one"] = added[str(THREADS[-1])] / added["1"] if added["1"] > 0 else math.nan
        rows.append([f"{name}, ns added a call", *(number(ns, 1) for ns in added.values())])
    method = (
        f"{count:,} calls in all, each thread with functions of its own; best of {rounds_of(options)} interleaved "
        f"rounds on {os.cpu_count()} cores"
    )
    finish("scaling", options, method, results, table(["threads", *best["bare"]], rows))


if __name__ == "__main__":
    main()
