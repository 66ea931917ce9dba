"""The runner for whole processes, which measures user-visible times, with all tools in turn in every round.

A tool's `times` is its best wall time divided by the best bare one, and its `added` the difference. `to_...` is its
added time divided by that of another tool. Relative to the floor, 1 is the minimum cost of reporting every event.
Processor time and peak memory cover the process and the child processes that it waited for.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import HERE, geomean, median, number, progress, spread, summary, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

PYTHON = [sys.executable]
FLOOR = "floor line"
# Repeats of the body for a run of two to three seconds on the fastest interpreter.
REPEATS = {"deltablue": 80, "richards": 64, "chaos": 80, "go": 24, "raytrace": 78, "hexiom": 72}
FEW = ("deltablue", "chaos")


@dataclass
class Tool:
    """A command before the script, with OUT for the output file; `slow` tools run in the first round only."""

    command: list[str]
    slow: bool = False
    environment: dict[str, str] = field(default_factory=dict)  # added to the environment, with OUT in the values
    cwd: Path | None = None  # default: the folder of the output


def under(what: str, slow: bool = False) -> Tool:
    """Return a tool of peers.py."""
    out = "NONE" if what in ("line", "references") else "OUT"
    return Tool([*PYTHON, str(HERE / "peers.py"), what, out], slow)


@dataclass
class Reading:
    """The measurements of one process: wall and processor seconds, peak resident bytes, bytes of output."""

    wall: float
    cpu: float
    peak: int
    output: int


Readings = dict[str, dict[str, list[Reading]]]  # program -> tool -> readings


def run(tool: Tool, script: list[str], folder: Path) -> Reading:
    """Run one process to its end. Raise RuntimeError with its stderr if it fails or writes no output."""
    out = str(folder / "out")
    # Allow bytecode to be cached, as for a user's second start.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {key: value.replace("OUT", out) for key, value in tool.environment.items()}
    words = [word.replace("OUT", out) for word in tool.command] + script
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=errors, cwd=tool.cwd or folder, env=environment
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            said = errors.read().decode(errors="replace")
            raise RuntimeError(f"{' '.join(words)}: exit {process.returncode}\n{said}")
    written = [path for path in folder.iterdir() if path.is_file()]
    size = sum(path.stat().st_size for path in written)
    for path in written:
        path.unlink()
    if any("OUT" in word for word in (*tool.command, *tool.environment.values())) and not size:
        raise RuntimeError(f"{' '.join(words)}: no output")
    return Reading(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, size)


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
            for program, repeats in chosen.items():
                script = words(program, repeats)
                for name, tool in found.items():
                    if name in failed or (tool.slow and turn):
                        continue
                    progress(f"round {turn + 1} of {rounds}: {program} under {name}")
                    try:
                        readings[program][name].append(run(tool, script, Path(temporary)))
                    except RuntimeError as error:
                        failed.add(name)
                        print(f"{name} is left out: {error}", file=sys.stderr)
    return readings


def compare(readings: Readings, bases: dict[str, str]) -> dict[str, Any]:
    """Return {program: {tool: {walls' summary, times, added, cpu, peak, output, and ratios to the bases}}}.

    `bases` has {key: the tool whose added time is the divisor}, such as {"to_floor": "floor line"}.
    """
    results: dict[str, Any] = {}
    for program, by_tool in readings.items():
        best = {name: min(r.wall for r in taken) for name, taken in by_tool.items() if taken}
        more = {name: wall - best["bare"] for name, wall in best.items()}
        over = {key: more[base] for key, base in bases.items() if more.get(base, 0) > 0}
        results[program] = {
            name: {
                **summary([r.wall for r in by_tool[name]]),
                "times": best[name] / best["bare"],
                "added": more[name],
                **{key: more[name] / over[key] if key in over else math.nan for key in bases},
                "cpu": min(r.cpu for r in by_tool[name]),
                "peak": min(r.peak for r in by_tool[name]),
                "output": by_tool[name][-1].output,
            }
            for name in best
        }
    return results


def totals(results: dict[str, Any]) -> dict[str, Any]:
    """Return {tool: {"times", "times_worst", and the same for all bases}}: geometric means and worst cases."""
    summed: dict[str, Any] = {}
    for name in {name: None for row in results.values() for name in row if name != "bare"}:
        rows = [row[name] for row in results.values() if name in row]
        summed[name] = {"programs": len(rows)}
        for key in ("times", *(key for key in rows[0] if key.startswith("to_"))):
            known = [row[key] for row in rows if row[key] > 0]
            summed[name] |= {key: geomean(known), f"{key}_worst": max(known, default=math.nan)}
    return summed


def render(results: dict[str, Any]) -> str:
    """Return the table: times relative to bare, their means, the ratios to others, processor time and memory."""
    summed = totals(results)
    names = list(summed)
    rows = [
        [program, number(row["bare"]["best"]), *(number(row[n]["times"]) if n in row else "–" for n in names)]
        for program, row in results.items()
    ]
    for key in next(iter(summed.values())):
        cells = [summed[name][key] for name in names]
        if key != "programs" and not all(math.isnan(cell) for cell in cells):
            what, _, worst = key.removeprefix("to_").partition("_")
            label = "" if what == "times" else f"added ÷ that of {what}, "
            rows.append([label + (worst or "geomean"), "", *(number(cell) for cell in cells)])
    heaviest = max(results, key=lambda program: results[program]["bare"]["best"])
    row = results[heaviest]
    for key, label, unit in (("cpu", "processor s", 1.0), ("peak", "peak MB", 1e6), ("output", "output kB", 1e3)):
        cells = [number(row[name][key] / unit, 1) if name in row else "–" for name in names]
        rows.append([f"{label}, {heaviest}", number(row["bare"][key] / unit, 1), *cells])
    return table(["program", "bare s", *names], rows)


def unrest(readings: Readings) -> str:
    """Return the variation of bare readings, as a part of a sentence."""
    worst = max(spread([r.wall for r in row["bare"]]) for row in readings.values())
    return f"bare readings spread up to {worst * 100:.1f} %"


def startup(tools: dict[str, Tool], quick: bool) -> dict[str, Any]:
    """Run an empty script under each tool, in turn: milliseconds. A tool that fails is reported and left out."""
    walls: dict[str, list[float]] = {name: [] for name in tools}
    repeats = 15 if quick else 40
    with tempfile.TemporaryDirectory() as scripts, tempfile.TemporaryDirectory() as temporary:
        script = Path(scripts) / "empty.py"
        script.write_text("")
        for turn in range(repeats + 2):
            progress(f"start-up {turn + 1} of {repeats + 2}")
            for name in list(walls):
                try:
                    wall = run(tools[name], [str(script)], Path(temporary)).wall * 1000
                except RuntimeError as error:
                    print(f"{name} is left out of start-up: {error}", file=sys.stderr)
                    del walls[name]
                    continue
                if turn >= 2:  # the first ones fill the page cache and write the bytecode
                    walls[name].append(wall)
    bare = walls["bare"]
    return {
        name: {**summary(taken), "added_median": median(taken) - median(bare), "added_best": min(taken) - min(bare)}
        for name, taken in walls.items()
    }


def render_startup(start: dict[str, Any]) -> str:
    """Return the table of the empty script."""
    keys = ("best", "median", "added_best", "added_median")
    cells = [[name, *(number(value[key], 1) for key in keys)] for name, value in start.items()]
    return table(["start-up, ms", "best", "median", "best added", "median added"], cells)


def chosen(options: argparse.Namespace, part: float = 1.0) -> dict[str, int]:
    """Return {program: repeats} for the options; `part` scales the usual repeats."""
    names = options.only or (FEW if options.quick else REPEATS)
    return {name: max(1, round(REPEATS[name] * part)) for name in names}
