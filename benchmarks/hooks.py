"""Hooks as a service: the cost of a tool that needs no, few or all events, alone and beside another one.

Four comparisons, each in one process, with its tools in turn in every round:

filters     A tool whose predicate matches no function of the program: a Python callback (`seismo.hooks.set_profile`
            with `where=`) and a watch, divided by the bare run. For comparison the empty hooks and, on two programs in
            the first round, hunter with a query that matches nothing.
rare        A predicate that matches 1 call in 10,000. The program calls one function 9,999 times, then another one
            once, and so on; both do the same little work, and the tool selects the second. The calls of a tool's
            function are counted and checked, so that no tool is fast because it misses events.
callbacks   Unfiltered: an empty Python function in `sys.setprofile` and in `seismo.hooks.set_profile`, an empty C
            function through `seismo.h`, and two tools at once: two in Python, two in C, one of each. The floors are the
            empty PyEval_SetProfile hook and the empty callbacks of sys.monitoring.
references  Objects created and destroyed: the empty PyRefTracer, one C callback through `seismo.h`, two (3.13 and
            later).

Times are divided by the bare run. Two tools at once: (added by both - added by the dearer) / added by the other. It is
1 for tools that share nothing, and 0 for tools that share everything.
"""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import (
    HERE,
    arguments,
    finish,
    geomean,
    load_core,
    load_extension,
    number,
    rounds_of,
    table,
    unrest,
)
from inprocess import Readings, Tool, bare, empty, measure, micro, worst_and_mean

import seismo
import seismo.hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

# The programs with most calls.
CALLING = [name for name in programs.PROGRAMS if name not in ("float", "monte_carlo")]
FEW = ["deltablue", "chaos", "deepcopy"]  # for tools that multiply the running time
HUNTED = ("deltablue", "chaos")  # for a tool that takes sixty times as long
NOTHING = 'module("no.such")'
NO_CALL = 'call("no.such.*")'
RARE = 'function("rarely")'
EVERY = 10_000


# ---- bodies ----


def often(n: int) -> int:
    return n + 1


def rarely(n: int) -> int:
    return n + 1


def mostly_often(rarities: int) -> None:
    """Call `often` 9,999 times and `rarely` once, `rarities` times."""
    for i in range(rarities):
        for j in range(EVERY - 1):
            often(j)
        rarely(i)


class Thing:
    __slots__ = ("after",)


def things(count: int) -> None:
    """Create and destroy 2 * count objects: instances of a class, each with a list."""
    for _ in range(count):
        thing = Thing()
        thing.after = [thing.__class__]


def c_calls(count: int) -> None:
    text = "abc"
    for _ in range(count):
        len(text)
        text.startswith("a")


# ---- tools ----


class Counted:
    """A Python profile function that counts its events."""

    def __init__(self) -> None:
        self.events = 0

    def __call__(self, frame: object, event: str, arg: object) -> None:
        self.events += 1


def ignore(frame: object, event: str, arg: object) -> None:
    pass


def ignore_too(frame: object, event: str, arg: object) -> None:
    pass


def opened(*makers: Callable[[], Any]) -> Tool:
    """Return a tool whose parts are context managers, entered at its start and left at its stop."""
    stack = ExitStack()

    def start() -> None:
        for make in makers:
            stack.enter_context(make())

    return Tool(start, stack.close)


def hook(function: Callable[..., object], where: str | None = None) -> Callable[[], Any]:
    """Return a function that creates a hook of seismo on all threads."""
    return lambda: seismo.hooks.set_profile(function, threads="all", where=where)


def hunter(**query: str) -> Tool | None:
    """Return hunter with a query whose matches are ignored, or None if it is not installed."""
    try:
        import hunter as peer
    except ImportError as error:
        print(f"hunter is left out: {error}", file=sys.stderr)
        return None
    tracer: list[Any] = []
    return Tool(
        lambda: tracer.append(peer.trace(peer.Q(**query), action=lambda event: None)),
        lambda: tracer.pop().stop(),
        rounds=1,
        cases=HUNTED,
    )


