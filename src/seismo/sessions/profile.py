"""Recording calls from inside: `with seismo.profile()`, `@seismo.profile`, `start()` and `stop()`."""

from __future__ import annotations

from _thread import get_ident

from seismo import recording_kinds
from seismo.errors import UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine, fork_handlers
from seismo.sessions.recording_session import RecordingSession
from seismo.sessions.session_results import Paged

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar, overload

    from seismo.expression import Expression
    from seismo.model import Recording

    P = ParamSpec("P")
    R = TypeVar("R")


class Profile(Paged, RecordingSession):
    """A session that records calls."""

    name = "profile"
    recorder = recording_kinds.CALLS


def chosen(where: str | Expression | None, **settings: object) -> dict[str, object]:
    """The settings of a session that records calls, checked: those that are not None. Raises UsageError."""
    for name in ("clock", "rate"):
        if settings.get("timing") == "none" and settings.get(name) is not None:
            raise UsageError(f"timing='none' records no times, and {name} is about times", hint="leave one of them out")
    narrowed = None if where is None else str(engine.quietly(engine.narrowed, where))
    return engine.given(**settings, where=narrowed)


if TYPE_CHECKING:

    @overload
    def profile(function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def profile(
        *,
        c_functions: str | None = None,
        output: str | os.PathLike[str] | None = None,
        clock: str | None = None,
        timing: str | None = None,
        rate: int | None = None,
        source: str | None = None,
        max_paths: int | None = None,
        where: str | Expression | None = None,
    ) -> Profile: ...


def profile(
    function: Callable[..., Any] | None = None,
    /,
    *,
    c_functions: str | None = None,
    output: str | os.PathLike[str] | None = None,
    clock: str | None = None,
    timing: str | None = None,
    rate: int | None = None,
    source: str | None = None,
    max_paths: int | None = None,
    where: str | Expression | None = None,
) -> Any:
    """Records a `with` block, or a function whenever it runs; `recording` of the result is what was recorded.

        with seismo.profile(output="block.seismo") as p: ...     p.recording
        @seismo.profile                                          function.profile.recording
        @seismo.profile(c_functions="none")

    c_functions: "auto" (default: all but the ones that prove trivial where they are called; on 3.11 none, since
    recording them makes every instruction slow there), "all" or "none".
    output: a file that is written at the end, and now and then before. clock: "auto" (default), "tsc", "monotonic".
    timing: "frugal" (default: the first calls of a function and long ones by the clock, the rest by samples), "every"
    call by the clock, or "none": calls are counted only. rate: samples a second. source: the interpreter's hook, by
    default the best there is. max_paths: call paths beyond that many are folded. where: an expression about functions
    (docs/expressions.md), such as 'module("app.*")': those for which it is false are left out, and their time belongs
    to the caller that is kept.

    An async function is recorded from its beginning to its end, other tasks that ran meanwhile included; a generator
    while it runs, not while it waits at a yield. Raises UsageError, at the start, for values that are none and for
    settings other than those of a recording that is running, RecordingError if this interpreter cannot be recorded.
    """
    settings = chosen(
        where, c_functions=c_functions, clock=clock, timing=timing, rate=rate, source=source, max_paths=max_paths
    )
    session = Profile(output, settings)
    return session if function is None else session(function)


_started: list[tuple[int, Profile]] = []  # by start(), with the thread that called it


def start(
    *,
    c_functions: str | None = None,
    output: str | os.PathLike[str] | None = None,
    clock: str | None = None,
    timing: str | None = None,
    rate: int | None = None,
    source: str | None = None,
    max_paths: int | None = None,
    where: str | Expression | None = None,
) -> Profile:
    """Begins a session that stop() ends; takes what `profile` takes. Starts may nest."""
    session: Profile = profile(
        c_functions=c_functions,
        output=output,
        clock=clock,
        timing=timing,
        rate=rate,
        source=source,
        max_paths=max_paths,
        where=where,
    )
    session._enter(fork_handlers.Inside.NOBODY)  # another thread may call stop()
    _started.append((get_ident(), session))
    return session


def stop() -> Recording:
    """Ends the session that this thread started last (another thread, if it has none) and returns its recording.

    Raises UsageError if nothing was started.
    """
    if not _started:
        raise UsageError("nothing to stop: no seismo.start() is open")
    mine = [index for index, (thread, _) in enumerate(_started) if thread == get_ident()]
    _, session = _started.pop(mine[-1] if mine else -1)
    session.__exit__(None, None, None)
    return session.recording
