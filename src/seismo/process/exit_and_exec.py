# ruff: noqa: BLE001, D102  contextlib would import collections; nothing of ours may fail in the program
"""What happens before a process ends at once, becomes another program, or starts one.

The core enters os._exit, os.exec*, os.posix_spawn* and _posixsubprocess.fork_exec through functions of its own
(native/module/processes.c) and tells us first; the program sees the interpreter's own functions.

Ends. os._exit skips atexit handlers, so the recording ends before. An exec may fail, so before one the file is made
whole, and goes on if the exec comes back. Only the summary, and the merge of the children, cannot be taken back: they
are made where the exec looks as if it will succeed.

Starts. With --children a process that the program starts is reached by its environment: PYTHONPATH begins with a folder
of ours that holds a sitecustomize (see child_startup/), and SEISMO_CHILDREN says what to record and where the parts go.
Both are put into the C environment only, which new processes inherit, and not into os.environ: the program does not see
them, and the children take them out of theirs. A program that hands a child an environment of its own hands it without
them, so they are put in there, too. Interpreters started with -E, -I or -S are not reached. Why not a .pth file: it
would run at every start of every Python of the installation, recorded or not.
"""

from __future__ import annotations

import os

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Protocol

    from seismo import _core

    class Listener(Protocol):
        """Who wants to know.

        parts: the folder of --children, or ""; first: this is the process that gathers them; heir: what it becomes by
        exec does so, too.
        """

        parts: str
        heir: bool
        verdict: int

        @property
        def first(self) -> bool: ...
        def finish(self, how: str, /) -> None: ...
        def before_exec(self, likely: bool, /) -> None: ...
        def exec_failed(self) -> None: ...
        def before_leaving(self) -> None: ...
        def packed(self) -> str: ...

else:
    from seismo import _core

VARIABLE = "SEISMO_CHILDREN"
PATH = "PYTHONPATH"
_LEAVING = ("chroot", "setuid", "seteuid", "setreuid", "setresuid")  # files may be out of reach afterwards
_LONGEST = 128 << 10  # bytes of one word of a command line, and its end

_receivers: list[Listener] = []


def subscribe(process: Listener) -> None:
    """From now on the process is told; with parts, what it starts is reached."""
    _receivers.append(process)
    refresh(process)
    _connect()


def unsubscribe(process: Listener) -> None:
    """Takes back what subscribe did: for a process that goes on after its recording has ended."""
    if process in _receivers:
        _receivers.remove(process)
    process.parts = ""
    clear_environment()
    for other in _receivers:
        refresh(other)
    _connect()


def _connect() -> None:
    _core.set_process_receiver(_receive if _receivers else None, any(process.parts for process in _receivers))


def _receive(name: str, values: tuple[Any, ...] | None, names: tuple[str, ...]) -> tuple[Any, ...] | None:
    for process in reversed(_receivers):
        try:
            if values is None:
                process.exec_failed()
                refresh(process)
            else:
                values = _notify(process, name, values, names)
        except BaseException:  # Ctrl-C, too: the program is told by the next
            continue
    return values


def _notify(process: Listener, name: str, values: tuple[Any, ...], names: tuple[str, ...]) -> tuple[Any, ...]:
    if name == "_exit":
        process.finish(f"os._exit({values[0]})")
        return (values[0] or process.verdict,)
    if name in _LEAVING:
        process.before_leaving()
        return values
    given = dict(zip(("path", "argv", "env")[: len(values) - len(names)], values, strict=False))
    given.update(zip(names, values[len(values) - len(names) :], strict=True))
    if name in ("execv", "execve"):
        env = given.get("env", os.environ)
        likely = _will_succeed(given.get("path"), given.get("argv"), env)
        if likely or _is_there(given.get("path")):
            process.before_exec(likely)
        if likely and process.first and not process.heir:  # the recording ends here: what follows is not reached
            clear_environment()
            return values
    if not process.parts:
        return values
    refresh(process)
    number = 5 if name == "fork_exec" else 2 + names.index("env") if "env" in names else 2
    number = len(values) - len(names) + names.index("env") if "env" in names else number
    if name == "execv" or number >= len(values) or values[number] is None:
        return values
    env = values[number]
    changed = _list(process, env) if name == "fork_exec" else _mapping(process, env)
    return (*values[:number], changed, *values[number + 1 :])


