"""What changed between recordings: one or several a side, function by function, or line by line.

Counts are exact: one that differs between the runs of a side is a range, and has changed where the ranges of the sides
have nothing in common. How surely a time has changed, `seismo.model.spread` says.
"""

from __future__ import annotations

import math
import ntpath
from typing import TYPE_CHECKING, NamedTuple

from seismo.model.spread import Group, error_of_change, group, usual

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from seismo.model.recording import Recording

# Of the time of a side, for a row to be asked about. Of less, nobody wants to know; and the more rows are asked about,
# the less can be told of each.
WORTH = 0.005


class FunctionKey(NamedTuple):
    """What a function is recognised by.

    Its line is no part of it, so that edits above it do not matter, and of its file only the last part, so that another
    checkout or environment does not.
    """

    kind: int
    module: str
    qualname: str
    file: str


class LineKey(NamedTuple):
    """What a line is recognised by: its function, and how far it stands below the function's first line."""

    kind: int
    module: str
    qualname: str
    file: str
    offset: int


class DiffRow(NamedTuple):
    """One function, or one line, on both sides. Times in ns, of several runs the mean.

    `own_error` is that of the change in own time (95 %): of one run a side, of measuring; of several, with how much
    they differ, for all rows of the diff together. Calls (of a line: hits) are the fewest of the side's runs,
    `calls_old_most` and `calls_new_most` the most of them. `line`: of a line, where it stands in the newer file.
    """

    key: FunctionKey | LineKey
    calls_old: int
    calls_new: int
    own_old: float
    own_new: float
    own_error: float
    total_old: float
    total_new: float
    significant: bool  # the change in own time is larger than its error, and the row has a 200th of a side's time
    calls_old_most: int = 0
    calls_new_most: int = 0
    line: int = 0

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
        """By how many calls the sides surely differ. Exact, unless a lower bound; 0 where their ranges overlap."""
        return sure_change(self.calls_old_range, self.calls_new_range)

    @property
    def own_change(self) -> float:
        """In ns."""
        return self.own_new - self.own_old

    @property
    def sure_own_change(self) -> float:
        """What the own time changed by at least, without a sign, in ns; 0: within the error."""
        return max(0.0, abs(self.own_change) - self.own_error)


def sure_change(old: tuple[int, int], new: tuple[int, int]) -> int:
    """How far two ranges lie apart, 0 if they do not."""
    return new[0] - old[1] if new[0] > old[1] else min(0, new[1] - old[0])


class _Sum:
    """What is summed for a key in one recording."""

    __slots__ = ("calls", "line", "own", "square", "total")

    def __init__(self) -> None:
        self.calls = self.line = 0
        self.own = self.square = self.total = 0.0

    @property
    def error(self) -> float:
        return float(self.square**0.5)


_NOTHING = _Sum()
_Sums = dict[FunctionKey | LineKey, _Sum]


def diff(old: Recording | Sequence[Recording], new: Recording | Sequence[Recording]) -> list[DiffRow]:
    """Each function of any recording, those whose own time surely changed most first. A side: one run, or several.

    ValueError: a side without a recording.
    """
    return _rows([_of_functions(one) for one in runs(old)], [_of_functions(one) for one in runs(new)])


def diff_lines(old: Recording | Sequence[Recording], new: Recording | Sequence[Recording]) -> list[DiffRow]:
    """The same of each line of Python code, with its hits."""
    return _rows([_of_lines(one) for one in runs(old)], [_of_lines(one) for one in runs(new)])


def runs(side: Recording | Sequence[Recording]) -> Sequence[Recording]:
    """The recordings of a side. ValueError: there is none."""
    from seismo.model.recording import Recording

    found = [side] if isinstance(side, Recording) else side
    if not found:
        raise ValueError("a side of a diff has no recording")
    return found


def _of_functions(recording: Recording) -> _Sums:
    """What probes do to the code around them is no doubt here: it is the same for both sides."""
    sums: _Sums = {}
    for row, common in zip(recording.functions, recording._estimated["function_distortion_ns"], strict=True):
        key = FunctionKey(row.kind, row.module, row.qualname, ntpath.basename(row.file))  # splits at both slashes
        error = math.sqrt(max(0.0, row.own_error_ns**2 - common**2))
        _add(sums, key, row.calls, (row.own_ns, error), row.total_ns)
    return sums


def _of_lines(recording: Recording) -> _Sums:
    sums: _Sums = {}
    functions = recording.functions
    names = [functions[name] for name in ("kind", "module", "qualname", "file", "line")]
    for row in recording.lines:
        kind, module, qualname, file, first = (column[row.function] for column in names)
        if kind != 0 or row.line < 1:
            continue
        key = LineKey(kind, module, qualname, ntpath.basename(file), row.line - first)
        _add(sums, key, row.hits, (row.own_ns, row.own_error_ns), row.total_ns)
        sums[key].line = row.line
    return sums


def _add(sums: _Sums, key: FunctionKey | LineKey, calls: int, own: tuple[float, float], total: float) -> None:
    found = sums.setdefault(key, _Sum())
    found.calls += calls
    found.own += own[0]
    found.square += own[1] ** 2
    found.total += total


def _rows(old: Sequence[_Sums], new: Sequence[_Sums]) -> list[DiffRow]:
    keys = dict.fromkeys(key for side in (old, new) for sums in side for key in sums)
    pairs = {key: (_group(old, key), _group(new, key)) for key in keys}
    several = len(old) > 1 or len(new) > 1
    asked = set(_asked(pairs))
    least = usual([pairs[key] for key in asked]) if several else 0.0
    rows = []
    for key, (before, after) in pairs.items():
        a, b = ([sums.get(key, _NOTHING) for sums in side] for side in (old, new))
        error = error_of_change(before, after, len(asked), least)
        changed = key in asked and abs(after.mean - before.mean) > error
        line = next((one.line for one in (*reversed(b), *reversed(a)) if one.line), 0)
        rows.append(
            DiffRow(
                key,
                min(one.calls for one in a),
                min(one.calls for one in b),
                before.mean,
                after.mean,
                error,
                sum(one.total for one in a) / len(a),
                sum(one.total for one in b) / len(b),
                changed,
                max(one.calls for one in a),
                max(one.calls for one in b),
                line,
            )
        )
    return sorted(rows, key=lambda row: (-row.sure_own_change, -abs(row.own_change), row.key))


def _group(side: Sequence[_Sums], key: FunctionKey | LineKey) -> Group:
    found = [sums.get(key, _NOTHING) for sums in side]
    return group([one.own for one in found], [one.error for one in found])


def _asked(pairs: Mapping[FunctionKey | LineKey, tuple[Group, Group]]) -> Iterator[FunctionKey | LineKey]:
    """Those that are worth asking about, by their part of a side's time."""
    least = [WORTH * sum(pair[side].mean for pair in pairs.values()) for side in (0, 1)]
    for key, pair in pairs.items():
        if any(one.mean > 0 and one.mean >= limit for one, limit in zip(pair, least, strict=True)):
            yield key


def overall(old: Recording | Sequence[Recording], new: Recording | Sequence[Recording]) -> tuple[Group, Group]:
    """All own time of the runs of each side; of what runs differ by, without the errors of measuring."""
    sides = []
    for side in (old, new):
        table = [one.timed_rows for one in runs(side)]
        sides.append(group([sum(rows["own_ns"]) for rows in table], [0.0 for _ in table]))
    return sides[0], sides[1]
