"""Counting calls by their starts alone: the added time, beside empty hooks, all events, and cProfile.

Programs and method are those of overhead.py, except that processor time of the thread is measured, several times in
each turn of a tool, to exclude other load. By the wall clock, equal code read 0.69 and 0.83 within minutes.

  floor starts    empty hook on starts, resumes, throws and unwinds of Python functions
  starts ...      seismo without times (source `starts`): none without C functions, all with them
  all events ...  the same with source `monitoring`
  seismo ...      seismo with times
  trace0          if it is installed (3.13 and later); Python functions only

ratio = (best with the tool - best bare) / (best with the empty hook on all events - best bare). 3.11 has no such hook.
"""

from __future__ import annotations

import cProfile
import time
from functools import partial

import programs
from common import arguments, leave_out, load_core, rounds_of
from inprocess import MODERN, Tool, bare, conclude, empty, measure, micro, trace0, turned

WARM = 4  # timed runs per turn of a tool


def tools() -> dict[str, Tool]:
    """Return all tools, in the order of their turns."""
    core, profiler = load_core(), cProfile.Profile()

    def seismo(c_functions: str, **settings: str) -> Tool:
        base = "floor py" if c_functions == "none" else "floor c"
        return Tool(partial(core.start, c_functions=c_functions, **settings), core.stop, base)

    return {
        "bare": bare(),
        "floor starts": empty("floor starts", "floor py"),
        "floor py": empty("floor py"),
        "starts none": seismo("none", source="starts", timing="none"),
        "all events none": seismo("none", source="monitoring", timing="none"),
        "seismo none": seismo("none"),
        "floor c": empty("floor c"),
        "starts all": seismo("all", source="starts", timing="none"),
        "all events all": seismo("all", source="monitoring", timing="none"),
        "seismo auto": seismo("auto"),
        "cProfile": Tool(profiler.enable, profiler.disable, "floor c", rounds=1),
        **trace0("floor py", rounds=1),
    }


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=2, only=programs.PROGRAMS).parse_args()
    if not MODERN:
        leave_out("sys.monitoring is of 3.12 and later")
    found, rounds = tools(), rounds_of(options)
    bodies = {name: programs.load(name) for name in options.only or programs.PROGRAMS}
    turn = partial(turned, warm=WARM, clock=time.thread_time)
    parts = {"micro": micro(options.quick), "programs": bodies}
    readings = {part: measure(cases, found, rounds, turn) for part, cases in parts.items()}
    method = (
        f"best of {WARM} runs in each of {rounds} interleaved rounds, one process, processor time; "
        "added time over bare, in brackets divided by the added time of the empty hook on all events"
    )
    conclude("starts", options, found, readings, method)


if __name__ == "__main__":
    main()
