"""Measurements: counts for each function, each test and in total, with the Python and machine that they depend on.

    Counts        {"calls": Range(3, 3), "lines": Range(40, 42)}: a missing quantity was not measured
    Range         the least and the greatest count of the runs, equal if they agree
    Measurement   functions: {Function: Counts}, tests: {"tests/test_a.py::test_b": Counts}

A missing function ran 0 times. `calls` counts calls, `lines` executions of lines, `exceptions` exceptions that left the
function, `births` objects created by its own lines. `bytes` is the memory of these objects: the sizes of their types,
and the items of those that died.
"""

from __future__ import annotations

import platform
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

QUANTITIES = ("calls", "lines", "exceptions", "births", "bytes")


class Range(NamedTuple):
    """The least and the greatest count of the runs."""

    low: int
    high: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}..{self.high}"


NOTHING = Range(0, 0)
Counts = dict[str, Range]
Key = TypeVar("Key")


class Function(NamedTuple):
    """A function: its module, its qualified name and its file, relative to the project if it is inside.

    A C function has no file (""). The code of a module is its function `<module>`.
    """

    module: str
    qualname: str
    file: str = ""

    def __str__(self) -> str:
        return f"{self.module}:{self.qualname}"


ELSEWHERE = Function("", "<elsewhere>")
"""The stand-in for the creators of objects without a known line. It is not a function and is in no sum."""


@dataclass(frozen=True)
class Stamp:
    """Everything besides the program that a count depends on. `dependencies` has {distribution: version}.

    `program` is the command as the user gave it; `python` is major.minor.patch. `lines` is "all" if lines of libraries
    were counted, too.
    """

    program: str = ""
    python: str = ""
    platform: str = ""
    seismo: str = ""
    dependencies: Mapping[str, str] = field(default_factory=dict)
    lines: str = ""

    def differences(self, new: Stamp) -> list[str]:
        """Return a sentence for each difference that makes counts of the two incomparable.

        A dependency with another version or on one side only is a difference. seismo's own version is not, since the
        interpreter determines the counts.
        """
        found = []
        for what, old_one, new_one in (
            ("the program", self.program, new.program),
            ("Python", self.python, new.python),
            ("the platform", self.platform, new.platform),
        ):
            if old_one != new_one and old_one and new_one:
                found.append(f"{what} was {old_one} and is {new_one}")
        if self.lines != new.lines:
            was, is_ = (f"of {one.lines or 'own'} files" for one in (self, new))
            found.append(f"lines were counted {was} and are counted {is_}")
        for name in sorted({*self.dependencies, *new.dependencies}):
            before, after = self.dependencies.get(name), new.dependencies.get(name)
            if before != after:
                found.append(f"{name} was {before or 'absent'} and is {after or 'absent'}")
        return found


def stamp_of_here(program: str, dependencies: Mapping[str, str], lines: str) -> Stamp:
    """Return the stamp of this interpreter on this machine."""
    from seismo import __version__

    kind = "" if sys.implementation.name == "cpython" else f" ({sys.implementation.name})"
    free = "t" if not getattr(sys, "_is_gil_enabled", lambda: True)() else ""
    machine = f"{sys.platform}-{platform.machine()}"
    return Stamp(program, platform.python_version() + free + kind, machine, __version__, dependencies, lines)


