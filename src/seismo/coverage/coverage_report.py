"""The result of an analysis as plain data: files with their lines and branches, and problems."""

from __future__ import annotations

import functools
import os
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seismo.coverage.percentages import Percentages

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from seismo.coverage.arcs import Steps
    from seismo.coverage.conditions import Decision

Arc = tuple[int, int]  # from line, to line; -N: out of the code that begins at line N


@dataclass(frozen=True)
class Problem:
    """A problem or doubt of an analysis.

    path: the file, or ""
    minor: True if it is expected, such as generated code without a source, and shown only on request
    """

    path: str
    text: str
    minor: bool = False


@dataclass(frozen=True)
class Region:
    """A function or class of a file. name is dotted; lines are those of its own body, with comments."""

    kind: str  # "function" or "class"
    name: str
    start: int
    lines: frozenset[int]


@dataclass(frozen=True)
class RegionCoverage:
    """The coverage of a region, or of all lines outside of regions (name ""). The fields are as in FileCoverage."""

    name: str
    start: int
    executed: list[int]
    missing: list[int]
    excluded: list[int]
    executed_branches: list[Arc]
    missing_branches: list[Arc]
    numbers: Percentages


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
    has_branches: bool = False
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
        from seismo.coverage.conditions import decisions_of
        from seismo.model.table import BranchRow

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
        return self._numbers(self.statements, self.missing, self.excluded, self.missing_branches, self.exits)

    def _numbers(
        self,
        statements: Collection[int],
        missing: Collection[int],
        excluded: Collection[int],
        missing_branches: Collection[Arc],
        exits: Mapping[int, int],
    ) -> Percentages:
        lines = set(missing)
        return Percentages(
            statements=len(statements),
            missing=len(lines),
            excluded=len(excluded),
            branches=sum(exits.values()),
            partial_branches=sum(line not in lines for line, _ in missing_branches),
            missing_branches=len(missing_branches),
            files=1,
        )

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
        return self.steps.does((start, end)) if self.steps is not None else _plain_step(end)

    def missing_text(self, start: int, end: int) -> str:
        """Return a sentence without a full stop about a missing branch: "line 3 didn't jump to line 5 because ..."."""
        if self.steps is None:
            return f"line {start} didn't {_plain_step(end)}"
        return self.steps.missing((start, end))

    def regions_of(self, kind: str) -> list[RegionCoverage]:
        """Return the regions of a kind ("function" or "class") by their start, then the lines outside, named "".

        Names are unique. If several regions have the same name, the first with statements keeps it, and "@" and the
        first line are appended to the others.
        """
        chosen = sorted((region for region in self.regions if region.kind == kind), key=lambda region: region.start)
        outside = set(range(1, len(self.source_lines) + 1))
        for region in chosen:
            outside -= region.lines
        parts = _Parts(self, [*(region.lines for region in chosen), frozenset(outside)])
        covered = [parts.of(index, region.name, region.start) for index, region in enumerate(chosen)]
        with_statements = {part.name for part in covered if part.numbers.statements}
        named: dict[str, RegionCoverage] = {}
        for part in covered:
            name = part.name
            if name in named or (name in with_statements and not part.numbers.statements):
                name = f"{name}@{part.start}"
            named[name] = RegionCoverage(name, *[getattr(part, other) for other in _REGION_FIELDS])
        named[""] = parts.of(len(chosen), "", min(outside, default=1))
        return list(named.values())


_REGION_FIELDS = [name for name in RegionCoverage.__dataclass_fields__ if name != "name"]


class _Parts:
    """A file's lines and branches, distributed to disjoint sets of lines in one pass."""

    def __init__(self, file: FileCoverage, parts: Sequence[frozenset[int]]) -> None:
        self.file = file
        part_of = {line: index for index, lines in enumerate(parts) for line in lines}

        def dealt(lines: Iterable[int]) -> dict[int, list[int]]:
            found: dict[int, list[int]] = defaultdict(list)
            for line in lines:
                if line in part_of:
                    found[part_of[line]].append(line)
            return found

        self.statements = dealt(file.statements)
        self.executed = dealt(file.executed)
        self.missing = dealt(file.missing)
        self.excluded = dealt(file.excluded)
        self.branch_lines = dealt(sorted(file.branches))
        self.exits = dealt(file.exits)

    def of(self, index: int, name: str, start: int) -> RegionCoverage:
        file = self.file
        branches = [(line, file.branches[line]) for line in self.branch_lines[index]]
        missing_branches = [(line, to) for line, (_, missing) in branches for to in missing]
        numbers = file._numbers(
            self.statements[index],
            self.missing[index],
            self.excluded[index],
            missing_branches,
            {line: file.exits[line] for line in self.exits[index]},
        )
        return RegionCoverage(
            name,
            start,
            self.executed[index],
            self.missing[index],
            self.excluded[index],
            [(line, to) for line, (taken, _) in branches for to in taken],
            missing_branches,
            numbers,
        )


@dataclass
class CoverageReport:
    """The result of the analysis of a recording. files are sorted by path."""

    files: list[FileCoverage]
    problems: list[Problem]
    branch: bool = False  # True if branches were recorded
    counts: bool = False  # True if hits are counts
    has_contexts: bool = False

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


def _plain_step(end: int) -> str:
    return f"jump to line {end}" if end > 0 else "jump to the function exit"
