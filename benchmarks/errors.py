"""Stated errors: their widths, and how many of them hold beside busy processes and in short blocks (truth.py: in runs).

- Width: the programs of the truth benchmark (phases.py), run once for about 0.3 s and for about 1 s, each in a new
  process. Among the functions that hold 90 % of the running time by own time: the worst stated error in per cent of the
  own time, and the median one.
- Busy: 200,000 calls of three nested functions, recorded on the quiet machine (the median of three runs is the truth)
  and six times beside two processes that keep two processors busy. Among the own times of the functions that hold 90 %
  of the running time: how many are within the stated error of the quiet run's, and the widest stated error. The load
  also slows down the program's CPU time, which is not an error of the profiler.
- Blocks: recursion, methods, generators and flat calls, for 0.1 to 1 ms in a warm process, 18 recordings of each. For a
  block's total time: the deviation of its mean from the bare time in the worst shape, how many stated errors contain
  the bare time, and the widest of these errors.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import phases
from common import apart, arguments, busy, finish, load_core, median, number, progress, rounds_of, table
from inprocess import fib, generator, methods

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTHS = (0.3, 1.0)  # seconds
MOST = 0.9  # of the running time
BUSY_RUNS, QUIET_RUNS, BUSY_BESIDE = 6, 3, 2
SEED = 5001

Times = dict[str, tuple[float, float]]  # function -> own time and its stated error, in ns
Widths = dict[str, dict[str, float]]

# How to combine a program's main functions, and then all programs.
PARTS: dict[str, Callable[[list[float]], float]] = {"worst": max, "median": median}


def nested() -> int:
    """Make 200,000 calls of three nested functions."""

    def a(i: int) -> int:
        return i * 2

    def b(i: int) -> int:
        return a(i) + 1

    class C:
        def m(self, i: int) -> int:
            return b(i)

    c, s = C(), 0
    for i in range(200_000):
        s += c.m(i)
    return s


def plus(number: int) -> int:
    return number + 1


def flat(n: int) -> None:
    result = 0
    for _ in range(n):
        result = plus(result)


# Functions with arguments for which they take about 0.1, 0.3 and 1 ms.
BLOCKS: dict[Callable[[int], object], tuple[int, int, int]] = {
    fib: (15, 17, 20),
    methods: (2000, 6000, 20000),
    generator: (2500, 7500, 25000),
    flat: (2000, 6000, 20000),
}
BLOCK_RUNS = 6


def blocks() -> dict[str, float]:
    """Return the deviation of means and the share of stated errors that hold, in per cent. It needs a new process."""
    off: dict[str, list[float]] = {}
    inside, wide = [], []
    for body, sizes in BLOCKS.items():
        for size in sizes:

            def bare(body: Callable[[int], object] = body, size: int = size) -> float:
                began = time.perf_counter_ns()
                body(size)
                return time.perf_counter_ns() - began

            for _ in range(BLOCK_RUNS):
                known = median([bare() for _ in range(15)])
                row = next(row for row in recorded(bare).timed("cpu").functions if row.qualname == body.__name__)
                off.setdefault(body.__name__, []).append(100 * (row.total_ns / known - 1))
                inside.append(abs(row.total_ns - known) <= row.total_error_ns)
                wide.append(100 * row.total_error_ns / row.total_ns)
    return {
        "off": max(abs(sum(of) / len(of)) for of in off.values()),
        "held": 100 * sum(inside) / len(inside),
        "stated": max(wide),
    }


def main_functions(recording: Any) -> Times:
    """Return the functions that hold most of the running time by own time, largest first."""
    rows = sorted(recording.timed("cpu").functions, key=lambda row: -row.own_ns)
    whole, held, found = sum(row.own_ns for row in rows), 0.0, {}
    for row in rows:
        if held >= MOST * whole:
            break
        held += row.own_ns
        found[f"{row.module}:{row.qualname}:{row.line}"] = (row.own_ns, row.own_error_ns)
    return found


def recorded(body: Callable[[], object]) -> Any:
    """Return the recording of one call, in the default mode."""
    from seismo import model

    core = load_core()
    core.start(c_functions="auto")
    body()
    core.stop()
    return model.read(core.snapshot())


def recorded_nested() -> Times:
    return main_functions(recorded(nested))


def width(program: str, seed: int, scale: float) -> dict[str, float]:
    """Return the widths of the stated errors of a program's main functions, in per cent."""
    times = main_functions(recorded(phases.Running(program, seed, scale).run)).values()
    every = [100 * error / own for own, error in times] or [0.0]
    return {part: combine(every) for part, combine in PARTS.items()}


