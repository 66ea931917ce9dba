"""Births and deaths of objects: what `seismo objects` costs, beside the empty tracer, tracemalloc and memray.

Python 3.13.3 and later; on an older one it says so and measures nothing.

In process, all tools in turn in every round: loops that make and drop one kind of object, a JSON document parsed, a
heap of a million living lists some of which are replaced, deltablue, richards.

  bare              no hook
  floor references  the empty PyRefTracer: what telling of every object costs
  seismo types      seismo objects --types: counts by type
  seismo lines      seismo objects: by type and creating line, with the table of living objects
  seismo paths      seismo objects --paths: the call tree beside it, too
  tracemalloc       one frame an allocation
  memray            Tracker(track_object_lifetimes=True), in the first round only

ns an event = (best with the tool - best bare) / events, these being the births and deaths that a counting tracer hears
in one run of the body. Peers do not count events; theirs is what they take an object's birth or death all the same.
That seismo has heard all events is checked.

Whole processes with their data written, seismo's by line with and without asking at the end who holds what lives on;
memory a living object, just after the table has grown, too; start-up; and what a program that leaves a million objects
from 10,000 lines behind waits for at its end, and for `seismo report`.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import objects_memory
import objects_programs
import objects_tools
import programs
import ratios
from common import (
    HERE,
    arguments,
    finish,
    load_floor,
    median,
    number,
    progress,
    rounds_of,
    summary,
    table,
    timed,
    unrest,
)
from objects_tools import FLOOR
from report_million import report
from whole_process import Tool as Command
from whole_process import measure as measure_whole
from whole_process import render_startup, startup

if TYPE_CHECKING:
    from collections.abc import Callable

    from common import Case
    from overhead import Tool

PYTHON = [sys.executable]
WHOLE = {"deltablue": 80, "richards": 64}  # repeats of two seconds or three
UNASKED = "seismo lines, holders 0"  # who holds what lives on is not asked at the end
AGAIN = 3  # timed runs of a body a turn
HEARD = 0.98  # of the counted events: what is not deaf
FUNCTIONS, LINES, TIMES = 100, 100, 100  # of the program that leaves a million objects behind


# ---- in process ----


def in_one_run(make: Callable[[], Case], told: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    """Births and deaths in the body's second run, in which the tools are timed, too; `told` has them so far."""
    body = make()
    timed(body)
    counted: list[tuple[int, int]] = []

    def between() -> None:
        counted.append(told())
        body()
        counted.append(told())

    timed(between)
    (born, died), (born_then, died_then) = counted
    return born_then - born, died_then - died


def count_events(make: Callable[[], Case]) -> tuple[int, int]:
    """Births and deaths as a counting tracer hears them."""
    floor = load_floor()
    floor.start("count")
    try:
        return in_one_run(make, floor.counted)
    finally:
        floor.stop()


def turn_of(tool: Tool, make: Callable[[], Case], again: int) -> tuple[float, list[float]]:
    """Seconds of the body's first run after the tool's start, and of `again` more."""
    tool.start()
    try:
        body = make()
        return timed(body), [timed(body) for _ in range(again)]
    finally:
        tool.stop()


def check_heard(core: Any, name: str, mode: dict[str, Any], make: Callable[[], Case], events: tuple[int, int]) -> None:
    """SystemExit when seismo has not heard the events of a run: no tool is quick because it is deaf."""

    def told() -> tuple[int, int]:
        status = core.status()
        return status["births"], status["deaths"]

    core.start(recorder="lifetimes", **mode)
    try:
        heard = in_one_run(make, told)
    finally:
        core.stop()
    if any(got < HEARD * there for got, there in zip(heard, events, strict=True)):
        raise SystemExit(f"{name} heard {heard} births and deaths of {events}")


