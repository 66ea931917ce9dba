"""What `seismo lines` costs: whole processes with their data written, beside the empty LINE callback and line_profiler.

Programs, tools and rounds as in coverage.py. The empty LINE callback is what telling of every line costs;
`seismo lines` cannot be below it.

  bare, floor line       the empty LINE callback around the whole program
  seismo lines           python -m seismo lines -q -o FILE
  seismo lines --only    the same, of the program's own script only
  line_profiler          all functions and methods of the script registered; short runs, once
"""

from __future__ import annotations

import math
import sys
from typing import Any

import programs
import ratios
from common import HERE, arguments, finish, load_core, median, number, rounds_of, spread
from ratios import FLOOR
from whole_process import Tool, measure, render_startup, startup

PYTHON = [sys.executable]
PART = 0.15  # of the usual repeats, for what takes twenty times as long


def tools() -> dict[str, Tool]:
    """Those that run whole programs, in the order of their turns."""
    seismo = [*PYTHON, "-m", "seismo", "lines", "-q", "-o", "OUT"]
    return {
        "bare": Tool(PYTHON),
        FLOOR: ratios.floor(),
        "seismo lines": Tool(seismo),
        "seismo lines --only": Tool([*seismo, "--only", "__main__"]),
    }


def slow_tools() -> dict[str, Tool]:
    """Those that run short ones."""
    found = tools()
    found = {name: found[name] for name in ("bare", FLOOR, "seismo lines")}
    if ratios.installed("line_profiler"):
        found["line_profiler"] = Tool([*PYTHON, str(HERE / "line_profiler_run.py"), "OUT"])
    return found


def promises(results: dict[str, Any]) -> list[tuple[str, str, float]]:
    """What is promised, and what it came to."""
    summed, slow, start = results["totals"], results["slow_totals"], results["startup"]
    return [
        ("lines: added ÷ the floor's", "≤ 1.6", summed.get("seismo lines", {}).get("to_floor", math.nan)),
        ("lines: added ÷ the floor's, worst", "", summed.get("seismo lines", {}).get("to_floor_worst", math.nan)),
        ("lines, × bare", "", summed.get("seismo lines", {}).get("times", math.nan)),
        ("lines --only, × bare", "", summed.get("seismo lines --only", {}).get("times", math.nan)),
        ("line_profiler, × bare", "", slow.get("line_profiler", {}).get("times", math.nan)),
        ("start-up more than bare, ms", "≤ 25", start.get("seismo lines", {}).get("added_median", math.nan)),
    ]


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=1)
    parser.add_argument("--only", nargs="+", choices=ratios.REPEATS, help="only these programs")
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the programs' usual repeats")
    parser.add_argument("--starts", type=int, help="start-ups of an empty script (default 40, quick 15)")
    options = parser.parse_args()
    if load_core() is None:
        raise SystemExit("seismo cannot be imported")
    programs.sources()
    there, rounds, starts = tools(), rounds_of(options), options.starts or (15 if options.quick else 40)
    chosen = ratios.chosen(options.only, options.quick, options.scale)
    start = startup({name: there[name] for name in ("bare", "seismo lines")}, starts)
    readings = measure(chosen, there, rounds, ratios.script_of)
    compared = ratios.compare(readings)
    short = ratios.chosen(options.only, options.quick, options.scale * PART)
    slow = ratios.compare(measure(short, slow_tools(), 1, ratios.script_of))
    results: dict[str, Any] = {"programs": compared, "totals": ratios.totals(compared), "startup": start}
    results |= {"slow": slow, "slow_totals": ratios.totals(slow)}
    results["floor_in_process"] = ratios.floor_in_process(list(chosen), rounds)
    rows = promises(results)
    results["promises"] = {text: value for text, _, value in rows}
    parts = [ratios.targets(rows), ratios.render(compared, results["totals"])]
    parts += ["Short runs:", ratios.render(slow, results["slow_totals"])]
    parts.append(ratios.told_in_process(results["floor_in_process"]))
    parts.append(render_startup(start))
    unrest = max(spread([r.wall for r in row["bare"]]) for row in readings.values())
    method = (
        f"best wall time of {rounds} interleaved rounds, programs of "
        f"{number(median([row['bare']['best'] for row in compared.values()]), 1)} s bare (short runs: "
        f"{number(median([row['bare']['best'] for row in slow.values()]), 1)} s, 1 round); bare readings spread up to "
        f"{unrest * 100:.1f} %; {starts} start-ups in turn"
    )
    finish("lines", options, method, results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
