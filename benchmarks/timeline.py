"""A timeline of all calls: what it adds to what the call tree alone adds, how many bytes it takes, how exact it is.

Micro programs and the bodies of pyperformance programs run in one process, all tools in turn in every round, each
recording into a file where it has one:

  bare            no hook
  floor           empty hook on the events of Python functions (sys.monitoring; on 3.11 PEP 523)
  profile         seismo profile, Python functions
  trace           seismo trace, Python functions
  trace every     seismo trace --clock every, Python functions
  profile auto    seismo profile as it is by default
  trace auto      seismo trace as it is by default
  VizTracer       viztracer.VizTracer, where it is installed, at most a million events; Python and C functions

trace0 and VizTracer as whole processes, with their files, are in whole_process.py.

A turn is: start, the body once untimed, the body once timed, stop. `added` is (best with the tool - best bare). The CPU
time of all threads, the journal's writer among them, is read beside it, with the stop, which writes what is left.

bytes a call: of the file's chunks of the kind JRNL, by the calls and resumes of the tree. bound: how far off the times
of beginnings may be, median and 99th percentile, of the calls in running code (whose bound is below a millisecond).
"""

from __future__ import annotations

import gc
import importlib.util
import math
import os
import struct
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import arguments, finish, geomean, load_core, load_floor, number, progress, rounds_of, table
from overhead import MODERN, SMALLEST, micro

if TYPE_CHECKING:
    from collections.abc import Callable

    from common import Case

WINDOW = 200_000  # calls whose bounds are looked at


@dataclass
class Tool:
    """start(path) and stop(); base: the tool whose added time its own is divided by."""

    start: Callable[[str], object]
    stop: Callable[[], object]
    base: str = ""
    journal: bool = False


def seismo(core: Any, base: str, c_functions: str, **settings: Any) -> Tool:
    """A recording into a file."""
    held: list[int] = []

    def start(path: str) -> None:
        held.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        core.start(fd=held[-1], c_functions=c_functions, **settings)

    def stop() -> None:
        core.stop()
        os.close(held.pop())

    return Tool(start, stop, base, bool(settings.get("journal")))


def viztracer() -> Tool:
    """VizTracer, which keeps what it traced last in memory."""
    import viztracer  # type: ignore[import-not-found]

    tracer = viztracer.VizTracer(verbose=0, tracer_entries=1_000_000)

    def stop() -> None:
        tracer.stop()
        tracer.clear()

    return Tool(lambda _path: tracer.start(), stop, "profile auto")


def tools(core: Any) -> dict[str, Tool]:
    """All that this interpreter has, in the order of their turns."""
    floor = load_floor()
    found = {
        "bare": Tool(lambda _path: None, lambda: None),
        "floor": Tool(lambda _path: floor.start("monitoring" if MODERN else "evalframe"), floor.stop),
        "profile": seismo(core, "floor", "none"),
        "trace": seismo(core, "profile", "none", journal=True),
        "trace every": seismo(core, "floor", "none", journal=True, timing="every"),
        "profile auto": seismo(core, "floor", "auto"),
        "trace auto": seismo(core, "profile auto", "auto", journal=True),
    }
    if importlib.util.find_spec("viztracer"):
        found["VizTracer"] = viztracer()
    return found


def turn(tool: Tool, body: Case, path: str) -> tuple[float, float]:
    """Seconds of the timed run, and of the CPU from there to the end of the stop."""
    tool.start(path)
    body()
    gc.collect()
    gc.disable()
    cpu, begun = time.process_time(), time.perf_counter()
    body()
    wall = time.perf_counter() - begun
    gc.enable()
    tool.stop()
    return wall, time.process_time() - cpu


