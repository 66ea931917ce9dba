"""A worker's recording, in which each task has call paths of its own.

A task runs below a marker: a function that is made for this task alone, so that the call tree has paths of its own for
it, counted and timed as any. What a task is called, and how it ended, are calls as well: of functions named as JSON.
So the file of a worker that is killed has these as it has calls, and needs no format of its own. It is flushed when a
task ends, and within the interval of any recording before.
"""

from __future__ import annotations

import os
from functools import wraps
from itertools import count
from types import CodeType, FunctionType

from seismo import _core
from seismo.errors import RecordingError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine, fork_handlers
from seismo.process.output_file import say
from seismo.recording_kinds import CALLS, TASKS
from seismo.sessions.profile import Profile, profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
    from typing import Any

ROTATE = 200_000  # paths after which a worker that is idle goes on in another file; far below the most of a recording
LONGEST = 4000  # characters of a label's value
# Samples a second. A worker lives long, and its processors are for tasks: more in the first second of each file, as a
# short program needs them, would take a tenth of a processor.
RATE = 1000

_SOURCE = """
def task(function, arguments, keywords):
    begin()
    try:
        result = {}function(*arguments, **keywords)
    except BaseException:
        failed()
        raise
    finished()
    return result

async def async_generator(function, arguments, keywords):
    begin()
    try:
        async for one in function(*arguments, **keywords):
            yield one
    except BaseException:
        failed()
        raise
    finished()

def note():
    pass
"""
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # inspect's CO_ flags; importing inspect is slow
_markers: dict[str, CodeType] = {}
for _name, _text in (
    ("task", _SOURCE.format("")),
    ("coroutine", _SOURCE.format("await ").replace("def task", "async def task")),
    ("generator", _SOURCE.format("yield from ")),
):
    _made: dict[str, Any] = {}
    exec(compile(_text, TASKS, "exec"), _made)  # noqa: S102  the file's name is what makes them markers
    _markers[_name] = _made["task"].__code__
_markers |= {_name: _made[_name].__code__ for _name in ("async_generator", "note")}
_next = count(1).__next__


def _note(labels: Mapping[str, str]) -> Callable[[], None]:
    text = engine.json_text({name: str(value)[:LONGEST] for name, value in labels.items()})
    return FunctionType(_markers["note"].replace(co_qualname=text), {})


_ENDS = {state: _note({"state": state}) for state in ("failed", "finished")}


def _marker(name: str, labels: Mapping[str, str]) -> Callable[..., Any]:
    """Return a marker that no other task has."""
    code = _markers[name].replace(co_name="task", co_qualname="task", co_firstlineno=_next())
    return FunctionType(code, {"begin": _note(labels), **_ENDS})


def note(labels: Mapping[str, str]) -> None:
    """Add labels to the task that this thread runs."""
    _note(labels)()


class TaskRecording:
    """The recording of this process's tasks, into files of a folder. options: as seismo.profile takes them."""

    def __init__(self, folder: str, options: Mapping[str, Any] | None = None) -> None:
        self._folder, self._options = folder, dict(options or {})
        if self._options.get("timing", "sampled") == "sampled":
            self._options.setdefault("rate", RATE)
        self._lock = fork_handlers.new_lock()
        self._running = 0
        self._session: Profile | None = None
        self._numbers = count()

    def start(self) -> None:
        """Begin a new file. A task that this thread is in becomes part of it. Raise SeismoError."""
        os.makedirs(self._folder, 0o700, exist_ok=True)
        name = f"{os.uname().nodename}-{os.getpid()}-{next(self._numbers)}-{os.urandom(4).hex()}.seismo"
        session: Profile = profile(output=os.path.join(self._folder, name), **self._options)
        session._enter(fork_handlers.Inside.NOBODY)  # any thread may end it
        self._session = session

    def stop(self) -> None:
        """End the recording, if it has not ended. A file that the driver has collected and removed is complete."""
        session, self._session = self._session, None
        try:
            if session is not None:
                session.__exit__(None, None, None)
        except RecordingError as error:
            if os.path.isdir(self._folder):
                say(str(error))

    def flush(self, since: tuple[Profile | None, int] = (None, 0)) -> None:
        """Write what has been recorded, or only the call paths since a moment of this session."""
        session, first = since
        if self._session is not None:
            _core.flush(CALLS, first if session is self._session else 0)

    def run(self, labels: Mapping[str, str], function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Call a function as a task. What it called is in the file when it returns."""
        with _RunningTask(self):
            return _marker("task", labels)(function, arguments, keywords)

    async def run_async(
        self, labels: Mapping[str, str], function: Callable[..., Awaitable[Any]], *arguments: Any, **keywords: Any
    ) -> Any:
        """Await a coroutine function as a task."""
        with _RunningTask(self):
            return await _marker("coroutine", labels)(function, arguments, keywords)

    def wrapped(
        self, function: Callable[..., Any], labels: Callable[[], Mapping[str, str]], code: CodeType | None
    ) -> Callable[..., Any]:
        """Return a function that calls the given one as a task. code: what it runs, which may be a generator."""
        flags = code.co_flags if code is not None else 0

        def plain(*arguments: Any, **keywords: Any) -> Any:
            run = self.run_async if flags & _COROUTINE else self.run
            return run(labels(), function, *arguments, **keywords)

        def generator(*arguments: Any, **keywords: Any) -> Generator[Any, Any, Any]:
            with _RunningTask(self):
                return (yield from _marker("generator", labels())(function, arguments, keywords))

        async def async_generator(*arguments: Any, **keywords: Any) -> AsyncGenerator[Any]:
            with _RunningTask(self):
                async for one in _marker("async_generator", labels())(function, arguments, keywords):
                    yield one

        made = async_generator if flags & _ASYNC_GENERATOR else generator if flags & _GENERATOR else plain
        return wraps(function)(made)

    def moment(self) -> tuple[Profile | None, int]:
        """Return what `flush` takes to write only the call paths from now on."""
        return self._session, _core.paths()

    def rotate(self) -> None:
        """Go on in another file if this one is large and no task runs."""
        with self._lock:
            if self._session is not None and not self._running and _core.paths() > ROTATE:
                self.stop()
                self.start()


class _RunningTask:
    """A block in which a task runs. At its end the task's paths are written: they are new, since its marker is."""

    def __init__(self, recording: TaskRecording) -> None:
        self._recording = recording

    def __enter__(self) -> None:
        with self._recording._lock:
            self._recording._running += 1
            self._since = self._recording.moment()

    def __exit__(self, *_: object) -> None:
        with self._recording._lock:
            self._recording._running -= 1
            self._recording.flush(self._since)
            self._recording.rotate()
