"""What the whole-process benchmarks of coverage and of lines share: programs of some seconds, ratios, tables.

A tool's `times` is its best wall time over the best bare one: what a user waits. Its `added` is what it takes longer
than bare, and `to_floor` that over what an empty LINE callback takes longer: 1 is the least that telling of every line
can cost. Tools that need not be told of every line can be below.
"""

from __future__ import annotations

import math
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import programs
from common import HERE, geomean, load_floor, number, progress, summary, table, timed
from whole_process import Reading, Tool

# Repeats of the body that make a run of two to three seconds on the fastest of the interpreters.
REPEATS = {"deltablue": 80, "richards": 64, "chaos": 80, "go": 24, "raytrace": 78, "hexiom": 72}
FEW = ("deltablue", "chaos")
FLOOR = "floor line"


def floor() -> Tool:
    """An empty LINE callback around the whole program."""
    return Tool([sys.executable, str(HERE / "floor_run.py"), "line"])


def installed(name: str) -> bool:
    """Whether the distribution is there. Its modules are not asked for: a file here may have their name."""
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def chosen(only: list[str] | None, quick: bool, scale: float) -> dict[str, int]:
    """{program: repeats}. scale: a part of the usual repeats, for a look whether it works."""
    names = only or (FEW if quick else REPEATS)
    return {name: max(1, round(REPEATS[name] * scale)) for name in names}


def script_of(program: str, repeats: int) -> list[str]:
    """The words that run a program as a script of its own."""
    return [str(programs.script(program)), str(repeats)]


def compare(readings: dict[str, dict[str, list[Reading]]], floor: str = FLOOR) -> dict[str, Any]:
    """{program: {tool: {best, median, spread, n, times, added, to_floor (nan: unknown), cpu, peak, output}}}.

    floor: the tool whose added time the others' are divided by.
    """
    results: dict[str, Any] = {}
    for program, by_tool in readings.items():
        best = {name: min(r.wall for r in taken) for name, taken in by_tool.items() if taken}
        bare = best["bare"]
        least = best.get(floor, math.nan) - bare
        results[program] = {
            name: {
                **summary([r.wall for r in taken]),
                "times": best[name] / bare,
                "added": best[name] - bare,
                "to_floor": (best[name] - bare) / least if least > 0 else math.nan,
                "cpu": min(r.cpu for r in taken),
                "peak": min(r.peak for r in taken),
                "output": taken[-1].output,
            }
            for name, taken in by_tool.items()
            if taken
        }
    return results


def totals(results: dict[str, Any]) -> dict[str, Any]:
    """{tool: {times, times_worst, to_floor, to_floor_worst}}: geometric means and worst cases over the programs."""
    names = {name: None for row in results.values() for name in row if name != "bare"}
    summed: dict[str, Any] = {}
    for name in names:
        rows = [row[name] for row in results.values() if name in row]
        summed[name] = {}
        for key in ("times", "to_floor"):
            known = [row[key] for row in rows if row[key] > 0]
            summed[name] |= {key: geomean(known), f"{key}_worst": max(known, default=math.nan)}
    return summed


def against(results: dict[str, Any], name: str, peers: list[str]) -> dict[str, float]:
    """How a tool stands beside others, over the programs; empty when none of them was measured.

    times: its wall time over that of the best peer; worst: the largest of these; added: added over added, of that peer.
    """
    ratios, added = [], []
    for row in results.values():
        there = [row[peer] for peer in peers if peer in row]
        if name in row and there:
            best = min(there, key=lambda peer: peer["best"])
            ratios.append(row[name]["best"] / best["best"])
            added.append(max(row[name]["added"], 0.0) / best["added"] if best["added"] > 0 else math.nan)
    if not ratios:
        return {}
    known = [value for value in added if value > 0]
    return {"times": geomean(ratios), "worst": max(ratios), "added": geomean(known)}


def render(results: dict[str, Any], summed: dict[str, Any]) -> str:
    """The table: times bare of each tool, their means, the ratios to the floor, processor and memory."""
    names = list(summed)
    rows = [
        [program, number(row["bare"]["best"]), *(number(row[n]["times"]) if n in row else "–" for n in names)]
        for program, row in results.items()
    ]
    rows.append(["geomean", "", *(number(summed[name]["times"]) for name in names)])
    rows.append(["worst", "", *(number(summed[name]["times_worst"]) for name in names)])
    rows.append(["added ÷ the floor's", "", *(number(summed[name]["to_floor"]) for name in names)])
    heaviest = max(results, key=lambda program: results[program]["bare"]["best"])
    for key, label, unit in (("peak", "peak MB", 1e6), ("output", "output kB", 1e3)):
        row = results[heaviest]
        cells = [number(row[name][key] / unit, 1) if name in row else "–" for name in names]
        rows.append([f"{label}, {heaviest}", number(row["bare"][key] / unit, 1), *cells])
    return table(["program", "bare s", *names], rows)


def floor_in_process(names: list[str], rounds: int) -> dict[str, float]:
    """{program: times bare} of the empty LINE callback inside one process, start-up and loading left out."""
    hook = load_floor()
    found = {}
    for name in names:
        body = programs.load(name)
        bare, hooked = [], []
        for turn in range(rounds):
            progress(f"in process, round {turn + 1} of {rounds}: {name}")
            body()
            bare.append(timed(body))
            hook.start("line")
            try:
                body()
                hooked.append(timed(body))
            finally:
                hook.stop()
        found[name] = min(hooked) / min(bare)
    return found


def targets(rows: list[tuple[str, str, float]]) -> str:
    """What is promised beside what was measured."""
    return table(["", "target", "measured"], [[text, target, number(value)] for text, target, value in rows])


def told_in_process(found: dict[str, float]) -> str:
    """What floor_in_process found, as a sentence."""
    each = ", ".join(f"{name} {number(value)} × bare" for name, value in found.items())
    return f"The empty LINE callback inside one process: {each}."
