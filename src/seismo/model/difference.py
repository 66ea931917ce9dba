"""What changed between two recordings."""

from __future__ import annotations

import math
import ntpath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seismo.model.recording import Recording


class FunctionKey(NamedTuple):
    """What a function is recognised by.

    Its line is no part of it, so that edits above it do not matter, and of its file only the last part, so that another
    checkout or environment does not.
    """

    kind: int
    module: str
    qualname: str
    file: str


class DiffRow(NamedTuple):
    """One function in two recordings. Times in ns; `own_error` is that of the change in own time (95 %)."""

    key: FunctionKey
    calls_old: int
    calls_new: int
    own_old: float
    own_new: float
    own_error: float
    total_old: float
    total_new: float
    significant: bool  # the change in own time is larger than its error

    @property
    def calls_change(self) -> int:
        """Exact, unless a lower bound."""
        return self.calls_new - self.calls_old

    @property
    def own_change(self) -> float:
        """In ns."""
        return self.own_new - self.own_old


class _Sum:
    __slots__ = ("calls", "own", "square", "total")

    def __init__(self) -> None:
        self.calls = 0
        self.own = self.square = self.total = 0.0


def _sums(recording: Recording) -> dict[FunctionKey, _Sum]:
    sums: dict[FunctionKey, _Sum] = {}
    for row in recording.functions:
        key = FunctionKey(row.kind, row.module, row.qualname, ntpath.basename(row.file))  # splits at both slashes
        total = sums.setdefault(key, _Sum())
        total.calls += row.calls
        total.own += row.own_ns
        total.square += row.own_error_ns**2
        total.total += row.total_ns
    return sums


def diff(old: Recording, new: Recording) -> list[DiffRow]:
    """Each function of either recording, those whose own time changed most first."""
    before, after = _sums(old), _sums(new)
    nothing = _Sum()
    keys: Iterable[FunctionKey] = before.keys() | after.keys()
    rows = []
    for key in keys:
        a, b = before.get(key, nothing), after.get(key, nothing)
        error = math.sqrt(a.square + b.square)
        change = abs(b.own - a.own)
        rows.append(DiffRow(key, a.calls, b.calls, a.own, b.own, error, a.total, b.total, change > error))
    return sorted(rows, key=lambda row: (-abs(row.own_change), row.key))
