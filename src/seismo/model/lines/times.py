"""Times of lines with their errors.

A line's segments are a population of their own, as a function's are: all timed, or some of them drawn at random.
So lines are estimated as functions are (native/estimate), each as the only node of a function of its own: the
segments that a hit begins are its calls, the others (a function that it called came back, a generator went on) its
resumes, and what the probes cost in each is what the recorder measured for the two. The sum over all lines is held
against the time of their threads that was not timed always: they are a region of functions (native/estimate/regions.c).

Rows of several processes that are one after a merge are one population; the probes' costs are then the processes' mean.

Inner times are made while recording (native/recorder/lines/totals.c), mostly of what went by between readings of
the clock, the probes' cost taken out, with their variance. What is known of the sum of all lines corrects them, too:
their sampled part by as much as it corrects the lines' own. How much of an inner time is sampled follows from its
variance: for each ns as much as that of all samples together. Own time, and own and inner time together, are never more
than all threads have lived.
"""

from __future__ import annotations

import array
import math
from typing import TYPE_CHECKING, Any

from seismo.model import waits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model.recording import Columns, Tables

TWO_SIDED = 1.96  # standard deviations: 19 in 20
PERIOD = 128  # what a sample stands for if it was not drawn while its line was young
ALL = 1 << 62  # segments: more than there are
_TIMED = ("timed", "timed_ns", "timed_sq", "ticked", "ticked_ns", "ticked_var", "wait_ns", "wait_sq")
_SAMPLES = (
    *("sampled", "sampled_ns", "sampled_sq", "sampled_most"),
    *("young", "young_weight", "young_ns", "young_var", "young_var_ns", "young_var_sq"),
)


def estimated(tables: Tables, times: str = "wall") -> Columns:
    """own_ns, own_error_ns, inner_ns, inner_error_ns, total_ns, total_error_ns of each row of `lines`.

    times: "wall", "cpu" or "wait", for own times. Inner times are always those of the wall: what of them was waiting is
    not recorded.
    """
    lines = tables["lines"]
    count = len(lines["id"])
    if not any(lines["segments"]):  # coverage: nothing is timed
        nothing = memoryview(array.array("d", bytes(8 * count)))
        return dict.fromkeys(
            ("own_ns", "own_error_ns", "inner_ns", "inner_error_ns", "total_ns", "total_error_ns"), nothing
        )
    lived = sum(tables["threads"]["wall_ns"].tolist()) or math.inf
    found = _estimated_as_functions(tables, count, times)
    own = [min(time, lived) for time in found["own_ns"]]
    own_errors, inner_searches = _with_searches(tables, list(map(float, found["own_error_ns"])), times)
    doubt, factor = _sampled(tables, sum(_running(tables, count, times, own)))
    cost_error = max(tables["processes"]["cost_error"].tolist(), default=0.0)
    inner, inner_errors = [], []
    inside = (lines[name].tolist() for name in ("inner_ns", "inner_var", "inner_cost_ns"))
    for itself, time, variance, cost, search in zip(own, *inside, inner_searches, strict=True):
        part = min(time, variance / doubt) if doubt > 0 else 0.0
        more = part * (factor - 1)
        inner.append(min(time + more, max(0.0, lived - itself)))
        sampling = math.hypot(factor * TWO_SIDED * math.sqrt(max(0.0, variance)), more)
        inner_errors.append(sampling + cost_error * cost + search)
    return {
        "own_ns": _reals(own),
        "own_error_ns": _reals(own_errors),
        "inner_ns": _reals(inner),
        "inner_error_ns": _reals(inner_errors),
        "total_ns": _reals([a + b for a, b in zip(own, inner, strict=True)]),
        "total_error_ns": _reals([math.hypot(a, b) for a, b in zip(own_errors, inner_errors, strict=True)]),
    }


def _with_searches(tables: Tables, errors: list[float], times: str) -> tuple[list[float], list[float]]:
    """The errors of own times with what the interpreter's searches may add; the latter of inner times.

    What they took is taken out while recording (native/recorder/lines/searches.c); how well it is known is common to
    all segments of a line. It is running, so it is in no time of waiting.
    """
    names = ("search_error_ns", "inner_search_error_ns")
    own, inner = ([float(value) for value in tables["lines"][name]] for name in names)
    return (errors if times == "wait" else [a + b for a, b in zip(errors, own, strict=True)]), inner