class Client:
    """The extension floor/client.c: empty C callbacks through seismo.h, each as a context manager."""

    def __init__(self) -> None:
        header = Path(seismo.get_include()) / "seismo.h"
        self.module: ModuleType = load_extension("floor_client", HERE / "floor" / "client.c", header)
        self.module.load()

    @contextmanager
    def profile(self) -> Iterator[None]:
        hook = self.module.profile()
        yield
        self.module.remove(hook)

    @contextmanager
    def references(self) -> Iterator[None]:
        hook = self.module.references()
        yield
        self.module.remove(hook)


def with_floors(*names: str) -> dict[str, Tool]:
    """Return the bare run and the empty hooks with these names."""
    return {"bare": bare(), **{name: empty(name) for name in names}}


def filters() -> dict[str, Tool]:
    found = with_floors("floor py", "floor profile")
    found["hook"] = opened(hook(ignore, NOTHING))
    found["watch"] = opened(lambda: seismo.watch(NO_CALL))
    peer = hunter(module="no.such")
    return {**found, "hunter": peer} if peer else found


def rare(counted: Counted) -> dict[str, Tool]:
    found = with_floors("floor py", "floor profile")
    found["hook"] = opened(hook(counted, RARE))
    found["watch"] = opened(lambda: seismo.watch(f"call and {RARE}", action="count", output=None))
    return found


def callbacks(c: Client) -> dict[str, Tool]:
    first, second = hook(ignore), hook(ignore_too)
    return {
        **with_floors("floor profile", "floor c"),
        "sys.setprofile": Tool(lambda: sys.setprofile(ignore), lambda: sys.setprofile(None)),
        "python": opened(first),
        "python, python": opened(first, second),
        "c": opened(c.profile),
        "c, c": opened(c.profile, c.profile),
        "python, c": opened(first, c.profile),
    }


def references(c: Client) -> dict[str, Tool]:
    tools = {"c": opened(c.references), "c, c": opened(c.references, c.references)}
    return with_floors("floor references") | tools


PAIRS = {"python, python": ("python", "python"), "c, c": ("c", "c"), "python, c": ("python", "c")}


# ---- results ----


def times(readings: Readings, kind: str = "warm") -> dict[str, Any]:
    """Return {case: {tool: best / best bare, "bare": best bare in s, "unrest": of the bare readings}}."""
    found: dict[str, Any] = {}
    for case, by_tool in readings.items():
        base = min(by_tool["bare"][kind])
        row = {name: min(taken[kind]) / base for name, taken in by_tool.items() if taken and name != "bare"}
        found[case] = {**row, "bare": base, "unrest": unrest(by_tool["bare"][kind])}
    return found


def totals(found: dict[str, Any]) -> dict[str, Any]:
    """Return {tool: worst_and_mean()} of the times relative to bare."""
    names = {name for row in found.values() for name in row} - {"bare", "unrest"}
    return {n: worst_and_mean({case: row[n] for case, row in found.items() if n in row}) for n in sorted(names)}


def relations(found: dict[str, Any], pairs: dict[str, tuple[str, str]], over: list[tuple[str, str]]) -> dict[str, Any]:
    """Return ratios of added times: of a tool to another (the pairs in `over`), and the part that a second tool adds.

    The result is {"name ÷ other": {"geomean", "worst"}, "first, second": {...}}, without cases in which the divisor
    adds less than 2 %.
    """
    summed: dict[str, dict[str, float]] = {}

    def keep(title: str, ratios: list[float]) -> None:
        if ratios:
            summed[title] = {"geomean": geomean(ratios), "worst": max(ratios)}

    rows = list(found.values())
    for name, other in over:
        both = [row for row in rows if name in row and row.get(other, 0) > 1.02]
        keep(f"{name} ÷ {other}", [(row[name] - 1) / (row[other] - 1) for row in both])
    for title, alone in pairs.items():
        both = [row for row in rows if title in row and min(row[name] for name in alone) > 1.02]
        dearer = [max(row[name] for name in alone) for row in both]
        other = [min(row[name] for name in alone) for row in both]
        keep(title, [(row[title] - a) / (b - 1) for row, a, b in zip(both, dearer, other, strict=True)])
    return summed


