"""Whole processes with their output written: what a user waits for, and start-up on an empty script.

Every tool runs the same pyperformance program (programs.py NAME REPEATS, about half a second bare) as a process of
its own, all tools in turn in every round, output into a file. Wall time of the process is what counts; its processor
time and peak memory (of the process and the children that it waited for) and the size of the output are in the
table's lower part and the JSON. Tools that an interpreter lacks (trace0 needs 3.13) are left out and named.

  bare            python programs.py ...
  seismo none     python -m seismo profile -q --c-functions none -o FILE      Python functions only
  trace0          trace0 run -o FILE                                          Python functions only
  seismo auto     python -m seismo profile -q -o FILE                         Python and C functions
  seismo counts   python -m seismo profile -q --timing none -o FILE              the same, counts alone
  cProfile        python -m cProfile -o FILE                                  Python and C functions
  yappi, VizTracer, pyinstrument (1 ms sampling): short runs of two programs, once, beside bare and cProfile; VizTracer
                  with room for all its entries

Start-up: an empty script, bare against `seismo profile -q`, strictly in turn, median and minimum of many.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import HERE, arguments, finish, geomean, median, number, progress, rounds_of, spread, summary, table

if TYPE_CHECKING:
    from collections.abc import Callable

# Repeats of the body that make a run of about half a second on the slowest of the interpreters.
PROGRAMS = {"deltablue": 12, "richards": 9, "chaos": 9, "go": 4, "deepcopy": 9, "sqlglot": 7}
SHORT = {"deltablue": 2, "sqlglot": 2}
STARTED = ("bare", "seismo auto", "seismo none", "cProfile")  # with an empty script
PYTHON = [sys.executable]


@dataclass
class Tool:
    """The words before the script, with OUT for the output file; `slow` ones run in the first round only."""

    command: list[str]
    module: str = ""
    slow: bool = False
    environment: dict[str, str] = field(default_factory=dict)  # on top of ours, with OUT in the values
    cwd: Path | None = None  # by default the folder of the output

    def available(self) -> bool:
        return not self.module or find_spec(self.module) is not None


def tools() -> dict[str, Tool]:
    """All tools in the order of their turns, whether installed or not."""
    seismo = [*PYTHON, "-m", "seismo", "profile", "-q", "-o", "OUT"]
    return {
        "bare": Tool(PYTHON),
        "seismo none": Tool([*seismo, "--c-functions", "none"], "seismo"),
        "trace0": Tool([*PYTHON, "-m", "trace0", "run", "-o", "OUT"], "trace0"),
        "seismo auto": Tool(seismo, "seismo"),
        "seismo counts": Tool([*seismo, "--timing", "none"], "seismo"),
        "cProfile": Tool([*PYTHON, "-m", "cProfile", "-o", "OUT"]),
        "yappi": Tool([*PYTHON, "-m", "yappi", "-b", "-c", "wall", "-o", "OUT"], "yappi", slow=True),
        "VizTracer": Tool(
            [*PYTHON, "-m", "viztracer", "--quiet", "--tracer_entries", "3000000", "-o", "OUT.json", "--"],
            "viztracer",
            slow=True,
        ),
        "pyinstrument": Tool(
            [*PYTHON, "-m", "pyinstrument", "-r", "pyisession", "-o", "OUT"], "pyinstrument", slow=True
        ),
    }


@dataclass
class Reading:
    """One process: seconds on the wall and of processor time, peak resident bytes, bytes of output."""

    wall: float
    cpu: float
    peak: int
    output: int


def run(tool: Tool, script: list[str], folder: Path) -> Reading:
    """Run one process to its end. RuntimeError with its own words when it fails or writes no output."""
    out = folder / "out"
    # A user's second start finds compiled modules.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {key: value.replace("OUT", str(out)) for key, value in tool.environment.items()}
    words = [word.replace("OUT", str(out)) for word in tool.command] + script
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
            raise RuntimeError(
                f"{' '.join(words)}: exit {process.returncode}\n{errors.read().decode(errors='replace')}"
            )
    written = [path for path in folder.iterdir() if path.is_file()]
    size = sum(path.stat().st_size for path in written)
    for path in written:
        path.unlink()
    if any("OUT" in word for word in (*tool.command, *tool.environment.values())) and not size:
        raise RuntimeError(f"{' '.join(words)}: no output")
    return Reading(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, size)


def usual(program: str, repeats: int) -> list[str]:
    """The words that run a program."""
    return [str(HERE / "programs.py"), program, str(repeats)]


def measure(
    chosen: dict[str, int], found: dict[str, Tool], rounds: int, script_of: Callable[[str, int], list[str]] = usual
) -> dict[str, dict[str, list[Reading]]]:
    """{program: {tool: readings}}; a tool that fails once is left out of the rest, and said so.

    script_of: the words after a tool's own that run a program so many times.
    """
    readings: dict[str, dict[str, list[Reading]]] = {name: {tool: [] for tool in found} for name in chosen}
    failed: set[str] = set()
    with tempfile.TemporaryDirectory() as temporary:
        for turn in range(rounds):
            for program, repeats in chosen.items():
                script = script_of(program, repeats)
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


def compare(readings: dict[str, dict[str, list[Reading]]]) -> dict[str, Any]:
    """{program: {tool: walls' summary, times, added, to_cprofile, to_trace0 (nan unknown), cpu, peak, output}}."""
    results: dict[str, Any] = {}
    for program, by_tool in readings.items():
        best = {name: min(r.wall for r in taken) for name, taken in by_tool.items() if taken}
        row: dict[str, Any] = {}
        for name, taken in by_tool.items():
            if not taken:
                continue
            added = best[name] - best["bare"]
            row[name] = {
                **summary([r.wall for r in taken]),
                "times": best[name] / best["bare"],
                "added": added,
                "to_cprofile": added / (best["cProfile"] - best["bare"]) if "cProfile" in best else math.nan,
                "to_trace0": added / (best["trace0"] - best["bare"]) if "trace0" in best else math.nan,
                "cpu": min(r.cpu for r in taken),
                "peak": min(r.peak for r in taken),
                "output": taken[-1].output,
            }
        results[program] = row
    return results


def totals(results: dict[str, Any], found: dict[str, Tool]) -> dict[str, Any]:
    """Geometric means and worst cases over the programs that a tool ran."""
    summed: dict[str, Any] = {}
    for name in found:
        rows = {program: row[name] for program, row in results.items() if name in row}
        if not rows or name == "bare":
            continue
        entry: dict[str, Any] = {"times": geomean(row["times"] for row in rows.values()), "programs": len(rows)}
        for key in ("to_cprofile", "to_trace0"):
            known = {program: row[key] for program, row in rows.items() if row[key] > 0}
            entry[key] = geomean(known.values())
            entry[f"{key}_worst"] = max(known.values(), default=math.nan)
        summed[name] = entry
    return summed


def startup(tools: dict[str, Tool], repeats: int) -> dict[str, Any]:
    """An empty script under each tool, in turn: milliseconds. A tool that fails is left out, and said so."""
    walls: dict[str, list[float]] = {name: [] for name in tools}
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


def render(results: dict[str, Any], summed: dict[str, Any], found: dict[str, Tool]) -> str:
    """The table of one group of tools: times bare, the ratios of added times, processor and memory."""
    names = [name for name in found if name != "bare"]
    rows = []
    for program, row in results.items():
        cells = [number(row[name]["times"]) if name in row else "–" for name in names]
        rows.append([program, number(row["bare"]["best"]), *cells])
    rows.append(["geomean", "", *(number(summed[name]["times"]) if name in summed else "–" for name in names)])
    for key, label in (("to_cprofile", "added ÷ cProfile's"), ("to_trace0", "added ÷ trace0's")):
        if all(math.isnan(entry[key]) for entry in summed.values()):
            continue
        for suffix, kind in (("", "geomean"), ("_worst", "worst")):
            cells = [number(summed[name][key + suffix]) if name in summed else "–" for name in names]
            rows.append([f"{label}, {kind}", "", *cells])
    heaviest = max(results, key=lambda program: results[program]["bare"]["best"])
    for key, label, unit in (("cpu", "processor s", 1.0), ("peak", "peak MB", 1e6), ("output", "output MB", 1e6)):
        row = results[heaviest]
        cells = [number(row[name][key] / unit) if name in row else "–" for name in names]
        rows.append([f"{label}, {heaviest}", number(row["bare"][key] / unit), *cells])
    return table(["program", "bare s", *names], rows)


def render_startup(start: dict[str, Any]) -> str:
    """The table of the empty script."""
    keys = ("best", "median", "added_best", "added_median")
    cells = [[name, *(number(value[key], 1) for key in keys)] for name, value in start.items()]
    return table(["start-up, ms", "best", "median", "best added", "median added"], cells)


def main() -> None:
    parser = arguments(__doc__, rounds=2, quick_rounds=1)
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, help="only these programs")
    parser.add_argument("--starts", type=int, help="start-ups of an empty script (default 40, quick 15)")
    parser.add_argument("--no-slow", action="store_true", help="leave yappi, VizTracer and pyinstrument out")
    options = parser.parse_args()
    programs.sources()
    everything = tools()
    there = {name: tool for name, tool in everything.items() if tool.available()}
    missing = [name for name in everything if name not in there]
    chosen = {name: repeats for name, repeats in PROGRAMS.items() if not options.only or name in options.only}
    if options.quick and not options.only:
        chosen = {name: chosen[name] for name in ("deltablue", "chaos", "sqlglot")}
    rounds, starts = rounds_of(options), options.starts or (15 if options.quick else 40)
    start = startup({name: there[name] for name in STARTED if name in there}, starts)
    fast = {name: tool for name, tool in there.items() if not tool.slow}
    readings = measure(chosen, fast, rounds)
    results: dict[str, Any] = {"programs": compare(readings), "startup": start, "missing": missing}
    results["totals"] = totals(results["programs"], fast)
    parts = [render(results["programs"], results["totals"], fast), render_startup(start)]
    if not options.no_slow:
        slow = {name: tool for name, tool in there.items() if tool.slow or name in ("bare", "cProfile")}
        results["slow"] = compare(measure(SHORT, slow, 1))
        results["slow_totals"] = totals(results["slow"], slow)
        parts.insert(1, render(results["slow"], results["slow_totals"], slow))
    unrest = max(spread([r.wall for r in row["bare"]]) for row in readings.values())
    method = (
        f"best wall time of {rounds} interleaved rounds (slow tools: 1, short programs); bare readings spread up to "
        f"{unrest * 100:.1f} %; {starts} start-ups in turn"
        + (f"; not installed: {', '.join(missing)}" if missing else "")
    )
    finish("whole process", options, method, results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
