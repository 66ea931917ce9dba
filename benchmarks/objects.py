"""Births and deaths of objects: the cost of `seismo objects` beside the empty tracer, tracemalloc and memray.

In process, all tools in turn in every round: loops that create and drop one kind of object, a JSON document parsed, a
heap of a million live lists of which some are replaced, deltablue, richards. Each case creates its body after the tool
has started, so that everything that the body keeps alive was born under the tool, and drops it after the tool stops.

  bare              no hook
  floor references  the empty PyRefTracer: the cost of reporting every object
  seismo types      seismo objects --types: counts by type
  seismo lines      seismo objects: by type and creating line, with the table of live objects
  seismo paths      seismo objects --paths: with the call tree as well
  tracemalloc       one frame per allocation
  memray            Tracker(track_object_lifetimes=True), in the first round only

ns per event = (best with the tool - best bare) / events. Events are the births and deaths that a counting tracer counts
in one run of the body. Peers do not count events; their times are divided by the same number. That seismo has counted
all events is checked.

Whole processes with their data written, seismo's by line with and without the search for holders of survivors at the
end; memory per live object, also right after the table has grown; start-up. Python 3.13.3 and later.
"""

from __future__ import annotations

import gc
import json
import random
import tempfile
import tracemalloc
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import processes
import programs
from common import (
    apart,
    arguments,
    finish,
    installed,
    leave_out,
    load_core,
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
from inprocess import Readings, Tool, bare, empty, measure
from memory import resident
from processes import PYTHON, render_startup, startup, under

if TYPE_CHECKING:
    from collections.abc import Callable

    from common import Case

NEEDED = (3, 13, 3)  # older interpreters do not report deaths
MODES: dict[str, dict[str, Any]] = {
    "seismo types": {"objects": "types"},
    "seismo lines": {"objects": "lines"},
    "seismo paths": {"objects": "lines", "paths": True},
}
FLOOR = "floor references"
WHOLE = {"deltablue": 80, "richards": 64}  # repeats for two or three seconds
UNASKED = "seismo lines, holders 0"  # without the search for holders of survivors
AGAIN = 3  # timed runs of a body per turn
HEARD = 0.98  # minimum share of the counted events
LIVE = 1_000_000
COUNTS, QUICK_COUNTS, STEP = (100_000, 1_000_000, 3_000_000), (100_000, 1_000_000), 50


# ---- bodies ----


class Thing:
    """An object with a dictionary of attributes, the usual kind."""

    def __init__(self, value: object) -> None:
        self.value = value


def tuples(values: list[int]) -> None:
    for value in values:
        (value, value)  # noqa: B018 - created and dropped


def lists(values: list[int]) -> None:
    for value in values:
        [value]  # noqa: B018


def floats(values: list[int]) -> None:
    for value in values:
        value * 0.5


def things(values: list[int]) -> None:
    for value in values:
        Thing(value)


def closures(values: list[int]) -> None:
    def keeper(value: int) -> Callable[[], int]:
        return lambda: value

    for value in values:
        keeper(value)


def strings(values: list[int]) -> None:
    for value in values:
        f"<{value}>"


def parsed(records: int) -> Callable[[], Case]:
    """Return a case: JSON like that of services, parsed and dropped."""
    rows = [
        {
            "id": 1000 + i,
            "name": f"record {i}",
            "price": i * 0.25,
            "tags": [f"tag {i % 7}", f"tag {i % 11}"],
            "position": {"x": i * 1.5, "y": -i * 0.5},
        }
        for i in range(records)
    ]
    text = json.dumps(rows)

    def parse() -> None:
        json.loads(text)

    return lambda: parse


class Heap:
    """A million live lists, `churn` of which, in random order, are replaced by each run."""

    def __init__(self, live: int, churn: int) -> None:
        places = list(range(live))
        random.Random(5).shuffle(places)
        self.places = places[:churn]
        self.kept: list[list[None]] = [[None] for _ in range(live)]

    def __call__(self) -> None:
        kept = self.kept
        for place in self.places:
            kept[place] = [None]


def loop(function: Callable[[list[int]], None], count: int) -> Callable[[], Case]:
    """Return a case: the function on `count` existing numbers."""

    def make() -> Case:
        values = list(range(1_000_000, 1_000_000 + count))
        return lambda: function(values)

    return make


def whole(name: str) -> Callable[[], Case]:
    """Return a case: one of pyperformance's programs, loaded once."""
    body = programs.load(name)
    return lambda: body


# Makers of cases, of 10 to 60 ms at size 2; the quick ones are half as long and fewer.
CASES: dict[str, Callable[[int], Callable[[], Case]]] = {
    "tuples": lambda size: loop(tuples, 600_000 * size),
    "lists": lambda size: loop(lists, 600_000 * size),
    "floats": lambda size: loop(floats, 600_000 * size),
    "strings": lambda size: loop(strings, 200_000 * size),
    "objects": lambda size: loop(things, 200_000 * size),
    "closures": lambda size: loop(closures, 200_000 * size),
    "json": lambda size: parsed(10_000 * size),
    "heap of a million": lambda size: lambda: Heap(LIVE, 80_000 * size),
    "deltablue": lambda size: whole("deltablue"),
    "richards": lambda size: whole("richards"),
}
QUICK_CASES = ("tuples", "objects", "json", "heap of a million", "deltablue")


# ---- in process ----


class Memray(Tool):
    """Memray's tracker of object lifetimes, with a temporary output folder."""

    def __init__(self) -> None:
        import memray

        folder, held = tempfile.TemporaryDirectory(), []

        def start() -> None:
            file = Path(folder.name) / "out.bin"
            file.unlink(missing_ok=True)
            held.append(memray.Tracker(file, track_object_lifetimes=True))
            held[-1].__enter__()

        super().__init__(start, lambda: held.pop().__exit__(None, None, None), rounds=1)


def tools() -> dict[str, Tool]:
    """Return all tools that this interpreter supports, in the order of their turns."""
    core = load_core()
    found = {"bare": bare(), FLOOR: empty(FLOOR)}
    for name, mode in MODES.items():
        found[name] = Tool(partial(core.start, recorder="lifetimes", **mode), core.stop)
    found["tracemalloc"] = Tool(partial(tracemalloc.start, 1), tracemalloc.stop)
    return {**found, "memray": Memray()} if installed("memray") else found


def in_one_run(make: Callable[[], Case], told: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    """Return births and deaths in the body's second run, a timed one. The second argument returns the totals so far."""
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
    """Return births and deaths according to a counting tracer."""
    floor = load_floor()
    floor.start("count")
    try:
        return in_one_run(make, floor.counted)
    finally:
        floor.stop()


def turn(tool: Tool, make: Callable[[], Case]) -> dict[str, list[float]]:
    """Take one turn: seconds of the body's first run after the tool's start, and of some more."""
    tool.start()
    try:
        body = make()
        return {"cold": [timed(body)], "warm": [timed(body) for _ in range(1 if tool.rounds == 1 else AGAIN)]}
    finally:
        tool.stop()


def check_heard(core: Any, name: str, mode: dict[str, Any], make: Callable[[], Case], events: tuple[int, int]) -> None:
    """Raise SystemExit if seismo has missed events of a run, so that it is not fast because it misses events."""

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


def compare(readings: Readings, events: dict[str, tuple[int, int]]) -> dict[str, Any]:
    """Return {case: {"births", "deaths", "noise": ns per event, tool: {summary, times, ns, ns_cold}}}."""
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
    """Return {tool: {"ns": over the events of all cases, "ns_worst", "worst_case"}}."""
    summed = {}
    for name in names:
        added = sum(row[name]["best"] - row["bare"]["best"] for row in results.values())
        count = sum(row["births"] + row["deaths"] for row in results.values())
        worst = max(results, key=lambda case: results[case][name]["ns"])
        summed[name] = {"ns": added / count * 1e9, "ns_worst": results[worst][name]["ns"], "worst_case": worst}
    return summed


def render(results: dict[str, Any], summed: dict[str, Any], key: str) -> str:
    """Return the table of ns per event (key "ns") or of times relative to bare ("times")."""
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


# ---- memory of live objects ----


def memory_of(name: str, counts: list[int]) -> dict[str, Any]:
    """Create small objects under a tool and keep them; return the growth of memory and the table's size at each count.

    Between the counts the table is checked after every fiftieth part, so that the worst moment, right after it has
    grown, is among the readings. It needs a new process.
    """
    core, tool = load_core() if name.startswith("seismo") else None, tools()[name]
    kept: list[object] = [None] * max(counts)
    found: dict[int, dict[str, int]] = {}
    worst, made = 0.0, 0
    gc.collect()
    gc.disable()
    tool.start()
    before = resident()
    while made < max(counts):
        until = min([count for count in counts if count > made] + [made + max(made // STEP, 1000)])
        for place in range(made, until):
            kept[place] = object()
        made = until
        status = core.status() if core else {}
        if status.get("live") and made >= min(counts):
            worst = max(worst, status["live_bytes"] / status["live"])
        if made in counts:
            said = {key: status[key] for key in ("live", "live_bytes") if key in status}
            found[made] = {"growth": resident() - before, **said}
    tool.stop()
    return {"counts": found, "worst": worst}


def measure_memory(names: list[str], counts: tuple[int, ...], rounds: int) -> dict[str, Any]:
    """Return {tool: {count: resident bytes per live object above bare, "table": {count: bytes}, "worst": bytes}}."""
    readings: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for turn in range(rounds):
        for name in names:
            progress(f"memory, round {turn + 1} of {rounds}: {name}")
            readings[name].append(apart(memory_of, name, counts))
    bare = {count: median([one["counts"][str(count)]["growth"] for one in readings["bare"]]) for count in counts}
    found: dict[str, Any] = {}
    for name, taken in readings.items():
        if name == "bare":
            continue
        row: dict[str, Any] = {"table": {}}
        for count in counts:
            at = [one["counts"][str(count)] for one in taken]
            row[str(count)] = (median([one["growth"] for one in at]) - bare[count]) / count
            if at[0].get("live_bytes"):
                row["table"][str(count)] = at[0]["live_bytes"] / at[0]["live"]
        if taken[0]["worst"]:
            row["worst"] = max(one["worst"] for one in taken)
        found[name] = row
    return found


def render_memory(found: dict[str, Any], counts: tuple[int, ...]) -> str:
    """Return the table of bytes per live object for each tool."""
    head = ["bytes a live object", *(f"{count:,} alive" for count in counts)]
    rows = []
    for name, row in found.items():
        rows.append([f"{name}, resident", *(number(row[str(count)], 1) for count in counts)])
        if row["table"]:
            rows.append([f"{name}, live table", *(number(row["table"].get(str(c)), 1) for c in counts)])
            rows.append([f"{name}, live table at its worst", *[""] * (len(counts) - 1), number(row["worst"], 1)])
    return table(head, rows)


# ---- processes ----


def commands() -> dict[str, processes.Tool]:
    """Return the tools that run whole programs and write their results, in the order of their turns."""
    seismo = [*PYTHON, "-m", "seismo", "objects", "-q", "-o", "OUT"]
    found = {
        "bare": processes.Tool(PYTHON),
        FLOOR: under("references"),
        "seismo types": processes.Tool([*seismo, "--types"]),
        "seismo lines": processes.Tool(seismo),
        UNASKED: processes.Tool([*seismo, "--holders", "0"]),
        "seismo paths": processes.Tool([*seismo, "--paths"]),
        "tracemalloc": under("tracemalloc"),
    }
    return {**found, "memray": under("memray", slow=True)} if installed("memray") else found


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=2, only=CASES).parse_args()
    core = load_core()
    if core.ref_objection() is not None:
        leave_out(f"seismo objects needs Python {'.'.join(map(str, NEEDED))}: {core.ref_objection()}")
    programs.sources()
    rounds, found, there = rounds_of(options), tools(), commands()
    # Processes come first, because the peak of a process includes that of its parent.
    fewer = max(1, rounds - 1)
    chosen = {"deltablue": 20} if options.quick else WHOLE
    results: dict[str, Any] = {}
    results["whole"] = processes.compare(processes.measure(chosen, there, fewer), {"to_floor": FLOOR})
    counts = QUICK_COUNTS if options.quick else COUNTS
    results["memory"] = measure_memory([name for name in there if name not in (FLOOR, UNASKED)], counts, fewer)
    starting = {name: tool for name, tool in there.items() if name.startswith(("bare", "seismo"))}
    results["startup"] = startup(starting, options.quick)
    names = options.only or (QUICK_CASES if options.quick else CASES)
    cases = {name: CASES[name](1 if options.quick else 2) for name in names}
    events = {case: count_events(make) for case, make in cases.items()}
    for name, mode in MODES.items():
        for case, make in cases.items():
            check_heard(core, name, mode, make, events[case])
    compared = compare(measure(cases, found, rounds, turn), events)
    results["programs"] = compared
    results["totals"] = totals(compared, [name for name in found if name != "bare"])
    parts = [render(compared, results["totals"], key) for key in ("ns", "times")]
    parts += [processes.render(results["whole"]), render_memory(results["memory"], counts)]
    parts.append(render_startup(results["startup"]))
    method = (
        f"best of {rounds} interleaved rounds of {AGAIN} runs after an untimed one (memray: once), one process, the "
        "collector off meanwhile; ± is what the second best bare reading took longer than the best, per event; "
        f"{fewer} rounds of processes (memray: once) with their data written and the collector on"
    )
    finish("objects", options, method, results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