# ---- will it succeed? ----


def _name(path: Any) -> Any:
    return f"/proc/self/fd/{path}" if isinstance(path, int) else path


def _is_there(path: Any) -> bool:
    try:
        return os.path.exists(_name(path))
    except (TypeError, ValueError):
        return False


def _will_succeed(path: Any, argv: Any, env: Any) -> bool:
    """Whether such an exec succeeds, as far as that can be known without trying."""
    try:
        words = [os.fsencode(word) for word in argv]
        words += [os.fsencode(name) + b"=" + os.fsencode(value) for name, value in env.items()]
        size = sum(len(word) + 9 for word in words)
        if not (isinstance(argv, (list, tuple)) and argv and argv[0]) or any(b"\0" in word for word in words):
            return False
        if size > os.sysconf("SC_ARG_MAX") or max(map(len, words)) >= _LONGEST:
            return False
        return _is_program(_name(path)) or _is_script(_name(path))
    except Exception:
        return False


def _start_of(path: Any) -> bytes:
    """The first bytes of a file that may be executed, else none."""
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return b""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 256)
    finally:
        os.close(fd)


def _is_program(path: Any) -> bool:
    return _start_of(path).startswith(b"\x7fELF")


def _is_script(path: Any) -> bool:
    start = _start_of(path)
    words = start[2:].partition(b"\n")[0].split()
    return start.startswith(b"#!") and bool(words) and _is_program(words[0])


# ---- environments ----


def clear_environment() -> None:
    """Makes the C environment what os.environ says of our variables."""
    for name in (VARIABLE, PATH):
        value = os.environ.get(name)
        if value is None:
            os.unsetenv(name)
        else:
            os.putenv(name, value)


def refresh(process: Listener) -> None:
    """Puts our variables into the C environment, unseen by os.environ: again, as the program may set PYTHONPATH."""
    if process.parts:
        os.putenv(VARIABLE, process.packed())
        os.putenv(PATH, _with_hook(os.environ.get(PATH, "")))


def _with_hook(path: str) -> str:
    hook = f"{engine.HIDE}process/child_startup"
    if path == hook or path.startswith(hook + os.pathsep):
        return path
    return hook + os.pathsep + path if path else hook


def _mapping(process: Listener, env: Mapping[str, str]) -> Mapping[str, str]:
    """The environment for a child, with our variables. What is no mapping of text is left for the callee to refuse."""
    try:
        changed: dict[str, str] = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
    except (TypeError, AttributeError):
        return env
    changed[VARIABLE] = process.packed()
    changed[PATH] = _with_hook(changed.get(PATH, ""))
    return changed


def _list(process: Listener, env: Iterable[bytes]) -> Iterable[bytes]:
    """As _mapping, of a sequence of NAME=VALUE in bytes."""
    if not (isinstance(env, (list, tuple)) and all(type(entry) is bytes for entry in env)):
        return env
    name = os.fsencode(PATH) + b"="
    path = next((entry[len(name) :] for entry in env if entry.startswith(name)), b"")
    kept = [entry for entry in env if not entry.startswith((name, os.fsencode(VARIABLE) + b"="))]
    kept.append(name + os.fsencode(_with_hook(os.fsdecode(path))))
    kept.append(os.fsencode(f"{VARIABLE}={process.packed()}"))
    return kept


# ---- what travels in the variable ----


def pack(recorders: dict[str, dict[str, object]], folder: str, heir: int) -> str:
    """Return a line of JSON, then the folder of the parts, which may be anything.

    recorders: the settings of each, by its name. heir: who gathers after an exec, or 0.
    """
    return f"{engine.json_text({'recorders': recorders, 'heir': heir})}\n{folder}"


def unpack(text: str) -> tuple[dict[str, dict[str, object]], str, int]:
    """Return the recorders, the folder and the heir. Raise ValueError for what is no such text."""
    line, _, folder = text.partition("\n")
    known = engine.from_json(line)
    known = known if isinstance(known, dict) else {}
    recorders, heir = known.get("recorders"), known.get("heir", 0)
    if not (recorders and isinstance(recorders, dict) and all(isinstance(how, dict) for how in recorders.values())):
        raise ValueError("the settings of the first process cannot be read")
    return recorders, folder, heir if isinstance(heir, int) else 0
