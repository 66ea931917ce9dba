"""Performance tests without flakiness: the actions of a program are counted, stored and compared with earlier counts.

A `Measurement` has counts for each function and each test: calls, executed lines, exceptions, objects born, bytes.
`baseline` writes and reads it as a text file. `compare` checks two of them against limits such as `calls("app.*") <=
+1%`.

Counts are exact if the program does the same in each run. Otherwise `over_runs` combines several runs to ranges, and
`compare` only decides what the ranges allow.
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
