"""Counts of statements and branches, and their percentage as a number and as text."""

from __future__ import annotations

import operator
from dataclasses import astuple, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Percentages:
    """The counts of a file, a part of it, or many files. Counts of disjoint parts can be added.

    Excluded lines are in no other count. partial_branches: missing branches of lines that were executed.
    """

    statements: int = 0
    missing: int = 0
    excluded: int = 0
    branches: int = 0
    partial_branches: int = 0
    missing_branches: int = 0
    files: int = 0

    def __add__(self, other: Percentages) -> Percentages:
        return Percentages(*map(operator.add, astuple(self), astuple(other)))

    @property
    def executed(self) -> int:
        """Return the number of executed statements."""
        return self.statements - self.missing

    @property
    def executed_branches(self) -> int:
        """Return the number of taken branches."""
        return self.branches - self.missing_branches

    @property
    def percent(self) -> float:
        """Return the percentage of statements and branches that were executed; 100 if there are none."""
        return _percent(self.executed + self.executed_branches, self.statements + self.branches)

    @property
    def percent_statements(self) -> float:
        """Return the percentage of statements that were executed."""
        return _percent(self.executed, self.statements)

    @property
    def percent_branches(self) -> float:
        """Return the percentage of branches that were taken."""
        return _percent(self.executed_branches, self.branches)

    def percent_text(self, precision: int = 0) -> str:
        """Return `percent` as text."""
        return percent_text(self.percent, precision)


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole > 0 else 100.0


def percent_text(percent: float, precision: int = 0) -> str:
    """Return a percentage with `precision` decimals, without its sign. Only exact values are shown as 0 or 100.

    Raise UsageError for a negative precision.
    """
    if precision < 0:
        raise UsageError(f"precision is {precision}", hint="give a number of decimals, 0 or more")
    step = 1.0 / 10**precision
    if 0 < percent < step:
        shown = step
    elif 100.0 - step < percent < 100:
        shown = 100.0 - step
    else:
        shown = round(percent, precision)
    return f"{shown:.{precision}f}"


def fails_under(percent: float, threshold: float, precision: int = 0) -> bool:
    """Return True if a total is below the threshold, after rounding to at least the threshold's decimals.

    A threshold of 100 requires a total of exactly 100. Raise UsageError if the threshold is not a percentage.
    """
    if not 0 <= threshold <= 100:
        raise UsageError(f"fail_under is {threshold:g}", hint="give a percentage from 0 to 100")
    if threshold == 100:
        return percent != 100
    return round(percent, threshold_precision(threshold, precision)) < threshold


def too_little(totals: Percentages, threshold: float, precision: int = 0) -> bool:
    """Return fails_under() for the total of a report. A report without files counts as 0 %."""
    return fails_under(totals.percent if totals.files else 0.0, threshold, precision)


def threshold_precision(threshold: float, precision: int = 0) -> int:
    """Return the number of decimals for a comparison with `threshold`, at least `precision`."""
    exponent = Decimal(str(threshold)).normalize().as_tuple().exponent
    return max(precision, -exponent) if isinstance(exponent, int) else precision


def ranges(lines: list[int], statements: list[int]) -> list[tuple[int, int]]:
    """Return the first and last lines of runs of `lines` that no other statement interrupts. Both lists are sorted."""
    wanted = set(lines)
    places = runs(place for place, statement in enumerate(statements) if statement in wanted)
    return [(statements[first], statements[last]) for first, last in places]


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return sorted numbers as first and last ones of runs without a gap."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found
