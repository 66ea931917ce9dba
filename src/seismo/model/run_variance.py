"""A model of the variance of times between equal runs, and a test of differences between two groups of runs.

Each run states its measurement error, but equal runs differ by more than that. `variance` models the difference;
docs/accuracy.md describes its terms and the data that they were fitted to. With one run a side, only the model is used.

With several runs a side, the observed variance is used as well. But of many rows, some vary little in a few runs by
chance. So the variance of a row is the mean of the observed and the model's variance, weighted by their degrees of
freedom; the model has PRIOR of them. The model compares rows with each other but does not include the noise of the
machine. So it is scaled first, to the observed variance of the rows that hold half of the time (the moderated t of
Smyth, 2004). The error is Student's t with the sum of both degrees of freedom.

A diff tests many rows at once. With a 95 % interval each, one row in twenty would differ in a diff of equal runs. So
the significance level is divided by the number of tested rows (Bonferroni).
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

DOUBT = 0.05  # significance level of a whole diff: the probability that equal runs show any change
TWO_SIDED = 1.96  # standard deviations of a 95 % interval
MOST_FREEDOM = 1000  # degrees; beyond that, the normal distribution is used
PRIOR = 4  # degrees of freedom of the model beside several runs
PRECISION = 1e-10

# The model's parameters: standard deviations between equal runs relative to times, and DISTURBANCE_NS, whose product
# with a time is added to the variance.
STEADY = 0.05  # of all time: the memory layout and the contents of caches differ
DISTURBANCE_NS = 150_000.0  # interrupts, garbage collections and page faults, which may hit any function
PREEMPTED = 0.05  # of the time without a CPU: other programs evict its caches
UNSTEADY = 0.3  # of waiting and of long C calls, which read files or touch memory for the first time


class RunGroup(NamedTuple):
    """A time in several runs. `model` is the model's variance of a run; `squares` sums the squared deviations."""

    runs: int
    mean: float
    model: float
    squares: float


def variance(time: float, stated: float, preempted: float, unsteady: float) -> float:
    """Return the variance of a time between equal runs, in ns². `stated` is the square of its 95 % error.

    `preempted` is the time without a CPU in the meantime; `unsteady` is the part that was waiting or in unsteady C
    code.
    """
    parts = STEADY * time, PREEMPTED * preempted, UNSTEADY * unsteady
    return stated / TWO_SIDED**2 + sum(part * part for part in parts) + DISTURBANCE_NS * time


def group(times: Sequence[float], variances: Sequence[float]) -> RunGroup:
    """Return the group of one side's runs: times in ns, and their model variances. There must be at least one run."""
    mean = sum(times) / len(times)
    return RunGroup(len(times), mean, sum(variances) / len(variances), sum((time - mean) ** 2 for time in times))


def scale(pairs: Sequence[tuple[RunGroup, RunGroup]]) -> float:
    """Return the ratio of observed to model variance for the rows with half of the time; 1 without several runs."""
    known = []
    for old, new in pairs:
        if (freedom := _freedom(old, new)) > 1 and (model := _model(old, new)) > 0:
            shown = (old.squares + new.squares) / freedom / model
            # Few runs may all be quiet or all be disturbed, so with few runs the model dominates.
            known.append(((freedom**2 * shown + 1) / (freedom**2 + 1), old.mean + new.mean))
    left = sum(time for _, time in known) / 2
    for found, time in sorted(known):
        left -= time
        if left <= 0:
            return found
    return 1.0


def error_of_change(old: RunGroup, new: RunGroup, rows: int = 1, scale: float = 1.0) -> float:
    """Return the half-width of the interval of new.mean - old.mean in ns, for one of `rows` rows tested at once.

    `scale` is the result of scale() for all rows.
    """
    rows = max(1, rows)
    model = scale * _model(old, new)
    freedom = _freedom(old, new)
    prior = min(PRIOR, rows - 1) if freedom > 1 else MOST_FREEDOM  # two runs alone do not allow an estimate
    of_a_run = (old.squares + new.squares + prior * model) / (freedom + prior)
    return student(freedom + prior, DOUBT / rows) * math.sqrt(of_a_run * (1 / old.runs + 1 / new.runs))


def _freedom(old: RunGroup, new: RunGroup) -> int:
    return old.runs + new.runs - 2


def _model(old: RunGroup, new: RunGroup) -> float:
    return (old.runs * old.model + new.runs * new.model) / (old.runs + new.runs)


@functools.cache
def student(freedom: int, doubt: float) -> float:
    """Return the t beyond which, on both sides, this part of Student's distribution lies. `freedom` is at least 1."""
    low, high = 0.0, 1.0
    while _beyond(high, freedom) > doubt and high < 1e15:
        low, high = high, 2 * high
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(middle, freedom) > doubt else (low, middle)
    return high


def _beyond(t: float, freedom: int) -> float:
    """Return the probability of a larger t on either side, by the finite sums for integral degrees of freedom."""
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
