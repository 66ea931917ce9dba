"""What an analysis comes to, as plain data: files, their lines and branches, and what went wrong."""

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

Arc = tuple[int, int]  # from line, to line; a negative line: out of the code that begins at it


@dataclass(frozen=True)
class Problem:
    """Something that an analysis could not do, or did with a doubt. `path`: the file it is about, or "".

    `minor`: it is as expected and need not be shown unasked, as that generated code has no source.
    """

    path: str
    text: str
    minor: bool = False


@dataclass(frozen=True)
class Region:
    """A function or class of a file. `name` is dotted; `lines` are those of its own body, comments included."""

    kind: str  # "function" or "class"
    name: str
    start: int
    lines: frozenset[int]


@dataclass(frozen=True)
class RegionCoverage:
    """A region, or what is outside of all regions (`name` ""), with what of it was executed. As in FileCoverage."""

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
    """One source file: its statements and branches, and which were executed.

    Lines are those at which statements begin, numbered from 1; lists are sorted.
    """

    path: str  # as shown: relative to the current folder when below it
    absolute: str
    statements: list[int]
    executed: list[int]
    missing: list[int]
    excluded: list[int]
    source_lines: list[str]  # without their line ends
    has_branches: bool = False
    # Lines that have several to go on to: those gone to, and those not. Empty without branches.
    branches: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    # How often each executed line ran, or None when this was not counted.
    hits: dict[int, int] | None = None
    regions: list[Region] = field(default_factory=list)
    changed: bool = False  # the source is another one than that which ran
    # The contexts of each line and step as the interpreter reported it, sorted. "": what ran in none.
    contexts_by_line: Mapping[int, Sequence[str]] = field(default_factory=dict)
    contexts_by_arc: Mapping[Arc, Sequence[str]] = field(default_factory=dict)
    # The words for steps (arcs.Steps); None without branches.
    steps: Steps | None = None
    # Branch lines with the number of their exits, as counted in the totals: an exit may be excused but still count.
    exits: dict[int, int] = field(default_factory=dict)
    # The first line of each line of a logical line that has several.
    first_lines: Mapping[int, int] = field(default_factory=dict)
    # The recorded conditional jumps: rows of the table of branches, without their ids.
    jumps: Sequence[tuple[Any, ...]] = ()

    @functools.cached_property
    def conditions(self) -> list[Decision]:
        """The conditions of several operands, with the outcomes that were seen; none without branches."""
        from seismo.coverage.conditions import decisions_of
        from seismo.model.table import BranchRow

        try:
            rows = [BranchRow(-1, *jump) for jump in self.jumps]
            return decisions_of(rows, "\n".join(self.source_lines)) if rows else []
        except (SyntaxError, ValueError):  # the analysis has said so
            return []

    @functools.cached_property
    def executed_branches(self) -> list[Arc]:
        """The branches that were taken, as (from, to)."""
        return [(line, to) for line, (taken, _) in sorted(self.branches.items()) for to in taken]

    @functools.cached_property
    def missing_branches(self) -> list[Arc]:
        """The branches that were not taken, as (from, to)."""
        return [(line, to) for line, (_, missing) in sorted(self.branches.items()) for to in missing]

    @functools.cached_property
    def numbers(self) -> Percentages:
        """What the file comes to."""
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
        """The names of the contexts in which a statement ran, sorted. "" is what ran in none. line: its first."""
        return self._statement_contexts.get(line, [])

    def contexts_of_arc(self, arc: Arc) -> list[str]:
        """The names of the contexts in which a branch was taken, sorted."""
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
        """What a step does: "jump to line 5", "return from function 'f'"."""
        return self.steps.does((start, end)) if self.steps is not None else _plain_step(end)

    def missing_text(self, start: int, end: int) -> str:
        """Why a branch is missing, as a sentence without its full stop: "line 3 didn't jump to line 5 because ..."."""
        if self.steps is None:
            return f"line {start} didn't {_plain_step(end)}"
        return self.steps.missing((start, end))

    def regions_of(self, kind: str) -> list[RegionCoverage]:
        """The regions of a kind ("function" or "class") by their start, then what is outside of them, named "".

        Names are unique: where several have one name, the first that has statements keeps it, and the others get
        "@" and the number of their first line.
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
    """A file's lines and branches, dealt out to disjoint sets of lines in one go."""

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
    """What an analysis of a recording comes to. `files` are sorted by path."""

    files: list[FileCoverage]
    problems: list[Problem]
    branch: bool = False  # branches were recorded
    counts: bool = False  # hits are counts
    has_contexts: bool = False

    @functools.cached_property
    def totals(self) -> Percentages:
        """What all files come to together."""
        return sum((file.numbers for file in self.files), Percentages())


def common_folder(files: Sequence[FileCoverage]) -> str:
    """The folder that all are below, with its slash, if they are shown by long paths; else ""."""
    if len(files) < 2 or not all(file.path.startswith("/") for file in files):
        return ""
    folder = os.path.commonpath([os.path.dirname(file.path) for file in files])
    return folder + "/" if folder != "/" else ""


def _plain_step(end: int) -> str:
    return f"jump to line {end}" if end > 0 else "jump to the function exit"