def scale_for(program: str, seconds: float) -> float:
    """Return the scale at which a program runs for about this time."""
    count = len(phases.PROGRAMS[program](phases.Chance(phases.random.Random(0))))
    return seconds / (phases.SECONDS * count)


def widths(programs: list[str], seeds: range) -> dict[str, Widths]:
    """Return {part: {length: {program: width of its main functions' errors in per cent}}}, the medians over seeds."""
    found: dict[str, Widths] = {part: {} for part in PARTS}
    for seconds in LENGTHS:
        for program in programs:
            progress(f"width: {seconds:g} s of {program}")
            scale = scale_for(program, seconds)
            taken = [apart(width, program, seed, scale) for seed in seeds]
            for part, of in found.items():
                of.setdefault(f"{seconds:g}", {})[program] = median([float(one[part]) for one in taken])
    return found


def beside_others() -> dict[str, float]:
    """Return how many own times beside busy processes are within their error of a quiet machine's, and the errors."""
    progress("busy")
    quiet: list[Times] = [apart(recorded_nested) for _ in range(QUIET_RUNS)]
    with busy(BUSY_BESIDE):
        runs: list[Times] = [apart(recorded_nested) for _ in range(BUSY_RUNS)]
    names = set.intersection(*(set(one) for one in quiet))
    known = {name: median([one[name][0] for one in quiet]) for name in names}
    pairs = [(one[name], known[name]) for one in runs for name in names & set(one)]
    inside = [abs(own - of_quiet) <= error for (own, error), of_quiet in pairs]
    return {
        "held": 100 * sum(inside) / len(inside),
        "stated": max(100 * error / own for (own, error), _ in pairs),
    }


def render(wide: dict[str, Widths], beside: dict[str, float], short: dict[str, float]) -> str:
    """Return the tables: programs, then results beside busy processes, then blocks."""
    parts = {(length, part): wide[part][length] for length in wide["worst"] for part in wide}
    names = list(next(iter(parts.values())))
    rows = [[program, *(number(of[program], 0) for of in parts.values())] for program in names]
    rows.append(["of all programs", *(number(PARTS[part](list(of.values())), 0) for (_, part), of in parts.items())])
    shown = table(["stated errors, %", *(f"{length} s, {part}" for length, part in parts)], rows)
    words = {"held": "times within their stated error", "stated": "widest stated error"}
    rows = [[f"beside two busy processes: {text}", number(beside[key], 0)] for key, text in words.items()]
    words["off"] = "mean off, worst shape"
    rows += [[f"blocks of 0.1 to 1 ms: {text}", number(short[key], 0)] for key, text in words.items()]
    return f"{shown}\n\n{table(['%', ''], rows)}"


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=1, only=phases.PROGRAMS).parse_args()
    load_core()
    seeds = range(SEED, SEED + rounds_of(options))
    wide = widths(options.only or list(phases.PROGRAMS), seeds)
    progress("blocks")
    short = apart(blocks)
    beside = beside_others()
    results = {part: {length: PARTS[part](list(of.values())) for length, of in wide[part].items()} for part in wide}
    results |= {"busy": beside, "blocks": short}
    method = (
        f"{len(seeds)} seeds a program, a process each: the worst and the median stated error of the functions that "
        "hold 90 % of the running time, in runs of 0.3 s and 1 s (the median of the seeds)"
    )
    finish("errors", options, method, results, render(wide, beside, short))


if __name__ == "__main__":
    main()
