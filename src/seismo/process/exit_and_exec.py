# ruff: noqa: BLE001, D102  contextlib would import collections; nothing of ours may fail in the program
"""Handle os._exit, exec and child processes in a recorded process.

The core enters os._exit, os.exec*, os.posix_spawn* and _posixsubprocess.fork_exec through wrappers
(native/module/processes.c) and notifies this module first; the program sees the interpreter's own functions.

Ends. os._exit skips atexit handlers, so the recording ends before the call. An exec may fail. So the file is completed
before the call, and recording goes on if the call returns. The summary and the merge of the children cannot be undone,
so they are made only if the exec is likely to succeed.

Starts. With --children, child processes are reached through their environment. PYTHONPATH begins with a folder of
seismo that has a sitecustomize (see child_startup/). SEISMO_CHILDREN has the settings and the folder of the parts. The
two variables are set in the C environment, which new processes inherit, and not in os.environ. So the program does not
see them, and the children remove them. If a program passes an explicit environment to a child, the variables are added
to it. Interpreters started with -E, -I or -S are not reached. A .pth file is not used, because it would run in every
process of the installation, recorded or not.
"""

from __future__ import annotations

import os

from seismo import _core
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class Listener:
    """A recording that is notified before its process ends or starts another.

    parts: the folder of --children, or "". first: True for the process that merges the parts. heir: True if the program
    it becomes by exec merges them, too. verdict: the exit status for a program that ends with 0.
    """

    parts = ""
    heir = False
    verdict = 0

    @property
    def first(self) -> bool:
        return True

    def finish(self, how: str | None = None, /) -> None: ...
    def before_exec(self, likely: bool, /) -> None: ...
    def exec_failed(self) -> None: ...
    def before_leaving(self) -> None: ...
    def packed(self) -> str:
        return ""


VARIABLE = "SEISMO_CHILDREN"
PATH = "PYTHONPATH"
_LEAVING = ("chroot", "setuid", "seteuid", "setreuid", "setresuid")  # after these calls, files may be out of reach
_LONGEST = 128 << 10  # the kernel's limit for one word of a command line, in bytes with the final NUL

_receivers: list[Listener] = []


def subscribe(process: Listener) -> None:
    """Notify the process from now on; with parts, record what it starts."""
    _receivers.append(process)
    refresh(process)
    _connect()


def unsubscribe(process: Listener) -> None:
    """Undo subscribe() for a process that continues after the end of its recording."""
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
        except BaseException:  # an error here, even Ctrl-C, must not change the program's call
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
        if likely and process.first and not process.heir:  # the recording ends here, as the new program is not reached
            clear_environment()
            return values
    if not process.parts:
        return values
    refresh(process)
    number = len(values) - len(names) + names.index("env") if "env" in names else 5 if name == "fork_exec" else 2
    if name == "execv" or number >= len(values) or values[number] is None:
        return values
    env = values[number]
    changed = _list(process, env) if name == "fork_exec" else _mapping(process, env)
    return (*values[:number], changed, *values[number + 1 :])


# ---- Prediction of success. ----


def _name(path: Any) -> Any:
    return f"/proc/self/fd/{path}" if isinstance(path, int) else path


def _is_there(path: Any) -> bool:
    try:
        return os.path.exists(_name(path))
    except (TypeError, ValueError):
        return False


def _will_succeed(path: Any, argv: Any, env: Any) -> bool:
    try:
        words = [os.fsencode(word) for word in argv]
        words += [os.fsencode(name) + b"=" + os.fsencode(value) for name, value in env.items()]
        size = sum(len(word) + 9 for word in words)
        if not (isinstance(argv, (list, tuple)) and argv and argv[0]) or any(b"\0" in word for word in words):
            return False
        if size > os.sysconf("SC_ARG_MAX") or max(map(len, words)) >= _LONGEST:
            return False
        return _is_program(_name(path), True)
    except Exception:
        return False


def _start_of(path: Any) -> bytes:
    """Return the first bytes of an executable file, or b"" for any other."""
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return b""
    with open(path, "rb", buffering=0) as file:
        return file.read(256)


def _is_program(path: Any, or_script: bool) -> bool:
    start = _start_of(path)
    words = start[2:].partition(b"\n")[0].split() if or_script and start.startswith(b"#!") else []
    return start.startswith(b"\x7fELF") or (bool(words) and _is_program(words[0], False))


# ---- Environments. ----


def clear_environment() -> None:
    """Reset seismo's two variables in the C environment to their values in os.environ."""
    for name in (VARIABLE, PATH):
        value = os.environ.get(name)
        if value is None:
            os.unsetenv(name)
        else:
            os.putenv(name, value)


def refresh(process: Listener) -> None:
    """Set seismo's variables in the C environment only. Called again when the program may have set PYTHONPATH."""
    if process.parts:
        os.putenv(VARIABLE, process.packed())
        os.putenv(PATH, _with_hook(os.environ.get(PATH, "")))


def _with_hook(path: str) -> str:
    hook = f"{engine.HIDE}process/child_startup"
    if path == hook or path.startswith(hook + os.pathsep):
        return path
    return hook + os.pathsep + path if path else hook


def _mapping(process: Listener, env: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment for a child, with seismo's variables. An invalid mapping is returned unchanged."""
    try:
        changed: dict[str, str] = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
    except (TypeError, AttributeError):
        return env
    changed[VARIABLE] = process.packed()
    changed[PATH] = _with_hook(changed.get(PATH, ""))
    return changed


def _list(process: Listener, env: Iterable[bytes]) -> Iterable[bytes]:
    """Return the environment as _mapping() does, for a sequence of NAME=VALUE in bytes."""
    if not (isinstance(env, (list, tuple)) and all(type(entry) is bytes for entry in env)):
        return env
    name = os.fsencode(PATH) + b"="
    path = next((entry[len(name) :] for entry in env if entry.startswith(name)), b"")
    kept = [entry for entry in env if not entry.startswith((name, os.fsencode(VARIABLE) + b"="))]
    kept.append(name + os.fsencode(_with_hook(os.fsdecode(path))))
    kept.append(os.fsencode(f"{VARIABLE}={process.packed()}"))
    return kept


# ---- The variable's value. ----


def pack(recorders: dict[str, dict[str, object]], folder: str, heir: int) -> str:
    """Return the value of SEISMO_CHILDREN: settings by recorder, the pid that merges after an exec or 0, the folder."""
    return f"{engine.json_text({'recorders': recorders, 'heir': heir})}\n{folder}"


def unpack(text: str) -> tuple[dict[str, dict[str, object]], str, int]:
    """Return the recorders, the folder and the heir from a text of pack(). Raise ValueError for invalid text."""
    line, _, folder = text.partition("\n")
    match engine.from_json(line):
        case {"recorders": dict(recorders), "heir": int(heir)} if all(type(how) is dict for how in recorders.values()):
            return recorders, folder, heir
    raise ValueError("the settings of the first process cannot be read")
