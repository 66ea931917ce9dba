"""Truth: how far the time shares that a profiler shows are from those of the program as it runs without it.

The program (phases.py) has seven phases: tiny calls by the million, small and large loops, a generator, deep
recursion, methods, builtins. Every reading is a process of its own: the phases run bare with perf_counter around
each, then once under the tool, then bare again. The truth of a reading is the median share of its bare runs; the
tool's share of a phase is the total time that it gives the phase's function, over the sum of all phases. Tools take
turns.

error = share by the tool - share bare, in percentage points. Shown: the median over the rounds of each phase's error,
the worst phase of these medians (the tool's bias), the worst phase of any single run (what one user may meet, the
machine's unrest included), and the same for bare runs against each other: what the machine alone does.

The column "by the program's clock" is what the program's own perf_counter says while it is profiled by seismo (auto):
the distortion that the probes cause and that the calibration takes out again.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import phases
from common import HERE, arguments, finish, load_core, median, number, progress, rounds_of, table

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = [phase.__name__ for phase in phases.PHASES]
Shares = dict[str, float]


def shares(seconds: dict[str, float]) -> Shares:
    """Each phase's part of the whole, in per cent."""
    whole = sum(seconds[name] for name in NAMES)
    return {name: 100 * seconds[name] / whole for name in NAMES}


def under_cprofile(scale: int) -> tuple[Shares, Shares]:
    """(shares by cProfile, shares by the program's own clock under it)."""
    profiler = cProfile.Profile()
    own = profiler.runcall(phases.run, scale)
    totals = dict.fromkeys(NAMES, 0.0)
    for (_, _, name), (_, _, _, total, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        if name in totals:
            totals[name] = total
    return shares(totals), shares(own)


def under_seismo(scale: int, c_functions: str) -> tuple[Shares, Shares]:
    """(shares by seismo, shares by the program's own clock under it)."""
    from seismo import model

    core: Any = load_core()
    core.start(c_functions=c_functions)
    own = phases.run(scale)
    core.stop()
    totals = dict.fromkeys(NAMES, 0.0)
    for row in model.read(core.snapshot()).functions:
        if row.qualname in totals and row.kind == 0:
            totals[row.qualname] = float(row.total_ns)
    return shares(totals), shares(own)


TOOLS: dict[str, Callable[[int], tuple[Shares, Shares]]] = {
    "seismo none": lambda scale: under_seismo(scale, "none"),
    "seismo auto": lambda scale: under_seismo(scale, "auto"),
    "seismo all": lambda scale: under_seismo(scale, "all"),
    "cProfile": under_cprofile,
}


def child(tool: str, scale: int, target: str) -> None:
    """One reading: bare, the tool, bare; writes {"bare": [shares, ...], "tool": shares, "own": shares} as JSON."""
    phases.run(max(1, scale // 5))
    bare = [shares(phases.run(scale)) for _ in range(2)]
    seen, own = TOOLS[tool](scale)
    phases.run(max(1, scale // 5))
    bare.append(shares(phases.run(scale)))
    Path(target).write_text(json.dumps({"bare": bare, "tool": seen, "own": own}))


def reading(tool: str, scale: int) -> dict[str, Any]:
    """Start a process for one reading. RuntimeError with its words when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "reading.json")
        command = [sys.executable, str(HERE / "truth.py"), "--child", tool, "--scale", str(scale), "--target", target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{tool}: exit {done.returncode}\n{done.stderr}")
        result: dict[str, Any] = json.loads(Path(target).read_text())
        return result


def truth_of(taken: dict[str, Any]) -> Shares:
    """The median bare share of each phase, of one reading."""
    return {name: median([run[name] for run in taken["bare"]]) for name in NAMES}


def errors_of(readings: list[dict[str, Any]], key: str) -> dict[str, list[float]]:
    """{phase: error of each reading in points} of what `key` says against the reading's own bare runs."""
    return {name: [taken[key][name] - truth_of(taken)[name] for taken in readings] for name in NAMES}


def judge(errors: dict[str, list[float]]) -> dict[str, Any]:
    """Each phase's median error, the worst of them, and the worst of any single run, with the phase's name."""
    medians = {name: median(values) for name, values in errors.items()}
    worst = max(medians, key=lambda name: abs(medians[name]))
    single = max(errors, key=lambda name: max(map(abs, errors[name])))
    return {
        "phases": medians,
        "worst": abs(medians[worst]),
        "worst_phase": worst,
        "worst_single": max(map(abs, errors[single])),
        "worst_single_phase": single,
    }


def unrest(readings: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Bare against bare: the last bare run of each reading against its median."""
    return {name: [taken["bare"][-1][name] - truth_of(taken)[name] for taken in readings] for name in NAMES}


def render(judged: dict[str, Any], truth: Shares) -> str:
    """The table: each phase's bare share and every tool's median error in points."""
    rows = [
        [name, number(truth[name], 1), *(f"{entry['phases'][name]:+.1f}" for entry in judged.values())]
        for name in NAMES
    ]
    rows.append(["worst phase", "", *(number(entry["worst"], 1) for entry in judged.values())])
    rows.append(["worst single run", "", *(number(entry["worst_single"], 1) for entry in judged.values())])
    return table(["phase", "bare %", *judged], rows)


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=2)
    parser.add_argument("--scale", type=int, help="size of the phases (default 12: about 0.3 s; quick 8)")
    parser.add_argument("--child", choices=TOOLS, help=argparse.SUPPRESS)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    options = parser.parse_args()
    scale = options.scale or (8 if options.quick else 12)
    if options.child:
        child(options.child, scale, options.target)
        return
    chosen = [name for name in TOOLS if name == "cProfile" or load_core()]
    readings: dict[str, list[dict[str, Any]]] = {name: [] for name in chosen}
    for turn in range(rounds_of(options)):
        for name in list(readings):
            progress(f"round {turn + 1} of {rounds_of(options)}: {name}")
            try:
                readings[name].append(reading(name, scale))
            except RuntimeError as error:
                print(f"left out: {error}", file=sys.stderr)
                del readings[name]
    judged = {name: judge(errors_of(taken, "tool")) for name, taken in readings.items()}
    everything = [taken for several in readings.values() for taken in several]
    if "seismo auto" in readings:
        judged["by the program's clock"] = judge(errors_of(readings["seismo auto"], "own"))
    judged["bare again"] = judge(unrest(everything))
    truth = {name: median([truth_of(taken)[name] for taken in everything]) for name in NAMES}
    method = (
        f"{rounds_of(options)} interleaved readings a tool, a process each, phases of scale {scale}; "
        "errors in percentage points of the running time, median over the readings"
    )
    finish("truth", options, method, {"truth": truth, "tools": judged}, render(judged, truth))


if __name__ == "__main__":
    main()
