# ruff: noqa: SIM105, BLE001, D102  contextlib would import collections; nothing of ours may fail in the program
"""The processes that a recorded program starts.

Without --children a forked child goes on in a recording of its own, beside the parent's: app-12.seismo gives
app-34.seismo. A child that subprocess forks only to exec in it is let go.

With --children every process writes a part into the folder OUT.parts, and the first process merges the parts into OUT
when it ends. If it dies, the parts stay; `seismo merge` reads them.

Reaching other interpreters. A process that a program starts is reached by its environment: PYTHONPATH begins with a
folder of ours that holds a sitecustomize (see hook/), and SEISMO_CHILDREN says where the parts go. Both are put into
the C environment only, which new processes inherit, and not into os.environ: the program does not see them, and the
children take them out of their own os.environ. A program that hands a child an environment of its own hands it without
them, so the four functions that take one are wrapped: _posixsubprocess.fork_exec, os.posix_spawn, os.posix_spawnp and
os.execve. Interpreters started with -E, -I or -S are not reached. Why not a .pth file: it would run at every start of
every Python of the installation, recorded or not.

Ends without atexit. os._exit and os.exec* finish the part first. multiprocessing's pool kills its workers while they
wait for work: they write what they have before they wait.
"""

from __future__ import annotations

import os
import sys

from seismo.originals import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.record import engine
from seismo.record.output import SUFFIX, Output, child_output, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Protocol

    class Life(Protocol):
        """A recorder of this whole process: record.engine.Life says what each method does; record.coverage has one."""

        name: str

        def start(self, settings: dict[str, object], fd: int, forked: Callable[[], None]) -> None: ...
        def stop(self, exit_: str = "") -> None: ...
        def abandon(self) -> None: ...
        def after_fork(self, fd: int, settings: dict[str, object]) -> None: ...
        def flush(self) -> None: ...
        def write_error(self) -> int: ...
        def file(self) -> tuple[int, int]: ...
        def snapshot(self) -> bytes: ...

    from seismo import _core
else:
    from seismo import _core


VARIABLE = "SEISMO_CHILDREN"
_PATH = "PYTHONPATH"
PATIENCE = 0.5  # seconds that the end of the program waits for children that are just ending


class Process:
    """What this process records into, and how it ends.

    output: the file, None while there is none (forked, and not worth one). life: the recorder's; by default the
    engine's. parts: the folder of --children, or "". quiet: say nothing. at_end: called with the output after the
    recorder stopped; not in forked children, which only close theirs. It gives the exit status of a program that
    itself ends with 0.
    """

    def __init__(
        self,
        output: Output | None,
        settings: dict[str, object],
        parts: str = "",
        quiet: bool = True,
        life: Life | None = None,
    ) -> None:
        self.output = output
        self.life = life or engine.Life()
        self.quiet = quiet
        self.settings = settings
        self.parts = parts
        self.pid = os.getpid()
        self.exit = ""
        self.begun = self.done = False
        self.at_end: Callable[[Output], int] | None = None
        self.verdict = 0
        self.close_in_child: list[int] = []  # descriptors that a child has no use for

    def begin(self) -> None:
        """Starts the recorder into the output, and arranges the end. Raises SeismoError when it cannot."""
        import atexit

        fd = -1 if self.output is None else self.output.fd
        atexit.register(self.finish)  # first to be registered, last to run
        try:
            self.life.start(self.settings, fd, self.forked)
        except BaseException:
            atexit.unregister(self.finish)
            raise
        self.begun = True
        if self.output is not None:
            self.output.belongs_to(self.life)
        self.life.flush()  # a process that dies young leaves a file that says whose it is

    def finish(self, exit_: str | None = None) -> None:
        """Ends the recording: once, in the process that it is of. Never raises: the program's end is its own."""
        if self.done or not self.begun or self.pid != os.getpid():
            return
        self.done = True
        try:
            self.life.stop(self.exit if exit_ is None else exit_)
            if self.output is None:
                return
            if self.at_end is not None:
                self.verdict = self.at_end(self.output)
                if self.verdict and self.exit == "0" and exit_ is None:
                    _core.exit_with(self.verdict)
            else:
                self.output.finish(self.life)
        except BaseException as error:  # Ctrl-C, too: there is nobody left to handle it
            self.complain(f"the end of the recording failed: {type(error).__name__}: {error}")

    def complain(self, text: str) -> None:
        """Says on stderr what was lost, unless the user asked for silence."""
        if not self.quiet:
            say(text)

    def forked(self) -> None:
        """In a forked child: a recording of its own, or none."""
        parent_pid, self.pid = self.pid, os.getpid()
        self.at_end = None
        self.exit = ""
        for fd in self.close_in_child:
            try:
                os.close(fd)
            except OSError:
                pass
        self.close_in_child = []
        parent, self.output = self.output, None
        if self.done or _forked_to_exec():
            self.done = True
            self.life.after_fork(-2, {})
            return
        if parent is not None:
            try:
                path = parent.path
                parent.close()
                self.output = part(self.parts) if self.parts else child_output(path, parent_pid, self.pid)
            except Exception as error:
                self.complain(f"the recording of process {self.pid} is lost: {error}")
        if self.output is None:
            self.done = True
            self.life.after_fork(-2, {})
            return
        self.life.after_fork(self.output.fd, self.settings)
        self.output.belongs_to(self.life)
        self.life.flush()
        if self.parts:
            _watch_pools(self.life)


