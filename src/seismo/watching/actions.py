"""The actions on a match: parsing of their names, the debugger at its frame, tables of counts and durations."""

from __future__ import annotations

import sys

from seismo import _core
from seismo.errors import UsageError
from seismo.escape import printable
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.watching.match_text import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pdb import Pdb
    from types import FrameType
    from typing import Any

    from seismo.watching.match import Match

    Action = str | Callable[[Match], object]

ACTIONS = ("print", "count", "histogram", "stack", "pdb", "keep")


def chosen(action: Action | Iterable[Action] | None) -> tuple[set[str], list[Callable[[Match], object]]]:
    """Return the names of ACTIONS and the functions among one or several actions. Raise UsageError for other values."""
    if action is None:
        return set(), []
    several = hasattr(type(action), "__iter__") and not isinstance(action, str)
    given: list[Any] = list(action) if several else [action]  # type: ignore[arg-type]
    names: set[str] = set()
    calls: list[Any] = []
    for one in given:
        if isinstance(one, str):
            if one not in ACTIONS:
                raise UsageError(
                    f"there is no action {one!r}", hint=f"it is a function, or one of {', '.join(ACTIONS)}"
                )
            names.add(one)
        elif callable(one):
            calls.append(one)
        else:
            hint = f"it is a function that takes the match, or one of {', '.join(ACTIONS)}"
            raise UsageError(f"an action cannot be a {type(one).__name__}: it cannot be called", hint=hint)
    return names, calls


class Row:
    """The counts of one function in a watch.

    calls: calls that ran
    matches: calls or events that matched the expression
    timed: matched calls that ended; the times below are theirs, in ns
    own: time in them, without the matched calls inside
    sum, least, most: their durations
    buckets: the number of durations in each bucket of the histogram
    """

    def __init__(
        self, fields: tuple[str, str, str, int, bool, int, int, int, float, float, float, tuple[int, ...], float]
    ) -> None:
        self.module, self.qualname, self.file, self.line, self.possible = fields[:5]
        self.calls, self.matches, self.timed, self.sum, self.least, self.most = fields[5:11]
        self.buckets = list(fields[11])
        self.own = fields[12]

    @property
    def function(self) -> str:
        """Return MODULE.QUALNAME, without the main program's `__main__`."""
        return full_name(self.module, self.qualname)

    def add(self, other: Row) -> None:
        """Add the counts of another use of the watch."""
        if other.timed:
            self.least = min(self.least, other.least) if self.timed else other.least
            self.most = max(self.most, other.most)
        self.calls += other.calls
        self.matches += other.matches
        self.timed += other.timed
        self.sum += other.sum
        self.own += other.own
        if other.buckets:
            mine = self.buckets or [0] * len(other.buckets)
            self.buckets = [a + b for a, b in zip(mine, other.buckets, strict=True)]

    def __repr__(self) -> str:
        return f"<{self.function}: {self.matches} matches>"


def full_name(module: str, qualname: str) -> str:
    """Return the name under which a function is shown."""
    return qualname if module in ("", "__main__") else f"{module}.{qualname}"


def counts(rows: list[Row]) -> list[str]:
    """Return the lines of the table of matches by function, most matches first."""
    found = sorted((row for row in rows if row.matches), key=lambda row: (-row.matches, row.function))
    if not found:
        return []
    width = max(len(f"{found[0].matches:,}"), len("matches"))
    lines = [f"{'matches':>{width}}  function"]
    return lines + [f"{row.matches:>{width},}  {printable(row.function)}" for row in found]


def histograms(rows: list[Row], ascii_only: bool = False) -> list[str]:
    """Return a histogram of durations for each function, as lines: one per bucket, from the first used to the last."""
    lines: list[str] = []
    bar, edge, micro = ("#", "|", "us") if ascii_only else ("█", "│", "µs")
    for row in sorted((row for row in rows if row.timed), key=lambda row: -row.sum):
        calls = "1 call" if row.timed == 1 else f"{row.timed:,} calls"
        mean, least, most = (duration(ns, micro) for ns in (row.sum / row.timed, row.least, row.most))
        lines.append(f"{printable(row.function)}: {calls}, mean {mean}, least {least}, most {most}")
        used = [number for number, count in enumerate(row.buckets) if count]
        highest = max(row.buckets, default=0)
        for number in range(used[0], used[-1] + 1) if used else ():
            count = row.buckets[number]
            length = max(1, round(40 * count / highest)) if count else 0
            low = duration(_core.watch_bucket(number), micro) if number else "0"
            lines.append(f"  {low:>7} {edge}{bar * length} {count:,}" if count else f"  {low:>7} {edge}")
    return lines


def debugger(stop: Callable[[], None]) -> Callable[[Match], None]:
    """Return an action that opens pdb at the match's frame at once. pdb's `quit` calls stop()."""
    from pdb import Pdb

    def act(match: Match) -> None:
        frame = match.frame
        if frame is None:
            return
        # Tracing is suppressed inside the event in which the prompt opens; stepping begins afterwards.
        pdb = Pdb(nosigint=True, skip=["seismo.*"])
        pdb.reset()
        pdb.set_step()
        pdb.botframe = frame
        while pdb.botframe.f_back is not None:
            pdb.botframe = pdb.botframe.f_back
        pdb.curframe_locals = None  # type: ignore[assignment]
        pdb.quitting = False
        if match.exception is not None:
            pdb.message(f"seismo: {match.exception}")
        elif match.value is not None:
            pdb.message(f"seismo: {match.function} -> {match.value}")
        pdb.interaction(frame, None)
        if pdb.quitting:
            sys.settrace(None)
            stop()
        elif pdb.breaks or pdb.stoplineno != -1:  # pdb will stop again, at a breakpoint or by its last command
            _trace(pdb, frame)

    return act


def _trace(pdb: Pdb, frame: FrameType | None) -> None:
    """Start tracing like pdb.set_trace(), but keep the state of the command that was given."""
    while frame is not None:
        frame.f_trace = pdb.trace_dispatch
        pdb.botframe = frame
        frame = frame.f_back
    sys.settrace(pdb.trace_dispatch)
