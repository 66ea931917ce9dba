"""Estimated times of lines, with their errors.

A line's time is estimated like that of a function (native/estimate) which is called once per hit, is never timed
exactly and has a single root node. Its time is its samples, less the cost of recording its hits; all lines together
have the running time of their threads. Rows that a merge made of several processes are one population, with the
processes' mean probe costs.

Inner time is time in functions that a line called. The sampler records it less the probes' cost there
(native/recorder/lines). Late samples miss some of it, so inner times are scaled up like all sampled time. Own time, and
the sum of own and inner time, never exceed the lifetime of all threads.
"""

from __future__ import annotations

import math
from operator import add
from typing import TYPE_CHECKING, Any

from seismo.model import wait_times
from seismo.model.columns import floats, ints, zeros

if TYPE_CHECKING:
    from seismo.model.columns import Columns, Tables

TWO_SIDED = 1.96  # standard deviations of a 95 % interval
_TIMES = ("sampled", "sampled_ns", "sampled_sq", "wait_ns", "wait_sq", "ready_ns")
_ESTIMATED = ("own_ns", "own_error_ns", "inner_ns", "inner_error_ns", "total_ns", "total_error_ns")
_CALLS = ("python", "c", "resume")
_COSTS = (*(f"{call}_{where}" for call in _CALLS for where in ("inside", "outside")), "piece_ns", "deep_ns")


def estimated(tables: Tables, times: str = "wall") -> Columns:
    """Return the columns _ESTIMATED of each row of `lines`.

    `times` selects "wall", "cpu" or "wait" for own times. Inner times are always wall times, because their waiting part
    is not recorded.
    """
    lines = tables["lines"]
    count = len(lines["id"])
    found, waited = sum(lines["sampled_ns"].tolist()), sum(lines["wait_ns"].tolist())
    rest = found if len(tables["nodes"]["id"]) else max(found, sum(tables["threads"]["rest_ns"].tolist()))
    if not rest + waited:  # coverage: nothing is timed
        return dict.fromkeys(_ESTIMATED, zeros(count, "d"))
    lived = sum(tables["threads"]["wall_ns"].tolist()) or math.inf
    as_functions = _as_functions(tables, count, rest)
    wall = wait_times.estimated(as_functions, "wall", distorted=False)["own_ns"].tolist()
    of_own = wait_times.estimated(as_functions, times, distorted=False)
    own = [min(float(time), lived) for time in of_own["own_ns"].tolist()]
    own_errors = list(map(float, of_own["own_error_ns"]))
    missed = (rest + waited) / (found + waited) if found + waited else 1.0
    whole = sum(wall)
    cost_error: float = max(tables["processes"]["cost_error"].tolist(), default=0.0)
    doubt = cost_error * max(0.0, rest + waited - whole) / whole if whole else 0.0  # from taking the probes' cost out
    inner, inner_errors = [], []
    for itself, time, variance in zip(own, lines["inner_ns"].tolist(), lines["inner_var"].tolist(), strict=True):
        inner.append(min(time * missed, max(0.0, lived - itself)))
        others = max(0.0, 1 - inner[-1] / whole) if whole else 0.0  # errors only shift time: the sum is known
        chance = TWO_SIDED * missed * math.sqrt(variance * others)
        inner_errors.append(math.hypot(chance, doubt * inner[-1]))
    total, total_errors = map(add, own, inner), map(math.hypot, own_errors, inner_errors)
    columns = (own, own_errors, inner, inner_errors, total, total_errors)
    return dict(zip(_ESTIMATED, map(floats, columns), strict=True))


def _as_functions(tables: Tables, count: int, rest: int) -> dict[str, Any]:
    """Return the input tables of _core.estimate for one process, with a function and a node for each line."""
    nought, exact = zeros(count), zeros(count, "d")
    processes = tables["processes"]
    costs = {name: sum(processes[name].tolist()) / max(1, len(processes["id"])) for name in _COSTS}
    costs["cost_error"] = max(processes["cost_error"].tolist(), default=0.0)
    nodes = {
        "parent": ints([-1] * count),
        "function": ints(range(count)),
        "calls": tables["lines"]["hits"],
        **dict.fromkeys(("thread", "resumes", "entered", "timed", "timed_ns"), nought),
        **{name: tables["lines"][name] for name in _TIMES},
        **dict.fromkeys(("own_sq", "shared_ns"), exact),
    }
    return {
        "nodes": nodes,
        "functions": {"id": nought, "kind": nought},
        "threads": {"process": ints([0]), "rest_ns": ints([rest])},
        "processes": {name: floats([value]) for name, value in costs.items()},
    }
