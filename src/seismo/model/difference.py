"""Differences between recordings, one or several a side, by function or by line.

Counts are exact. A count that varies between the runs of a side is a range; it has changed if the ranges of the two
sides do not overlap. `seismo.model.run_variance` decides if a time has changed by more than equal runs do.

The recorder disables a call site of a C function once the function proves trivial, at a different moment in each run.
From then on, the C function's time counts as its caller's. So if the calls of a C function are a lower bound in any
run, its own time is added to its callers' in all runs, and its calls are not compared.
"""

from __future__ import annotations

import ntpath
from typing import TYPE_CHECKING, NamedTuple

from seismo.model.enums import FunctionKind
from seismo.model.recording import Recording
from seismo.model.run_variance import RunGroup, error_of_change, group, scale, variance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.model.table import FunctionRow, LineRow

# A row is tested only if it has this part of a side's time. Each further test widens the errors of all rows.
WORTH = 0.005
FEWEST_ROWS = 5  # that a run needs before its overall pace is estimated
LONG_CALL_NS = 1_000  # per call; longer C functions are assumed to vary like file access and first use of memory


class FunctionKey(NamedTuple):
    """The identity of a function across recordings.

    It excludes the line, so that edits above the function do not matter. Of the file it has only the last part, so that
    another checkout or environment does not matter.
    """

    kind: int
    module: str
    qualname: str
    file: str


class LineKey(NamedTuple):
    """The identity of a line across recordings: its function and its distance from the function's first line."""

    kind: int
    module: str
    qualname: str
    file: str
    offset: int


class DiffRow(NamedTuple):
    """One function or line on both sides. Times are in ns, means over the runs of a side.

    `own_error` is the error of the change in own time (95 %, for all rows of the diff together). It covers measurement
    and the variation of equal runs. `calls_old` and `calls_new` (for a line, its hits) are the fewest of the side's
    runs, `calls_old_most` and `calls_new_most` the most. `line` is the line's number in the newer file. `bound` is True
    if the function ran on both sides and its calls are a lower bound in a run; its own time then counts as its
    callers'.
    """

    key: FunctionKey | LineKey
    calls_old: int
    calls_new: int
    own_old: float
    own_new: float
    own_error: float
    total_old: float
    total_new: float
    significant: bool  # the change in own time exceeds its error, and the row has at least WORTH of a side's time
    calls_old_most: int = 0
    calls_new_most: int = 0
    line: int = 0
    bound: bool = False

    @property
    def calls_old_range(self) -> tuple[int, int]:
        """The fewest and the most calls of an old run."""
        return self.calls_old, max(self.calls_old, self.calls_old_most)

    @property
    def calls_new_range(self) -> tuple[int, int]:
        """The fewest and the most calls of a new run."""
        return self.calls_new, max(self.calls_new, self.calls_new_most)

    @property
    def calls_change(self) -> int:
        """The smallest difference in calls between the sides, or 0 if their ranges overlap; exact unless `bound`."""
        return sure_change(self.calls_old_range, self.calls_new_range)

    @property
    def own_change(self) -> float:
        """The change in own time, in ns."""
        return self.own_new - self.own_old


def sure_change(old: tuple[int, int], new: tuple[int, int]) -> int:
    """Return the signed distance between two ranges, or 0 if they overlap."""
    return new[0] - old[1] if new[0] > old[1] else min(0, new[1] - old[0])


class _Sum:
    """The sums for one key in one recording. Times are in ns; `square` sums the squared errors of the own time."""

    __slots__ = ("bound", "calls", "line", "own", "preempted", "square", "total", "unsteady")

    def __init__(self) -> None:
        self.calls = self.line = self.bound = 0
        self.own = self.preempted = self.square = self.total = self.unsteady = 0.0

    @property
    def variance(self) -> float:
        return variance(max(0.0, self.own), self.square, self.preempted, self.unsteady)

    def divide(self, factor: float) -> None:
        """Divide all times by the run's pace."""
        self.own, self.total, self.square = self.own / factor, self.total / factor, self.square / factor**2
        self.preempted, self.unsteady = self.preempted / factor, self.unsteady / factor

    def take(self, other: _Sum, part: float = 1.0) -> None:
        """Add this part of another sum's own time, and of its errors."""
        for name in ("own", "square", "preempted", "unsteady"):
            setattr(self, name, getattr(self, name) + part * getattr(other, name))


