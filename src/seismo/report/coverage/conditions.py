"""Condition coverage on a terminal or a pipe: the operands of each decision that were not seen both ways.

A decision is one line, with its operands below. Each operand has the outcomes that were seen, whether it was shown to
decide independently (MC/DC), and the reason for anything unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from seismo.escape import printable
from seismo.report.words import Signs, beginning, number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seismo.coverage.conditions import Decision, Operand

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


def lines_of(decisions: Sequence[Decision], width: int, signs: Signs, everything: bool = False) -> Iterator[str]:
    """Yield the lines of one file's report. `everything`: include decisions with nothing missing."""
    for decision in decisions:
        if decision.seen == decision.needed and not everything:
            continue
        yield beginning(f"{decision.line:>6}  {decision.kind}: {printable(decision.text)}", width, signs)
        for operand in decision.operands:
            facts = "constant" if operand.constant else seen_text(operand, decision.exact)
            if len(decision.operands) > 1 and not operand.constant:
                facts += f"; {INDEPENDENCE[operand.independence]}"
            note = f" ({operand.note})" if operand.note and not operand.constant else ""
            yield beginning(f"          {printable(operand.text)}: {facts}{note}", width, signs)


def write(
    files: Sequence[tuple[str, Sequence[Decision]]], stream: TextIO, width: int, signs: Signs, everything: bool = False
) -> None:
    """Write the report of all files (path, its decisions) to a stream. Files without decisions are left out."""
    every = [decision for _, decisions in files for decision in decisions]
    if not every:
        stream.write("No conditions: the recording has no branches (--branch; Python 3.12 or later).\n")
        return
    for path, decisions in files:
        if not decisions:
            continue
        stream.write(f"{printable(path)}  {total_text(decisions)}\n")
        stream.writelines(line + "\n" for line in lines_of(decisions, width, signs, everything))
    stream.write(f"total  {total_text(every)}\n")