@dataclass
class Measurement:
    """The counts of a program.

    `functions` and `tests` have the counts; a test's counts cover everything that ran in it. `depth` is the greatest
    depth of calls, or None if it was not measured. `quantities` are the measured ones, in the order of QUANTITIES.
    `codes` has a hash of the code of each function of the project, without its name, to identify renamed functions.

    The details for finding causes are those of the last run, and are not written to a baseline. `callers` has
    {function: {caller: calls}}, and `inclusive` the calls of a function and everything below it. `lines` and `births`
    have {function: {line: executions, or objects created}}. `first` has the number of a function's first line,
    `sources` the current path of its file, and `texts` {file: its lines} for the project's files. `uncounted` has a
    sentence for each kind of process that was not counted. For parametrized tests, `sizes` has their sizes, and
    `of_tests` the calls of each function in them.
    """

    stamp: Stamp = field(default_factory=Stamp)
    functions: dict[Function, Counts] = field(default_factory=dict)
    tests: dict[str, Counts] = field(default_factory=dict)
    depth: Range | None = None
    codes: dict[Function, str] = field(default_factory=dict)
    callers: dict[Function, dict[Function, int]] = field(default_factory=dict, compare=False)
    inclusive: dict[Function, int] = field(default_factory=dict, compare=False)
    lines: dict[Function, dict[int, int]] = field(default_factory=dict, compare=False)
    births: dict[Function, dict[int, int]] = field(default_factory=dict, compare=False)
    first: dict[Function, int] = field(default_factory=dict, compare=False)
    sources: dict[Function, str] = field(default_factory=dict, compare=False)
    texts: dict[str, list[str]] = field(default_factory=dict, compare=False)
    uncounted: list[str] = field(default_factory=list, compare=False)
    sizes: dict[str, dict[str, int]] = field(default_factory=dict, compare=False)
    of_tests: dict[str, dict[Function, int]] = field(default_factory=dict, compare=False)

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that any function or test has."""
        found = {name for counts in (*self.functions.values(), *self.tests.values()) for name in counts}
        return tuple(name for name in QUANTITIES if name in found)

    @property
    def totals(self) -> Counts:
        """The sums over all functions, or over all tests if only tests were measured."""
        functions = [counts for name, counts in self.functions.items() if name != ELSEWHERE]
        return summed(functions or self.tests.values())


def summed(rows: Iterable[Counts]) -> Counts:
    """Return the sums of the counts. Both ends of ranges are summed, so that the true sum is within the range."""
    low: Counter[str] = Counter()
    high: Counter[str] = Counter()
    for row in rows:
        for name, one in row.items():
            low[name] += one.low
            high[name] += one.high
    return {name: Range(low[name], high[name]) for name in QUANTITIES if name in low}


def over_runs(runs: Sequence[Measurement]) -> Measurement:
    """Return one measurement of several runs of the same program, with the range of each count.

    A function or test that a run lacks counts as 0 there. The stamp and the details for finding causes are the last
    run's.
    """
    if len(runs) == 1:
        return runs[0]
    last = runs[-1]
    depths = [run.depth for run in runs if run.depth is not None]
    return replace(
        last,
        functions=_joined([run.functions for run in runs], [run.quantities for run in runs]),
        tests=_joined([run.tests for run in runs], [run.quantities for run in runs]),
        depth=Range(min(one.low for one in depths), max(one.high for one in depths)) if depths else None,
        codes={function: code for run in runs for function, code in run.codes.items()},
    )


def _joined(tables: list[dict[Key, Counts]], measured: list[tuple[str, ...]]) -> dict[Key, Counts]:
    found: dict[Key, Counts] = {}
    for key in {key: None for table in tables for key in table}:
        counts: Counts = {}
        for name in {name: None for table in tables for name in table.get(key, ())}:
            # Only runs that measured the quantity count; in those, a missing count is 0.
            ranges = [
                table.get(key, {}).get(name, NOTHING)
                for table, had in zip(tables, measured, strict=True)
                if name in had
            ]
            counts[name] = Range(min(one.low for one in ranges), max(one.high for one in ranges))
        found[key] = counts
    return found


def with_births(found: Measurement, born: Measurement) -> Measurement:
    """Return the measurement with what runs of births have counted."""
    functions, tests = dict(found.functions), dict(found.tests)
    for name, counts in born.functions.items():
        functions[name] = {**functions.get(name, {}), **counts}
    for test, counts in born.tests.items():
        if test in tests:
            tests[test] = {**tests[test], **counts}
    return replace(
        found,
        functions=functions,
        tests=tests,
        births=born.births,
        codes={**born.codes, **found.codes},
        first={**born.first, **found.first},
        sources={**born.sources, **found.sources},
        texts={**born.texts, **found.texts},
    )
