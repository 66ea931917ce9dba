"""Timing lines from inside: `with seismo.lines(only="app.core.*")`, `@seismo.lines`.

The sessions are those of seismo.sessions.recording_session, on another recorder. There is one engine in a process, so
calls and lines are not recorded at the same time.
"""

from __future__ import annotations

from seismo import recording_kinds
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine
from seismo.process.only_filter import only_expression
from seismo.sessions.recording_session import RecordingSession
from seismo.sessions.session_results import Reported

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from typing import Any, ParamSpec, TypeVar, Unpack, overload

    from seismo.options import LineOptions

    P = ParamSpec("P")
    R = TypeVar("R")


class Lines(Reported, RecordingSession):
    """A session that times lines."""

    name = "lines"
    recorder = recording_kinds.LINES


if TYPE_CHECKING:

    @overload
    def lines(function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def lines(
        *,
        only: str | Iterable[str] = (),
        output: str | os.PathLike[str] | None = None,
        **options: Unpack[LineOptions],
    ) -> Lines: ...


def lines(
    function: Callable[..., Any] | None = None,
    /,
    *,
    only: str | Iterable[str] = (),
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[LineOptions],
) -> Any:
    """Counts and times the lines of a `with` block, or of a function whenever it runs.

        with seismo.lines(only="app.core.*") as p: ...     p.recording.lines
        @seismo.lines                                      function.lines.recording

    only: which functions, as names or globs of modules, functions or files: "app.core" is the module, the package or
    the class and all in it; all functions by default. where: the same as an expression (docs/expressions.md). What is
    left out belongs to the line that called it, and costs next to nothing. output: a
    file that is written at the end, and now and then before. clock, rate, source: as in seismo.profile.

    Raises UsageError, at the start, for values that are none, for settings other than those of a recording that is
    running, and beside a recording of calls; RecordingError if this interpreter cannot be recorded.
    """
    globs = [only] if isinstance(only, str) else list(only)
    settings = engine.given("lines", options)
    where = engine.quietly(only_expression, globs, options.get("where"))
    if where is not None:
        settings["where"] = where
    session = Lines(output, settings)
    return session if function is None else session(function)
