"""Recording calls from inside: `with seismo.profile()`, `@seismo.profile`, `start()` and `stop()`."""

from __future__ import annotations

from _thread import get_ident

from seismo import recording_kinds
from seismo.errors import UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine, fork_handlers
from seismo.sessions.recording_session import RecordingSession
from seismo.sessions.session_results import Reported

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar, Unpack, overload

    from seismo.model import Recording
    from seismo.options import CallOptions

    P = ParamSpec("P")
    R = TypeVar("R")


class Profile(Reported, RecordingSession):
    """A session that records calls."""

    name = "profile"
    recorder = recording_kinds.CALLS


if TYPE_CHECKING:

    @overload
    def profile(function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def profile(
        *,
        output: str | os.PathLike[str] | None = None,
        **options: Unpack[CallOptions],
    ) -> Profile: ...


def profile(
    function: Callable[..., Any] | None = None,
    /,
    *,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[CallOptions],
) -> Any:
    """Records a `with` block, or a function whenever it runs; `recording` of the result is what was recorded.

        with seismo.profile(output="block.seismo") as p: ...     p.recording
        @seismo.profile                                          function.profile.recording
        @seismo.profile(c_functions="none")

    c_functions: "auto" (default: all but the ones that prove trivial where they are called; on 3.11 none, since
    recording them makes every instruction slow there), "all" or "none".
    output: a file that is written at the end, and now and then before. clock: "auto" (default), "tsc", "monotonic".
    timing: "sampled" (default: the first calls of a function and long ones by the clock, the rest by samples), "every"
    call by the clock, or "none": calls are counted only. rate: samples a second. source: the interpreter's hook, by
    default the best there is. max_paths: call paths beyond that many are folded. where: an expression about functions
    (docs/expressions.md), such as 'module("app.*")': those for which it is false are left out, and their time belongs
    to the caller that is kept.

    An async function is recorded from its beginning to its end, other tasks that ran meanwhile included; a generator
    while it runs, not while it waits at a yield. Raises UsageError, at the start, for values that are none and for
    settings other than those of a recording that is running, RecordingError if this interpreter cannot be recorded.
    """
    session = Profile(output, engine.given("profile", options))
    return session if function is None else session(function)


_started: list[tuple[int, Profile]] = []  # by start(), with the thread that called it


def start(
    *,
    output: str | os.PathLike[str] | None = None,
    **options: Unpack[CallOptions],
) -> Profile:
    """Begins a session that stop() ends; takes what `profile` takes. Starts may nest."""
    session: Profile = profile(output=output, **options)
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
