"""Stated errors: their widths and how many of them hold, on a quiet machine and on a busy one.

- Width: the programs of the truth benchmark (phases.py), run once for about 0.3 s and for about 1 s, each in a new
  process. Among the functions that hold 90 % of the running time by own time: the worst stated error in per cent of the
  own time, the median one, and the worst random part. The rest is distortion, which all functions of a run share
  independently of its length.
- Held: for the phases of the same programs, how many stated errors contain the phase's bare time, allowing for the
  variation of bare runs (as in truth.py). The seeds differ from those that the estimate's constants were fitted with.
- Busy: 200,000 calls of three nested functions, recorded on the quiet machine (the median of three runs is the truth)
  and six times beside two processes that keep two processors busy. Among the own times of the functions that hold 90 %
  of the running time: how many are within the stated error of the quiet run's, and the widest stated error. The load
  also slows down the program's CPU time, which is not an error of the profiler. So the same functions run bare as well,
  alternating with the recorded runs.
- Blocks: recursion, methods, generators, flat calls and a mixture, for 0.1 to 1 ms in a warm process, 18 recordings of
  each. For a block's total time: the deviation of its mean from the bare time in the worst shape, how many stated
  errors contain the bare time, and the widest of these errors.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import phases
import truth
from common import apart, arguments, busy, finish, load_core, median, number, progress, rounds_of, table
from inprocess import fib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LENGTHS = (0.3, 1.0)  # seconds
MOST = 0.9  # of the running time
BUSY_RUNS, QUIET_RUNS, BUSY_BESIDE = 6, 3, 2
SEED = 5001

Times = dict[str, tuple[float, float, float]]  # function -> own time, its stated error, the random part, in ns
Widths = dict[str, dict[str, float]]

# How to combine a program's main functions, and then all programs.
PARTS: dict[str, Callable[[list[float]], float]] = {"worst": max, "median": median, "chance": max}


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


class Counter:
    """A class with the methods of a block."""

    def __init__(self) -> None:
        self.sum = 0

    def add(self, number: int) -> None:
        self.sum += self.twice(number)

    def twice(self, number: int) -> int:
        return number * 2


def methods(n: int) -> int:
    counter = Counter()
    for one in range(n):
        counter.add(one)
    return counter.sum


def numbers(n: int) -> Iterator[int]:
    yield from range(n)


def generators(n: int) -> int:
    return sum(numbers(n))


def plus(number: int) -> int:
    return number + 1


def flat(n: int) -> int:
    result = 0
    for _ in range(n):
        result = plus(result)
    return result


def mixed(n: int) -> int:
    return fib(n % 7 + 5) + methods(n) + generators(n) + len(sorted(plus(one) for one in range(n)))


# Functions with arguments for which they take about 0.1, 0.3 and 1 ms.
BLOCKS: dict[Callable[[int], int], tuple[int, int, int]] = {
    fib: (15, 17, 20),
    methods: (900, 2700, 9000),
    generators: (2500, 7500, 25000),
    flat: (2000, 6000, 20000),
    mixed: (300, 1000, 3300),
}
BLOCK_RUNS = 6


def block_readings() -> list[tuple[str, float, float, float]]:
    """Return (shape, bare time, recorded time, stated error) in ns for each recording of a block."""
    found = []
    for body, sizes in BLOCKS.items():
        for size in sizes:

            def bare(body: Callable[[int], int] = body, size: int = size) -> float:
                began = time.perf_counter_ns()
                body(size)
                return time.perf_counter_ns() - began

            for _ in range(BLOCK_RUNS):
                known = median([bare() for _ in range(15)])
                row = next(row for row in recorded(bare).timed("cpu").functions if row.qualname == body.__name__)
                found.append((body.__name__, known, row.total_ns, row.total_error_ns))
    return found


def blocks_against(readings: list[tuple[str, float, float, float]]) -> dict[str, float]:
    """Return the deviation of the means and the share of stated errors that hold, in per cent."""
    off: dict[str, list[float]] = {}
    for shape, known, shown, _ in readings:
        off.setdefault(shape, []).append(100 * (shown / known - 1))
    inside = [abs(shown - known) <= error for _, known, shown, error in readings]
    return {
        "off": max(abs(sum(of) / len(of)) for of in off.values()),
        "held": 100 * sum(inside) / len(inside),
        "stated": max(100 * error / shown for _, _, shown, error in readings),
    }


def main_functions(recording: Any) -> Times:
    """Return the functions that hold most of the running time by own time, largest first."""
    timed = recording.timed("cpu")
    rows = sorted(
        zip(timed.functions, timed._estimated["function_distortion_ns"], strict=True), key=lambda one: -one[0].own_ns
    )
    whole, held, found = sum(row.own_ns for row, _ in rows), 0.0, {}
    for row, common in rows:
        if held >= MOST * whole:
            break
        held += row.own_ns
        chance = math.sqrt(max(0.0, row.own_error_ns**2 - common**2))
        found[f"{row.module}:{row.qualname}:{row.line}"] = (row.own_ns, row.own_error_ns, chance)
    return found


def recorded(body: Callable[[], object]) -> Any:
    """Return the recording of one call, in the default mode."""
    from seismo import model

    core = load_core()
    core.start(c_functions="auto")
    body()
    core.stop()
    return model.read(core.snapshot())


def bare_nested() -> int:
    """Return the CPU time of the nested functions in ns. Like the functions below, it needs a new process."""
    began = time.thread_time_ns()
    nested()
    return time.thread_time_ns() - began


def recorded_nested() -> Times:
    return main_functions(recorded(nested))


def blocks() -> dict[str, float]:
    return blocks_against(block_readings())


def width(program: str, seed: int, scale: float) -> dict[str, float]:
    """Return the widths of the stated errors of a program's main functions, in per cent."""
    times = main_functions(recorded(phases.Running(program, seed, scale).run)).values()
    every = [100 * error / own for own, error, _ in times] or [0.0]
    chance = max((100 * chance / own for own, _, chance in times), default=0.0)
    return {"worst": max(every), "median": median(every), "chance": chance}


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


