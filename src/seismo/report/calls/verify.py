"""The check of a trace's journal against its tree: the counts of each node are recomputed from the journal.

If a filter left calls out of the journal, the journal has only the number of missing calls below a node, not their
paths. Calls made within such a call are missing there, too. So three rules hold: no node has more calls than in the
tree; below no node more calls are left out than are missing; on each thread, both numbers are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.errors import UsageError
from seismo.report import words as text
from seismo.report.facts import unended

if TYPE_CHECKING:
    from seismo.model import Recording
    from seismo.report.paper import Paper

SHOWN = 20
COUNTED = ("calls", "resumes", "exceptions")


def write_verified(paper: Paper, recording: Recording, file: str) -> int:
    """Write whether the journal and the tree agree, and which nodes differ. Return 1 if any differs.

    Raises UsageError if the recording has no journal.
    """
    if not recording.calls:
        settings = recording.meta.get("settings")
        if isinstance(settings, dict) and settings.get("journal"):
            why = "the program ended before any of it was written, or removed the file; its counts are all there is"
            raise UsageError("the journal of this trace is missing", file, why)
        raise UsageError("there is no journal to verify", file, "seismo trace makes a recording that has one")
    sums, tree = recording.calls.sums, recording.tree
    counts = [sums.calls.tolist(), sums.resumes.tolist(), sums.exceptions.tolist()]
    kept = [tree[name].tolist() for name in COUNTED]
    steps = f"{text.number_of(sum(counts[0]), 'call')}, {text.number_of(sum(counts[1]), 'resume')}"
    cut = bool(unended(recording, paper.signs))
    differ = [node for node in range(len(tree)) if any(a[node] != b[node] for a, b in zip(counts, kept, strict=True))]
    for problem in sums.problems:
        paper.line((problem, "warning"))
    if any(map(any, sums.left_out)):
        return _write_filtered(paper, recording, counts, kept, cut, steps)
    if sums.gaps:
        paper.line((f"{text.number_of(len(sums.gaps), 'gap')}: what is missing there is missing below", "warning"))
    if differ and cut and all(a[node] >= b[node] for node in differ for a, b in zip(counts, kept, strict=True)):
        more = text.number_of(sum(map(sum, counts)) - sum(map(sum, kept)), "event")
        paper.line(f"the journal agrees with the tree, and goes on after its last flush: {more} more")
        return 0
    if not differ:
        paper.line(f"the journal agrees with the tree: {steps} on {text.number_of(len(tree), 'path')}")
        return 0
    paper.line(f"the journal differs from the tree on {len(differ):,} of {text.number_of(len(tree), 'path')}")
    for node in differ[:SHOWN]:
        recorded = ", ".join(
            f"{name} {a[node]:,}, in the tree {b[node]:,}"
            for name, a, b in zip(COUNTED, counts, kept, strict=True)
            if a[node] != b[node]
        )
        paper.line(f"  node {node}, {_name(paper, recording, node)}: {recorded}")
    if len(differ) > SHOWN:
        paper.line(f"  and {len(differ) - SHOWN:,} more")
    return 1


def _name(paper: Paper, recording: Recording, node: int) -> str:
    row = recording.functions[recording.tree["function"][node]]
    return text.shorten(text.function_name(row.kind, row.module, row.qualname), 40, paper.signs)


def _write_filtered(
    paper: Paper, recording: Recording, counts: list[list[int]], kept: list[list[int]], cut: bool, steps: str
) -> int:
    """Write the same for a trace that leaves calls out. cut: its end is missing."""
    sums, tree = recording.calls.sums, recording.tree
    left = [text.number_of(sum(of), word) for of, word in zip(sums.left_out, ("call", "resume"), strict=False)]
    if cut:
        paper.line(f"the journal leaves out {' and '.join(left)}; without its end, the tree cannot be compared with it")
        return 0
    differ = sorted({place for of in zip(counts, kept, sums.left_out, strict=True) for place in _wrong(recording, *of)})
    if not differ:
        paper.line(f"the journal agrees with the tree: {steps}, and {' and '.join(left)} left out")
        return 0
    paper.line(f"the journal and what it leaves out differ from the tree on {text.number_of(len(differ), 'path')}")
    for place in differ[:SHOWN]:
        if place < len(tree):
            paper.line(f"  in or below node {place}, {_name(paper, recording, place)}")
        else:
            paper.line(f"  on thread {place - len(tree)}")
    return 1


def _wrong(recording: Recording, counted: list[int], kept: list[int], left_out: memoryview) -> list[int]:
    """Return the nodes, then the threads (after the nodes), below which the counts do not add up to the tree's."""
    tree = recording.tree
    size, parents, threads = len(tree), tree.numbers("parent"), tree.numbers("thread")
    missing, recorded = [0] * len(left_out), left_out.tolist()
    wrong = []
    folds = "paths-folded" in recording.losses["kind"]  # counted under one node, but left out elsewhere in the tree
    for node in range(size - 1, -1, -1):
        lacks = kept[node] - counted[node]
        if lacks < 0 or (missing[node] < recorded[node] and not folds):
            wrong.append(node)
        above = parents[node] if parents[node] >= 0 else size + threads[node]
        missing[above] += missing[node] + lacks
        recorded[above] += recorded[node]
    return wrong + [place for place in range(size, len(recorded)) if missing[place] != recorded[place]]
