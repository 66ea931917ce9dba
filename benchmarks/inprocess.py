"""The runner for tools inside one process: all tools in turn in every round, each with the program warm.

In each turn the tool starts, and the body runs once as a warm-up, because the interpreter respecializes code after
every change of hooks. Then the body is timed, and the tool stops.

ratio = (best with the tool - best bare) / (best with the tool's floor - best bare). If the floor adds less than 2 %, or
less than twice the unrest of the bare readings (second best minus best), the ratio would be one of two noises. It is
then shown as a dash and excluded from the mean.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import Case, empty_hook, geomean, number, progress, table, timed, unrest

if TYPE_CHECKING:
    from collections.abc import Callable

MODERN = sys.version_info >= (3, 12)
SMALLEST = 0.02
Readings = dict[str, dict[str, dict[str, list[float]]]]  # case -> tool -> kind -> seconds


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Point:
    def __init__(self) -> None:
        self.x = 0

    def move(self, by: int) -> int:
        self.x += by
        return self.x


def methods(count: int) -> None:
    point = Point()
    for i in range(count):
        point.move(i)


def count_up(count: int) -> Any:
    for i in range(count):  # noqa: UP028 - the resumes of this generator are measured
        yield i


def generator(count: int) -> None:
    for _ in count_up(count):
        pass


def micro(quick: bool) -> dict[str, Case]:
    """Return the micro programs of 20 to 40 ms: a call storm, a method in a loop, a generator in a loop."""
    size = 1 if quick else 2
    return {
        "fib": lambda: fib(23 if quick else 25),
        "method call": lambda: methods(200_000 * size),
        "generator": lambda: generator(300_000 * size),
    }


# ---- tools ----


@dataclass
class Tool:
    """A hook: its start and stop, and the tool by whose added time its own is divided ("" for none)."""

    start: Callable[[], object]
    stop: Callable[[], object]
    floor: str = ""


# The empty hooks by their names in the tables: floor py has the events of Python functions, floor c also those of C.
HOOKS = {
    "floor py": "monitoring" if MODERN else "evalframe",
    "floor c": "monitoring-c" if MODERN else "profile",
    "floor starts": "starts",
    "floor profile": "profile",
    "floor references": "references",
    "floor line": "line",
}


def bare() -> Tool:
    return Tool(lambda: None, lambda: None)


def empty(name: str, base: str = "") -> Tool:
    """Return one of HOOKS."""
    return Tool(*empty_hook(HOOKS[name]), base)


def trace0(base: str) -> dict[str, Tool]:
    """Return trace0, which writes its trace to a file, or nothing if it is not installed."""
    if not importlib.util.find_spec("trace0"):
        return {}
    import trace0 as package  # type: ignore[import-not-found]

    folder = tempfile.TemporaryDirectory()  # deleted when the process exits
    numbers, held = itertools.count(), []

    def start() -> None:
        held.append(package.Tracer(str(Path(folder.name) / f"{next(numbers)}.trace0"), trace_subprocesses=False))
        held[-1].__enter__()

    def stop() -> None:
        held.pop().__exit__(None, None, None)
        for path in Path(folder.name).iterdir():
            path.unlink()

    return {"trace0": Tool(start, stop, base)}


# ---- readings ----


def turned(
    tool: Tool, case: Any, warm: int = 1, clock: Callable[[], float] = time.perf_counter, made: bool = False
) -> dict[str, list[float]]:
    """Take one turn: seconds of `warm` runs after a first one. `made` means that the case makes its body first."""
    tool.start()
    try:
        body: Case = case() if made else case
        timed(body, clock)
        return {"warm": [timed(body, clock) for _ in range(warm)]}
    finally:
        tool.stop()


def measure(cases: dict[str, Any], found: dict[str, Tool], rounds: int, turn: Callable[..., Any] = turned) -> Readings:
    """Take all tools in turn in every round."""
    readings: Readings = {case: {name: {} for name in found} for case in cases}
    for number_of in range(rounds):
        for case, body in cases.items():
            progress(f"round {number_of + 1} of {rounds}: {case}")
            for name, tool in found.items():
                for kind, taken in turn(tool, body).items():
                    readings[case][name].setdefault(kind, []).extend(taken)
    return readings


def ratio_of(
    taken: dict[str, dict[str, list[float]]], name: str, base: str, kind: str = "warm", steady: bool = False
) -> float:
    """Return the tool's added time divided by that of its base, or nan if that is too small.

    `steady` means that the readings are processor time, which excludes the machine's unrest.
    """
    least = min(taken["bare"][kind])
    under = min(taken[base][kind]) - least
    known = under > (SMALLEST if steady else max(SMALLEST, 2 * unrest(taken["bare"][kind]))) * least
    return (min(taken[name][kind]) - least) / under if known else math.nan


def ratios(readings: Readings, found: dict[str, Tool]) -> dict[str, Any]:
    """Return {case: {tool: {"best": s, "added": relative to bare, "ratio": to the floor's added time or nan}}}."""
    results: dict[str, Any] = {}
    for case, taken in readings.items():
        results[case] = row = {}
        for name, tool in found.items():
            best = min(taken[name]["warm"])
            ratio = ratio_of(taken, name, tool.floor) if tool.floor else math.nan
            row[name] = {"best": best, "added": best / min(taken["bare"]["warm"]) - 1, "ratio": ratio}
    return results


def worst_and_mean(known: dict[str, float]) -> dict[str, Any]:
    """Return {"geomean", "worst", "worst_case"} of numbers by case, or {} without numbers."""
    known = {case: value for case, value in known.items() if not math.isnan(value)}
    if not known:
        return {}
    worst = max(known, key=lambda case: known[case])
    return {"geomean": geomean(known.values()), "worst": known[worst], "worst_case": worst}


def render(results: dict[str, Any], found: dict[str, Tool]) -> str:
    """Return the table: bare milliseconds, each tool's added per cent, and in brackets the ratio to its floor."""
    names = [name for name in found if name != "bare"]
    rows = []
    for case, row in results.items():
        cells = [
            f"{row[name]['added'] * 100:+.0f}%" + (f" ({number(row[name]['ratio'])})" if found[name].floor else "")
            for name in names
        ]
        rows.append([case, number(row["bare"]["best"] * 1000, 1), *cells])
    return table(["program", "bare ms", *names], rows)