def _forked_to_exec() -> bool:
    """Whether this child was forked by subprocess, which will only exec in it (Popen with preexec_fn)."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(engine.HIDE):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "_execute_child"


def part(folder: str) -> Output:
    """A new part of this process, locked for as long as a process writes it. Raises RecordingError."""
    number = 0
    while True:
        name = f"{os.getpid()}-{number}{SUFFIX}"
        try:
            output = Output(os.path.join(folder, name), exclusive=True)
            break
        except FileExistsError:  # this process before it called exec, or the parent's parent's with a number used again
            number += 1
    return output


def gather(output: Output, folder: str) -> list[str]:
    """Merges the parts in the folder into the output's file and removes them. Returns what to tell the user.

    A process that still runs keeps its part: it is not waited for longer than a moment, and the folder stays.
    """
    from seismo.model import merge, read

    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(SUFFIX)]
    alive = _still_written(paths)
    merged, told = [], []
    recordings = [read(output.path)]
    for path in paths:
        if path in alive:
            continue
        try:
            if os.path.getsize(path):
                recordings.append(read(path))
            merged.append(path)
        except Exception as error:
            told.append(f"a child's part is left where it is: {error}")
    if len(recordings) > 1:
        result = f"{output.path}.{os.getpid()}.tmp"
        merge(recordings).save(result)
        os.replace(result, output.path)
    for path in merged:
        os.unlink(path)
    if alive:
        told.append(f"{len(alive)} child processes still run; add their parts later: seismo merge OUT {folder}/*")
    try:
        os.rmdir(folder)
    except OSError:
        pass  # not empty: told
    return told


def _still_written(paths: list[str]) -> set[str]:
    """Those of the parts that a living process holds, after a moment's patience."""
    import fcntl
    from time import monotonic, sleep

    until = monotonic() + PATIENCE
    alive = set(paths)
    while True:
        for path in sorted(alive):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(fd), os.stat(path)):  # else its writer has just put another in its place
                    alive.discard(path)
            except BlockingIOError:
                pass
            finally:
                os.close(fd)
        if not alive or monotonic() > until:
            return alive
        sleep(0.005)


# ---- ends that skip atexit ----


def wrap_exits(process: Process) -> None:
    """Makes os._exit, os.execv and os.execve finish the recording first. os.execl and the others are made of these."""
    real_exit, real_execv, real_execve = os._exit, os.execv, os.execve

    def _exit(status: int) -> None:
        process.finish(f"os._exit({status})")
        real_exit(status or process.verdict)

    def execv(path: str, argv: list[str], /) -> None:
        process.finish("exec")
        refresh(process)
        real_execv(path, argv)

    def execve(path: str, argv: list[str], env: Mapping[str, str]) -> None:
        process.finish("exec")
        real_execve(path, argv, _mapping(process, env))

    _install(os, _exit=_exit, execv=execv, execve=execve)


_replaced: list[tuple[object, str, object, object]] = []  # module, name, what was there, what is there now


def unwrap(process: Process) -> None:
    """Takes back what wrap_exits and wrap_starts did: for a process that goes on after its recording has ended."""
    for module, name, real, ours in reversed(_replaced):
        if getattr(module, name, None) is ours:  # else somebody wrapped it in turn, and ours does nothing any more
            setattr(module, name, real)
    _replaced.clear()
    process.parts = ""
    _clear_environment()