def journal_of(path: str) -> dict[str, float]:
    """Bytes a call of the recording, and the bounds of its times in ns."""
    import seismo as package

    data, at, size = Path(path).read_bytes(), 16, 0
    while at + 12 <= len(data):
        length, kind = struct.unpack_from("<I4s", data, at)
        size += length + 12 if kind == b"JRNL" else 0
        at += 12 + length
    recording = package.open(path)
    nodes = recording.tree
    events = sum(nodes["calls"]) + sum(nodes["resumes"])
    window = recording.calls.window(limit=WINDOW)
    bounds = sorted(bound for bound in window.calls["start_bound_ns"] if 0 <= bound < 1_000_000)
    if not bounds:
        return {"bytes_a_call": size / max(events, 1), "median_ns": math.nan, "most_ns": math.nan}
    median, most = bounds[len(bounds) // 2], bounds[len(bounds) * 99 // 100]
    return {"bytes_a_call": size / max(events, 1), "median_ns": float(median), "most_ns": float(most)}


def measure(cases: dict[str, Case], found: dict[str, Tool], rounds: int, folder: str) -> dict[str, Any]:
    """{case: {tool: {"wall": best, "cpu": best, "journal": ...}}}."""
    results: dict[str, Any] = {case: {name: {} for name in found} for case in cases}
    path = os.path.join(folder, "recording.seismo")
    for number_of in range(rounds):
        for case, body in cases.items():
            progress(f"round {number_of + 1} of {rounds}: {case}")
            for name, tool in found.items():
                wall, cpu = turn(tool, body, path)
                row = results[case][name]
                row["wall"] = min(wall, row.get("wall", wall))
                row["cpu"] = min(cpu, row.get("cpu", cpu))
                if tool.journal and number_of == rounds - 1:
                    row["journal"] = journal_of(path)
    return results


def ratio(row: dict[str, Any], name: str, base: str, kind: str) -> float:
    """Added time of the tool by that of its base; nan where that adds too little to be divided by."""
    bare = row["bare"][kind]
    under = row[base][kind] - bare
    return float((row[name][kind] - bare) / under) if under > SMALLEST * bare else math.nan


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=2)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these programs (micro ones always run)")
    options = parser.parse_args()
    core = load_core()
    if core is None:
        raise SystemExit("seismo's native core is not there")
    found = tools(core)
    chosen = options.only or list(programs.PROGRAMS)
    cases = {**micro(options.quick), **{name: programs.load(name) for name in chosen}}
    with tempfile.TemporaryDirectory() as folder:
        results = measure(cases, found, rounds_of(options), folder)
    rows, summed = [], {}
    shown = [(name, tool) for name, tool in found.items() if tool.base]
    for case, row in results.items():
        cells = [case, number(row["bare"]["wall"] * 1000, 1)]
        for name, tool in shown:
            row[name]["ratio"] = ratio(row, name, tool.base, "wall")
            row[name]["cpu_ratio"] = ratio(row, name, tool.base, "cpu")
            cells.append(f"{number(row[name]['ratio'])} ({number(row[name]['cpu_ratio'])})")
        rows.append(cells)
    lines = [table(["program", "bare ms", *(f"{name} ÷ {tool.base}" for name, tool in shown)], rows), ""]
    for name, tool in shown:
        kept = {case: row[name]["ratio"] for case, row in results.items() if not math.isnan(row[name]["ratio"])}
        cpu = [row[name]["cpu_ratio"] for row in results.values() if row[name]["cpu_ratio"] > 0]
        if not kept or min(kept.values()) <= 0:
            continue
        worst = max(kept, key=lambda case: kept[case])
        summed[name] = {"geomean": geomean(list(kept.values())), "worst": kept[worst], "worst_case": worst}
        summed[name]["cpu"] = geomean(cpu) if cpu else math.nan
        lines.append(
            f"- {name}: added time ÷ that of {tool.base}: geomean {number(summed[name]['geomean'])}, worst "
            f"{number(kept[worst])} ({worst}), {len(kept)} programs; CPU of all threads {number(summed[name]['cpu'])}"
        )
    lines.append("")
    kept_rows = []
    for case, row in results.items():
        cells = [case]
        for name, tool in found.items():
            if tool.journal:
                said = row[name]["journal"]
                cells.append(number(said["bytes_a_call"], 2))
                cells.append(f"{number(said['median_ns'] / 1000, 2)}; {number(said['most_ns'] / 1000, 1)}")
        kept_rows.append(cells)
    heads = ["program"]
    for name, tool in found.items():
        heads += [f"{name}: bytes a call", "bound, µs: median; 99 %"] if tool.journal else []
    lines.append(table(heads, kept_rows))
    for name, tool in found.items():
        if tool.journal:
            sizes = [row[name]["journal"]["bytes_a_call"] for row in results.values()]
            summed.setdefault(name, {})["bytes_a_call"] = geomean(sizes)
            lines.append(f"\n- {name}: bytes a call, geomean {number(geomean(sizes), 2)}")
    method = f"best of {rounds_of(options)} interleaved rounds, one process; in brackets the CPU time of all threads"
    finish("timeline", options, method, {"cases": results, "totals": summed}, "\n".join(lines))


if __name__ == "__main__":
    main()