_NOTHING = _Sum()
_Sums = dict[FunctionKey | LineKey, _Sum]


class Difference(NamedTuple):
    """A difference: the rows, significant ones first, and the whole own time of each side.

    `paces` are the runs' overall slowness, by which the times in the rows are divided; 1 where no pace was estimated.
    """

    rows: list[DiffRow]
    whole: tuple[RunGroup, RunGroup]
    paces: tuple[list[float], list[float]]


def difference(old: Recording | Sequence[Recording], new: Recording | Sequence[Recording]) -> Difference:
    """Return the difference of each function of any recording. A side is one run or several.

    Raise ValueError if a side has no recording.
    """
    sides = runs(old), runs(new)
    sums = [[_of_functions(one) for one in side] for side in sides]
    bound = set.intersection(*({key for one in side for key in one} for side in sums))
    bound &= {key for side in sums for one in side for key, row in one.items() if row.bound}
    for recording, one in zip((*sides[0], *sides[1]), (*sums[0], *sums[1]), strict=True):
        _fold(recording, one, bound)
    return _difference(sums[0], sums[1], bound)


def difference_of_lines(old: Recording | Sequence[Recording], new: Recording | Sequence[Recording]) -> Difference:
    """Return the difference of each line of Python code, with its hits."""
    return _difference([_of_lines(one) for one in runs(old)], [_of_lines(one) for one in runs(new)], set())


def diff(old: Recording | Sequence[Recording], new: Recording | Sequence[Recording]) -> list[DiffRow]:
    """Return the rows of `difference`."""
    return difference(old, new).rows


def runs(side: Recording | Sequence[Recording]) -> Sequence[Recording]:
    """Return the recordings of a side. Raise ValueError if there are none."""
    found = [side] if isinstance(side, Recording) else side
    if not found:
        raise ValueError("a side of a diff has no recording")
    return found


def keys(recording: Recording) -> list[FunctionKey]:
    """Return the key of each function of the recording."""
    columns = [recording.functions[name] for name in ("kind", "module", "qualname", "file")]
    rows = zip(*columns, strict=True)
    return [FunctionKey(kind, module, name, ntpath.basename(file)) for kind, module, name, file in rows]


def _of_functions(recording: Recording) -> _Sums:
    """Sum up the functions. The probes' effect on surrounding code is the same on both sides, and taken out."""
    sums: _Sums = {}
    distortions = recording._estimated["function_distortion_ns"]
    for key, row, common in zip(keys(recording), recording.functions, distortions, strict=True):
        found = _add(sums, key, row, row.calls, recording.times)
        found.square -= min(common, row.own_error_ns) ** 2
        found.bound |= row.lower_bound
    return sums


def _of_lines(recording: Recording) -> _Sums:
    sums: _Sums = {}
    functions = keys(recording)
    first = recording.functions["line"]
    for row in recording.lines:
        if functions[row.function].kind == FunctionKind.PYTHON and row.line >= 1:
            key = LineKey(*functions[row.function], row.line - first[row.function])
            _add(sums, key, row, row.hits, recording.times).line = row.line
    return sums


def unsteady(key: FunctionKey | LineKey, calls: int, own: float, waited: float, times: str) -> float:
    """Return the part of an own time that is waiting or first access to files or memory (ns).

    Such code is C, but where C functions are not recorded its time is that of the import system's Python functions.
    """
    if (key.kind == FunctionKind.C and own > LONG_CALL_NS * calls) or key.module.startswith("importlib._bootstrap"):
        return own
    return 0 if times == "cpu" else waited


def _add(sums: _Sums, key: FunctionKey | LineKey, row: FunctionRow | LineRow, calls: int, times: str) -> _Sum:
    found = sums.setdefault(key, _Sum())
    found.calls += calls
    found.own += row.own_ns
    found.square += row.own_error_ns**2
    found.preempted += row.ready_ns
    found.unsteady += unsteady(key, calls, row.own_ns, row.wait_ns, times)
    found.total += row.total_ns
    return found


