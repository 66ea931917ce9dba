"""Condition coverage on a terminal or a pipe: the operands of each decision that were not seen both ways.

A decision is one line, with its operands below. Each operand has the outcomes that were seen, whether it was shown to
decide independently (MC/DC), and the reason for anything unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.escape import printable
from seismo.report.words import beginning, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.coverage.conditions import Decision, Operand
    from seismo.coverage.coverage_report import CoverageReport
    from seismo.report.paper import Paper

INDEPENDENCE = {"shown": "MC/DC shown", "refuted": "MC/DC missing", "unknown": "MC/DC unknown"}


def seen_text(operand: Operand, exact: bool) -> str:
    """Return the outcomes: `true 12, false never`, or a note if the branches do not show them."""
    if operand.true is None or operand.false is None:
        return "unknown"
    words = []
    for name, number in (("true", operand.true), ("false", operand.false)):
        if number:
            words.append(f"{name} {number:,}" if exact else f"{name} seen")
        else:
            words.append(f"{name} unknown" if operand.doubtful else f"{name} never")
    return ", ".join(words)


def total_text(decisions: Sequence[Decision]) -> str:
    """Return the total: `7 of 12 outcomes in 3 decisions seen`."""
    seen = sum(decision.seen for decision in decisions)
    needed = sum(decision.needed for decision in decisions)
    return f"{seen:,} of {number_of(needed, 'outcome')} in {number_of(len(decisions), 'decision')} seen"


def write_conditions(paper: Paper, report: CoverageReport, everything: bool) -> None:
    """Write the report of all files with decisions. everything: include decisions with nothing missing."""
    every = [decision for file in report.files for decision in file.conditions]
    if not every:
        paper.line("No conditions: the recording has no branches (--branch; Python 3.12 or later).")
        return
    for file in report.files:
        if file.conditions:
            paper.line(f"{printable(file.path)}  {total_text(file.conditions)}")
        for decision in file.conditions:
            if decision.seen < decision.needed or everything:
                _write_decision(paper, decision)
    paper.line(f"total  {total_text(every)}")


def _write_decision(paper: Paper, decision: Decision) -> None:
    paper.line(beginning(f"{decision.line:>6}  {decision.kind}: {printable(decision.text)}", paper.width, paper.signs))
    for operand in decision.operands:
        facts = "constant" if operand.constant else seen_text(operand, decision.exact)
        if len(decision.operands) > 1 and not operand.constant:
            facts += f"; {INDEPENDENCE[operand.independence]}"
        note = f" ({operand.note})" if operand.note and not operand.constant else ""
        paper.line(beginning(f"          {printable(operand.text)}: {facts}{note}", paper.width, paper.signs))
