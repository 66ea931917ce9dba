"""Counting calls by their starts alone: what it adds, beside the empty hooks, the source with all events, and cProfile.

The programs are those of overhead.py, and so is the method: all tools in turn in every round, in one process. What is
measured is the processor time of the thread, and each turn of a tool has several timed runs, so that a busy machine is
hardly in the readings: by the wall, equal code read 0.69 and 0.83 within minutes. All that these tools do for an event,
they do in the program's thread. Tools:

  bare            no hook
  floor starts    empty hook on starts, resumes, throws and unwinds of Python functions
  floor py        empty hook on all events of Python functions
  starts none     seismo without times, Python functions only (source `starts`)
  all events none the same with source `monitoring`
  seismo none     seismo with times, Python functions only
  floor c         empty hook on all events of Python and C functions
  starts all      seismo without times, with C functions (source `starts`)
  all events all  the same with source `monitoring`
  seismo auto     seismo with times, as it is by default
  cProfile        cProfile.Profile
  trace0          trace0.Tracer into a file, where it is installed (3.13 and later); Python functions only

ratio = (best with the tool - best bare) / (best with the empty hook on all events - best bare). 3.11 has no such hook,
and the status is 3 there: run_all.py leaves it out.
"""

from __future__ import annotations

import cProfile
import importlib.util
import itertools
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import programs
from common import arguments, finish, load_core, load_floor, number, rounds_of
from overhead import Tool, measure, micro, ratios, render, totals

WARM = 4  # timed runs at each turn of a tool


def trace0(base: str) -> Tool:
    """trace0, which writes what it traces into a file of its own."""
    import trace0 as package  # type: ignore[import-not-found]

    folder = tempfile.TemporaryDirectory()  # goes with the process
    numbers = itertools.count()
    held: list[Any] = []

    def start() -> None:
        held.append(package.Tracer(str(Path(folder.name) / f"{next(numbers)}.trace0"), trace_subprocesses=False))
        held[-1].__enter__()

    def stop() -> None:
        held.pop().__exit__(None, None, None)
        for path in Path(folder.name).iterdir():
            path.unlink()

    return Tool(start, stop, base, rounds=1)


def tools(core: Any) -> dict[str, Tool]:
    """All tools, in the order of their turns."""
    floor = load_floor()

    def empty(hook: str, base: str = "") -> Tool:
        return Tool(lambda: floor.start(hook), floor.stop, base)

    def counting(c_functions: str, source: str, base: str) -> Tool:
        return Tool(lambda: core.start(c_functions=c_functions, source=source, timing="none"), core.stop, base)

    def timing(c_functions: str, base: str) -> Tool:
        return Tool(lambda: core.start(c_functions=c_functions), core.stop, base)

    profiler = cProfile.Profile()
    found = {
        "bare": Tool(lambda: None, lambda: None),
        "floor starts": empty("starts", "floor py"),
        "floor py": empty("monitoring"),
        "starts none": counting("none", "starts", "floor py"),
        "all events none": counting("none", "monitoring", "floor py"),
        "seismo none": timing("none", "floor py"),
        "floor c": empty("monitoring-c"),
        "starts all": counting("all", "starts", "floor c"),
        "all events all": counting("all", "monitoring", "floor c"),
        "seismo auto": timing("auto", "floor c"),
        "cProfile": Tool(profiler.enable, profiler.disable, "floor c", rounds=1),
    }
    if importlib.util.find_spec("trace0"):
        found["trace0"] = trace0("floor py")
    return found


def main() -> int:
    parser = arguments(__doc__, rounds=3, quick_rounds=2)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these programs (micro ones always run)")
    options = parser.parse_args()
    core = load_core()
    if sys.version_info < (3, 12) or core is None:
        print("starts.py needs sys.monitoring (3.12 and later) and seismo", file=sys.stderr)
        return 3
    found = tools(core)
    bodies = {name: programs.load(name) for name in options.only or list(programs.PROGRAMS)}
    rounds = rounds_of(options)
    smallest = measure(micro(options.quick), found, rounds, WARM, time.thread_time)
    results: dict[str, Any] = {
        "micro": ratios(smallest, found, "warm"),
        "programs": ratios(measure(bodies, found, rounds, WARM, time.thread_time), found, "warm"),
    }
    results["totals"] = {key: totals(results[key], found) for key in ("micro", "programs")}
    lines = [render({**results["micro"], **results["programs"]}, found), ""]
    for key, label in (("micro", "micro programs"), ("programs", "programs")):
        for name, total in results["totals"][key].items():
            lines.append(
                f"- {label}, {name}: geomean {number(total['geomean'])}, worst {number(total['worst'])} "
                f"({total['worst_case']}), {total['programs']} programs"
            )
    method = (
        f"best of {WARM} runs in each of {rounds} interleaved rounds, one process, processor time; "
        "added time over bare, in brackets divided by the added time of the empty hook on all events"
    )
    finish("starts", options, method, results, "\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
