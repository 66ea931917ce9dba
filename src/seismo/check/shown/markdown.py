"""For the comment of a pull request: the result and the first suspects, all else folded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from seismo.check.compare import Verdict
from seismo.check.shown import words
from seismo.escape import printable

if TYPE_CHECKING:
    from seismo.check.compare import Finding
    from seismo.check.deciding import Outcome

MARK = "<!-- seismo check -->"
"""The first line: who writes the comment finds the last one by it."""

SIGNS = {
    Verdict.BEYOND: "🔴",
    Verdict.UNDECIDED: "⚪",
    Verdict.UNMEASURED: "⚪",
    Verdict.BETTER: "🟢",
    Verdict.WITHIN: "🟢",
}
ROWS = 20


def markdown(outcome: Outcome) -> str:
    """The comment, of at most some hundred lines whatever was found."""
    lines = [MARK, f"### {SIGNS[outcome.verdict]} seismo check: {words.headline(outcome)}", ""]
    if outcome.against:
        lines += [f"Compared with {code(outcome.against)}.", ""]
    lines += _table(outcome)
    if timed := words.time_said(outcome):
        lines += [plain(timed), ""]
    for suspect in outcome.suspects[:1]:
        lines.append(
            f"Look at {code(str(suspect.function))} first ({code(suspect.where)}): it {words.reason(suspect)}."
        )
        lines += ["", *(f"- {code(line)}" for line in words.details(suspect)), ""]
    if outcome.worse:
        lines += ["Worse than linear now:", ""]
        lines += [*(f"- {code(words.grown(*pair))}" for pair in outcome.worse[:ROWS]), ""]
    if outcome.suspects[1:]:
        lines += ["<details><summary>Further functions that do more</summary>", ""]
        for suspect in outcome.suspects[1:]:
            lines.append(f"- {code(str(suspect.function))} ({code(suspect.where)}) {words.reason(suspect)}")
            lines += [f"  - {code(line)}" for line in words.details(suspect)]
        lines += ["", "</details>", ""]
    if out := words.left_out(outcome, ROWS):
        lines += ["<details><summary>Left out, because they differ from run to run</summary>", ""]
        lines += [*(f"- {code(one)}" for one in out), "", "</details>", ""]
    lines += [*(f"{plain(remark)}\n" for remark in outcome.remarks)]
    if outcome.comparison is not None and outcome.times is None:
        lines.append(f"<sub>{words.UNSEEN}</sub>")
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(outcome: Outcome) -> list[str]:
    comparison = outcome.comparison
    if comparison is None:
        rows = [f"| {quantity} | {words.number(count)} |" for quantity, count in outcome.new.totals.items()]
        return ["| | now |", "|---|---:|", *rows, ""]
    found: list[Finding] = sorted(comparison.findings, key=lambda one: words.WORST.index(one.verdict))
    lines = ["| | before | now | | limit |", "|---|---:|---:|---:|---|"]
    for finding in found[:ROWS]:
        numbers = ("", "", words.IN_WORDS[finding.verdict])
        if words.has_numbers(finding):
            numbers = (
                words.number(finding.old),
                words.number(finding.new),
                words.change(finding.old, finding.new) if finding.verdict is not Verdict.UNMEASURED else "not measured",
            )
        sign = SIGNS[finding.verdict]
        lines.append(f"| {sign} {cell(words.what(finding))} | {' | '.join(numbers)} | {cell(str(finding.limit))} |")
    if len(found) > ROWS:
        lines.append(f"| and {len(found) - ROWS} more | | | | |")
    return [*lines, ""]


def code(text: str) -> str:
    """Text as code, whatever backticks it has: the fence is longer than the longest run of them."""
    shown = printable(text)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if longest or not shown.strip() else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def cell(text: str) -> str:
    """Text as code in a table, where a bar ends the cell even in code."""
    return code(text).replace("|", "\\|")


def plain(text: str) -> str:
    """Text that is no mark-up: it names nobody, links nowhere and holds no HTML."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~@&-])", r"\\\1", printable(text))
