"""Comparison of two measurements with limits.

A difference between runs of one program is not a change. A count that varies a little between the runs of a side gets a
band: the runs' range, widened at both ends by WIDEN times its width. A count that varies by more than LARGEST of itself
is left out of sums on both sides and listed (`Comparison.left_out`). A change counts only if the bands allow no other
conclusion: the lower end of the new band exceeds what the limit allows over the upper end of the old one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from seismo.check.measurement import ELSEWHERE, NOTHING, Counts, Function, Measurement, Range, summed
from seismo.check.renames import followed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from seismo.check.limits import Limit


WIDEN = 2
LARGEST = 0.1
SMALLEST = 2  # a range up to this width is never left out


class Verdict(Enum):
    """The result of a limit, the worst first."""

    BEYOND = "beyond"  # more than the limit allows
    UNDECIDED = "undecided"  # too much variation between runs
    UNMEASURED = "unmeasured"  # one side has no such counts
    BETTER = "better"  # less than the baseline
    WITHIN = "within"


def _band(found: Range, tolerated: float) -> Range:
    more = (found.high - found.low) * WIDEN
    low, high = (found.low - more) * (1 - tolerated), (found.high + more) * (1 + tolerated)
    return Range(max(0, int(low)), int(high + 0.999))


def _varies(found: Range) -> bool:
    width = found.high - found.low
    return width > SMALLEST and width > LARGEST * found.high


@dataclass(frozen=True)
class Finding:
    """The result of one limit for its subject.

    `subject` is None for a sum or the whole program, else the function or the name of the test. `old` and `new` are the
    counts of the runs. `allowed` is the most that the limit allows. `share` is the part of the quantity that was left
    out because it varies between runs.
    """

    limit: Limit
    subject: Function | str | None
    old: Range
    new: Range
    allowed: int
    verdict: Verdict
    share: float = 0.0

    @property
    def growth(self) -> float:
        """The growth as a share of the baseline; infinite if the baseline has none."""
        more = self.new.low - self.old.high
        return more / self.old.high if self.old.high else float("inf") if more > 0 else 0.0


@dataclass
class Comparison:
    """The result of compare().

    `old` is the given measurement with renamed functions under their new names; `renamed` has {new: old}. `left_out`
    has {function or test: quantities that vary too much between runs}.
    """

    old: Measurement
    new: Measurement
    findings: list[Finding] = field(default_factory=list)
    left_out: dict[Function | str, list[str]] = field(default_factory=dict)
    renamed: dict[Function, Function] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """The worst of all findings, where UNMEASURED counts as UNDECIDED and BETTER as WITHIN."""
        found = {finding.verdict for finding in self.findings}
        if Verdict.BEYOND in found:
            return Verdict.BEYOND
        return Verdict.UNDECIDED if found & {Verdict.UNDECIDED, Verdict.UNMEASURED} else Verdict.WITHIN

    @property
    def worst_first(self) -> list[Finding]:
        """The findings by their verdicts."""
        return [one for verdict in Verdict for one in self.findings if one.verdict is verdict]

    @property
    def beyond(self) -> list[Finding]:
        """The findings beyond their limits, largest growth first."""
        return sorted((one for one in self.findings if one.verdict is Verdict.BEYOND), key=lambda one: -one.growth)


def compare(old: Measurement, new: Measurement, limits: Iterable[Limit], tolerated: float = 0.0) -> Comparison:
    """Compare `new` with `old`. Stamp.differences checks if the two are comparable at all.

    `tolerated` is the share by which any count may differ, for sides of different versions.
    """
    old, renamed = followed(old, new)
    found = Comparison(old, new, renamed=renamed)
    sides: tuple[tuple[Mapping[Any, Counts], Mapping[Any, Counts]], ...]
    sides = (old.functions, new.functions), (old.tests, new.tests)
    for before, after in sides:
        names: dict[Any, None] = dict.fromkeys([*before, *after])
        for name in names:
            both = before.get(name, {}), after.get(name, {})
            for quantity in {**both[0], **both[1]}:
                if any(_varies(counts.get(quantity, NOTHING)) for counts in both):
                    found.left_out.setdefault(name, []).append(quantity)
    for limit in limits:
        if limit.quantity == "depth":
            found.findings.append(_depth(limit, old, new, tolerated))
        elif limit.scope:
            found.findings += _each(limit, found, tolerated)
        else:
            found.findings.append(_sum(limit, found, tolerated))
    return found


def _sum(limit: Limit, found: Comparison, tolerated: float) -> Finding:
    """Return the finding for the sum of matching functions, without those left out.

    Without any functions, it is the sum of the tests.
    """
    quantity = limit.quantity
    measured = quantity in found.new.quantities and (limit.fixed is not None or quantity in found.old.quantities)
    sides: list[Range] = []
    shares: list[float] = []
    for side in (found.old, found.new):
        table: Mapping[Any, Counts] = side.functions or side.tests
        rows = [(name, counts) for name, counts in table.items() if limit.matches(str(name)) and name != ELSEWHERE]
        steady = [counts for name, counts in rows if quantity not in found.left_out.get(name, ())]
        sides.append(summed(steady).get(quantity, NOTHING))
        whole = summed(counts for _, counts in rows).get(quantity, NOTHING).high
        shares.append(1 - sides[-1].high / whole if whole else 0.0)
    before, after = sides
    if not measured:
        return Finding(limit, None, before, after, limit.allowed(before.high), Verdict.UNMEASURED)
    share = max(shares)
    # Objects whose line was unknown before and is known now are not additional objects.
    unknown = [side.functions.get(ELSEWHERE, {}).get(quantity, NOTHING) for side in (found.old, found.new)]
    moved = max(0, unknown[0].high - unknown[1].low)
    judged = _judged(limit, None, before, after, tolerated, share)
    if moved and judged.verdict is Verdict.BEYOND:
        placed = _judged(limit, None, before, Range(after.low - moved, after.high), tolerated, share)
        judged = replace(judged, verdict=placed.verdict)
    if share > 0.5 and judged.verdict is not Verdict.BEYOND:  # the rest is not representative
        return Finding(limit, None, before, after, judged.allowed, Verdict.UNDECIDED, share)
    return judged


def _each(limit: Limit, found: Comparison, tolerated: float) -> list[Finding]:
    """Return a finding for each function or test that is not within its limit, and one for the rest."""
    quantity = limit.quantity
    per_test = limit.scope == "test"
    old: Mapping[Any, Counts] = found.old.tests if per_test else found.old.functions
    new: Mapping[Any, Counts] = found.new.tests if per_test else found.new.functions
    if quantity not in found.new.quantities or (limit.fixed is None and quantity not in found.old.quantities):
        return [Finding(limit, None, NOTHING, NOTHING, 0, Verdict.UNMEASURED)]
    judged = []
    for name, counts in new.items():
        if not limit.matches(str(name)) or quantity not in counts or name == ELSEWHERE:
            continue
        has_no_baseline = per_test and limit.fixed is None and name not in old  # as a new test
        if not has_no_baseline and quantity not in found.left_out.get(name, ()):
            before = old.get(name, {}).get(quantity, NOTHING)
            judged.append(_judged(limit, name, before, counts[quantity], tolerated))
    notable = [one for one in judged if one.verdict is not Verdict.WITHIN]
    if len(notable) == len(judged) and judged:
        return notable
    return [*notable, Finding(limit, None, NOTHING, NOTHING, 0, Verdict.WITHIN)]


def _depth(limit: Limit, old: Measurement, new: Measurement, tolerated: float) -> Finding:
    if new.depth is None or (old.depth is None and limit.fixed is None):
        return Finding(limit, None, old.depth or NOTHING, new.depth or NOTHING, 0, Verdict.UNMEASURED)
    return _judged(limit, None, old.depth or NOTHING, new.depth, tolerated)


def _judged(
    limit: Limit, subject: Function | str | None, old: Range, new: Range, tolerated: float, share: float = 0.0
) -> Finding:
    old_band, new_band = _band(old, tolerated), _band(new, tolerated)
    allowed = limit.allowed(old_band.high)
    if new_band.low > allowed:
        verdict = Verdict.BEYOND
    elif limit.fixed is not None and new_band.high > allowed:
        verdict = Verdict.UNDECIDED
    elif new_band.high < old_band.low:
        verdict = Verdict.BETTER
    else:
        verdict = Verdict.WITHIN
    return Finding(limit, subject, old, new, allowed, verdict, share)
