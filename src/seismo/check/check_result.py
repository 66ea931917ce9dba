"""The check as a whole: comparing, confirming findings beyond a limit, and the result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seismo.check.change_causes import Suspect, suspects
from seismo.check.compare import Comparison, Verdict, compare
from seismo.check.counted_runs import RUN_OF_BIRTHS, RUN_OF_CALLS
from seismo.errors import CheckError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.check.cpu_time import CpuTimes
    from seismo.check.growth_by_size import Growth
    from seismo.check.limits import Limit
    from seismo.check.measurement import Measurement, Stamp

BORN = ("births", "bytes")


@dataclass
class Outcome:
    """The result of a check.

    `comparison` is None if there was nothing to compare with. `against` names the baseline. `remarks` are further
    sentences for the report. `worse` has growths that became worse than linear, with the earlier ones; they count as
    beyond.
    """

    new: Measurement
    against: str = ""
    comparison: Comparison | None = None
    suspects: list[Suspect] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    worse: list[tuple[Growth, Growth | None]] = field(default_factory=list)
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
        if self.worse or (self.times is not None and self.times.is_beyond):
            return Verdict.BEYOND
        return self.comparison.verdict if self.comparison is not None else Verdict.WITHIN

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
    old: Callable[[], Measurement],
    new: Callable[[], Measurement],
    limits: Sequence[Limit],
    tolerated: float,
    again: Callable[[str], None],
) -> Comparison:
    """Compare; if something is beyond its limit, run the sides that can run once more, and compare again.

    So random variation becomes a range: an alarm requires that all runs of one side exceed all of the other side. `old`
    and `new` return the counts of all runs so far, and `again(kind)` makes runs of births or of calls.
    """
    found = compare(old(), new(), limits, tolerated)
    if not found.beyond:
        return found
    quantities = {finding.limit.quantity for finding in found.beyond}
    for kind, wanted in ((RUN_OF_BIRTHS, quantities & {*BORN}), (RUN_OF_CALLS, quantities - {*BORN})):
        if wanted:
            again(kind)
    return compare(old(), new(), limits, tolerated)


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