def _clear_environment() -> None:
    """Makes the C environment what os.environ says of our variables."""
    for name in (VARIABLE, _PATH):
        value = os.environ.get(name)
        if value is None:
            os.unsetenv(name)
        else:
            os.putenv(name, value)


def _install(module: object, **functions: object) -> None:
    """Puts our functions in place of the module's, looking like them (pickle finds them by these names)."""
    for name, function in functions.items():
        real = getattr(module, name, None)
        if real is None:
            continue
        _replaced.append((module, name, real, function))
        function.__name__ = function.__qualname__ = name  # type: ignore[attr-defined]
        function.__module__ = "os" if module is os else module.__name__  # type: ignore[attr-defined]
        function.__doc__ = real.__doc__
        setattr(module, name, function)


# ---- reaching new interpreters ----


def wrap_starts(process: Process) -> None:
    """Makes every process that is started from now on find our hook in its environment."""
    import _posixsubprocess

    real_fork_exec = _posixsubprocess.fork_exec
    real_spawn, real_spawnp = os.posix_spawn, os.posix_spawnp

    def fork_exec(*args: object) -> int:
        refresh(process)
        if len(args) > 5 and args[5] is not None:  # the environment, a list of NAME=VALUE in bytes
            args = (*args[:5], _list(process, args[5]), *args[6:])  # type: ignore[arg-type]
        return real_fork_exec(*args)  # type: ignore[arg-type]

    def posix_spawn(path: str, argv: list[str], env: Mapping[str, str], /, **options: object) -> int:
        return real_spawn(path, argv, _mapping(process, env), **options)  # type: ignore[arg-type]

    def posix_spawnp(path: str, argv: list[str], env: Mapping[str, str], /, **options: object) -> int:
        return real_spawnp(path, argv, _mapping(process, env), **options)  # type: ignore[arg-type]

    _install(_posixsubprocess, fork_exec=fork_exec)
    if "subprocess" in sys.modules:
        _install(sys.modules["subprocess"], _fork_exec=fork_exec)
    _install(os, posix_spawn=posix_spawn, posix_spawnp=posix_spawnp)
    refresh(process)


def refresh(process: Process) -> None:
    """Puts our variables into the C environment, unseen by os.environ: again, as the program may set PYTHONPATH."""
    if process.parts:
        os.putenv(VARIABLE, _pack(process))
        os.putenv(_PATH, _with_hook(os.environ.get(_PATH, "")))


def _hook_folder() -> str:
    return f"{engine.HIDE}record/hook"


def _with_hook(path: str) -> str:
    hook = _hook_folder()
    if path == hook or path.startswith(hook + os.pathsep):
        return path
    return hook + os.pathsep + path if path else hook


def _mapping(process: Process, env: Mapping[str, str]) -> Mapping[str, str]:
    """The environment for a child, with our variables. What is no mapping of text is left for the callee to refuse."""
    if not process.parts:
        return env
    refresh(process)
    try:
        changed: dict[str, str] = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
    except (TypeError, AttributeError):
        return env
    changed[VARIABLE] = _pack(process)
    changed[_PATH] = _with_hook(changed.get(_PATH, ""))
    return changed


def _list(process: Process, env: list[bytes]) -> list[bytes]:
    if not process.parts:
        return env
    name = os.fsencode(_PATH) + b"="
    path = next((entry[len(name) :] for entry in env if entry.startswith(name)), b"")
    kept = [entry for entry in env if not entry.startswith((name, os.fsencode(VARIABLE) + b"="))]
    kept.append(name + os.fsencode(_with_hook(os.fsdecode(path))))
    kept.append(os.fsencode(f"{VARIABLE}={_pack(process)}"))
    return kept


def _pack(process: Process) -> str:
    """Recorder, settings and folder as one variable: name=value, a line each, the folder last (it may be anything)."""
    lines = [f"{name}={value}" for name, value in process.settings.items() if value is not None]
    return "\n".join([f"recorder={process.life.name}", *lines, f"parts={process.parts}"])


