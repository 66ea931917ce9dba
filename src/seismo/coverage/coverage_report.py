"""The result of an analysis as plain data: files with their lines and branches, and problems."""

from __future__ import annotations

import functools
import os
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from seismo.coverage.arcs import Steps, step_text
from seismo.coverage.conditions import Decision, decisions_of
from seismo.coverage.percentages import Percentages
from seismo.model.table import BranchRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Arc = tuple[int, int]  # from line, to line; -N: out of the code that begins at line N


@dataclass(frozen=True)
class Problem:
    """A problem or doubt of an analysis."""

    path: str  # of the file, or ""
    text: str
    minor: bool = False  # True if it is expected, such as code without a source, and shown only on request


@dataclass(frozen=True)
class Region:
    """A function or class of a file. name is dotted; lines are those of its own body, with comments."""

    kind: str  # "function" or "class"
    name: str
    start: int
    lines: frozenset[int]


@dataclass
class FileCoverage:
    """The coverage of one source file: its statements and branches, and which of them were executed.

    Lines are first lines of statements, from 1. Lists are sorted.
    """

    path: str  # as shown: relative to the current folder if it is below it
    absolute: str
    statements: list[int]
    executed: list[int]
    missing: list[int]
    excluded: list[int]
    source_lines: list[str]  # without line ends
    # Maps each line with several exits to the exits taken and the missing ones. Empty without branches.
    branches: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    # Executions of each executed line, or None if they were not counted.
    hits: dict[int, int] | None = None
    regions: list[Region] = field(default_factory=list)
    changed: bool = False  # the source differs from the one that ran
    # The sorted contexts of each line and step as the interpreter reported them; "" stands for no context.
    contexts_by_line: Mapping[int, Sequence[str]] = field(default_factory=dict)
    contexts_by_arc: Mapping[Arc, Sequence[str]] = field(default_factory=dict)
    # The source of the words for steps, or None without branches.
    steps: Steps | None = None
    # The number of exits of each branch line for the totals, including excused ones.
    exits: dict[int, int] = field(default_factory=dict)
    # Maps each line of a longer logical line to its first line.
    first_lines: Mapping[int, int] = field(default_factory=dict)
    # The recorded conditional jumps, as rows of the table of branches without their ids.
    jumps: Sequence[tuple[Any, ...]] = ()

    @functools.cached_property
    def conditions(self) -> list[Decision]:
        """Return the decisions with the outcomes that were seen, or an empty list without branches."""
        try:
            rows = [BranchRow(-1, *jump) for jump in self.jumps]
            return decisions_of(rows, "\n".join(self.source_lines)) if rows else []
        except (SyntaxError, ValueError):  # the analysis has reported it
            return []

    @functools.cached_property
    def executed_branches(self) -> list[Arc]:
        """Return the branches that were taken, as (from, to)."""
        return [(line, to) for line, (taken, _) in sorted(self.branches.items()) for to in taken]

    @functools.cached_property
    def missing_branches(self) -> list[Arc]:
        """Return the branches that were not taken, as (from, to)."""
        return [(line, to) for line, (_, missing) in sorted(self.branches.items()) for to in missing]

    @functools.cached_property
    def numbers(self) -> Percentages:
        """Return the numbers of the file."""
        missing = set(self.missing)
        return Percentages(
            statements=len(self.statements),
            missing=len(missing),
            excluded=len(self.excluded),
            branches=sum(self.exits.values()),
            partial_branches=sum(line not in missing for line, _ in self.missing_branches),
            missing_branches=len(self.missing_branches),
            files=1,
        )

    def hits_of(self, line: int) -> int:
        """Return the number of executions of a statement that ran, or 1 if they were not counted."""
        return 1 if self.hits is None else max(1, self.hits.get(line, 1))

    def contexts_of(self, line: int) -> list[str]:
        """Return the sorted names of the contexts in which a statement ran, "" for none. line: its first line."""
        return self._statement_contexts.get(line, [])

    def contexts_of_arc(self, arc: Arc) -> list[str]:
        """Return the sorted names of the contexts in which a branch was taken."""
        return self._branch_contexts.get(arc, [])

    @functools.cached_property
    def _statement_contexts(self) -> dict[int, list[str]]:
        found: dict[int, set[str]] = defaultdict(set)
        for line, names in self.contexts_by_line.items():
            found[self._first(line)].update(names)
        return {line: sorted(names) for line, names in found.items()}

    @functools.cached_property
    def _branch_contexts(self) -> dict[Arc, list[str]]:
        found: dict[Arc, set[str]] = defaultdict(set)
        with_steps = self.steps.with_steps if self.steps else {}
        for arc, names in self.contexts_by_arc.items():
            for straight in {arc, with_steps.get(arc) or arc}:
                found[self._first(straight[0]), self._first(straight[1])].update(names)
        return {arc: sorted(names) for arc, names in found.items()}

    def _first(self, line: int) -> int:
        return self.first_lines.get(line, line) if line > 0 else -self.first_lines.get(-line, -line)

    def arc_text(self, start: int, end: int) -> str:
        """Return the effect of a step: "jump to line 5", "return from function 'f'"."""
        return self.steps.does((start, end)) if self.steps is not None else step_text(end)

    def missing_text(self, start: int, end: int) -> str:
        """Return a sentence without a full stop about a missing branch: "line 3 didn't jump to line 5 because ..."."""
        if self.steps is None:
            return f"line {start} didn't {step_text(end)}"
        return self.steps.missing((start, end))

    def regions_of(self, kind: str) -> dict[str, tuple[int, FileCoverage]]:
        """Return the start and the lines of the regions of a kind by name, then those of the lines outside, named "".

        If several regions have the same name, the first with statements keeps it, and "@" and the first line are
        appended to the others. kind: "function" or "class".
        """
        chosen = sorted((region for region in self.regions if region.kind == kind), key=lambda region: region.start)
        outside = set(range(1, len(self.source_lines) + 1)).difference(*(region.lines for region in chosen))
        *parts, rest = self._split([*(region.lines for region in chosen), frozenset(outside)])
        with_statements = {region.name for region, part in zip(chosen, parts, strict=True) if part.statements}
        named: dict[str, tuple[int, FileCoverage]] = {}
        for region, part in zip(chosen, parts, strict=True):
            name = region.name
            if name in named or (name in with_statements and not part.statements):
                name = f"{name}@{region.start}"
            named[name] = region.start, part
        return named | {"": (min(outside, default=1), rest)}

    def _split(self, parts: Sequence[frozenset[int]]) -> list[FileCoverage]:
        """Return the file with only the lines of each of some disjoint sets, distributed in one pass."""
        part_of = {line: index for index, lines in enumerate(parts) for line in lines}
        found = [
            replace(self, statements=[], executed=[], missing=[], excluded=[], branches={}, exits={}) for _ in parts
        ]
        for name in ("statements", "executed", "missing", "excluded"):
            for line in getattr(self, name):
                if line in part_of:
                    getattr(found[part_of[line]], name).append(line)
        for name in ("branches", "exits"):
            for line, value in getattr(self, name).items():
                if line in part_of:
                    getattr(found[part_of[line]], name)[line] = value
        return found


@dataclass
class CoverageReport:
    """The result of the analysis of a recording. files are sorted by path."""

    files: list[FileCoverage]
    problems: list[Problem]
    branch: bool = False  # True if branches were recorded
    counts: bool = False  # True if hits are counts
    has_contexts: bool = False
    precision: int = 0  # decimals of percentages

    @property
    def main_problems(self) -> list[Problem]:
        """Return the problems without minor ones."""
        return [problem for problem in self.problems if not problem.minor]

    @functools.cached_property
    def totals(self) -> Percentages:
        """Return the sum of the numbers of all files."""
        return sum((file.numbers for file in self.files), Percentages())


def common_folder(files: Sequence[FileCoverage]) -> str:
    """Return the common folder of all files with its slash if they have absolute paths, or ""."""
    if len(files) < 2 or not all(file.path.startswith("/") for file in files):
        return ""
    folder = os.path.commonpath([os.path.dirname(file.path) for file in files])
    return folder + "/" if folder != "/" else ""
