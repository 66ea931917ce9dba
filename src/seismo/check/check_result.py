"""The check as a whole: measuring, comparing, and confirming findings beyond a limit.

A finding beyond its limit is confirmed by one more run of each side that can run, so that random variation becomes a
range. An alarm thus requires that all runs of one side exceed all of the other side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seismo.check.change_causes import Suspect, suspects
from seismo.check.compare import EXACT, Bands, Comparison, Verdict, compare
from seismo.check.counted_runs import RUN_OF_BIRTHS, RUN_OF_CALLS, CountedRuns
from seismo.errors import CheckError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.check.cpu_time import CpuTimes
    from seismo.check.growth_by_size import Growth
    from seismo.check.limits import Limit
    from seismo.check.measurement import Measurement, Stamp

BORN = ("births", "bytes")


@dataclass
class Outcome:
    """The result of a check.

    `comparison` is None if there was nothing to compare with. `against` names the baseline. `remarks` are further
    sentences for the report. `worse` has growths that became worse than linear, with the earlier ones; with
    `worse_decides` they count as beyond.
    """

    new: Measurement
    against: str = ""
    comparison: Comparison | None = None
    suspects: list[Suspect] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    worse: list[tuple[Growth, Growth | None]] = field(default_factory=list)
    worse_decides: bool = False
    times: CpuTimes | None = None
    updated: str = ""

    def explain(self, found: Comparison, options: str = "--") -> None:
        """Store a comparison, and find the causes if it is beyond a limit. `options` is the prefix of option names."""
        self.comparison, self.new = found, found.new
        if self.verdict is Verdict.BEYOND:
            self.suspects = suspects(found)
        self.remarks += [f"{now} was renamed from {was} in {was.file}" for now, was in list(found.renamed.items())[:5]]
        if self.suspects and not found.old.callers:
            self.remarks.append(f"a baseline file has no callers: {options}against REV shows which calls grew")

    @property
    def verdict(self) -> Verdict:
        """The verdict: BEYOND, UNDECIDED or WITHIN."""
        found = self.comparison.verdict if self.comparison is not None else Verdict.WITHIN
        if (self.worse and self.worse_decides) or (self.times is not None and self.times.is_beyond):
            return Verdict.BEYOND
        return found

    @property
    def uncounted(self) -> list[str]:
        """A sentence for each kind of process that is missing in the counts of a side."""
        sides = [self.new, *([self.comparison.old] if self.comparison is not None else [])]
        return list(dict.fromkeys(line for side in sides for line in side.uncounted))

    @property
    def status(self) -> int:
        """The exit status; 0 for counts that became the baseline."""
        return 0 if self.updated else {Verdict.BEYOND: 1, Verdict.UNDECIDED: 2}.get(self.verdict, 0)


def compared_and_confirmed(
    old: CountedRuns | Measurement,
    new: CountedRuns,
    limits: Sequence[Limit],
    bands: Bands = EXACT,
    confirm: bool = True,
) -> Comparison:
    """Compare; if something is beyond its limit, measure the sides that can run once more and compare again."""
    found = compare(_of(old), new.measurement(), limits, bands)
    if confirm and found.beyond:
        quantities = {finding.limit.quantity for finding in found.beyond}
        for kind, wanted in ((RUN_OF_BIRTHS, quantities & {*BORN}), (RUN_OF_CALLS, quantities - {*BORN})):
            for side in (old, new):
                if wanted and isinstance(side, CountedRuns):
                    side.again(kind)
        found = compare(_of(old), new.measurement(), limits, bands)
    return found


def _of(side: CountedRuns | Measurement) -> Measurement:
    return side.measurement() if isinstance(side, CountedRuns) else side


def of_other_versions(old: Stamp, new: Stamp, path: str, tolerated: bool, options: str = "--") -> list[str]:
    """Return remarks about a file of other versions. Raise CheckError if they matter and were not tolerated."""
    remarks = []
    if differences := "; ".join(old.differences(new)):
        if not tolerated:
            raise CheckError(
                f"the baseline is of other versions: {differences}",
                path,
                f"{options}update measures it again; {options}tolerate N compares anyway; "
                f"{options}against REV needs no file",
            )
        remarks.append(f"other versions than the baseline's: {differences}")
    if old.seismo not in ("", new.seismo):
        remarks.append(f"seismo {old.seismo} wrote the baseline, and this is {new.seismo}: they may count differently")
    return remarks
