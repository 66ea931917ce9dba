"""A recording held against the source: what was executed, what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.coverage.result import CoverageReport

if TYPE_CHECKING:
    from typing import Any

    from seismo.model.recording import Recording


def analyze(recording: Recording, settings: Any) -> CoverageReport:
    """Holds a recording of coverage against the source files on this machine."""
    del recording, settings
    return CoverageReport([], [])
