"""A timeline of all calls: the time that it adds to that of the call tree alone, its size and its precision.

Micro programs and the bodies of pyperformance programs, all tools in turn in every round, each recording to a file if
the tool has one:

  bare, floor     no hook; empty hook on the events of Python functions (sys.monitoring; on 3.11 PEP 523)
  profile, trace  seismo profile and trace, Python functions; trace every: with --timing every
  ... auto        the same with default options
  trace0          trace0.Tracer to a file, if it is installed; Python functions

A turn is: start, one untimed run of the body, REPEATS timed runs, stop. Times are processor time of the thread that
runs the body. The CPU time of all threads, including the journal's writer, covers the whole turn with the end of the
stop, which writes the rest. Programs that mostly resume generators and coroutines are separate in the totals.

bytes per call: of the file's chunks of the kind JRNL, divided by the calls and resumes of the tree. bound: the error
bounds of start times, median and 99th percentile, of the calls in running code (with a bound below a millisecond).
"""

from __future__ import annotations

import gc
import math
import struct
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import arguments, finish, geomean, load_core, number, rounds_of, table
from inprocess import Tool, bare, empty, measure, micro, ratio_of, trace0, worst_and_mean

if TYPE_CHECKING:
    from common import Case

GENERATORS = ("generator", "generators", "coroutines")
REPEATS = 3
WINDOW = 100_000  # calls whose bounds are examined


class Traced(Tool):
    """A recording to a file."""

    def __init__(self, path: Path, core: Any, base: str, c_functions: str, **settings: Any) -> None:
        self.path, self.journal = path, "journal" in settings
        held: list[Any] = []

        def start() -> None:
            held.append(path.open("wb+"))
            core.start(fd=held[-1].fileno(), c_functions=c_functions, **settings)

        def stop() -> None:
            core.stop()
            held.pop().close()

        super().__init__(start, stop, base)


def tools(path: Path) -> dict[str, Tool]:
    """Return all tools that this interpreter supports, in the order of their turns."""
    core = load_core()
    return {
        "bare": bare(),
        "floor": empty("floor py"),
        "profile": Traced(path, core, "floor", "none"),
        "trace": Traced(path, core, "profile", "none", journal=True),
        "trace every": Traced(path, core, "floor", "none", journal=True, timing="every"),
        "profile auto": Traced(path, core, "floor", "auto"),
        "trace auto": Traced(path, core, "profile auto", "auto", journal=True),
        **trace0("floor"),
    }


def turn(tool: Tool, body: Case) -> dict[str, list[float]]:
    """Take one turn: seconds of the runs, and CPU seconds per run with its part of the stop."""
    gc.collect()
    gc.disable()
    tool.start()
    warm, cpu = [], time.process_time()
    body()
    for _ in range(REPEATS):
        begun = time.thread_time()
        body()
        warm.append(time.thread_time() - begun)
    tool.stop()
    cpu = time.process_time() - cpu
    gc.enable()
    found = {"warm": warm, "cpu": [cpu / (1 + REPEATS)]}
    return found | (journal_of(str(tool.path)) if isinstance(tool, Traced) and tool.journal else {})


def journal_of(path: str) -> dict[str, list[float]]:
    """Return bytes per call of the recording, and the bounds of its times in µs."""
    import seismo as package

    data, at, size = Path(path).read_bytes(), 16, 0
    while at + 12 <= len(data):
        length, kind = struct.unpack_from("<I4s", data, at)
        size += length + 12 if kind == b"JRNL" else 0
        at += 12 + length
    recording = package.open(path)
    events = sum(recording.tree["calls"]) + sum(recording.tree["resumes"])
    window = recording.calls.window(limit=WINDOW)
    bounds = sorted(bound / 1000 for bound in window.calls["start_bound_ns"] if 0 <= bound < 1_000_000) or [math.nan]
    median, most = bounds[len(bounds) // 2], bounds[len(bounds) * 99 // 100]
    return {"bytes_a_call": [size / max(events, 1)], "bound_median_us": [median], "bound_most_us": [most]}


def totals(readings: Any, found: dict[str, Tool]) -> dict[str, dict[str, Any]]:
    """Return the totals of each tool: means, generator programs, the ratio to trace0, and the contents of its files."""
    summed: dict[str, dict[str, Any]] = {}
    for name, tool in found.items():
        if not tool.floor:
            continue
        every = {case: ratio_of(taken, name, tool.floor, steady=True) for case, taken in readings.items()}
        kept = {case: value for case, value in every.items() if value > 0}
        total = worst_and_mean({case: value for case, value in kept.items() if case not in GENERATORS})
        summed[name] = total
        total["generators"] = max((kept[case] for case in GENERATORS if case in kept), default=math.nan)
        total["cpu"] = geomean(ratio_of(taken, name, tool.floor, "cpu", steady=True) for taken in readings.values())
        if "trace0" in found and name != "trace0":
            beside = [ratio_of(taken, name, "trace0", steady=True) for taken in readings.values()]
            total["to_trace0"] = max((value for value in beside if not math.isnan(value)), default=math.nan)
        files = [taken[name] for taken in readings.values() if "bytes_a_call" in taken[name]]
        if files:
            total["bytes_a_call"] = geomean(one["bytes_a_call"][-1] for one in files)
            for key in ("bound_median_us", "bound_most_us"):
                total[key] = max((one[key][-1] for one in files if one[key][-1] >= 0), default=math.nan)
    return summed


def render(readings: Any, found: dict[str, Tool]) -> str:
    """Return the tables of added times and of the contents of files."""
    shown = {name: tool.floor for name, tool in found.items() if tool.floor}
    journals = [name for name, tool in found.items() if isinstance(tool, Traced) and tool.journal]
    rows, kept = [], []
    for case, taken in readings.items():
        by_both = [
            [number(ratio_of(taken, name, base, kind)) for kind in ("warm", "cpu")] for name, base in shown.items()
        ]
        rows.append([case, number(min(taken["bare"]["warm"]) * 1000, 1), *(f"{time} ({cpu})" for time, cpu in by_both)])
        kept.append([case])
        for name in journals:
            of = {key: number(values[-1]) for key, values in taken[name].items()}
            kept[-1] += [of["bytes_a_call"], f"{of['bound_median_us']}; {of['bound_most_us']}"]
    heads = [head for name in journals for head in (f"{name}: bytes a call", "bound, µs: median; 99 %")]
    first = table(["program", "bare ms", *(f"{name} ÷ {base}" for name, base in shown.items())], rows)
    return f"{first}\n\n{table(['program', *heads], kept)}"


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=2, only=programs.PROGRAMS).parse_args()
    cases = micro(options.quick)
    cases |= {name: programs.load(name) for name in options.only or programs.PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        found = tools(Path(folder) / "recording.seismo")
        readings = measure(cases, found, rounds_of(options), turn)
    method = f"best of {rounds_of(options)} interleaved rounds, one process, CPU time; in brackets that of all threads"
    finish("timeline", options, method, {"totals": totals(readings, found)}, render(readings, found))


if __name__ == "__main__":
    main()
