"""The result for a terminal, short enough for a first look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.check.compare import Verdict
from seismo.check.writers import wording
from seismo.escape import printable

if TYPE_CHECKING:
    from seismo.check.check_result import Outcome


def text(outcome: Outcome) -> str:
    """Return the text for a terminal."""
    lines = [f"seismo check: {wording.headline(outcome)}"]
    if outcome.against:
        lines.append(f"compared with {printable(outcome.against)}")
    lines += ["", *_numbers(outcome)]
    if timed := wording.time_said(outcome):
        lines += ["", timed]
    if outcome.worse:
        lines += ["", "worse than linear now", *(f"  {wording.grown(*pair)}" for pair in outcome.worse[:8])]
    elif outcome.growths:
        lines += ["", "growth with the size of the input", *_growths(outcome)]
    if outcome.suspects:
        lines += ["", "look at these first"]
    for rank, suspect in enumerate(outcome.suspects, 1):
        lines.append(f"  {rank}. {wording.name(suspect.function)}  {printable(suspect.where)}".rstrip())
        lines.append(f"     {wording.reason(suspect)}{', its code changed' if suspect.changed else ''}")
        lines += [f"       {line}" for line in wording.details(suspect)]
    if out := wording.left_out(outcome):
        lines += ["", "left out, because they differ from run to run", *(f"  {one}" for one in out)]
    if outcome.remarks:
        lines += ["", *(printable(remark) for remark in outcome.remarks)]
    if outcome.comparison is not None and outcome.times is None:
        lines += ["", wording.UNSEEN]
    return "\n".join(lines) + "\n"


def _numbers(outcome: Outcome) -> list[str]:
    comparison = outcome.comparison
    if comparison is None:
        return [f"  {quantity:<11}{wording.number(count):>16}" for quantity, count in outcome.new.totals.items()]
    rows = []
    for finding in comparison.worst_first:
        verdict = wording.IN_WORDS[finding.verdict]
        limit = f"limit: {printable(str(finding.limit))}"
        if not wording.has_numbers(finding):
            rows.append((wording.what(finding), verdict, "", limit))
            continue
        if finding.verdict is Verdict.UNDECIDED:
            verdict += f" ({finding.share:.0%} differs from run to run)"
        numbers = wording.both(finding.old, finding.new)
        rows.append((wording.what(finding), numbers, wording.change(finding.old, finding.new), f"{verdict}; {limit}"))
    shown = {finding.limit.quantity for finding in comparison.findings if wording.has_numbers(finding)}
    old, new = comparison.old.totals, comparison.new.totals
    for quantity in new:
        if quantity not in shown and quantity in old:
            pair = old[quantity], new[quantity]
            rows.append((quantity, wording.both(*pair), wording.change(*pair), ""))
    if "depth" not in shown and comparison.old.depth and comparison.new.depth:
        pair = comparison.old.depth, comparison.new.depth
        rows.append(("depth", wording.both(*pair), wording.change(*pair), ""))
    widths = [min(40, max(len(row[column]) for row in rows)) for column in range(3)] if rows else []
    return [f"  {row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip() for row in rows]


def _growths(outcome: Outcome) -> list[str]:
    steep = sorted(outcome.growths, key=lambda one: (-round(one.slope, 1), -one.counts[-1]))
    return [
        f"  {wording.name(one.function)}: {one.shape}; {one.quantity} {', '.join(f'{count:,}' for count in one.counts)}"
        for one in steep[:8]
    ]
