"""In-process overhead: the time that a recorder adds, relative to that of an empty C hook on the same events.

Three micro programs and the bodies of pyperformance programs, measured as described in inprocess.py:

  bare          no hook
  floor py      empty hook on the events of Python functions (sys.monitoring; on 3.11 PEP 523, see below)
  seismo none   seismo with --c-functions none
  floor c       empty hook on the events of Python and C functions (sys.monitoring; on 3.11 PyEval_SetProfile)
  seismo auto   seismo with default options
  seismo all    seismo with --c-functions all
  cProfile      cProfile.Profile

On 3.11 seismo's source may be PEP 523 or PyEval_SetProfile; the floor is the empty hook of the source that it reports.
"""

from __future__ import annotations

import cProfile
from typing import Any

import programs
from common import arguments, load_core, rounds_of
from inprocess import MODERN, Tool, bare, conclude, empty, measure, micro


def seismo(core: Any, c_functions: str, base: str) -> Tool:
    """Return seismo, which records the source that it uses."""
    source: list[str] = []

    def start() -> None:
        core.start(c_functions=c_functions)
        source[:] = [str(core.status().get("source", ""))]

    return Tool(start, core.stop, base, source=source)


def tools() -> dict[str, Tool]:
    """Return all tools that this interpreter supports, in the order of their turns."""
    core, profiler = load_core(), cProfile.Profile()
    return {
        "bare": bare(),
        "floor py": empty("floor py"),
        "seismo none": seismo(core, "none", "floor py"),
        "floor c": empty("floor c"),
        "seismo auto": seismo(core, "auto", "floor c" if MODERN else "floor py"),  # 3.11 omits C functions
        "seismo all": seismo(core, "all", "floor c"),
        "cProfile": Tool(profiler.enable, profiler.disable, "floor c", rounds=1),
    }


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=2, only=programs.PROGRAMS).parse_args()
    found, rounds = tools(), rounds_of(options)
    bodies = {name: programs.load(name) for name in options.only or programs.PROGRAMS}
    readings = {
        "micro": measure(micro(options.quick), found, 2 * rounds + 1),
        "programs": measure(bodies, found, rounds),
    }
    method = (
        f"best of {rounds} interleaved rounds (micro {2 * rounds + 1}), one process; "
        "added time over bare, in brackets divided by the added time of the empty hook on the same events"
    )
    conclude("overhead", options, found, readings, method)


if __name__ == "__main__":
    main()
