"""In-process overhead: the time that a recorder adds, relative to that of an empty C hook on the same events.

Three micro programs and the bodies of pyperformance programs, measured as described in inprocess.py, by the processor
time of the thread and several times in each turn of a tool, to exclude other load:

  bare            no hook
  floor starts    empty hook on starts, resumes, throws and unwinds of Python functions (not on 3.11)
  floor py        empty hook on the events of Python functions (sys.monitoring; on 3.11 PEP 523)
  starts none     seismo without times (--timing none, source `starts`), Python functions only (not on 3.11)
  all events none the same with source `monitoring`
  seismo none     seismo with --c-functions none
  floor c         empty hook on the events of Python and C functions (sys.monitoring; on 3.11 PyEval_SetProfile)
  starts all      seismo without times, with all C functions (not on 3.11)
  seismo auto     seismo with default options
  seismo all      seismo with --c-functions all
  cProfile        cProfile.Profile
  trace0          if it is installed (3.13 and later); Python functions only
  seismo.cprofile seismo.cprofile.Profile; its ratio is to cProfile
"""

from __future__ import annotations

import cProfile
import time
from functools import partial
from typing import Any

import programs
from common import arguments, finish, load_core, number, rounds_of, table
from inprocess import MODERN, Tool, bare, empty, measure, micro, ratios, render, trace0, turned, worst_and_mean

import seismo.cprofile

WARM = 3  # timed runs per turn of a tool


def recorder(c_functions: str, **settings: str) -> Tool:
    """Return seismo. Its floor is the empty hook on the same events; on 3.11 the default mode omits C functions."""
    core = load_core()
    base = "floor py" if c_functions == "none" or (c_functions == "auto" and not MODERN) else "floor c"
    return Tool(partial(core.start, c_functions=c_functions, **settings), core.stop, base)


def cleared(profiler: Any, base: str) -> Tool:
    """Return a profiler with cProfile's interface, whose results are dropped after each turn."""

    def stop() -> None:
        profiler.disable()
        profiler.clear()

    return Tool(profiler.enable, stop, base)


def tools() -> dict[str, Tool]:
    """Return all tools that this interpreter supports, in the order of their turns."""
    found = {
        "bare": bare(),
        "floor starts": empty("floor starts", "floor py") if MODERN else None,
        "floor py": empty("floor py"),
        "starts none": recorder("none", source="starts", timing="none") if MODERN else None,
        "all events none": recorder("none", source="monitoring", timing="none") if MODERN else None,
        "seismo none": recorder("none"),
        "floor c": empty("floor c"),
        "starts all": recorder("all", source="starts", timing="none") if MODERN else None,
        "seismo auto": recorder("auto"),
        "seismo all": recorder("all"),
        "cProfile": cleared(cProfile.Profile(), "floor c"),
        **trace0("floor py"),
        "seismo.cprofile": cleared(seismo.cprofile.Profile(), "cProfile"),
    }
    return {name: tool for name, tool in found.items() if tool}


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=2, only=programs.PROGRAMS).parse_args()
    found, rounds = tools(), rounds_of(options)
    bodies = {name: programs.load(name) for name in options.only or programs.PROGRAMS}
    turn = partial(turned, warm=WARM, clock=time.thread_time)
    parts: dict[str, dict[str, Any]] = {
        "micro": ratios(measure(micro(options.quick), found, 2 * rounds + 1, turn), found),
        "programs": ratios(measure(bodies, found, rounds, turn), found),
    }
    totals: dict[str, dict[str, Any]] = {}
    rows = []
    for part, cases in parts.items():
        by_tool = {name: {case: row[name]["ratio"] for case, row in cases.items()} for name in found}
        totals[part] = {name: total for name, known in by_tool.items() if (total := worst_and_mean(known))}
        for name, total in totals[part].items():
            cells = [number(total["geomean"]), number(total["worst"]), total["worst_case"]]
            rows.append([f"{part}, {name}: ratio", *cells])
    method = (
        f"best of {WARM} runs in each of {rounds} interleaved rounds (micro {2 * rounds + 1}), one process, processor "
        "time; added time over bare, in brackets divided by the added time of the empty hook on the same events"
    )
    text = f"{render(parts['micro'] | parts['programs'], found)}\n\n{table(['', 'geomean', 'worst', 'in'], rows)}"
    finish("overhead", options, method, {**parts, "totals": totals}, text)


if __name__ == "__main__":
    main()
