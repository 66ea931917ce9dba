"""Errors: how wide the stated errors are, and how many of them hold, on a quiet machine and on a busy one.

- Width: the programs of the truth benchmark (phases.py), run once for about 0.3 s and for about 1 s, a process each.
  Of the functions that hold 90 % of the running time by their own times, the worst stated error, in per cent of its
  own time; the median one; and the worst of what is chance in these errors. The rest is distortion: what all
  functions of a run have in common, however long it is.
- Held: of the same programs' phases, how many of the stated errors hold the time that the phase runs bare, but for
  what bare runs differ by (as truth.py has it). With seeds of its own: none of those that the constants of the
  estimate were found with.
- Busy: 200,000 calls of three nested functions, recorded on the quiet machine (the median of three runs is the truth)
  and six times beside two processes that keep two processors busy. Of the own times of the functions that hold 90 % of
  the running time: how many lie within the stated error of the quiet run's, and the widest stated error. A CPU time
  holds what the load made of the processor; so the same functions run bare, too, by turns with those that are recorded:
  by how much the load makes them slower by their thread's CPU clock is no error of a profiler.
- Blocks: recursion, methods, generators, flat calls and a mixture, for 0.1 to 1 ms in a warm process, 18 recordings of
  each. Of a block's whole time: how far its mean is off the time that the block runs bare, in the worst shape; how many
  of the stated errors hold it; and the widest of these.
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

Times = dict[str, tuple[float, float, float]]  # {function: own time, its stated error, what of it is chance}, ns
Widths = dict[str, dict[str, float]]

# Which of a program's main functions; and which of all programs is shown.
PARTS: dict[str, Callable[[list[float]], float]] = {"worst": max, "median": median, "chance": max}


def nested() -> int:
    """200,000 calls of three nested functions."""

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
    """What the methods of a block belong to."""

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


# Functions, and with what they are called to take about 0.1, 0.3 and 1 ms.
BLOCKS: dict[Callable[[int], int], tuple[int, int, int]] = {
    fib: (15, 17, 20),
    methods: (900, 2700, 9000),
    generators: (2500, 7500, 25000),
    flat: (2000, 6000, 20000),
    mixed: (300, 1000, 3300),
}
BLOCK_RUNS = 6


def block_readings() -> list[tuple[str, float, float, float]]:
    """(shape, how long it runs bare, as recorded, the stated error) of each recording of a block, in ns."""
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
    """How far off they are, and how many stated errors hold, in per cent."""
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
    """Those that hold most of the running time by their own times, the largest first."""
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
    """Return the CPU time of the nested functions, in ns. It wants a process of its own, as those that follow."""
    began = time.thread_time_ns()
    nested()
    return time.thread_time_ns() - began


def recorded_nested() -> Times:
    return main_functions(recorded(nested))


def blocks() -> dict[str, float]:
    return blocks_against(block_readings())


def width(program: str, seed: int, scale: float) -> dict[str, float]:
    """Return how wide the stated errors of a program's main functions are, in per cent."""
    times = main_functions(recorded(phases.Running(program, seed, scale).run)).values()
    every = [100 * error / own for own, error, _ in times] or [0.0]
    chance = max((100 * chance / own for own, _, chance in times), default=0.0)
    return {"worst": max(every), "median": median(every), "chance": chance}


def scale_for(program: str, seconds: float) -> float:
    """The scale by which a program runs for about so long."""
    count = len(phases.PROGRAMS[program](phases.Chance(phases.random.Random(0))))
    return seconds / (phases.SECONDS * count)


def widths(programs: list[str], seeds: range) -> dict[str, Widths]:
    """{part: {length: {program: that of its main functions in per cent, the median of the seeds}}}, of all PARTS."""
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
    """How many stated errors hold, in per cent: of each program, and of all; and how wide they are."""
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
    """Return so many recordings' times, and the median CPU time of as many bare runs between them (ns)."""
    pairs = [(apart(recorded_nested), apart(bare_nested)) for _ in range(count)]
    return [one for one, _ in pairs], median([float(cpu) for _, cpu in pairs])


def beside_others() -> dict[str, float]:
    """Return how own times beside busy processes stand against those of a quiet machine."""
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
    """The tables: programs, then what was found beside busy processes, then blocks."""
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