def render(found: dict[str, Any]) -> str:
    """Return the table of one comparison: bare milliseconds, each tool's time relative to bare, and the mean."""
    names = [name for name in next(iter(found.values())) if name not in ("bare", "unrest")]
    rows = [
        [case, number(row["bare"] * 1000, 1), *(number(row.get(name, math.nan)) for name in names)]
        for case, row in found.items()
    ]
    if len(rows) > 1:
        rows.append(["geomean", "", *(number(geomean(row[n] for row in found.values() if n in row)) for n in names)])
    return table(["program", "bare ms", *names], rows)


def check_rare(counted: Counted, rarities: int, runs: int) -> None:
    """Raise SystemExit unless the filtered hook received exactly a call and a return for each call of `rarely`."""
    wanted = 2 * rarities * runs
    if counted.events != wanted:
        raise SystemExit(f"the hook that wants 1 call in {EVERY} was called {counted.events} times, not {wanted}")


def summary(results: dict[str, Any]) -> list[str]:
    """Return the main results of the tables, one line each."""
    lines = []
    for key, label in (("filters", "matching nothing"), ("filters_cold", "matching nothing, first run")):
        for name, total in results["totals"][key].items():
            lines.append(
                f"- {label}, {name}: geomean {number(total['geomean'])}, worst {number(total['worst'])} "
                f"({total['worst_case']})"
            )
    for key, label in (("relations", ""), ("references_relations", "references: ")):
        for title, found in results[key].items():
            what = f"{title}, added time" if "÷" in title else f"{title}: the second adds, of what it adds alone"
            lines.append(f"- {label}{what}: geomean {number(found['geomean'])}, worst {number(found['worst'])}")
    return lines


def main() -> None:
    options = arguments(__doc__, rounds=5, quick_rounds=2, only=CALLING).parse_args()
    load_core()
    rounds, size = rounds_of(options), 1 if options.quick else 4
    small = micro(options.quick)
    bodies = {name: programs.load(name) for name in options.only or (FEW if options.quick else CALLING)}
    few = {name: body for name, body in bodies.items() if name in FEW}
    c, counted, rarities, results = Client(), Counted(), 25 * size, {}

    filtered = measure({**small, **bodies}, filters(), rounds)
    results["filters"], results["filters_cold"] = times(filtered), times(filtered, "cold")
    rarely_called = {"1 call in 10,000": lambda: mostly_often(rarities)}
    results["rare"] = times(measure(rarely_called, rare(counted), 2 * rounds + 1))
    check_rare(counted, rarities, 2 * (2 * rounds + 1))
    cases = {**small, "c functions": lambda: c_calls(100_000 * size), **few}
    results["callbacks"] = times(measure(cases, callbacks(c), rounds))
    if sys.version_info >= (3, 13):
        made = {"objects": lambda: things(100_000 * size), **few}
        results["references"] = times(measure(made, references(c), rounds))
    titles = {
        "filters": "Matching nothing, times bare:",
        "rare": "Matching 1 call in 10,000, times bare:",
        "callbacks": "Unfiltered, times bare:",
        "references": "Objects made and destroyed, times bare:",
    }
    lines = [line for key in titles if key in results for line in (titles[key], "", render(results[key]), "")]
    results["totals"] = {name: totals(found) for name, found in results.items()}
    over = [("python", "sys.setprofile"), ("c", "floor c"), ("c", "floor profile")]
    results["relations"] = relations(results["callbacks"], PAIRS, over)
    objects = results.get("references", {})
    results["references_relations"] = relations(objects, {"c, c": ("c", "c")}, [("c", "floor references")])
    method = (
        f"best of {rounds} interleaved rounds ({2 * rounds + 1} for 1 call in 10,000, 1 for hunter), one process; each "
        "body once untimed after every change of hooks; all threads"
    )
    finish("hooks", options, method, results, "\n".join(lines + summary(results)))


if __name__ == "__main__":
    main()
