"""Timing of lines from inside: `with seismo.lines(only="app.core.*")`, `@seismo.lines`."""

from __future__ import annotations

from seismo import recording_kinds
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine
from seismo.sessions.decorator import also_decorates
from seismo.sessions.recording_session import Reported

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import Unpack

    from seismo.options import LineOptions


class Lines(Reported):
    """A session that times lines."""

    name = "lines"
    recorder = recording_kinds.LINES


@also_decorates
def lines(
    *, only: str | Iterable[str] = (), output: str | os.PathLike[str] | None = None, **options: Unpack[LineOptions]
) -> Lines:
    """Count and time the lines of a `with` block, or of a function whenever it runs.

        with seismo.lines(only="app.core.*") as p: ...     p.recording.lines
        @seismo.lines                                      function.lines.recording

    - only: functions, as names or globs of modules, functions or files; "app.core" is the module, package or class with
      everything in it. The default is all functions.
    - where: the same as an expression (docs/expressions.md).
    - output: a file that is written at the end and periodically before.
    - clock, rate, source: as in seismo.profile.

    The time of functions that are left out counts for the line that called them, at hardly any cost.

    Raise UsageError at the start for invalid values, for settings that differ from those of a running recording, and
    beside a recording of calls. Raise RecordingError if this interpreter cannot be recorded.
    """
    globs = [only] if isinstance(only, str) else list(only)
    settings = engine.given("lines", options)
    where = engine.quietly(engine.only_expression, globs, options.get("where"))
    if where is not None:
        settings["where"] = where
    return Lines(output, settings)
