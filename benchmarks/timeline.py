"""A timeline of all calls: what it adds to what the call tree alone adds, how many bytes it takes, how exact it is.

Micro programs and the bodies of pyperformance programs run in one process, all tools in turn in every round, each
recording into a file where it has one:

  bare            no hook
  floor           empty hook on the events of Python functions (sys.monitoring; on 3.11 PEP 523)
  profile         seismo profile, Python functions
  trace           seismo trace, Python functions
  trace every     seismo trace --timing every, Python functions
  profile auto    seismo profile as it is by default
  trace auto      seismo trace as it is by default
  trace0          trace0.Tracer into a file, where it is installed; Python functions
  VizTracer       viztracer.VizTracer, where it is installed, at most a million events; Python and C functions

trace0 and VizTracer as whole processes are in whole_process.py. Programs that do little but resume generators and
coroutines are apart from the others in the totals.

A turn is: start, the body once untimed, the body REPEATS times, each timed, stop. Times are the processor time of the
thread that runs the body, which waits for nothing, so that other programs on the machine are not in them; `added` is
(best with the tool - best bare). The CPU time of all threads, the journal's writer among them, is that of the whole
turn after the start, with the stop, which writes what is left; the best turn.

bytes a call: of the file's chunks of the kind JRNL, by the calls and resumes of the tree. bound: how far off the times
of beginnings may be, median and 99th percentile, of the calls in running code (whose bound is below a millisecond).

docutils makes a page of its own manual, for the bytes that a call of a large library takes. It is left out of the
totals of time and of CPU, which thereby compare with earlier ones, and altogether where docutils is not installed.

--also FILE takes in the programs of an earlier run, so that a long run can be made in pieces.
"""

from __future__ import annotations

import gc
import importlib.util
import json
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

GENERATORS = ("generator", "generators", "coroutines")
MANUAL = "docutils"
REPEATS = 3
WINDOW = 100_000  # calls whose bounds are looked at


@dataclass
class Tool:
    """start(path) and stop(); base: the tool whose added time its own is divided by; rounds: at most so many."""

    start: Callable[[str], object]
    stop: Callable[[], object]
    base: str = ""
    journal: bool = False
    rounds: int = 1_000_000


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

    return Tool(lambda _path: tracer.start(), stop, "profile auto", rounds=1)


def trace0() -> Tool:
    """trace0, which writes what it traces into a file of its own."""
    import trace0 as package  # type: ignore[import-not-found]

    held: list[Any] = []

    def start(path: str) -> None:
        held.append(package.Tracer(f"{path}.trace0", trace_subprocesses=False))
        held[-1].__enter__()

    return Tool(start, lambda: held.pop().__exit__(None, None, None), "floor")


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
    if importlib.util.find_spec("trace0"):
        found["trace0"] = trace0()
    if importlib.util.find_spec("viztracer"):
        found["VizTracer"] = viztracer()
    return found


def manual() -> dict[str, Case]:
    """Docutils at work on a chapter of its manual, which pyperformance has; {} where docutils is not installed."""
    if not importlib.util.find_spec("docutils"):
        return {}
    from docutils.core import publish_string  # type: ignore[import-untyped]

    chapter = programs.sources() / "bm_docutils" / "data" / "docs" / "user" / "config.txt"
    text = chapter.read_text(encoding="utf-8")
    settings = {"input_encoding": "unicode", "output_encoding": "unicode", "report_level": 5}
    return {MANUAL: lambda: publish_string(text, writer="html5", settings_overrides=settings)}


def turn(tool: Tool, body: Case, path: str) -> tuple[float, float]:
    """Seconds of the quickest run, and of the CPU of a run, with its part of the stop."""
    gc.collect()
    gc.disable()
    tool.start(path)
    mine, cpu = math.inf, time.process_time()
    body()
    for _ in range(REPEATS):
        begun = time.thread_time()
        body()
        mine = min(mine, time.thread_time() - begun)
    tool.stop()
    cpu = time.process_time() - cpu
    gc.enable()
    return mine, cpu / (1 + REPEATS)


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
    """{case: {tool: {"time": best, "cpu": best, "journal": ...}}}."""
    results: dict[str, Any] = {case: {name: {} for name in found} for case in cases}
    path = os.path.join(folder, "recording.seismo")
    for number_of in range(rounds):
        for case, body in cases.items():
            progress(f"round {number_of + 1} of {rounds}: {case}")
            for name, tool in found.items():
                if number_of >= tool.rounds:
                    continue
                mine, cpu = turn(tool, body, path)
                row = results[case][name]
                row["time"] = min(mine, row.get("time", mine))
                row["cpu"] = min(cpu, row.get("cpu", cpu))
                if tool.journal and number_of == rounds - 1:
                    row["journal"] = journal_of(path)
    return results


