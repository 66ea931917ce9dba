"""Counts of statements and branches, the percentage they make, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Percentages:
    """What a file, or a part of it, or many files come to. Numbers of disjoint parts add up.

    Excluded lines are in none of the other counts. `partial_branches`: missing branches of lines that were executed.
    """

    statements: int = 0
    missing: int = 0
    excluded: int = 0
    branches: int = 0
    partial_branches: int = 0
    missing_branches: int = 0
    files: int = 0

    def __add__(self, other: Percentages) -> Percentages:
        if not isinstance(other, Percentages):
            return NotImplemented
        return Percentages(
            self.statements + other.statements,
            self.missing + other.missing,
            self.excluded + other.excluded,
            self.branches + other.branches,
            self.partial_branches + other.partial_branches,
            self.missing_branches + other.missing_branches,
            self.files + other.files,
        )

    @property
    def executed(self) -> int:
        """Statements that were executed."""
        return self.statements - self.missing

    @property
    def executed_branches(self) -> int:
        """Branches that were taken."""
        return self.branches - self.missing_branches

    @property
    def percent(self) -> float:
        """Executed statements and branches of all, 0 to 100. 100 where there is nothing to execute."""
        return _percent(self.executed + self.executed_branches, self.statements + self.branches)

    @property
    def percent_statements(self) -> float:
        """Executed statements of all."""
        return _percent(self.executed, self.statements)

    @property
    def percent_branches(self) -> float:
        """Taken branches of all."""
        return _percent(self.executed_branches, self.branches)

    def percent_text(self, precision: int = 0) -> str:
        """`percent` as it is shown."""
        return percent_text(self.percent, precision)


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole > 0 else 100.0


def percent_text(percent: float, precision: int = 0) -> str:
    """A percentage with `precision` decimals, without its sign. 0 and 100 are shown only when they are exact.

    UsageError: a negative precision.
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
    """Whether a total is too small. It is compared as it is shown, with at least the decimals of the threshold.

    A threshold of 100 wants all of it. UsageError: a threshold that is no percentage.
    """
    if not 0 <= threshold <= 100:
        raise UsageError(f"fail_under is {threshold:g}", hint="give a percentage from 0 to 100")
    if threshold == 100:
        return percent != 100
    return round(percent, threshold_precision(threshold, precision)) < threshold


def too_little(totals: Percentages, threshold: float, precision: int = 0) -> bool:
    """As fails_under, of the total of a report; where nothing is reported, nothing was shown to be covered."""
    return fails_under(totals.percent if totals.files else 0.0, threshold, precision)


def threshold_precision(threshold: float, precision: int = 0) -> int:
    """How many decimals a comparison with `threshold` needs, and at least `precision`."""
    exponent = Decimal(str(threshold)).normalize().as_tuple().exponent
    return max(precision, -exponent) if isinstance(exponent, int) else precision


def ranges(lines: list[int], statements: list[int]) -> list[tuple[int, int]]:
    """Lines (sorted, each one of `statements`, sorted too) as first and last of runs that no other statement parts."""
    found: list[tuple[int, int]] = []
    wanted = set(lines)
    start = last = 0
    for statement in statements:
        if statement in wanted:
            start = start or statement
            last = statement
        elif start:
            found.append((start, last))
            start = 0
    if start:
        found.append((start, last))
    return found


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return sorted numbers as first and last ones of runs without a gap."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found
