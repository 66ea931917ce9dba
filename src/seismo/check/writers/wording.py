"""Numbers, changes and verdicts in words, for all writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.check.compare import Finding, Verdict
from seismo.escape import printable

if TYPE_CHECKING:
    from seismo.check.change_causes import Changes, Suspect
    from seismo.check.check_result import Outcome
    from seismo.check.growth_by_size import Growth
    from seismo.check.measurement import Function, Range

IN_WORDS = {
    Verdict.BEYOND: "beyond its limit",
    Verdict.UNDECIDED: "cannot be decided",
    Verdict.UNMEASURED: "not measured",
    Verdict.BETTER: "less than before",
    Verdict.WITHIN: "within",
}
MADE = {"lines": "ran", "births": "made objects,"}
UNSEEN = "Counts do not show work inside C functions, or larger data without more calls or lines; use --time for those."


def number(found: Range) -> str:
    """Return a count with thousands separators, or a range if the runs differ."""
    return f"{found.low:,}" if found.low == found.high else f"{found.low:,} to {found.high:,}"


def both(old: Range, new: Range) -> str:
    """Return the counts before and now."""
    return f"{number(old)} -> {number(new)}"


def change(old: Range, new: Range) -> str:
    """Return the change in percent of the old count."""
    if old == new:
        return "="
    if not old.high:
        return "new"
    share = ((new.low + new.high) / (old.low + old.high) - 1) * 100
    if abs(share) >= 900:
        return f"x {share / 100 + 1:,.0f}"
    return f"{share:+.1f} %" if abs(share) >= 0.05 else f"{share:+.2g} %"


def headline(outcome: Outcome) -> str:
    """Return the result as a sentence."""
    comparison = outcome.comparison
    if comparison is None:
        return "nothing to compare with"
    beyond = [one for one in comparison.findings if one.verdict is Verdict.BEYOND]
    if outcome.verdict is Verdict.BEYOND:
        parts = [f"{len(beyond)} {'limit is' if len(beyond) == 1 else 'limits are'} exceeded"] if beyond else []
        if outcome.worse:
            functions = "function" if len(outcome.worse) == 1 else "functions"
            parts.append(f"{len(outcome.worse)} {functions} became worse than linear")
        if outcome.times is not None and outcome.times.is_beyond:
            parts.append("it takes longer")
        return " and ".join(parts)
    if outcome.verdict is Verdict.UNDECIDED:
        return "cannot decide"
    better = any(one.verdict is Verdict.BETTER for one in comparison.findings)
    return "within all limits, and less than before" if better else "within all limits"


def what(finding: Finding) -> str:
    """Return the name of a finding's quantity and subject."""
    quantity = finding.limit.quantity
    if finding.subject is not None:
        return f"{quantity} of {printable(str(finding.subject))}"
    pattern = f" of {printable(finding.limit.pattern)}" if finding.limit.pattern else ""
    each = {"each": " of each function", "test": " of each test"}.get(finding.limit.scope, "")
    return f"{quantity}{each}{pattern}"


def has_numbers(finding: Finding) -> bool:
    """Return True if it has one subject and is not the summary of all functions or tests within a limit."""
    return finding.subject is not None or not finding.limit.scope


def name(function: Function) -> str:
    """Return a function's name, escaped for display."""
    return printable(str(function))


def reason(suspect: Suspect) -> str:
    """Return the reason for a suspect as a phrase."""
    calls = suspect.counts.get("calls")
    reasons = ["does more in each call"] if suspect.per_call else []
    reasons += ["is called more often"] if calls is not None and calls[0].high < calls[1].low else []
    return ", and ".join(reasons) or "calls functions that do more"


def changes(counts: Changes) -> str:
    """Return the counts before and now as text."""
    shown = (f"{name} {both(old, new)}" for name, (old, new) in counts.items() if name != "bytes")
    return ", ".join(shown)


def details(suspect: Suspect) -> list[str]:
    """Return the numbers of a suspect, one line each."""
    most = 3  # of each kind
    lines = [counts] if (counts := changes(suspect.counts)) else []
    for line in suspect.lines[:most]:
        note = f", {line.note}" if line.note else ""
        before = f"{line.old:,} -> " if line.old is not None else ""
        lines.append(f"line {line.number}{note}: {MADE[line.what]} {before}{line.new:,}   {printable(line.text)}")
    lines += [f"calls {name(one)} {old:,} -> {new:,}" for one, old, new in suspect.called[:most]]
    lines += [f"called by {name(one)} {old:,} -> {new:,}" for one, old, new in suspect.callers[:most]]
    lines += [f"below it, {name(one)}: {changes(counts)}" for one, counts in suspect.below[:most] if counts]
    if suspect.before is not None:
        lines.append(f"was {name(suspect.before)} in {printable(suspect.before.file)}")
    return lines


def grown(now: Growth, before: Growth | None) -> str:
    """Return the change of a function's growth as text."""
    was = f"was {before.shape}" if before is not None else "did not run often before"
    counts = ", ".join(f"{count:,}" for count in now.counts)
    sizes = ", ".join(f"{size:,}" for size in now.sizes)
    return f"{name(now.function)}: {now.shape}, {was}; {now.quantity} {counts} for {sizes}"


def time_said(outcome: Outcome) -> str:
    """Return the change of the CPU time, with its error."""
    times = outcome.times
    if times is None or not times.old:
        return ""
    middle, low, high = times.change
    old = sum(times.old) / len(times.old)
    new = sum(times.new) / len(times.new)
    decided = "" if times.is_decided else "; too noisy to decide, so it does not count"
    return (
        f"CPU time {old:.3g} s -> {new:.3g} s, {middle:+.1%} "
        f"(95 %: {low:+.1%} to {high:+.1%}; {len(times.old)} pairs of runs, "
        f"limit {times.limit:+.1%}{decided})"
    )


def left_out(outcome: Outcome) -> list[str]:
    """Return the functions and tests that vary between runs, the first eight by name."""
    if outcome.comparison is None:
        return []
    found = [
        f"{printable(str(one))} ({', '.join(quantities)})" for one, quantities in outcome.comparison.left_out.items()
    ]
    more = [f"and {len(found) - 8} more"] if len(found) > 8 else []
    return found[:8] + more
