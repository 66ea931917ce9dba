"""CPU times of both sides, for --time: bare runs, alternating between the sides until the error is small enough.

The ratio is estimated in logarithms, with a 95 % interval from the spread of the pairs (Student's t). The result is
decided when the whole interval is on one side of the limit. Until then more pairs are run, up to MOST.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seismo.check.counted_runs import FailedError, Side, started
from seismo.model.run_variance import student

if TYPE_CHECKING:
    from collections.abc import Callable


FEWEST, MOST = 5, 25  # pairs


@dataclass
class CpuTimes:
    """CPU seconds of both sides by run, and the limit: the allowed increase as a share."""

    limit: float
    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)

    @property
    def change(self) -> tuple[float, float, float]:
        """The relative increase of the new side: the estimate, and the ends of its 95 % interval."""
        logs = [math.log(max(new, 1e-6) / max(old, 1e-6)) for old, new in zip(self.old, self.new, strict=True)]
        middle = statistics.fmean(logs)
        if len(logs) < 2:
            return math.expm1(middle), -1.0, math.inf
        error = student(len(logs) - 1, 0.05) * statistics.stdev(logs) / math.sqrt(len(logs))
        return math.expm1(middle), math.expm1(middle - error), math.expm1(middle + error)

    @property
    def is_beyond(self) -> bool:
        """True if the increase exceeds the limit with certainty."""
        return self.change[1] > self.limit

    @property
    def is_decided(self) -> bool:
        """True if the interval is on one side of the limit."""
        _, low, high = self.change
        return low > self.limit or high < self.limit


def compared(old: Side, new: Side, limit: float, progress: Callable[[str], None]) -> CpuTimes:
    """Run both sides in turn until the result is decided, or for MOST pairs.

    Raise FailedError or CheckError on failure.
    """
    found = CpuTimes(limit)
    cpu_seconds(old)
    cpu_seconds(new)  # the first runs fill caches and are not counted
    while len(found.old) < MOST and not (len(found.old) >= FEWEST and found.is_decided):
        progress(f"times: pair {len(found.old) + 1}")
        for side in (old, new) if len(found.old) % 2 else (new, old):
            (found.old if side is old else found.new).append(cpu_seconds(side))
    return found


def cpu_seconds(side: Side) -> float:
    """Return the CPU time of one bare run, user and system, including that of child processes it waited for."""
    child = started([sys.executable, *side.words], side, subprocess.DEVNULL)
    try:
        _, status, usage = os.wait4(child.pid, 0)
    except BaseException:
        child.kill()
        raise
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise FailedError(f"the program failed with exit status {child.returncode} when it was timed", side.name)
    return usage.ru_utime + usage.ru_stime