def _fold(recording: Recording, sums: _Sums, bound: set[FunctionKey | LineKey]) -> None:
    """Move the own times of the functions in `bound` to their callers."""
    if not bound:
        return
    functions = keys(recording)
    whole = {key: sums.pop(key) for key in bound & sums.keys()}
    rows: list[_Sum] = []  # for each node, the row with its own time
    tree = recording.tree
    for parent, function, own in zip(tree["parent"], tree["function"], tree["own_ns"], strict=True):
        key = functions[function]
        folded = whole.get(key)
        row = rows[parent] if folded and parent >= 0 else sums.setdefault(key, _Sum())
        if folded and folded.own > 0:
            row.take(folded, own / folded.own)
        rows.append(row)
    for key, one in whole.items():
        rest = sums.setdefault(key, _Sum())
        rest.calls, rest.total = one.calls, one.total


def _difference(old: list[_Sums], new: list[_Sums], bound: set[FunctionKey | LineKey]) -> Difference:
    found = dict.fromkeys(key for one in (*old, *new) for key in one)
    whole = _whole(old), _whole(new)
    pairs = {key: (_group(old, key), _group(new, key)) for key in found}
    least = [WORTH * sum(pair[side].mean for pair in pairs.values()) for side in (0, 1)]
    asked = [key for key, (a, b) in pairs.items() if 0 < a.mean >= least[0] or 0 < b.mean >= least[1]]
    paces = _paces(old, new, asked)
    for sums, pace in zip((*old, *new), (*paces[0], *paces[1]), strict=True):
        for one in sums.values():
            one.divide(pace)
    pairs = {key: (_group(old, key), _group(new, key)) for key in found}
    by = scale([pairs[key] for key in asked])
    worth = set(asked)
    rows = []
    for key, (before, after) in pairs.items():
        olds, news = ([sums.get(key, _NOTHING) for sums in side] for side in (old, new))
        error = error_of_change(before, after, len(asked), by)
        significant = key in worth and abs(after.mean - before.mean) > error
        totals = (sum(one.total for one in side) / len(side) for side in (olds, news))
        fewest, most = ([choose(one.calls for one in side) for side in (olds, news)] for choose in (min, max))
        line = next((one.line for one in (*reversed(news), *reversed(olds)) if one.line), 0)
        own = before.mean, after.mean, error
        rows.append(DiffRow._make((key, *fewest, *own, *totals, significant, *most, line, key in bound)))
    rows.sort(key=lambda row: (not row.significant, -abs(row.own_change), row.key))
    return Difference(rows, whole, paces)


def _whole(side: list[_Sums]) -> RunGroup:
    wholes = []
    for sums in side:
        wholes.append(_Sum())
        for one in sums.values():
            wholes[-1].take(one)
    return group([one.own for one in wholes], [one.variance for one in wholes])


def _paces(
    old: list[_Sums], new: list[_Sums], asked: Sequence[FunctionKey | LineKey]
) -> tuple[list[float], list[float]]:
    """Return the pace of each run: the median of its rows' times relative to their mean over all runs.

    Load from other programs slows down a whole run, while a change of one function hardly moves the median. If one side
    is slower than the other as a whole, the program itself has changed, so all paces are 1.
    """
    every = [*old, *new]
    means = {key: sum(one[key].own for one in every) / len(every) for key in asked if all(key in one for one in every)}
    known = [key for key, mean in means.items() if mean > 0]
    nothing = [1.0] * len(old), [1.0] * len(new)
    if len(known) < FEWEST_ROWS:
        return nothing
    paces = [sorted(one[key].own / means[key] for key in known)[len(known) // 2] for one in every]
    sides = paces[: len(old)], paces[len(old) :]
    before, after = (group(side, [0.0] * len(side)) for side in sides)
    if min(paces) <= 0 or abs(after.mean - before.mean) > error_of_change(before, after):
        return nothing
    return sides


def _group(side: Sequence[_Sums], key: FunctionKey | LineKey) -> RunGroup:
    found = [sums.get(key, _NOTHING) for sums in side]
    return group([one.own for one in found], [one.variance for one in found])
