"""Births and deaths of objects: the cost of `seismo objects` beside the empty tracer, tracemalloc and memray.

In process, all tools in turn in every round: loops that create and drop one kind of object, a JSON document parsed, a
heap of a million live lists of which some are replaced, deltablue, richards. Each case creates its body after the tool
has started, so that everything that the body keeps alive was born under the tool, and drops it after the tool stops.
The tools are bare, the empty PyRefTracer (the cost of reporting every object), and seismo objects with --types, with
creating lines, and with --paths.

ns per event = (best with the tool - best bare) / events. Events are the births and deaths that a counting tracer counts
in one run of the body. That seismo has counted all events is checked.

Whole processes with their data written, beside tracemalloc (one frame per allocation) and memray's object lifetimes (in
the first round only); memory of the table of live objects, also right after it has grown; start-up. Python 3.13.3 and
later.
"""

from __future__ import annotations

import json
import random
from functools import partial
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
    number,
    rounds_of,
    table,
    timed,
)
from inprocess import Readings, Tool, bare, empty, measure, turned
from processes import PYTHON, results_of, under

if TYPE_CHECKING:
    from collections.abc import Callable

    from common import Case

MODES: dict[str, dict[str, Any]] = {
    "seismo types": {"objects": "types"},
    "seismo lines": {"objects": "lines"},
    "seismo paths": {"objects": "lines", "paths": True},
}
FLOOR = "floor references"
WHOLE = {"deltablue": 80, "richards": 64}  # repeats for two or three seconds
AGAIN = 3  # timed runs of a body per turn
HEARD = 0.98  # minimum share of the counted events
LIVE = 1_000_000
LEAST, MOST, STEP = 100_000, 3_000_000, 50  # living objects


# ---- bodies ----


class Thing:
    """An object with a dictionary of attributes, the usual kind."""

    def __init__(self, value: object) -> None:
        self.value = value


def keeper(value: int) -> Callable[[], int]:
    return lambda: value


# Statements that create and drop one kind of object, and the number of their runs at size 1.
LOOPS = {
    "tuples": ("(value, value)", 600_000),
    "lists": ("[value]", 600_000),
    "floats": ("value * 0.5", 600_000),
    "strings": ("f'<{value}>'", 200_000),
    "objects": ("Thing(value)", 200_000),
    "closures": ("keeper(value)", 200_000),
}


def loop(name: str, size: int) -> Callable[[], Case]:
    """Return a case: one of LOOPS over existing numbers."""
    statement, count = LOOPS[name]
    names: dict[str, Any] = {"Thing": Thing, "keeper": keeper}
    exec(f"def run(values):\n    for value in values: {statement}", names)

    def make() -> Case:
        values = list(range(1_000_000, 1_000_000 + count * size))
        return lambda: names["run"](values)

    return make


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
    return lambda: partial(json.loads, text)


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


def whole(name: str) -> Callable[[], Case]:
    """Return a case: one of pyperformance's programs, loaded once."""
    body = programs.load(name)
    return lambda: body


# Makers of cases, of 10 to 60 ms at size 2; the quick ones are half as long and fewer.
CASES: dict[str, Callable[[int], Callable[[], Case]]] = {
    **{name: partial(loop, name) for name in LOOPS},
    "json": lambda size: parsed(10_000 * size),
    "heap of a million": lambda size: lambda: Heap(LIVE, 80_000 * size),
    "deltablue": lambda size: whole("deltablue"),
    "richards": lambda size: whole("richards"),
}
QUICK_CASES = ("tuples", "objects", "json", "heap of a million", "deltablue")


# ---- in process ----


def tools() -> dict[str, Tool]:
    """Return all tools that this interpreter supports, in the order of their turns."""
    core = load_core()
    modes = {name: Tool(partial(core.start, recorder="lifetimes", **mode), core.stop) for name, mode in MODES.items()}
    return {"bare": bare(), FLOOR: empty(FLOOR), **modes}


