"""The runner for whole processes, which measures user-visible times, with all tools in turn in every round.

A tool's `times` is its best wall time divided by the best bare one, and its `added` the difference. `to_...` is its
added time divided by that of another tool. Relative to the floor, 1 is the minimum cost of reporting every event.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import HERE, geomean, median, number, output_of, progress, rounds_of, spread, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

PYTHON = [sys.executable]
FLOOR = "floor line"
# Repeats of the body for a run of two to three seconds on the fastest interpreter.
REPEATS = {"deltablue": 80, "richards": 64, "chaos": 80, "go": 24, "raytrace": 78, "hexiom": 72}
FEW = ("deltablue", "chaos")


@dataclass
class Tool:
    """A command before the script, with OUT for the output file. A slow tool runs once, and two programs only."""

    command: list[str]
    slow: bool = False
    environment: dict[str, str] = field(default_factory=dict)  # added to the environment, with OUT in the values
    cwd: Path | None = None  # default: the folder of the output


def under(what: str, slow: bool = False) -> Tool:
    """Return a tool of peers.py."""
    out = "NONE" if what in ("line", "references") else "OUT"
    return Tool([*PYTHON, str(HERE / "peers.py"), what, out], slow)


Readings = dict[str, dict[str, list[float]]]  # program -> tool -> wall seconds


def run(tool: Tool, script: list[str], folder: Path) -> float:
    """Return the wall seconds of one process. Raise RuntimeError if it fails or writes no output."""
    out = str(folder / "out")
    # Allow bytecode to be cached, as for a user's second start.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {key: value.replace("OUT", out) for key, value in tool.environment.items()}
    words = [word.replace("OUT", out) for word in tool.command] + script
    start = time.perf_counter()
    output_of(words, cwd=tool.cwd or folder, env=environment)
    wall = time.perf_counter() - start
    written = [path for path in folder.iterdir() if path.is_file()]
    size = sum(path.stat().st_size for path in written)
    for path in written:
        path.unlink()
    if any("OUT" in word for word in (*tool.command, *tool.environment.values())) and not size:
        raise RuntimeError(f"{' '.join(words)}: no output")
    return wall


def script_of(program: str, repeats: int) -> list[str]:
    """Return the words that run a program as a script."""
    return [str(programs.script(program)), str(repeats)]


def measure(
    chosen: dict[str, int], found: dict[str, Tool], rounds: int, words: Callable[[str, int], list[str]] = script_of
) -> Readings:
    """Run the programs in each round; a tool that fails once is reported and then left out."""
    readings: Readings = {name: {tool: [] for tool in found} for name in chosen}
    failed: set[str] = set()
    with tempfile.TemporaryDirectory() as temporary:
        for turn in range(rounds):
            for at, (program, repeats) in enumerate(chosen.items()):
                script = words(program, repeats)
                for name, tool in found.items():
                    if name in failed or (tool.slow and (turn or at > 1)):
                        continue
                    progress(f"round {turn + 1} of {rounds}: {program} under {name}")
                    try:
                        readings[program][name].append(run(tool, script, Path(temporary)))
                    except RuntimeError as error:
                        failed.add(name)
                        print(f"{name} is left out: {error}", file=sys.stderr)
    return readings


def compare(readings: Readings, bases: dict[str, str]) -> dict[str, Any]:
    """Return {program: {tool: {"best" wall, "times", "added", and ratios to the bases}}}.

    `bases` has {key: the tool whose added time is the divisor}, such as {"to_floor": "floor line"}.
    """
    results: dict[str, Any] = {}
    for program, by_tool in readings.items():
        best = {name: min(taken) for name, taken in by_tool.items() if taken}
        more = {name: wall - best["bare"] for name, wall in best.items()}
        over = {key: more[base] for key, base in bases.items() if more.get(base, 0) > 0}
        results[program] = {
            name: {
                "best": best[name],
                "times": best[name] / best["bare"],
                "added": more[name],
                **{key: more[name] / over[key] if key in over else math.nan for key in bases},
            }
            for name in best
        }
    return results


def totals(results: dict[str, Any]) -> dict[str, Any]:
    """Return {tool: {"times", "times_worst", and the same for all bases}}: geometric means and worst cases."""
    summed: dict[str, Any] = {}
    for name in {name: None for row in results.values() for name in row if name != "bare"}:
        rows = [row[name] for row in results.values() if name in row]
        summed[name] = {}
        for key in ("times", *(key for key in rows[0] if key.startswith("to_"))):
            known = [row[key] for row in rows if row[key] > 0]
            summed[name] |= {key: geomean(known), f"{key}_worst": max(known, default=math.nan)}
    return summed


def render(results: dict[str, Any]) -> str:
    """Return the table: times relative to bare, their means, and the ratios to others."""
    summed = totals(results)
    names = list(summed)
    rows = [
        [program, number(row["bare"]["best"]), *(number(row[n]["times"]) if n in row else "–" for n in names)]
        for program, row in results.items()
    ]
    for key in next(iter(summed.values())):
        cells = [summed[name][key] for name in names]
        if not all(math.isnan(cell) for cell in cells):
            what, _, worst = key.removeprefix("to_").partition("_")
            label = "" if what == "times" else f"added ÷ that of {what}, "
            rows.append([label + (worst or "geomean"), "", *(number(cell) for cell in cells)])
    return table(["program", "bare s", *names], rows)


def startup(tools: dict[str, Tool], quick: bool) -> dict[str, Any]:
    """Run an empty script under each tool, in turn: milliseconds. A tool that fails is reported and left out."""
    with tempfile.NamedTemporaryFile(suffix=".py") as script:
        readings = measure({"start-up": 0}, tools, 17 if quick else 42, lambda *_: [script.name])["start-up"]
    # The first two fill the page cache and write the bytecode.
    walls = {name: 1000 * median(taken[2:]) for name, taken in readings.items() if len(taken) > 2}
    return {name: {"median": wall, "added_median": wall - walls["bare"]} for name, wall in walls.items()}


def results_of(
    options: argparse.Namespace,
    found: dict[str, Tool],
    bases: dict[str, str],
    repeats: dict[str, int],
    started: Iterable[str],
) -> tuple[dict[str, Any], list[str], str]:
    """Measure start-up, and programs with these repeats. Return results, tables and the method.

    `bases` is that of compare(); `started` has the tools that also run an empty script.
    """
    rounds = rounds_of(options)
    start = startup({name: found[name] for name in started}, options.quick)
    readings = measure(repeats, found, rounds)
    compared = compare(readings, bases)
    results = {"programs": compared, "totals": totals(compared), "startup": start}
    cells = [[name, *(number(value, 1) for value in of.values())] for name, of in start.items()]
    parts = [render(compared), table(["start-up, ms", "median", "median added"], cells)]
    worst = max(spread(row["bare"]) for row in readings.values())
    method = (
        f"best wall time of {rounds} interleaved rounds (slow tools: 1); bare readings spread up to "
        f"{worst * 100:.1f} %; start-ups in turn"
    )
    return results, parts, method


def chosen(options: argparse.Namespace) -> dict[str, int]:
    """Return {program: repeats} for the options."""
    return {name: REPEATS[name] for name in options.only or (FEW if options.quick else REPEATS)}
