"""Scaling: whether an event costs more when several threads make events.

Python threads: 1 to 8 threads run the same number of calls each, of functions of their own, at once; bare, under the
empty hook, under seismo's profile and trace. With the interpreter's lock only one runs at a time, so the time a call
should stay the same however many threads there are: what grows is the price of state that threads share (lines of
memory that move between cores at every switch of threads). Shown: nanoseconds added a call over the bare run with as
many threads, and that over one thread's.

The recorder alone: `_core._stress(threads, events)`, where the core has it, runs the recorder's part of an event on
native threads without the interpreter's lock: nanoseconds an event by the number of threads. On as many cores as
threads it stays flat if no two threads write to one line.
"""

from __future__ import annotations

import math
import os
import tempfile
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from common import arguments, finish, load_core, load_floor, number, progress, rounds_of, table, timed
from overhead import MODERN

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = """
def leaf{0}(x):
    return x + 1

def work{0}(count):
    x = 0
    for _ in range(count):
        x = leaf{0}(x)
"""


def workers(threads: int) -> list[Callable[[int], None]]:
    """A function of its own for each thread, that calls another of its own."""
    made: list[Callable[[int], None]] = []
    for i in range(threads):
        scope: dict[str, Any] = {}
        exec(compile(SOURCE.format(i), f"worker_{i}.py", "exec"), scope)
        made.append(scope[f"work{i}"])
    return made


def together(bodies: list[Callable[[int], None]], count: int) -> None:
    """Run the bodies, each on a thread of its own, started at once."""
    barrier = threading.Barrier(len(bodies))

    def begin(body: Callable[[int], None]) -> None:
        barrier.wait()
        body(count)

    threads = [threading.Thread(target=begin, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tools(core: Any) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """{name: (start, stop)}. On 3.11 the empty hook of PEP 523, the only one that covers all threads by itself."""
    floor = load_floor()
    hook = "monitoring" if MODERN else "evalframe"
    found: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {"bare": (lambda: None, lambda: None)}
    found["floor"] = (lambda: floor.start(hook), floor.stop)
    if core:
        found["seismo"] = (lambda: core.start(c_functions="none"), core.stop)
        file = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the process

        def trace() -> None:
            file.truncate(0)
            file.seek(0)
            core.start(fd=file.fileno(), c_functions="none", journal=True)

        found["trace"] = (trace, core.stop)
    return found


def python_threads(core: Any, rounds: int, count: int, most: int) -> dict[str, dict[int, float]]:
    """{tool: {threads: nanoseconds a call}}, best of the rounds; all tools and numbers of threads in turn in each."""
    found = tools(core)
    best: dict[str, dict[int, float]] = {name: {} for name in found}
    numbers = [n for n in (1, 2, 4, 8) if n <= most]
    for turn in range(rounds):
        for threads in numbers:
            progress(f"round {turn + 1} of {rounds}: {threads} threads")
            bodies = workers(threads)
            for name, (start, stop) in found.items():
                start()
                try:
                    together(bodies, count // 20)
                    each = timed(partial(together, bodies, count // threads)) * 1e9
                finally:
                    stop()
                each /= (count // threads) * threads
                best[name][threads] = min(each, best[name].get(threads, each))
    return best


def stress(core: Any, rounds: int, most: int) -> dict[int, float]:
    """{threads: nanoseconds an event} of the recorder alone; empty when the core has no stress."""
    if not core or not hasattr(core, "_stress"):
        return {}
    events = 5_000_000
    found: dict[int, float] = {}
    for _ in range(rounds):
        for threads in [n for n in (1, 2, 4, 8) if n <= most]:
            seconds = timed(partial(core._stress, threads, events))
            # More threads than cores take turns: an event's price is the processor time that it takes.
            each = seconds * min(threads, os.cpu_count() or 1) / (threads * events) * 1e9
            found[threads] = min(each, found.get(threads, each))
    return found


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=2)
    parser.add_argument("--threads", type=int, default=8, help="most threads (default 8)")
    options = parser.parse_args()
    core = load_core()
    count = 400_000 if options.quick else 1_600_000
    best = python_threads(core, rounds_of(options), count, options.threads)
    native = stress(core, rounds_of(options), options.threads)
    numbers = list(best["bare"])
    rows = [["bare, ns a call", *(number(best["bare"][n], 1) for n in numbers)]]
    results: dict[str, Any] = {"ns_a_call": best, "stress_ns_an_event": native}
    for name in best:
        if name != "bare":
            added = {n: best[name][n] - best["bare"][n] for n in numbers}
            results[f"{name}_added"] = added
            results[f"{name}_most_to_one"] = added[numbers[-1]] / added[1] if added[1] > 0 else math.nan
            rows.append([f"{name}, ns added a call", *(number(added[n], 1) for n in numbers)])
    if native:
        rows.append(["recorder alone, ns an event a core", *(number(native[n], 1) for n in numbers)])
    method = (
        f"{count:,} calls in all, over 1 to {options.threads} threads, each with functions of its own; best of "
        f"{rounds_of(options)} interleaved rounds on {os.cpu_count()} cores"
    )
    finish("scaling", options, method, results, table(["threads", *map(str, numbers)], rows))


if __name__ == "__main__":
    main()
