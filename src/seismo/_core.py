"""The core where none is compiled, which Python would prefer: its readers in plain Python; the rest is refused."""

from __future__ import annotations

import os

from seismo.errors import RecordingError
from seismo.pure.columns import aggregate, arrow_stream, combine, sum_by, take
from seismo.pure.estimate import estimate
from seismo.pure.journal import Journal
from seismo.pure.reader import read
from seismo.pure.tables import schema
from seismo.pure.writer import Writer

__all__ = ["Journal", "Writer", "aggregate", "arrow_stream", "combine", "estimate", "read", "schema", "sum_by", "take"]

DEFAULTS = {"flush_ms": 1000, "max_paths": 1_000_000, "depth": 0, "min_duration_ns": 0, "max_live": 16_000_000}
write = os.write
NOTE = "seismo has no native core on this platform: it reads recordings in plain Python, which takes longer"


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise RecordingError(
        "seismo cannot record on this platform, as its native core is not installed: report, info, diff, export, "
        "merge, query and view work on recordings from elsewhere",
        hint="to record: CPython 3.11 to 3.15 on 64-bit Linux",
    )
