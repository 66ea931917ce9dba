"""How much two groups of runs differ, held against how much the runs of a group do.

Each run tells a time with an error, that of measuring it. Runs of one program differ by more: another layout of memory,
another process on the machine. How much more only several runs can tell, and few tell little. So the variance of a
group's mean is the larger of what its runs show and of what their errors state, and the error of the difference is
Welch's: Student's t with as many degrees of freedom as the runs leave. Where one side is a single run, it is taken to
vary by the same part of its time as the other.

A diff asks this of many rows at once. With an interval of 95 % each, one row in twenty would differ in any diff of
equal runs. So the doubt is divided by the number of rows that are asked about (Bonferroni): in 19 of 20 diffs of equal
runs none differs. Its price: with three runs a side, twenty rows make the interval three times as wide.

Few runs may lie close together by chance, and one row of many does. So no row is taken for steadier than the rows that
hold half of the time: their spread, as a part of the time, is the least that is believed (`usual`). The rows' degrees
of freedom are not added up for that, because what disturbs a run mostly disturbs all of it.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

DOUBT = 0.05  # of a whole diff of equal runs: to report any change
TWO_SIDED = 1.96  # standard deviations that a stated error is wide
MOST_FREEDOM = 1000.0  # degrees: more make no difference
PRECISION = 1e-10


class Group(NamedTuple):
    """A time in several runs. `stated`: the variance of the mean by the stated errors; `spread`: by how runs differ."""

    runs: int
    mean: float
    stated: float
    spread: float


def group(times: Sequence[float], errors: Sequence[float]) -> Group:
    """One side's runs: times and the 95 % half-widths of their errors, all in ns; at least one."""
    runs = len(times)
    mean = sum(times) / runs
    stated = sum((error / TWO_SIDED) ** 2 for error in errors) / runs**2
    spread = sum((time - mean) ** 2 for time in times) / (runs - 1) / runs if runs > 1 else 0.0
    return Group(runs, mean, stated, spread)


def usual(pairs: Sequence[tuple[Group, Group]]) -> float:
    """The variance of a run, as a part of the square of its time, that rows with half of the time have at most."""
    known = []
    for pair in pairs:
        several = [one for one in pair if one.runs > 1 and one.mean > 0]
        freedom = sum(one.runs - 1 for one in several)
        if freedom:
            of_a_run = sum((one.runs - 1) * one.spread * one.runs / one.mean**2 for one in several) / freedom
            known.append((of_a_run, sum(one.mean for one in several)))
    left = sum(time for _, time in known) / 2
    for variance, time in sorted(known):
        left -= time
        if left <= 0:
            return variance
    return 0.0


def error_of_change(old: Group, new: Group, rows: int = 1, least: float = 0.0) -> float:
    """The half-width of the interval of new.mean - old.mean, in ns, of a row of so many that are asked about at once.

    least: what usual() gives of all rows. Of a single run a side: that of the stated errors alone, which says nothing
    about other runs.
    """
    if old.runs == new.runs == 1:
        return TWO_SIDED * math.sqrt(old.stated + new.stated)
    a, b = _variance(old, new, least), _variance(new, old, least)
    if a + b <= 0:
        return 0.0
    freedom_a, freedom_b = ((one.runs if one.runs > 1 else other.runs) - 1 for one, other in ((old, new), (new, old)))
    if old.runs == 1 or new.runs == 1:  # one estimate of the variance, used twice
        freedom = float(freedom_a)
    else:
        freedom = (a + b) ** 2 / (a**2 / freedom_a + b**2 / freedom_b)
    return student(freedom, DOUBT / max(1, rows)) * math.sqrt(a + b)


def _variance(one: Group, other: Group, least: float) -> float:
    """Of the mean of one side."""
    spread = one.spread
    if one.runs == 1 and other.mean > 0:
        spread = other.spread * other.runs * (one.mean / other.mean) ** 2
    return max(spread, one.stated, least * one.mean**2 / one.runs)


def student(freedom: float, doubt: float) -> float:
    """The t beyond which, on either side, lies this part of Student's distribution. freedom: at least 1."""
    return _student(math.floor(10 * min(MOST_FREEDOM, max(1.0, freedom))) / 10, doubt)  # rounded down: on the safe side


@functools.cache
def _student(freedom: float, doubt: float) -> float:
    low, high = 0.0, 1.0
    while _beyond(high, freedom) > doubt and high < 1e15:
        low, high = high, 2 * high
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(middle, freedom) > doubt else (low, middle)
    return high


def _beyond(t: float, freedom: float) -> float:
    """The probability of a larger t on either side: the regularised incomplete beta function at f / (f + t²)."""
    a, b, x = freedom / 2, 0.5, freedom / (freedom + t * t)
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):  # where the fraction converges fast
        return math.exp(log) * _fraction(a, b, x) / a
    return 1 - math.exp(log) * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    value = d
    for m in range(1, 1000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + step * d) or tiny)
            c = (1 + step / c) or tiny
            value *= c * d
        if abs(c * d - 1) < PRECISION:
            break
    return value
