"""Hooks as a service: the cost of a tool that needs no, few or all events, alone and beside another one.

Three comparisons, each in one process, with its tools in turn in every round:

filters     A tool whose predicate matches no function of the program: a Python callback (`seismo.hooks.set_profile`
            with `where=`) and a watch.
hunter      hunter with a query that matches nothing, on two programs, once.
rare        A predicate that matches 1 call in 10,000 of a loop of equal calls. The calls of a tool's function are
            counted and checked, so that no tool is fast because it misses events.
callbacks   Unfiltered: an empty Python function in `sys.setprofile` and in `seismo.hooks.set_profile`, an empty C
            function through `seismo.h`, and two tools at once: two in Python, two in C, one of each. The floors are the
            empty PyEval_SetProfile hook and the empty callbacks of sys.monitoring.

Times are relative to the bare run. Two tools at once: (added by both - added by the dearer) / added by the other. It is
1 for tools that share nothing, and 0 for tools that share everything.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import programs
from common import arguments, finish, installed, load_core, load_floor, number, rounds_of, table
from inprocess import SMALLEST, Tool, bare, empty, measure, micro, ratios, render, worst_and_mean

import seismo
import seismo.hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def c_calls(count: int) -> None:
    text = "abc"
    for _ in range(count):
        len(text)
        text.startswith("a")


# ---- tools ----


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


def hunter() -> dict[str, Tool]:
    import hunter as peer  # type: ignore[import-not-found]

    tracer: list[Any] = []

    def start() -> None:
        tracer.append(peer.trace(peer.Q(module="no.such"), action=lambda event: None))

    return {"bare": bare(), "hunter": Tool(start, lambda: tracer.pop().stop())}


@contextmanager
def c_hook() -> Iterator[None]:
    """Set an empty C callback through seismo.h."""
    floor = load_floor()
    hook = floor.profile()
    yield
    floor.remove(hook)


def with_floors(*names: str) -> dict[str, Tool]:
    """Return the bare run and the empty hooks with these names."""
    return {"bare": bare(), **{name: empty(name) for name in names}}


def filters() -> dict[str, Tool]:
    found = with_floors("floor py", "floor profile")
    found["hook"] = opened(hook(ignore, NOTHING))
    found["watch"] = opened(lambda: seismo.watch(NO_CALL))
    return found


def rare(events: list[str]) -> dict[str, Tool]:
    """Return the tools that want 1 call in EVERY; the hook keeps its events."""

    def keep(frame: object, event: str, arg: object) -> None:
        events.append(event)

    found = with_floors("floor py", "floor profile")
    found["hook"] = opened(hook(keep, RARE))
    found["watch"] = opened(lambda: seismo.watch(f"call and {RARE}", action="count", output=None))
    return found


def callbacks() -> dict[str, Tool]:
    load_floor().load()
    first, second = hook(ignore), hook(ignore_too)
    return {
        **with_floors("floor profile", "floor c"),
        "sys.setprofile": Tool(lambda: sys.setprofile(ignore), lambda: sys.setprofile(None)),
        "python": opened(first),
        "python, python": opened(first, second),
        "c": opened(c_hook),
        "c, c": opened(c_hook, c_hook),
        "python, c": opened(first, c_hook),
    }


PAIRS = {"python, python": ("python", "python"), "c, c": ("c", "c"), "python, c": ("python", "c")}
OVER = [("python", "sys.setprofile"), ("c", "floor c"), ("c", "floor profile")]
TITLES = {
    "filters": "Matching nothing",
    "rare": "Matching 1 call in 10,000",
    "callbacks": "Unfiltered",
    "hunter": "hunter, matching nothing",
}


def relations(found: dict[str, Any]) -> dict[str, Any]:
    """Return ratios of added times: of a tool to another (OVER), and the part that a second tool adds (PAIRS).

    The result is {"name ÷ other": {"geomean", "worst"}, "first, second": {...}}, without cases in which the divisor
    adds less than 2 %.
    """
    ratios: dict[str, dict[str, float]] = {}
    for case, row in found.items():
        added = {name: of["added"] for name, of in row.items()}
        for name, other in OVER:
            if added[other] > SMALLEST:
                ratios.setdefault(f"{name} ÷ {other}", {})[case] = added[name] / added[other]
        for title, alone in PAIRS.items():
            cheaper, dearer = sorted(added[name] for name in alone)
            if cheaper > SMALLEST:
                ratios.setdefault(title, {})[case] = (added[title] - dearer) / cheaper
    return {title: worst_and_mean(of) for title, of in ratios.items()}


def main() -> None:
    options = arguments(__doc__, rounds=5, quick_rounds=2, only=CALLING).parse_args()
    load_core()
    rounds, size = rounds_of(options), 1 if options.quick else 4
    small = micro(options.quick)
    bodies = {name: programs.load(name) for name in options.only or (FEW if options.quick else CALLING)}
    few, hunted = ({name: body for name, body in bodies.items() if name in names} for names in (FEW, HUNTED))
    events: list[str] = []
    rarities = 25 * size
    parts = {
        "filters": (filters(), {**small, **bodies}, rounds),
        "rare": (rare(events), {"1 call in 10,000": lambda: mostly_often(rarities)}, 2 * rounds + 1),
        "callbacks": (callbacks(), {**small, "c functions": lambda: c_calls(100_000 * size), **few}, rounds),
    }
    if installed("hunter"):
        parts["hunter"] = (hunter(), hunted, 1)
    results: dict[str, Any] = {}
    texts = []
    for part, (found, cases, n) in parts.items():
        results[part] = ratios(measure(cases, found, n), found)
        texts += [f"{TITLES[part]}:", render(results[part], found)]
    wanted = 2 * rarities * 2 * (2 * rounds + 1)  # a call and a return of `rarely`, two runs in each round
    if len(events) != wanted:
        raise SystemExit(f"the hook that wants 1 call in {EVERY} was called {len(events)} times, not {wanted}")
    results["totals"] = {
        part: {
            name: worst_and_mean({case: 1 + row[name]["added"] for case, row in results[part].items()})
            for name in found
        }
        for part, (found, _, _) in parts.items()
    }
    results["relations"] = relations(results["callbacks"])
    rows = [
        [name, *(number(found[key]) for key in ("geomean", "worst"))] for name, found in results["relations"].items()
    ]
    texts.append(table(["added times; of two tools, the part that the second adds", "geomean", "worst"], rows))
    method = (
        f"best of {rounds} interleaved rounds ({2 * rounds + 1} for 1 call in 10,000, 1 for hunter), one process; each "
        "body once untimed after every change of hooks; all threads"
    )
    finish("hooks", options, method, results, "\n\n".join(texts))


if __name__ == "__main__":
    main()