def ratio(row: dict[str, Any], name: str, base: str, kind: str) -> float:
    """Added time of the tool by that of its base; nan where that adds too little to be divided by."""
    bare = row["bare"][kind]
    under = row[base][kind] - bare
    return float((row[name][kind] - bare) / under) if under > SMALLEST * bare else math.nan


def summed_up(results: dict[str, Any], found: dict[str, Tool]) -> tuple[str, dict[str, Any]]:
    """The tables as text, and the totals."""
    shown = [(name, tool) for name, tool in found.items() if tool.base]
    rows, totals, lines = [], {}, []
    for case, row in results.items():
        cells = [case, number(row["bare"]["time"] * 1000, 1)]
        for name, tool in shown:
            row[name]["ratio"] = ratio(row, name, tool.base, "time")
            row[name]["cpu_ratio"] = ratio(row, name, tool.base, "cpu")
            cells.append(f"{number(row[name]['ratio'])} ({number(row[name]['cpu_ratio'])})")
        rows.append(cells)
    for name, tool in shown:
        totals[name] = total_of(results, name)
        if totals[name]:
            words = ", ".join(
                f"{key} {said if isinstance(said, str) else number(said)}" for key, said in totals[name].items()
            )
            lines.append(f"- {name}: added time ÷ that of {tool.base}: {words}")
    journals = [name for name, tool in found.items() if tool.journal]
    kept_rows = []
    for case, row in results.items():
        cells = [case]
        for name in journals:
            said = row[name]["journal"]
            cells.append(number(said["bytes_a_call"], 2))
            cells.append(f"{number(said['median_ns'] / 1000, 2)}; {number(said['most_ns'] / 1000, 1)}")
        kept_rows.append(cells)
    heads = ["program"]
    for name in journals:
        heads += [f"{name}: bytes a call", "bound, µs: median; 99 %"]
        said = [row[name]["journal"] for row in results.values()]
        totals[name]["bytes_a_call"] = geomean([one["bytes_a_call"] for one in said])
        for key in ("median", "most"):
            bounds = [one[f"{key}_ns"] / 1000 for one in said if not math.isnan(one[f"{key}_ns"])]
            totals[name][f"bound_{key}_us"] = max(bounds, default=math.nan)
        lines.append(f"- {name}: bytes a call, geomean {number(totals[name]['bytes_a_call'], 2)}")
    first = table(["program", "bare ms", *(f"{name} ÷ {tool.base}" for name, tool in shown)], rows)
    return "\n".join([first, "", *lines, "", table(heads, kept_rows)]), totals


def total_of(results: dict[str, Any], name: str) -> dict[str, Any]:
    """The means of a tool, {} where nothing can be said: generator programs apart, and against trace0."""
    results = {case: row for case, row in results.items() if case != MANUAL}
    kept = {case: row[name]["ratio"] for case, row in results.items() if row[name]["ratio"] > 0}
    plain = {case: value for case, value in kept.items() if case not in GENERATORS}
    if not plain:
        return {}
    worst = max(plain, key=lambda case: plain[case])
    total: dict[str, Any] = {"geomean": geomean(plain.values()), "worst": plain[worst], "worst_case": worst}
    total["generators"] = max((value for case, value in kept.items() if case in GENERATORS), default=math.nan)
    total["cpu"] = geomean([row[name]["cpu_ratio"] for row in results.values() if row[name]["cpu_ratio"] > 0])
    if all("trace0" in row for row in results.values()) and name != "trace0":
        beside = [ratio(row, name, "trace0", "time") for row in results.values()]
        total["to_trace0"] = max((value for value in beside if not math.isnan(value)), default=math.nan)
    return total


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=2)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these programs and micro programs")
    parser.add_argument("--also", nargs="+", metavar="FILE", default=[], help="the programs of these results, too")
    options = parser.parse_args()
    core = load_core()
    if core is None:
        raise SystemExit("seismo's native core is not there")
    found = tools(core)
    small = micro(options.quick)
    chosen = options.only or [*small, *programs.PROGRAMS]
    made = {**small, **manual()}
    chosen += [name for name in manual() if not options.only]
    cases = {name: made.get(name) or programs.load(name) for name in chosen}
    with tempfile.TemporaryDirectory() as folder:
        results = measure(cases, found, rounds_of(options), folder)
    for file in options.also:
        results = {**json.loads(Path(file).read_text())["results"]["cases"], **results}
    text, totals = summed_up(results, found)
    method = f"best of {rounds_of(options)} interleaved rounds, one process, CPU time; in brackets that of all threads"
    finish("timeline", options, method, {"cases": results, "totals": totals}, text)


if __name__ == "__main__":
    main()
