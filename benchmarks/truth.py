"""Truth: the deviation of the time shares that a profiler shows from those of the unprofiled program.

Every reading is a new process that runs one of the programs of phases.py, which the seed varies: twice bare with two
clocks around each phase, once under the tool, then bare again. The truth of a reading is the median share of its bare
runs. The tool's share of a phase is the total time of the phase's function, divided by the sum of all phases. Tools
take turns. Times are CPU times of the threads; the rows "by the wall" judge wall times in the same way. cProfile has
one kind of time, which is compared with both.

error = share by the tool - share bare, in percentage points. For each program: the median over the rounds of each
phase's error, and the worst phase of these medians (the tool's bias). Below: the worst of all programs; the
bound that 19 of 20 single runs keep, less the variation of the bare runs of the reading; the
share of stated errors that contain the bare time, allowing for this variation; and their widths. The column "bare
again" compares bare runs with each other, and "by the program's clock" has the program's own times while seismo (auto)
profiles it: the distortion by the probes, which the correction removes.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
from typing import TYPE_CHECKING, Any

import phases
from common import apart, arguments, finish, load_core, median, number, progress, rounds_of, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Seconds = dict[str, float]  # by phase
Clocked = dict[str, Seconds]  # "cpu" and "wall"
Reading = dict[str, Any]  # "bare": three of Clocked; "tool", "own" and optionally "error": Clocked
CLOCKS = ("cpu", "wall")
SEED = 5001  # of the first round; later rounds add to it. The estimate's constants were fitted with other seeds.


def shares(seconds: Seconds) -> Seconds:
    """Return each phase's share of the whole, in per cent."""
    whole = sum(seconds.values())
    return {name: 100 * took / whole for name, took in seconds.items()}


