"""Cost of `seismo lines`: whole processes with their data written, beside the empty LINE callback and line_profiler.

The empty LINE callback is the cost of reporting every line, a lower bound for `seismo lines`.

  bare, floor line       the empty LINE callback around the whole program
  seismo lines           python -m seismo lines -q -o FILE
  seismo lines --only    the same, for the program's own script only
  line_profiler          all functions and methods of the script registered; short runs, once
"""

from __future__ import annotations

import programs
from common import arguments, finish, installed, load_core, rounds_of
from inprocess import bare, empty
from inprocess import measure as measure_inside
from processes import (
    FLOOR,
    PYTHON,
    REPEATS,
    Tool,
    chosen,
    compare,
    measure,
    render,
    render_startup,
    startup,
    totals,
    under,
    unrest,
)

BASES = {"to_floor": FLOOR}
PART = 0.15  # of the usual repeats, for tools that take twenty times as long


def tools() -> dict[str, Tool]:
    """Return the tools that run whole programs, in the order of their turns."""
    seismo = [*PYTHON, "-m", "seismo", "lines", "-q", "-o", "OUT"]
    return {
        "bare": Tool(PYTHON),
        FLOOR: under("line"),
        "seismo lines": Tool(seismo),
        "seismo lines --only": Tool([*seismo, "--only", "__main__"]),
    }


def floor_inside(names: list[str], rounds: int) -> str:
    """Return the cost of the empty LINE callback inside one process, without start-up and loading, as a sentence."""
    found = {"bare": bare(), FLOOR: empty(FLOOR)}
    readings = measure_inside({name: programs.load(name) for name in names}, found, rounds)
    times = {name: min(taken[FLOOR]["warm"]) / min(taken["bare"]["warm"]) for name, taken in readings.items()}
    each = ", ".join(f"{name} {value:.2f} × bare" for name, value in times.items())
    return f"The empty LINE callback inside one process: {each}."


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=1, only=REPEATS).parse_args()
    load_core()
    there, rounds, names = tools(), rounds_of(options), chosen(options)
    start = startup({name: there[name] for name in ("bare", "seismo lines")}, options.quick)
    readings = measure(names, there, rounds)
    compared = compare(readings, BASES)
    there.pop("seismo lines --only")
    if installed("line_profiler"):
        there["line_profiler"] = under("line_profiler")
    short = compare(measure(chosen(options, PART), there, 1), BASES)
    results = {"programs": compared, "totals": totals(compared), "startup": start}
    results |= {"slow": short, "slow_totals": totals(short)}
    parts = [render(compared), "Short runs:", render(short), floor_inside(list(names), rounds), render_startup(start)]
    method = f"best wall time of {rounds} interleaved rounds (short runs: 1); {unrest(readings)}; start-ups in turn"
    finish("lines", options, method, results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
