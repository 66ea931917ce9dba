"""Whether a trace's journal and its tree tell the same: the counts of each node, made again from the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.errors import UsageError
from seismo.report import words as text
from seismo.report.facts import unended

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.paper import Paper

SHOWN = 20


def write_verified(paper: Paper, recording: Recording, file: str) -> int:
    """Says whether they agree, or which nodes differ. Returns 1 if any does. Raises UsageError: it is no trace."""
    if not recording.calls:
        raise UsageError("there is no journal to verify", file, "seismo trace makes a recording that has one")
    sums, tree = recording.calls.sums, recording.tree
    counts = [sums.calls.tolist(), sums.resumes.tolist(), sums.exceptions.tolist()]
    kept = [tree.numbers(name).tolist() for name in ("calls", "resumes", "exceptions")]
    differ = [node for node in range(len(tree)) if any(a[node] != b[node] for a, b in zip(counts, kept, strict=True))]
    for problem in sums.problems:
        paper.line((problem, "warning"))
    if sums.gaps:
        paper.line((f"{text.number_of(len(sums.gaps), 'gap')}: what is missing there is missing below", "warning"))
    steps = f"{text.number_of(sum(counts[0]), 'call')}, {text.number_of(sum(counts[1]), 'resume')}"
    if differ and unended(paper.signs, ("", recording)):
        later = [node for node in differ if all(a[node] >= b[node] for a, b in zip(counts, kept, strict=True))]
        if len(later) == len(differ):
            more = sum(map(sum, counts)) - sum(map(sum, kept))
            more_events = text.number_of(more, "event")
            paper.line(f"the journal agrees with the tree, and goes on after its last flush: {more_events} more")
            return 0
    if not differ:
        paper.line(f"the journal agrees with the tree: {steps} on {text.number_of(len(tree), 'path')}")
        return 0
    paper.line(f"the journal differs from the tree on {len(differ):,} of {text.number_of(len(tree), 'path')}")
    for node in differ[:SHOWN]:
        row = recording.functions[tree.numbers("function")[node]]
        said = ", ".join(
            f"{name} {a[node]:,}, in the tree {b[node]:,}"
            for name, a, b in zip(("calls", "resumes", "exceptions"), counts, kept, strict=True)
            if a[node] != b[node]
        )
        name = text.function_name(row.kind, row.module, row.qualname)
        paper.line(f"  node {node}, {text.shorten(name, 40, paper.signs)}: {said}")
    if len(differ) > SHOWN:
        paper.line(f"  and {len(differ) - SHOWN:,} more")
    return 1