def under_cprofile(program: phases.Running) -> Reading:
    """Profile with cProfile, which covers only the main thread."""
    profiler = cProfile.Profile()
    own = profiler.runcall(program.run)
    totals = dict.fromkeys(own["cpu"], 0.0)
    for (_, _, name), (_, _, _, total, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        if name in totals:
            totals[name] = total
    return {"tool": dict.fromkeys(CLOCKS, totals), "own": own}


def under_seismo(program: phases.Running, c_functions: str) -> Reading:
    from seismo import model

    core = load_core()
    core.start(c_functions=c_functions)
    own = program.run()
    core.stop()
    recording = model.read(core.snapshot())
    totals: Clocked = {}
    errors: Clocked = {}
    for clock in CLOCKS:
        totals[clock], errors[clock] = dict.fromkeys(own[clock], 0.0), dict.fromkeys(own[clock], 0.0)
        for row in recording.timed(clock).functions:
            if row.qualname in own[clock] and row.kind == 0:
                totals[clock][row.qualname] = row.total_ns / 1e9
                errors[clock][row.qualname] = row.total_error_ns / 1e9
    return {"tool": totals, "own": own, "error": errors}


TOOLS: dict[str, Callable[[phases.Running], Reading]] = {
    "seismo none": lambda program: under_seismo(program, "none"),
    "seismo auto": lambda program: under_seismo(program, "auto"),
    "seismo all": lambda program: under_seismo(program, "all"),
    "cProfile": under_cprofile,
}


def reading(tool: str, program: str, seed: int, scale: float) -> Reading:
    """Take one reading: bare, bare, the tool, bare. It needs a new process."""
    running = phases.Running(program, seed, scale)
    bare = [running.run() for _ in range(2)]
    seen = TOOLS[tool](running)
    return {**seen, "bare": [*bare, running.run()]}


def truth_of(taken: Reading, clock: str) -> Seconds:
    """Return the median bare share of each phase in one reading."""
    bare = [shares(run[clock]) for run in taken["bare"]]
    return {name: median([run[name] for run in bare]) for name in bare[0]}


def errors_of(taken: Reading, key: str, clock: str) -> Seconds:
    """Return {phase: error in points} of `key` compared with the reading's bare runs; "bare" is the last of them."""
    truth, said = truth_of(taken, clock), shares((taken["bare"][-1] if key == "bare" else taken[key])[clock])
    return {name: said[name] - truth[name] for name in truth}


def unrest(taken: Reading, clock: str) -> Seconds:
    """Return {phase: largest deviation of a bare share from the truth}."""
    truth, bare = truth_of(taken, clock), [shares(run[clock]) for run in taken["bare"]]
    return {name: max(abs(run[name] - truth[name]) for run in bare) for name in truth}


def beyond(taken: Reading, key: str, clock: str) -> float:
    """Return the worst phase's error beyond the variation of the reading's bare runs."""
    machine, errors = unrest(taken, clock), errors_of(taken, key, clock)
    return max(0.0, *(abs(errors[name]) - machine[name] for name in errors))


def holds(taken: Reading, clock: str) -> list[bool]:
    """Return, for each phase, True if its stated error contains the median bare time, allowing for variation."""
    held = []
    for name, error in taken["error"][clock].items():
        bare = [run[clock][name] for run in taken["bare"]]
        unsure = max(abs(took - median(bare)) for took in bare)
        held.append(abs(taken["tool"][clock][name] - median(bare)) <= error + unsure)
    return held


def widths(taken: Reading, clock: str) -> list[float]:
    """Return each phase's stated error, in per cent of its time."""
    tool = taken["tool"][clock]
    return [100 * error / tool[name] for name, error in taken["error"][clock].items() if tool[name] > 0]


def judge(readings: dict[str, list[Reading]], key: str, clock: str) -> dict[str, Any]:
    """Return the results of a tool by one clock. `readings` is by program."""
    medians: dict[str, Seconds] = {}
    excess, held, wide = [], [], []
    for program, several in readings.items():
        errors = [errors_of(taken, key, clock) for taken in several]
        medians[program] = {name: median([one[name] for one in errors]) for name in errors[0]}
        excess += [beyond(taken, key, clock) for taken in several]
        for taken in several if key == "tool" else ():
            held += holds(taken, clock) if "error" in taken else []
            wide += widths(taken, clock) if "error" in taken else []
    of_all = [(abs(error), f"{program}: {name}") for program, one in medians.items() for name, error in one.items()]
    return {
        "phases": medians,
        "worst": max(of_all)[0],
        "worst_phase": max(of_all)[1],
        "nineteen": sorted(excess)[max(0, -(-19 * len(excess) // 20) - 1)],
        "held": 100 * sum(held) / len(held) if held else None,
        "stated": median(wide) if wide else None,
    }


def judged_by_both(readings: dict[str, list[Reading]], key: str) -> dict[str, Any]:
    """Return the results by CPU time and, under "wall", by wall time."""
    return {**judge(readings, key, "cpu"), "wall": judge(readings, key, "wall")}


SUMMARY = {
    "worst program": ("worst", 1),
    "19 of 20 runs, beyond bare": ("nineteen", 1),
    "stated errors that hold, %": ("held", 0),
    "stated error, median, %": ("stated", 0),
}


def render(judged: dict[str, dict[str, Any]]) -> str:
    """Return the table: each program's worst phase for each tool, in points, and the overall results."""
    rows = []
    for program in next(iter(judged.values()))["phases"]:
        phases_of = [entry["phases"].get(program, {}) for entry in judged.values()]
        worst = [max(of.items(), key=lambda one: abs(one[1]), default=None) for of in phases_of]
        rows.append([program, *(f"{one[1]:+.1f} {one[0][6:]}" if one else "–" for one in worst)])
    for text, (key, digits) in SUMMARY.items():
        rows.append([text, *(number(entry[key], digits) for entry in judged.values())])
    for text, (key, digits) in SUMMARY.items():
        rows.append([f"by the wall: {text}", *(number(entry["wall"][key], digits) for entry in judged.values())])
    return table(["program", *judged], rows)


def take(programs: Iterable[str], rounds: int, scale: float) -> dict[str, Any]:
    """Return {tool: {program: readings}}; failures are reported on stderr and left out."""
    readings: dict[str, dict[str, list[Reading]]] = {tool: {} for tool in TOOLS}
    for turn in range(rounds):
        for program in programs:
            for tool, found in readings.items():
                if program == "threads" and tool == "cProfile":
                    continue  # it has no times of other threads
                progress(f"round {turn + 1} of {rounds}: {program}: {tool}")
                try:
                    taken = apart(reading, tool, program, SEED + turn, scale)
                except RuntimeError as error:
                    print(f"left out: {error}", file=sys.stderr)
                else:
                    found.setdefault(program, []).append(taken)
    return {tool: found for tool, found in readings.items() if found}


def main() -> None:
    options = arguments(__doc__, rounds=5, quick_rounds=2, only=phases.PROGRAMS).parse_args()
    load_core()
    rounds, scale = rounds_of(options), 0.3 if options.quick else 0.5
    readings = take(options.only or phases.PROGRAMS, rounds, scale)
    judged = {tool: judged_by_both(found, "tool") for tool, found in readings.items()}
    judged["by the program's clock"] = judged_by_both(readings["seismo auto"], "own")
    together: dict[str, list[Reading]] = {}
    for found in readings.values():
        for program, several in found.items():
            together.setdefault(program, []).extend(several)
    judged["bare again"] = judged_by_both(together, "bare")
    method = (
        f"{rounds} interleaved readings of a tool and a program, a process and a seed each, of scale "
        f"{scale}; errors in percentage points of the running time"
    )
    finish("truth", options, method, {"tools": judged}, render(judged))


if __name__ == "__main__":
    main()
