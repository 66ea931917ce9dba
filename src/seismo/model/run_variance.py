"""How far apart the times of equal runs lie, and whether two groups of runs differ by more.

Each run states the error of measuring a time, but equal runs differ by more than that. `variance` is a model of it.
docs/accuracy.md has its terms, and what they were fitted to. One run a side has nothing but the model.

Several runs a side show how much they differ, but few runs show little: of many rows, some lie close together by
chance. So the variance of a row is the mean of what its runs show and of what the model says, weighted by their
degrees of freedom; the model counts for PRIOR of them. It says how rows compare, and not how quiet the machine was, so
it is scaled first: to what the rows that hold half of the time show. (This is the moderated t of Smyth, 2004.) The
error is Student's t with both degrees of freedom.

A diff asks this of many rows at once. With an interval of 95 % each, one row in twenty would differ in any diff of
equal runs. So the doubt is divided by the number of rows that are asked about (Bonferroni).
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

DOUBT = 0.05  # of a whole diff of equal runs: to report any change
TWO_SIDED = 1.96  # standard deviations that a stated error is wide
MOST_FREEDOM = 1000  # degrees: more make no difference
PRIOR = 4  # degrees of freedom that the model counts for beside several runs
PRECISION = 1e-10

# The model: standard deviations of a time between equal runs, as parts of times; and a time that adds its product with
# the time to the variance.
STEADY = 0.05  # of all time: memory has another layout, caches hold other data
DISTURBANCE_NS = 150_000.0  # interrupts, collections and first uses of memory, which may hit any function
PREEMPTED = 0.05  # of the time without a processor: who had it leaves the caches cold
UNSTEADY = 0.3  # of waiting, and of C functions with long calls: they read files, or memory for the first time


class RunGroup(NamedTuple):
    """A time in several runs. `model`: the variance of a run by the model; `squares`: of the deviations, summed."""

    runs: int
    mean: float
    model: float
    squares: float


def variance(time: float, stated: float, preempted: float, unsteady: float) -> float:
    """How much a time varies between equal runs, in ns². stated: the square of its 95 % error.

    preempted: for how long it had no processor meanwhile; unsteady: how much of it was waiting or in unsteady C code.
    """
    parts = STEADY * time, PREEMPTED * preempted, UNSTEADY * unsteady
    return stated / TWO_SIDED**2 + sum(part * part for part in parts) + DISTURBANCE_NS * time


def group(times: Sequence[float], variances: Sequence[float]) -> RunGroup:
    """One side's runs: times in ns, and their variances by the model; at least one."""
    mean = sum(times) / len(times)
    return RunGroup(len(times), mean, sum(variances) / len(variances), sum((time - mean) ** 2 for time in times))


def scale(pairs: Sequence[tuple[RunGroup, RunGroup]]) -> float:
    """Return how many times the model's variance the rows with half of the time show; 1: no side has several runs."""
    known = []
    for old, new in pairs:
        if (freedom := _freedom(old, new)) > 1 and (model := _model(old, new)) > 0:
            shown = (old.squares + new.squares) / freedom / model
            # Few runs may all be quiet, or all disturbed: the fewer there are, the more the model alone counts.
            known.append(((freedom**2 * shown + 1) / (freedom**2 + 1), old.mean + new.mean))
    left = sum(time for _, time in known) / 2
    for found, time in sorted(known):
        left -= time
        if left <= 0:
            return found
    return 1.0


def error_of_change(old: RunGroup, new: RunGroup, rows: int = 1, scale: float = 1.0) -> float:
    """The half-width of the interval of new.mean - old.mean, in ns, of a row of so many that are asked about at once.

    scale: what scale() gives of all rows.
    """
    rows = max(1, rows)
    model = scale * _model(old, new)
    freedom = _freedom(old, new)
    prior = min(PRIOR, rows - 1) if freedom > 1 else MOST_FREEDOM  # of two runs alone, little can be learnt
    of_a_run = (old.squares + new.squares + prior * model) / (freedom + prior)
    return student(freedom + prior, DOUBT / rows) * math.sqrt(of_a_run * (1 / old.runs + 1 / new.runs))


def _freedom(old: RunGroup, new: RunGroup) -> int:
    return old.runs + new.runs - 2


def _model(old: RunGroup, new: RunGroup) -> float:
    return (old.runs * old.model + new.runs * new.model) / (old.runs + new.runs)


@functools.cache
def student(freedom: int, doubt: float) -> float:
    """Return the t beyond which, on either side, lies this part of Student's distribution. freedom: at least 1."""
    low, high = 0.0, 1.0
    while _beyond(high, freedom) > doubt and high < 1e15:
        low, high = high, 2 * high
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(middle, freedom) > doubt else (low, middle)
    return high


def _beyond(t: float, freedom: int) -> float:
    """Return the probability of a larger t on either side (the finite sums for a whole number of degrees)."""
    if freedom >= MOST_FREEDOM:
        return math.erfc(t / math.sqrt(2))
    angle = math.atan2(t, math.sqrt(freedom))
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for step in range(2 + odd, freedom, 2):
        term *= (step - 1) / step * math.cos(angle) ** 2
        total += term
    inside = math.sin(angle) * total
    return 1 - (2 / math.pi * (angle + inside) if odd else inside)