def measure(
    cases: dict[str, Callable[[], Case]], found: dict[str, Tool], rounds: int, again: int
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """{case: {tool: {"cold": seconds of the first run of each round, "warm": of the later ones}}}."""
    readings: dict[str, Any] = {case: {name: {"cold": [], "warm": []} for name in found} for case in cases}
    for turn in range(rounds):
        for case, make in cases.items():
            for name, tool in found.items():
                if turn >= tool.rounds:
                    continue
                progress(f"round {turn + 1} of {rounds}: {case} under {name}")
                cold, warm = turn_of(tool, make, 1 if tool.rounds == 1 else again)
                readings[case][name]["cold"].append(cold)
                readings[case][name]["warm"] += warm
    return readings


def compare(readings: dict[str, Any], events: dict[str, tuple[int, int]]) -> dict[str, Any]:
    """{case: {"births", "deaths", "noise": ns an event, tool: {summary, times, ns, ns_cold}}}."""
    results: dict[str, Any] = {}
    for case, by_tool in readings.items():
        total = sum(events[case])
        bare = {kind: min(by_tool["bare"][kind]) for kind in ("cold", "warm")}
        noise = unrest(by_tool["bare"]["warm"]) * bare["warm"] / total * 1e9
        row: dict[str, Any] = {"births": events[case][0], "deaths": events[case][1], "noise": noise}
        for name, taken in by_tool.items():
            best = {kind: min(taken[kind]) for kind in taken}
            row[name] = {
                **summary(taken["warm"]),
                "times": best["warm"] / bare["warm"],
                "ns": (best["warm"] - bare["warm"]) / total * 1e9,
                "ns_cold": (best["cold"] - bare["cold"]) / total * 1e9,
            }
        results[case] = row
    return results


def totals(results: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """{tool: {"ns": of the events of all cases together, "ns_worst", "worst_case"}}."""
    summed = {}
    for name in names:
        added = sum(row[name]["best"] - row["bare"]["best"] for row in results.values())
        count = sum(row["births"] + row["deaths"] for row in results.values())
        worst = max(results, key=lambda case: results[case][name]["ns"])
        summed[name] = {"ns": added / count * 1e9, "ns_worst": results[worst][name]["ns"], "worst_case": worst}
    return summed


def render(results: dict[str, Any], summed: dict[str, Any], key: str) -> str:
    """The table of ns an event (key "ns") or of times bare ("times")."""
    names = list(summed)
    rows = []
    for case, row in results.items():
        cells = [case, number(row["bare"]["best"] * 1000, 1)]
        if key == "ns":
            cells += [f"{row['births'] + row['deaths']:,}", number(row["noise"], 1)]
        rows.append([*cells, *(number(row[name][key], 2 if key == "times" else 1) for name in names)])
    if key == "times":
        return table(["× bare", "bare ms", *names], rows)
    rows.append(["all events", "", "", "", *(number(summed[name]["ns"], 1) for name in names)])
    rows.append(["worst", "", "", "", *(number(summed[name]["ns_worst"], 1) for name in names)])
    return table(["ns an event", "bare ms", "events", "±", *names], rows)


# ---- processes ----


def commands(core: Any) -> dict[str, Command]:
    """Those that run whole programs and write what they found, in the order of their turns."""
    found = {"bare": Command(PYTHON), FLOOR: Command([*PYTHON, str(HERE / "floor_run.py"), "references"])}
    if core is not None:
        seismo = [*PYTHON, "-m", "seismo", "objects", "-q", "-o", "OUT"]
        found["seismo types"] = Command([*seismo, "--types"])
        found["seismo lines"] = Command(seismo)
        found[UNASKED] = Command([*seismo, "--holders", "0"])
        found["seismo paths"] = Command([*seismo, "--paths"])
    for peer in objects_tools.PEERS:
        if peer == "tracemalloc" or ratios.installed(peer):
            command = [*PYTHON, str(HERE / "objects_run.py"), peer, "OUT"]
            found[peer] = Command(command, slow=peer == "memray")
    return found


def million(folder: Path) -> Path:
    """A program that leaves a million objects behind, from 10,000 lines, and says when it was done with that."""
    lines = ["import sys, time", "kept = []", "keep = kept.append"]
    for i in range(FUNCTIONS):
        lines += [f"def f{i}():", *["    keep([])"] * LINES]
    lines += [f"for _ in range({TIMES}):", *[f"    f{i}()" for i in range(FUNCTIONS)]]
    lines += ["with open(sys.argv[1], 'w') as file:", "    file.write(repr(time.monotonic()))"]
    script = folder / "million.py"
    script.write_text("\n".join(lines) + "\n")
    return script


def end_of(command: list[str], script: Path, folder: Path) -> float:
    """Seconds from the program's last statement to the end of its process. RuntimeError when that fails."""
    said = folder / "said"
    done = subprocess.run([*command, str(script), str(said)], capture_output=True, text=True, check=False)
    end = time.monotonic()
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return end - float(said.read_text())


def measure_million(core: Any, rounds: int) -> dict[str, float]:
    """{"end bare", "end", "first_line", "whole": s, "file": bytes}: medians; empty, and said why, where it fails."""
    readings: dict[str, list[float]] = {}
    if core is None:
        return {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        script, file = million(folder), folder / "million.seismo"
        for turn in range(rounds):
            progress(f"a million objects, round {turn + 1} of {rounds}")
            try:
                taken = {"end bare": end_of(PYTHON, script, folder)}
                seismo = [*PYTHON, "-m", "seismo", "objects", "-q", "-o", str(file)]
                taken["end"] = end_of(seismo, script, folder)
                taken |= report(str(file))
            except RuntimeError as error:
                print(f"the recording of a million objects is left out: {error}", file=sys.stderr)
                return {}
            for key, value in {**taken, "file": file.stat().st_size}.items():
                readings.setdefault(key, []).append(value)
    return {key: median(taken) for key, taken in readings.items()}


# ---- results ----


def dig(found: dict[str, Any], *keys: str) -> float:
    """A number deep in results; nan where any part of the way is missing."""
    value: Any = found
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return float(value) if isinstance(value, (int, float)) else math.nan


def promises(results: dict[str, Any]) -> list[tuple[str, str, float]]:
    """What is promised, and what it came to."""
    table_at_worst = dig(results, "memory", "seismo lines", "worst")
    rows = [
        ("by type: ns an event, all events", "≤ 5", dig(results, "totals", "seismo types", "ns")),
        ("by type: ns an event, worst case", "", dig(results, "totals", "seismo types", "ns_worst")),
        ("by line: ns an event, all events", "≤ 35", dig(results, "totals", "seismo lines", "ns")),
        ("by line: ns an event, worst case", "", dig(results, "totals", "seismo lines", "ns_worst")),
        ("by path: ns an event, all events", "", dig(results, "totals", "seismo paths", "ns")),
        ("the empty tracer: ns an event", "", dig(results, "totals", FLOOR, "ns")),
        ("memray: ns an event", "", dig(results, "totals", "memray", "ns")),
    ]
    for part, how in (("programs", "in process"), ("whole", "as a process")):
        for name in (*objects_tools.MODES, *([UNASKED] if part == "whole" else []), *objects_tools.PEERS):
            target = "≤ 1.5" if name == "seismo lines" else ""
            rows.append((f"deltablue {how}, {name}, × bare", target, dig(results, part, "deltablue", name, "times")))
    rows.append(("live table at its worst: bytes a live object", "≤ 40", table_at_worst))
    rows.append(("start-up more than bare, ms", "≤ 25", dig(results, "startup", "seismo lines", "added_median")))
    return rows


def render_million(found: dict[str, float]) -> str:
    """The table of the program that leaves a million objects behind."""
    rows = [
        ["the process's end, bare, s", number(found["end bare"])],
        ["the process's end under seismo objects, s", number(found["end"])],
        ["seismo report, first line, s", number(found["first_line"])],
        ["seismo report, whole, s", number(found["whole"])],
        ["seismo report, peak MB", number(found["peak"] / 1e6, 0)],
        ["file, MB", number(found["file"] / 1e6, 1)],
    ]
    return table([f"{FUNCTIONS * LINES * TIMES:,} objects of {FUNCTIONS * LINES:,} lines", "value"], rows)


def in_process(core: Any, options: Any, results: dict[str, Any]) -> list[str]:
    """Measure inside this process; what to print of it."""
    rounds = rounds_of(options)
    found = objects_tools.tools(core)
    found = {name: tool for name, tool in found.items() if not (options.no_memray and name == "memray")}
    cases = objects_programs.cases(options.only, options.quick)
    events = {case: count_events(make) for case, make in cases.items()}
    for name, mode in objects_tools.MODES.items() if core is not None else ():
        for case, make in cases.items():
            check_heard(core, name, mode, make, events[case])
    results["programs"] = compare(measure(cases, found, rounds, AGAIN), events)
    results["totals"] = totals(results["programs"], [name for name in found if name != "bare"])
    return [render(results["programs"], results["totals"], key) for key in ("ns", "times")]


def as_processes(core: Any, options: Any, results: dict[str, Any]) -> list[str]:
    """Measure whole processes, memory, start-up and the end; what to print of it."""
    rounds = max(1, rounds_of(options) - 1)
    there = commands(core)
    there = {name: tool for name, tool in there.items() if not (options.no_memray and name == "memray")}
    chosen = {name: max(1, round(repeats * (0.25 if options.quick else 1.0))) for name, repeats in WHOLE.items()}
    chosen = {name: chosen[name] for name in (["deltablue"] if options.quick else chosen)}
    results["whole"] = ratios.compare(measure_whole(chosen, there, rounds, ratios.script_of), FLOOR)
    counts = objects_memory.QUICK_COUNTS if options.quick else objects_memory.COUNTS
    results["memory"] = objects_memory.measure([name for name in there if name not in (FLOOR, UNASKED)], counts, rounds)
    starting = {name: tool for name, tool in there.items() if name not in (FLOOR, *objects_tools.PEERS)}
    results["startup"] = startup(starting, options.starts or (15 if options.quick else 40))
    results["million"] = measure_million(core, rounds)
    parts = [ratios.render(results["whole"], ratios.totals(results["whole"]))]
    parts.append(objects_memory.render(results["memory"], counts))
    parts.append(render_startup(results["startup"]))
    return parts + ([render_million(results["million"])] if results["million"] else [])


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=2)
    parser.add_argument("--only", nargs="+", choices=objects_programs.NAMES, help="only these cases in process")
    parser.add_argument("--part", choices=("process", "processes"), help="only what runs in one process, or the rest")
    parser.add_argument("--starts", type=int, help="start-ups of an empty script (default 40, quick 15)")
    parser.add_argument("--no-memray", action="store_true", help="leave memray out: it takes as long as all the others")
    options = parser.parse_args()
    why = objects_tools.unavailable()
    if why:
        print(why, file=sys.stderr)
        if options.json:
            Path(options.json).unlink(missing_ok=True)
        return
    programs.sources()
    core, results, parts = objects_tools.recorder(), {}, []
    if options.part != "process":  # first: a child's peak memory begins with its parent's
        parts += as_processes(core, options, results)
    if options.part != "processes":
        parts = in_process(core, options, results) + parts
    rows = promises(results)
    results["promises"] = {text: value for text, _, value in rows}
    left_out = [name for name in objects_tools.PEERS if name != "tracemalloc" and not ratios.installed(name)]
    rounds = rounds_of(options)
    method = (
        f"best of {rounds} interleaved rounds of {AGAIN} runs after an untimed one (memray: once), one process, the "
        "collector off meanwhile; ± is what the second best bare reading took longer than the best, per event; "
        f"{max(1, rounds - 1)} rounds of processes (memray: once) with their data written and the collector on"
        + (f"; not installed: {', '.join(left_out)}" if left_out else "")
    )
    finish("objects", options, method, results, "\n\n".join([ratios.targets(rows), *parts]))


if __name__ == "__main__":
    main()
