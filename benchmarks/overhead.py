"""In-process overhead: what a recorder adds to a program, in units of what an empty C hook adds on the same events.

Three micro programs and the bodies of pyperformance programs run in one process, all tools in turn in every round:

  bare          no hook
  floor py      empty hook on the events of Python functions (sys.monitoring; on 3.11 PEP 523, see below)
  seismo none   seismo with --c-functions none
  floor c       empty hook on the events of Python and C functions (sys.monitoring; on 3.11 PyEval_SetProfile)
  seismo auto   seismo as it is by default
  seismo all    seismo with --c-functions all
  cProfile      cProfile.Profile

In each turn the tool is started, the body runs once untimed (the interpreter rewrites and specialises code after
every change of hooks) and once timed, and the tool is stopped. The untimed run's duration is kept too ("cold" in the
JSON).

ratio = (best with the tool - best bare) / (best with the floor - best bare). Where the floor adds less than 2 % or
less than twice the unrest of the bare readings (second best less best), the ratio would be one of two noises: it is
shown as a dash and is not in the mean.

On 3.11 seismo's source may be PEP 523 or PyEval_SetProfile; the floor is the empty hook of the source that it says it
took. The other one is in the JSON.
"""

from __future__ import annotations

import cProfile
import math
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import programs
from common import (
    Case,
    arguments,
    finish,
    geomean,
    load_core,
    load_floor,
    number,
    progress,
    rounds_of,
    summary,
    table,
    timed,
    unrest,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

MODERN = sys.version_info >= (3, 12)
SMALLEST = 0.02


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Point:
    def __init__(self) -> None:
        self.x = 0

    def move(self, by: int) -> int:
        self.x += by
        return self.x


def methods(count: int) -> None:
    point = Point()
    for i in range(count):
        point.move(i)


def count_up(count: int) -> Any:
    for i in range(count):  # noqa: UP028 - the resumes of this very generator are what is measured
        yield i


def generator(count: int) -> None:
    for _ in count_up(count):
        pass


def micro(quick: bool) -> dict[str, Case]:
    """The micro programs of 20 to 40 ms: a call storm, a method in a loop, a generator in a loop."""
    size = 1 if quick else 2
    return {
        "fib": lambda: fib(23 if quick else 25),
        "method call": lambda: methods(200_000 * size),
        "generator": lambda: generator(300_000 * size),
    }


@dataclass
class Tool:
    """A hook: how it starts and stops, and the tool whose added time it is divided by ("" for none).

    rounds: at most so many; cases: only these, where there are any.
    """

    start: Callable[[], object]
    stop: Callable[[], object]
    floor: str = ""
    rounds: int = 1_000_000
    cases: tuple[str, ...] = ()
    source: list[str] = field(default_factory=list)


def tools(core: Any) -> dict[str, Tool]:
    """All tools that this interpreter has, in the order of their turns."""
    floor = load_floor()

    def empty(hook: str) -> Tool:
        return Tool(lambda: floor.start(hook), floor.stop)

    def seismo(c_functions: str, base: str) -> Tool:
        tool = Tool(lambda: None, core.stop, base)

        def start() -> None:
            core.start(c_functions=c_functions)
            tool.source[:] = [str(core.status().get("source", ""))]

        tool.start = start
        return tool

    profiler = cProfile.Profile()
    found = {"bare": Tool(lambda: None, lambda: None)}
    found["floor py"] = empty("monitoring" if MODERN else "evalframe")
    if core:
        found["seismo none"] = seismo("none", "floor py")
    found["floor c"] = empty("monitoring-c" if MODERN else "profile")
    if core:
        found["seismo auto"] = seismo("auto", "floor c" if MODERN else "floor py")  # 3.11 leaves C functions out
        found["seismo all"] = seismo("all", "floor c")
    found["cProfile"] = Tool(profiler.enable, profiler.disable, "floor c", rounds=1)
    return found


def measure(
    cases: dict[str, Case],
    found: dict[str, Tool],
    rounds: int,
    warm: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """{case: {tool: {"warm": seconds of the timed runs, so many a round, "cold": of the run before them}}}."""
    readings: dict[str, dict[str, dict[str, list[float]]]] = {}
    for case in cases:
        readings[case] = {name: {"warm": [], "cold": []} for name in found}
    for turn in range(rounds):
        for case, body in cases.items():
            progress(f"round {turn + 1} of {rounds}: {case}")
            for name, tool in found.items():
                if turn >= tool.rounds or (tool.cases and case not in tool.cases):
                    continue
                tool.start()
                try:
                    readings[case][name]["cold"].append(timed(body, clock))
                    readings[case][name]["warm"].extend(timed(body, clock) for _ in range(warm))
                finally:
                    tool.stop()
    return readings


def base_of(tool: Tool) -> str:
    """The floor to divide by: on 3.11 the empty hook of the source that seismo took."""
    if not MODERN and tool.source and "frame" not in tool.source[0]:
        return "floor c"
    return tool.floor


def ratios(readings: dict[str, dict[str, dict[str, list[float]]]], found: dict[str, Tool], kind: str) -> dict[str, Any]:
    """{case: {tool: {"added": fraction of bare, "ratio": of the floor's added time or nan, readings' summary}}}."""
    results: dict[str, Any] = {}
    for case, by_tool in readings.items():
        bare = min(by_tool["bare"][kind])
        noise = unrest(by_tool["bare"][kind])
        row: dict[str, Any] = {}
        for name, tool in found.items():
            times = by_tool[name][kind]
            row[name] = {**summary(times), "added": min(times) / bare - 1, "ratio": math.nan}
            base = base_of(tool)
            if base:
                under = min(by_tool[base][kind]) - bare
                if under > max(SMALLEST, 2 * noise) * bare:
                    row[name]["ratio"] = (min(times) - bare) / under
                row[name]["floor"] = base
        results[case] = row
    return results


def render(results: dict[str, Any], found: dict[str, Tool]) -> str:
    """The table: bare milliseconds, added per cent of each tool, ratio to the floor in brackets."""
    names = [name for name in found if name != "bare"]
    rows = []
    for case, row in results.items():
        cells = [case, number(row["bare"]["best"] * 1000, 1)]
        for name in names:
            cell = (
                f"+{row[name]['added'] * 100:.0f}%" if row[name]["added"] >= 0 else f"{row[name]['added'] * 100:.0f}%"
            )
            if found[name].floor:
                cell += f" ({number(row[name]['ratio'])})"
            cells.append(cell)
        rows.append(cells)
    return table(["program", "bare ms", *names], rows)


def totals(results: dict[str, Any], found: dict[str, Tool]) -> dict[str, Any]:
    """{tool: {"geomean", "worst", "worst_case", "programs"}} over the programs whose ratio means something."""
    summed: dict[str, Any] = {}
    for name, tool in found.items():
        known = {case: row[name]["ratio"] for case, row in results.items() if not math.isnan(row[name]["ratio"])}
        if tool.floor and known:
            worst = max(known, key=lambda case: known[case])
            mean = geomean(list(known.values()))
            summed[name] = {"geomean": mean, "worst": known[worst], "worst_case": worst, "programs": len(known)}
    return summed


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=2)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these programs (micro ones always run)")
    parser.add_argument("--no-cprofile", action="store_true", help="leave cProfile out")
    options: argparse.Namespace = parser.parse_args()
    chosen = options.only or list(programs.PROGRAMS)
    found = tools(load_core())
    if options.no_cprofile:
        found.pop("cProfile")
    small = micro(options.quick)
    bodies = {name: programs.load(name) for name in chosen}
    micro_readings = measure(small, found, 2 * rounds_of(options) + 1)
    readings = measure(bodies, found, rounds_of(options))
    results: dict[str, Any] = {
        "micro": ratios(micro_readings, found, "warm"),
        "micro_cold": ratios(micro_readings, found, "cold"),
        "programs": ratios(readings, found, "warm"),
        "programs_cold": ratios(readings, found, "cold"),
        "sources": {name: tool.source for name, tool in found.items() if tool.source},
    }
    results["totals"] = {key: totals(results[key], found) for key in ("micro", "programs", "programs_cold")}
    lines = [render({**results["micro"], **results["programs"]}, found), ""]
    for key, label in (("micro", "micro programs"), ("programs", "programs"), ("programs_cold", "programs, first run")):
        for name, total in results["totals"][key].items():
            lines.append(
                f"- {label}, {name}: geomean {number(total['geomean'])}, worst {number(total['worst'])} "
                f"({total['worst_case']}), {total['programs']} programs"
            )
    method = (
        f"best of {rounds_of(options)} interleaved rounds (micro {2 * rounds_of(options) + 1}), one process; "
        "added time over bare, in brackets divided by the added time of the empty hook on the same events"
    )
    finish("overhead", options, method, results, "\n".join(lines))


if __name__ == "__main__":
    main()
