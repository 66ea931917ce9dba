"""The options of `seismo report`, by their names there.

Each option's default is here. Each kind of recordings declares the options that it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a report. `limit`: rows of a table. `min`: per cent of the time. `time`: a value of --time."""

    sort: str | None = None
    all: bool = False
    time: str | None = None
    html: str | None = None
    color: str = "auto"
    # Options of calls; some also of lines and objects.
    tree: bool = False
    callers: Sequence[str] = ()
    callees: Sequence[str] = ()
    columns: str | None = None
    around: str | None = None
    window: str | None = None
    limit: int | None = None
    depth: int | None = None
    min: float | None = None
    module: Sequence[str] = ()
    exclude_module: Sequence[str] = ()
    thread: Sequence[str] = ()
    where: str | None = None
    only: Sequence[str] = ()
    libraries: bool = False
    imports: bool = False
    # Options of objects.
    by: str | None = None
    type: Sequence[str] = ()
    # Options of coverage.
    show_missing: bool = False
    skip_covered: bool = False
    skip_empty: bool = False
    include: Sequence[str] = ()
    omit: Sequence[str] = ()
    contexts: Sequence[str] = ()
    line: str | None = None
    conditions: bool = False
    changed_since: str | None = None
    fail_under: float | None = None
    precision: int | None = None
    rcfile: str | None = None
    no_config: bool = False
