"""Truth: the deviation of the time shares that a profiler shows from those of the unprofiled program.

Every reading is a new process that runs one of the programs of phases.py, which the seed varies: twice bare with a
clock around each phase, once under the tool, then bare again. The truth of a reading is the median share of its bare
runs. The tool's share of a phase is the total time of the phase's function, divided by the sum of all phases. Tools
take turns. Times are CPU times of the threads; cProfile has wall times only.

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
Reading = dict[str, Any]  # "bare": three of Seconds; "tool", "own" and optionally "error": Seconds
SEED = 5001  # of the first round; later rounds add to it. The estimate's constants were fitted with other seeds.


def shares(seconds: Seconds) -> Seconds:
    """Return each phase's share of the whole, in per cent."""
    whole = sum(seconds.values())
    return {name: 100 * took / whole for name, took in seconds.items()}


def under_cprofile(program: phases.Running) -> Reading:
    """Profile with cProfile, which covers only the main thread."""
    profiler = cProfile.Profile()
    own = profiler.runcall(program.run)
    totals = dict.fromkeys(own, 0.0)
    for (_, _, name), (_, _, _, total, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        if name in totals:
            totals[name] = total
    return {"tool": totals, "own": own}


def under_seismo(program: phases.Running, c_functions: str) -> Reading:
    from seismo import model

    core = load_core()
    core.start(c_functions=c_functions)
    own = program.run()
    core.stop()
    totals, errors = dict.fromkeys(own, 0.0), dict.fromkeys(own, 0.0)
    for row in model.read(core.snapshot()).timed("cpu").functions:
        if row.qualname in own and row.kind == 0:
            totals[row.qualname] = row.total_ns / 1e9
            errors[row.qualname] = row.total_error_ns / 1e9
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


def errors_of(taken: Reading, key: str) -> tuple[Seconds, float]:
    """Return the errors of `key` in points by phase, and the largest beyond the variation of the reading's bare runs.

    The key "bare" is the last of the bare runs.
    """
    bare, said = [shares(run) for run in taken["bare"]], shares(taken["bare"][-1] if key == "bare" else taken[key])
    truth = {name: median([run[name] for run in bare]) for name in said}
    errors = {name: said[name] - truth[name] for name in said}
    return errors, max(0.0, *(abs(errors[name]) - max(abs(run[name] - truth[name]) for run in bare) for name in said))


def holds(taken: Reading) -> list[bool]:
    """Return, for each phase, True if its stated error contains the median bare time, allowing for variation."""
    held = []
    for name, error in taken["error"].items():
        bare = [run[name] for run in taken["bare"]]
        unsure = max(abs(took - median(bare)) for took in bare)
        held.append(abs(taken["tool"][name] - median(bare)) <= error + unsure)
    return held


def judge(readings: dict[str, list[Reading]], key: str) -> dict[str, Any]:
    """Return the results of a tool. `readings` is by program."""
    medians: dict[str, Seconds] = {}
    excess, held, wide = [], [], []
    for program, several in readings.items():
        found = [errors_of(taken, key) for taken in several]
        medians[program] = {name: median([errors[name] for errors, _ in found]) for name in found[0][0]}
        excess += [beyond for _, beyond in found]
        for taken in several:
            if key == "tool" and "error" in taken:
                held += holds(taken)
                wide += [100 * taken["error"][name] / took for name, took in taken["tool"].items() if took > 0]
    return {
        "phases": medians,
        "worst": max(abs(error) for errors in medians.values() for error in errors.values()),
        "nineteen": sorted(excess)[max(0, -(-19 * len(excess) // 20) - 1)],
        "held": 100 * sum(held) / len(held) if held else None,
        "stated": median(wide) if wide else None,
    }


def render(judged: dict[str, dict[str, Any]]) -> str:
    """Return the table: each program's worst phase for each tool, in points, and the overall results."""
    rows = []
    for program in next(iter(judged.values()))["phases"]:
        phases_of = [entry["phases"].get(program, {}) for entry in judged.values()]
        worst = [max(of.items(), key=lambda one: abs(one[1]), default=None) for of in phases_of]
        rows.append([program, *(f"{one[1]:+.1f} {one[0][6:]}" if one else "–" for one in worst)])
    for text, key, digits in (
        ("worst program", "worst", 1),
        ("19 of 20 runs, beyond bare", "nineteen", 1),
        ("stated errors that hold, %", "held", 0),
        ("stated error, median, %", "stated", 0),
    ):
        rows.append([text, *(number(entry[key], digits) for entry in judged.values())])
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
    judged = {tool: judge(found, "tool") for tool, found in readings.items()}
    judged["by the program's clock"] = judge(readings["seismo auto"], "own")
    together: dict[str, list[Reading]] = {}
    for found in readings.values():
        for program, several in found.items():
            together.setdefault(program, []).extend(several)
    judged["bare again"] = judge(together, "bare")
    method = (
        f"{rounds} interleaved readings of a tool and a program, a process and a seed each, of scale "
        f"{scale}; errors in percentage points of the running time"
    )
    finish("truth", options, method, {"tools": judged}, render(judged))


if __name__ == "__main__":
    main()