def held(programs: list[str], seeds: range, scale: float) -> dict[str, Any]:
    """Return the share of stated errors that hold in per cent, for each program and for all, and their widths."""
    by_program: dict[str, float] = {}
    every: list[bool] = []
    wide: list[float] = []
    for program in programs:
        held_here: list[bool] = []
        for seed in seeds:
            progress(f"held: {program}")
            taken = apart(truth.reading, "seismo auto", program, seed, scale)
            held_here += truth.holds(taken, "cpu")
            wide += truth.widths(taken, "cpu")
        by_program[program] = 100 * sum(held_here) / len(held_here)
        every += held_here
    return {"programs": by_program, "all": 100 * sum(every) / len(every), "stated": median(wide)}


def nested_times(count: int) -> tuple[list[Times], float]:
    """Return the times of this number of recordings, and the median CPU time of interleaved bare runs (ns)."""
    pairs = [(apart(recorded_nested), apart(bare_nested)) for _ in range(count)]
    return [one for one, _ in pairs], median([float(cpu) for _, cpu in pairs])


def beside_others() -> dict[str, float]:
    """Return the relation of own times beside busy processes to those of a quiet machine."""
    progress("busy")
    quiet, bare_quiet = nested_times(QUIET_RUNS)
    with busy(BUSY_BESIDE):
        runs, bare_busy = nested_times(BUSY_RUNS)
    names = set.intersection(*(set(one) for one in quiet))
    known = {name: median([one[name][0] for one in quiet]) for name in names}
    pairs = [(one[name], known[name]) for one in runs for name in names & set(one)]
    inside = [abs(own - of_quiet) <= error for (own, error, _), of_quiet in pairs]
    return {
        "held": 100 * sum(inside) / len(inside),
        "stated": max(100 * error / own for (own, error, _), _ in pairs),
        "off": max(100 * abs(own / of_quiet - 1) for (own, _, _), of_quiet in pairs),
        "bare": bare_busy / bare_quiet,
    }


def render(wide: dict[str, Widths], holds: dict[str, Any], beside: dict[str, float], short: dict[str, float]) -> str:
    """Return the tables: programs, then results beside busy processes, then blocks."""
    parts = {(length, part): of for length in wide["worst"] for part, of in ((p, wide[p][length]) for p in wide)}
    columns = [*(f"{length} s, {part}" for length, part in parts), "hold"]
    rows = [
        [program, *(number(of[program], 0) for of in parts.values()), number(holds["programs"][program], 0)]
        for program in holds["programs"]
    ]
    of_all = (PARTS[part](list(of.values())) for (_, part), of in parts.items())
    rows.append(["of all programs", *(number(one, 0) for one in of_all)])
    rows[-1].append(number(holds["all"], 0))
    rows.append(["stated error of a phase, median", *("–" for _ in parts), number(holds["stated"], 0)])
    shown = [table(["stated errors, %", *columns], rows)]
    words = {"held": "times within their stated error", "stated": "widest stated error", "off": "furthest off"}
    rows = [[f"beside two busy processes: {text}", number(beside[key], 0)] for key, text in words.items()]
    rows.append(["beside two busy processes: CPU time bare ÷ that of a quiet machine", number(beside["bare"], 2)])
    words["off"] = "mean off, worst shape"
    rows += [[f"blocks of 0.1 to 1 ms: {text}", number(short[key], 0)] for key, text in words.items()]
    return "\n\n".join([*shown, table(["%; or a ratio", ""], rows)])


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=1, only=phases.PROGRAMS).parse_args()
    load_core()
    programs = options.only or list(phases.PROGRAMS)
    seeds = range(SEED, SEED + rounds_of(options))
    wide = widths(programs, seeds)
    holds = held(programs, seeds, 0.3)
    progress("blocks")
    short = apart(blocks)
    beside = beside_others()
    results = {
        "widths": wide,
        **{part: {length: PARTS[part](list(of.values())) for length, of in wide[part].items()} for part in wide},
        "held": holds,
        "busy": beside,
        "blocks": short,
    }
    method = (
        f"{len(seeds)} seeds a program, a process each: the worst and the median stated error of the functions that "
        f"hold 90 % of the running time, in runs of 0.3 s and 1 s (the median of the seeds); phases "
        f"whose stated error holds the bare time"
    )
    finish("errors", options, method, results, render(wide, holds, beside, short))


if __name__ == "__main__":
    main()