def in_one_run(make: Callable[[], Case], tool: Tool, told: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    """Return births and deaths in the body's second run, a timed one. `told` returns the tool's totals so far."""
    counted: list[tuple[int, int]] = []
    tool.start()
    try:
        body = make()
        timed(body)
        timed(lambda: (counted.append(told()), body(), counted.append(told())))
    finally:
        tool.stop()
    (born, died), (born_then, died_then) = counted
    return born_then - born, died_then - died


def count_events(found: dict[str, Tool], cases: dict[str, Callable[[], Case]]) -> dict[str, tuple[int, int]]:
    """Return births and deaths of each case by a counting tracer. Raise SystemExit if seismo has missed some."""
    core, floor, events = load_core(), load_floor(), {}

    def told() -> tuple[int, int]:
        status = core.status()
        return status["births"], status["deaths"]

    for case, make in cases.items():
        events[case] = in_one_run(make, Tool(partial(floor.start, "count"), floor.stop), floor.counted)
        for name in MODES:
            heard = in_one_run(make, found[name], told)
            if any(got < HEARD * there for got, there in zip(heard, events[case], strict=True)):
                raise SystemExit(f"{name} counted {heard} births and deaths of {events[case]} in {case}")
    return events


def compare(readings: Readings, events: dict[str, tuple[int, int]]) -> dict[str, Any]:
    """Return {case: {"events": their number, tool: {"best": s, "ns": per event}}}."""
    results: dict[str, Any] = {}
    for case, by_tool in readings.items():
        total, best = sum(events[case]), {name: min(taken["warm"]) for name, taken in by_tool.items()}
        of_tools = {name: {"best": took, "ns": (took - best["bare"]) / total * 1e9} for name, took in best.items()}
        results[case] = {"events": total, **of_tools}
    return results


def totals(results: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return {tool: {"ns": over the events of all cases, "ns_worst"}}."""
    summed, rows = {}, results.values()
    count = sum(row["events"] for row in rows)
    for name in names:
        added = sum(row[name]["best"] - row["bare"]["best"] for row in rows)
        summed[name] = {"ns": added / count * 1e9, "ns_worst": max(row[name]["ns"] for row in rows)}
    return summed


def render(results: dict[str, Any], summed: dict[str, Any]) -> str:
    """Return the table of ns per event."""
    names = list(summed)
    rows = []
    for case, row in results.items():
        cells = [number(row[name]["ns"], 1) for name in names]
        rows.append([case, number(row["bare"]["best"] * 1000, 1), f"{row['events']:,}", *cells])
    for label, key in (("all events", "ns"), ("worst", "ns_worst")):
        rows.append([label, "", "", *(number(summed[name][key], 1) for name in names)])
    return table(["ns an event", "bare ms", "events", *names], rows)


def memory_of(most: int) -> float:
    """Return the bytes of the live table per object at its worst moment, with up to this many objects alive.

    The table is read after every fiftieth part, so that a moment right after it has grown is among the readings. It
    needs a new process.
    """
    core, worst, made = load_core(), 0.0, 0
    kept: list[object] = [None] * most
    core.start(recorder="lifetimes", objects="lines")
    while made < most:
        until = min(most, made + max(made // STEP, 1000))
        for place in range(made, until):
            kept[place] = object()
        made, status = until, core.status()
        if made >= LEAST:
            worst = max(worst, status["live_bytes"] / status["live"])
    core.stop()
    return worst


def commands() -> dict[str, processes.Tool]:
    """Return the tools that run whole programs and write their results, in the order of their turns."""
    seismo = [*PYTHON, "-m", "seismo", "objects", "-q", "-o", "OUT"]
    found = {
        "bare": processes.Tool(PYTHON),
        FLOOR: under("references"),
        "seismo types": processes.Tool([*seismo, "--types"]),
        "seismo lines": processes.Tool(seismo),
        "seismo paths": processes.Tool([*seismo, "--paths"]),
        "tracemalloc": under("tracemalloc"),
    }
    return {**found, "memray": under("memray", slow=True)} if installed("memray") else found


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=2, only=CASES).parse_args()
    core = load_core()
    if core.ref_objection() is not None:
        leave_out(f"seismo objects needs Python 3.13.3, which reports deaths: {core.ref_objection()}")
    rounds, found, there = rounds_of(options), tools(), commands()
    starting = [name for name in there if name.startswith(("bare", "seismo"))]
    repeats = {"deltablue": 20} if options.quick else WHOLE
    whole, parts, _ = results_of(options, there, {"to_floor": FLOOR}, repeats, starting)
    memory = apart(memory_of, LIVE if options.quick else MOST)
    names = options.only or (QUICK_CASES if options.quick else CASES)
    cases = {name: CASES[name](1 if options.quick else 2) for name in names}
    events = count_events(found, cases)
    compared = compare(measure(cases, found, rounds, partial(turned, warm=AGAIN, made=True)), events)
    summed = totals(compared, [name for name in found if name != "bare"])
    results = {"whole": whole, "memory": memory, "totals": summed}
    live = table(["", "bytes"], [["live table, worst: bytes an object", number(memory, 1)]])
    parts = [render(compared, summed), *parts, live]
    method = (
        f"best of {rounds} interleaved rounds of {AGAIN} runs after an untimed one, one process, the "
        "collector off meanwhile; processes (memray: once) with their data written and the collector on"
    )
    finish("objects", options, method, results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