def _unpack(text: str) -> tuple[dict[str, object], str]:
    settings: dict[str, object] = {}
    while text and not text.startswith("parts="):
        line, _, text = text.partition("\n")
        name, _, value = line.partition("=")
        settings[name] = int(value) if value.isdigit() else value
    return settings, text[len("parts=") :]


# ---- in a process that was reached ----

_followed: Process | None = None


def follow(hook: str) -> None:
    """Called by the hook at the start of an interpreter. hook: the folder it was found in."""
    global _followed
    packed = os.environ.get(VARIABLE)
    if packed is None:
        return
    _forget(VARIABLE, None)
    path = os.environ.get(_PATH, "")
    if path == hook:
        _forget(_PATH, None)
    elif path.startswith(hook + os.pathsep):
        _forget(_PATH, path[len(hook) + 1 :])
    settings, folder = _unpack(packed)
    if not os.path.isdir(folder):
        return  # the first process has ended and merged: nobody would read the part
    words = "\n".join(sys.orig_argv[1:])
    if "from multiprocessing.resource_tracker import" in words:
        return  # multiprocessing's own housekeeping, not the program
    server = "from multiprocessing.forkserver import" in words  # forks the program's processes, runs nothing of it
    life = _life(str(settings.pop("recorder", "")))
    process = Process(None if server else part(folder), settings, folder, life=life)
    _followed = process
    wrap_exits(process)
    wrap_starts(process)
    if server:
        _fork_only(process)
        return
    try:
        process.begin()
    except BaseException:
        if process.output is not None:
            process.output.discard()
        process.done = True
        raise
    if "from multiprocessing.spawn import" in words:
        _watch_pools(process.life, load=True)


def _life(name: str) -> Life:
    """The recorder of that name."""
    if name == "coverage":
        from seismo.record import coverage

        return coverage.Life()
    if name == "lifetimes":
        from seismo.record import refs

        return refs.Life()
    return engine.Life(name or "calltree")


def _forget(name: str, value: str | None) -> None:
    """Sets or removes a variable in os.environ and leaves it in the C environment, for the children to come."""
    data = os.environ._data  # type: ignore[attr-defined]
    key = os.environ.encodekey(name)
    if value is None:
        data.pop(key, None)
    else:
        data[key] = os.environ.encodevalue(value)


def _fork_only(process: Process) -> None:
    """Records not this process but those it forks."""

    def child() -> None:
        process.pid = os.getpid()
        if _forked_to_exec():
            return
        try:
            process.output = part(process.parts)
            process.begin()
        except Exception as error:
            process.complain(f"the recording of process {process.pid} is lost: {error}")

    _watch_pools(process.life, load=True)
    os.register_at_fork(after_in_child=child)


def abandon() -> None:
    """A followed process turns out to be a `seismo profile` of its own: its recording is that one's business."""
    global _followed
    if _followed is None:
        return
    process, _followed = _followed, None
    process.done = True
    process.parts = ""
    process.life.abandon()
    if process.output is not None:
        process.output.discard()
    _clear_environment()


def _watch_pools(life: Life, load: bool = False) -> None:
    """A multiprocessing pool ends by killing its workers, at once after the last result and while they wait for work.

    So a worker writes its part before it hands over a result, unless that is dear and would take a good share of its
    time, and before it waits. load: import multiprocessing.queues for it; a spawned process is about to.
    """
    if load:
        import multiprocessing.queues  # noqa: F401  for sys.modules
    queues = sys.modules.get("multiprocessing.queues")
    if queues is None or hasattr(queues.SimpleQueue.get, "seismo"):
        return
    from time import monotonic

    real_get, real_put = queues.SimpleQueue.get, queues.SimpleQueue.put
    due = 0.0

    def flush() -> None:
        nonlocal due
        begin = monotonic()
        life.flush()
        end = monotonic()
        due = end + 2 * (end - begin) if end - begin > 0.002 else 0.0

    def get(self):  # type: ignore[no-untyped-def]
        if self.empty():
            flush()
        return real_get(self)

    def put(self, obj):  # type: ignore[no-untyped-def]
        if monotonic() >= due:
            flush()
        return real_put(self, obj)

    get.seismo = True  # type: ignore[attr-defined]
    for function, real in ((get, real_get), (put, real_put)):
        function.__qualname__, function.__module__ = real.__qualname__, real.__module__
    queues.SimpleQueue.get, queues.SimpleQueue.put = get, put