def _running(tables: Tables, count: int, times: str, own: list[Any]) -> list[Any]:
    """What the lines ran. own: as it was estimated, of the times that were asked for."""
    if times == "cpu" or not any(tables["lines"]["wait_ns"]):
        return own
    return _estimated_as_functions(tables, count, "cpu")["own_ns"].tolist()


def _estimated_as_functions(tables: Tables, count: int, times: str) -> Columns:
    found = waits.estimated(_as_functions(tables, count), times, distorted=False)
    return {name: found[name][1:] for name in ("own_ns", "own_error_ns")}


def _sampled(tables: Tables, own: float) -> tuple[float, float]:
    """The variance of each ns that was sampled, in ns; by what samples understate, as a factor.

    own: the sum of the lines' estimated own times.
    """
    lines, processes = tables["lines"], tables["processes"]
    cost = _mean(processes["python_inside"].tolist())
    back = _mean(processes["resume_inside"].tolist())
    sums = {
        name: sum(lines[name].tolist()) for name in (*_SAMPLES, "hits", "segments", "timed", "timed_ns", "ticked_ns")
    }
    hits, segments = sums["hits"], sums["segments"]
    weight = PERIOD * sums["sampled"] + sums["young_weight"]
    time = PERIOD * sums["sampled_ns"] + sums["young_ns"]
    if time <= weight * cost:
        return 0.0, 1.0
    more = PERIOD * (PERIOD - 1)
    square: float = more * sums["sampled_sq"] + sums["young_var_sq"]
    square -= 2 * cost * (more * sums["sampled_ns"] + sums["young_var_ns"])
    square += cost * cost * (more * sums["sampled"] + sums["young_var"])
    doubt = max(0.0, square) / (time - weight * cost)
    scale = max(0, segments - sums["timed"]) / weight
    rest = time * scale - cost * hits - back * max(0, segments - hits)
    if rest <= 0:
        return doubt, 1.0
    return doubt, min(2.0, max(0.5, (own - sums["timed_ns"] - sums["ticked_ns"]) / rest))


def _as_functions(tables: Tables, count: int) -> dict[str, Any]:
    """The tables that _core.estimate takes, in one process: a function and a node for each line, below a first one.

    That one is nothing but what is known of all of them: it was entered once, and its segments were all timed.
    """
    lines, threads = tables["lines"], tables["threads"]
    hits, segments = lines["hits"].tolist(), lines["segments"].tolist()
    nought = _whole([0] * (count + 1))
    rest = sum(threads["rest_ns"].tolist())
    looks = sum(lines["sampled"].tolist()) + sum(lines["young"].tolist()) if rest else 0  # 0: not known
    nodes: dict[str, Any] = {
        "parent": _whole([-1, *[0] * count]),
        "thread": nought,
        "function": _whole(range(count + 1)),
        "calls": _whole([1, *hits]),
        "resumes": _whole([0, *[max(0, a - b) for a, b in zip(segments, hits, strict=True)]]),
        "exceptions": nought,
        "flags": nought,
        "ready_ns": nought,
        "stretches": _whole([looks, *[0] * count]),
        "stretch_ns": _whole([rest, *[0] * count]),
    }
    for name in (*_TIMED, *_SAMPLES):
        made = _reals if lines[name].format == "d" else _whole
        nodes[name] = made([0, *lines[name].tolist()])
    nodes["timed"][0] = ALL
    processes = tables["processes"]
    costs = {name: _mean(processes[name].tolist()) for name in _COSTS}
    costs["cost_error"] = max(processes["cost_error"].tolist(), default=0.0)
    return {
        "nodes": nodes,
        "functions": {"kind": nought, "flags": nought, "code_bytes": nought},
        "threads": {"process": _whole([0]), "rest_ns": _whole([rest])},
        "processes": {name: _reals([value]) for name, value in costs.items()},
    }


_COSTS = (
    "python_inside",
    "python_outside",
    "c_inside",
    "c_outside",
    "resume_inside",
    "resume_outside",
    "clock_ns",
    "far_ns",
    "deep_ns",
    "catch_ns",
    "coroutine_ns",
    "from_c_ns",
)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _whole(values: Any) -> memoryview:
    return memoryview(array.array("q", values))


def _reals(values: list[float]) -> memoryview:
    return memoryview(array.array("d", values))
