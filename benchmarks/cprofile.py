"""seismo.cprofile beside cProfile: what each adds to a program, with the same sums to show for it.

Small programs (Python calls, methods, generators, C functions, a mix) and, where pyperformance is installed, bodies of
its programs, run in one process; all tools in turn in every round:

  bare          no hook
  floor c       empty hook on the same events (sys.monitoring; on 3.11 PyEval_SetProfile)
  cProfile      cProfile.Profile()
  seismo        seismo.cprofile.Profile()
  cProfile py   cProfile.Profile(builtins=False)
  seismo py     seismo.cprofile.Profile(builtins=False)

In each turn the profiler is switched on, the body runs once untimed and once timed, and the profiler is switched off
and cleared. "÷ cProfile" is seismo's added time over cProfile's, "÷ floor" that over the empty hook's.
"""

from __future__ import annotations

import ast
import cProfile
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import (
    Case,
    arguments,
    finish,
    geomean,
    load_floor,
    number,
    progress,
    rounds_of,
    summary,
    table,
    timed,
    unrest,
)
from overhead import MODERN, SMALLEST, Tool, micro

from seismo.cprofile import Profile

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(ast.__file__).read_text()[:8000].rpartition("\ndef ")[0]
PAIRS = {"seismo": "cProfile", "seismo py": "cProfile py"}


def c_functions(count: int) -> None:
    items: list[int] = []
    for i in range(count):
        items.append(i)
        len(items)


def mix(count: int) -> None:
    for _ in range(count):
        ast.unparse(ast.parse(SOURCE))  # many functions, many callers


def small(quick: bool) -> dict[str, Case]:
    size = 1 if quick else 2
    return {**micro(quick), "C functions": lambda: c_functions(200_000 * size), "unparse": lambda: mix(20 * size)}


def bodies(names: list[str]) -> dict[str, Case]:
    """Those of pyperformance; none where it is not installed."""
    try:
        return {name: programs.load(name) for name in names}
    except (ImportError, FileNotFoundError, RuntimeError, SystemExit) as missing:
        progress(f"small programs only: {missing}\n")
        return {}


def tools() -> dict[str, Tool]:
    floor = load_floor()

    def profiler(kind: Callable[..., Any], builtins: bool) -> Tool:
        profile = kind(builtins=builtins)

        def stop() -> None:
            profile.disable()
            profile.clear()

        return Tool(lambda: profile.enable(builtins=builtins), stop)

    return {
        "bare": Tool(lambda: None, lambda: None),
        "floor c": Tool(lambda: floor.start("monitoring-c" if MODERN else "profile"), floor.stop),
        "cProfile": profiler(cProfile.Profile, True),
        "seismo": profiler(Profile, True),
        "cProfile py": profiler(cProfile.Profile, False),
        "seismo py": profiler(Profile, False),
    }


def measure(cases: dict[str, Case], found: dict[str, Tool], rounds: int) -> dict[str, dict[str, list[float]]]:
    """{case: {tool: seconds of the timed run of each round}}."""
    readings: dict[str, dict[str, list[float]]] = {case: {name: [] for name in found} for case in cases}
    for turn in range(rounds):
        for case, body in cases.items():
            progress(f"round {turn + 1} of {rounds}: {case}")
            for name, tool in found.items():
                tool.start()
                try:
                    body()
                    readings[case][name].append(timed(body))
                finally:
                    tool.stop()
    return readings


def compare(readings: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    """{case: {tool: readings' summary, "added" as a fraction of bare, "to_cprofile", "to_floor" or nan}}."""
    results: dict[str, Any] = {}
    for case, by_tool in readings.items():
        bare, noise = min(by_tool["bare"]), unrest(by_tool["bare"])
        added = {name: min(times) - bare for name, times in by_tool.items()}
        row = {name: {**summary(times), "added": added[name] / bare} for name, times in by_tool.items()}
        for name, other in PAIRS.items():
            for key, base in (("to_cprofile", other), ("to_floor", "floor c")):
                known = added[base] > max(SMALLEST, 2 * noise) * bare
                row[name][key] = added[name] / added[base] if known else math.nan
        results[case] = row
    return results


def totals(results: dict[str, Any]) -> dict[str, Any]:
    summed: dict[str, Any] = {}
    for name in PAIRS:
        known = {case: row[name]["to_cprofile"] for case, row in results.items() if row[name]["to_cprofile"] > 0}
        if known:
            worst = max(known, key=lambda case: known[case])
            summed[name] = {"geomean": geomean(known.values()), "worst": known[worst], "worst_case": worst}
    return summed


def render(results: dict[str, Any]) -> str:
    rows = []
    for case, row in results.items():
        cells = [case, number(row["bare"]["best"] * 1000, 1)]
        cells += [f"{row[name]['added'] * 100:+.0f}%" for name in ("floor c", "cProfile", "seismo")]
        cells += [number(row["seismo"]["to_cprofile"]), number(row["seismo"]["to_floor"])]
        cells += [f"{row[name]['added'] * 100:+.0f}%" for name in ("cProfile py", "seismo py")]
        rows.append([*cells, number(row["seismo py"]["to_cprofile"])])
    head = ["program", "bare ms", "floor c", "cProfile", "seismo", "÷ cProfile", "÷ floor", "cProfile py", "seismo py"]
    return table([*head, "÷ cProfile"], rows)


def main() -> None:
    parser = arguments(__doc__, rounds=5, quick_rounds=2)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these programs (small ones always run)")
    options = parser.parse_args()
    found = tools()
    cases = small(options.quick)
    if options.only or not options.quick:
        cases |= bodies(options.only or list(programs.PROGRAMS))
    results: dict[str, Any] = {"programs": compare(measure(cases, found, rounds_of(options)))}
    results["totals"] = totals(results["programs"])
    lines = [render(results["programs"]), ""]
    for name, total in results["totals"].items():
        lines.append(
            f"- {name} ÷ {PAIRS[name]}: geomean {number(total['geomean'])}, worst {number(total['worst'])} "
            f"({total['worst_case']})"
        )
    method = f"best of {rounds_of(options)} interleaved rounds, one process; added time over bare"
    finish("cprofile", options, method, results, "\n".join(lines))


if __name__ == "__main__":
    main()
