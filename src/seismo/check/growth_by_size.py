"""Growth of functions' counts with the size of the input: `seismo check --sizes 'n=100,1000,10000'`.

Counts have no noise, so a few sizes suffice for the slope on logarithmic axes: 1 for linear, 2 for quadratic growth. If
the last three sizes have a constant ratio, the slope is that of the differences, in which constant work cancels out.
Otherwise it is fitted to the greater half of the sizes by least squares. n log n has a slope slightly above 1, which is
computed for the given sizes.
"""

from __future__ import annotations

import math
import re
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seismo.check.measurement import NOTHING, Function, Measurement
from seismo.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


WRITTEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(\d+(?:\s*,\s*\d+)*)\s*")
LINEAR = 1.05  # greater slopes are worse than linear; n log n has 1.09 from 10,000 to 100,000
FEW = 20  # calls or lines; smaller counts at the largest size are ignored


@dataclass(frozen=True)
class Sizes:
    """The sizes of the input.

    Each size replaces {name} in the program's arguments, and is the value of the environment variable `name`.
    """

    name: str
    numbers: tuple[int, ...]


def parse_sizes(text: str) -> Sizes:
    """Return the sizes of --sizes. Raise UsageError for invalid text."""
    found = WRITTEN.fullmatch(text)
    numbers = tuple(sorted({int(part) for part in found[2].split(",")})) if found else ()
    if found is None or len(numbers) < 2 or numbers[0] < 1:
        raise UsageError("these sizes cannot be read", text, "write two or more, above 0: --sizes 'n=100,1000,10000'")
    return Sizes(found[1], numbers)


@dataclass(frozen=True)
class Growth:
    """The growth of a function's count. `slope` is on logarithmic axes; `counts` has one count per size."""

    function: Function
    quantity: str
    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    slope: float

    @property
    def shape(self) -> str:
        """The slope in words."""
        if abs(self.slope) < 0.05:
            return "constant"
        if self.slope < 0.95:
            return f"n^{self.slope:.2f}"
        if self.slope <= LINEAR - 0.02:
            return "linear"
        first, last = self.sizes[-2:]
        if (
            first > 1
            and abs(self.slope - 1 - math.log(math.log(last) / math.log(first)) / math.log(last / first)) < 0.06
        ):
            return "n log n"
        for power, name in ((2, "quadratic"), (3, "cubic")):
            if abs(self.slope - power) < 0.06:
                return name
        return f"n^{self.slope:.2f}"

    @property
    def is_worse_than_linear(self) -> bool:
        """True if twice the input needs clearly more than twice the work."""
        return self.slope > LINEAR


def growths(measured: Mapping[int, Measurement]) -> dict[Function, Growth]:
    """Return the growth of each function, by lines or calls, whichever grows more. `measured` is by size."""
    sizes = tuple(sorted(measured))
    found: dict[Function, Growth] = {}
    for function in measured[sizes[-1]].functions:
        for quantity in ("lines", "calls"):
            counts = tuple(measured[size].functions.get(function, {}).get(quantity, NOTHING).low for size in sizes)
            if counts[-1] < FEW or counts[-2] < 1:
                continue
            one = Growth(function, quantity, sizes, counts, _slope(sizes, counts))
            if function not in found or one.slope > found[function].slope + 0.01:
                found[function] = one
    return found


def _slope(sizes: Sequence[int], counts: Sequence[int]) -> float:
    if len(sizes) >= 3 and sizes[-1] * sizes[-3] == sizes[-2] ** 2:
        # For a + b n^k, differences between sizes with a constant ratio grow with n^k, independently of a.
        before, after = counts[-2] - counts[-3], counts[-1] - counts[-2]
        if before > 0 and after > 0:
            return math.log(after / before) / math.log(sizes[-1] / sizes[-2])
    kept = max(2, (len(sizes) + 1) // 2)
    points = [
        (math.log(size), math.log(count)) for size, count in zip(sizes[-kept:], counts[-kept:], strict=True) if count
    ]
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def became_worse(old: Mapping[Function, Growth], new: Mapping[Function, Growth]) -> list[tuple[Growth, Growth | None]]:
    """Return functions that became worse than linear or grow clearly faster than before, the steepest first.

    The second of each pair is the earlier growth, or None if it did not run often before.
    """
    found = []
    for function, now in new.items():
        before = old.get(function)
        if now.is_worse_than_linear and (
            before is None or not before.is_worse_than_linear or now.slope > before.slope + 0.15
        ):
            found.append((now, before))
    return sorted(found, key=lambda pair: (-round(pair[0].slope, 1), -pair[0].counts[-1], str(pair[0].function)))
