"""Recording of calls from inside: `with seismo.profile()`, `@seismo.profile`, `start()` and `stop()`."""

from __future__ import annotations

from _thread import get_ident

from seismo import recording_kinds
from seismo.errors import UsageError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine, fork_handlers
from seismo.sessions.decorator import also_decorates
from seismo.sessions.recording_session import Reported

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Unpack

    from seismo.model import Recording
    from seismo.options import CallOptions


class Profile(Reported):
    """A session that records calls."""

    name = "profile"
    recorder = recording_kinds.CALLS


@also_decorates
def profile(*, output: str | os.PathLike[str] | None = None, **options: Unpack[CallOptions]) -> Profile:
    """Record a `with` block, or a function whenever it runs; the result has the attribute `recording`.

        with seismo.profile(output="block.seismo") as p: ...     p.recording
        @seismo.profile                                          function.profile.recording
        @seismo.profile(c_functions="none")

    - c_functions: "all", "none" or "auto" (default: all except those that prove trivial at their call sites; none on
      3.11, where recording them slows down every instruction).
    - output: a file that is written at the end and periodically before.
    - clock: "auto" (default), "tsc" or "monotonic".
    - timing: "sampled" (default: the clock for a function's first calls and for long ones, samples for the rest),
      "every" (the clock for every call) or "none" (counts only).
    - rate: samples per second.
    - source: the interpreter's hook, by default the best one.
    - interpreters: "all" (default: also those that the program makes, on Python 3.14 and later) or "main".
    - max_paths: the number of call paths above which paths are folded.
    - where: an expression about functions (docs/expressions.md), such as 'module("app.*")'. Functions for which it is
      false are left out; their time counts for the nearest recorded caller.

    An async function is recorded from its start to its end, including other tasks that run in the meantime. A generator
    is recorded while it runs, not while it is suspended at a yield. Raise UsageError at the start for invalid values,
    and for settings that differ from those of a running recording. Raise RecordingError if this interpreter cannot be
    recorded.
    """
    return Profile(output, engine.given("profile", options))


_started: list[tuple[int, Profile]] = []  # open sessions of start(), each with the thread that called it


def start(*, output: str | os.PathLike[str] | None = None, **options: Unpack[CallOptions]) -> Profile:
    """Begin a session that stop() ends; the options are those of `profile`. Calls may be nested."""
    session: Profile = profile(output=output, **options)
    session._enter(fork_handlers.Inside.NOBODY)  # no thread is noted, because another thread may call stop()
    _started.append((get_ident(), session))
    return session


def stop() -> Recording:
    """End the last session that this thread started, or else any. Return its recording. Raise UsageError if none."""
    if not _started:
        raise UsageError("nothing to stop: no seismo.start() is open")
    mine = [index for index, (thread, _) in enumerate(_started) if thread == get_ident()]
    _, session = _started.pop(mine[-1] if mine else -1)
    session.__exit__(None, None, None)
    return session.recording
