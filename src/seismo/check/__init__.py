"""Performance tests that do not flake: what a program does is counted, kept, and compared with what it did before.

A `Measurement` is what was counted, for each function and for each test: calls, lines executed, exceptions, objects
born, bytes. `baseline` writes and reads it as a text file. `compare` holds two of them against limits such as
`calls("app.*") <= +1%`.

Counts are exact where the program does the same in each run. Where it does not, `over_runs` makes ranges of what
several runs had, and `compare` decides only what the ranges allow.
"""

from seismo.check.baseline import read, read_text, text_of, write
from seismo.check.compare import EXACT, Bands, Comparison, Finding, Verdict, compare
from seismo.check.limits import DEFAULTS, TEST_DEFAULTS, Limit, parse_limit
from seismo.check.measurement import (
    QUANTITIES,
    Counts,
    Function,
    Measurement,
    Range,
    Stamp,
    exact,
    over_runs,
    stamp_of_here,
)

__all__ = [
    "DEFAULTS",
    "EXACT",
    "QUANTITIES",
    "TEST_DEFAULTS",
    "Bands",
    "Comparison",
    "Counts",
    "Finding",
    "Function",
    "Limit",
    "Measurement",
    "Range",
    "Stamp",
    "Verdict",
    "compare",
    "exact",
    "over_runs",
    "parse_limit",
    "read",
    "read_text",
    "stamp_of_here",
    "text_of",
    "write",
]
