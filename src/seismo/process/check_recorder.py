"""Counts what a program does, for `seismo check`: its calls, and beside them each line as often as it was executed.

Two recorders run in one process: the engine's of calls, which writes the recording's file, and that of coverage with
counts, which writes the file that the setting `lines` names. Each process that the program starts or forks writes two
files of its own: its part of the calls (process.children), and beside the first file of lines one with its number.
"""

from __future__ import annotations

import gc
import os
import sys

from seismo import recording_kinds
from seismo.errors import RecordingError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import coverage, engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

OURS = ("lines", "everywhere")  # settings that are not the engine's


class CheckRecorder(engine.EngineRecorder):
    """Both recorders."""

    def __init__(self, name: str = recording_kinds.CALLS) -> None:
        super().__init__(name)
        self._lines = coverage.CoverageRecorder()
        self._path = ""

    def start(self, settings: dict[str, object], fd: int, forked: Callable[[], None]) -> None:
        """As the engine's. lines: the path of the other file; everywhere: count lines of libraries, too."""
        self._path = str(settings.get("lines") or "")
        super().start(settings, fd, forked)

    def begin(self, settings: dict[str, object], fd: int) -> None:
        """Starts both. The collector begins with nothing young, so that it runs at the same places each time."""
        if self._path:
            how: dict[str, object] = {"counts": 1}
            if settings.get("everywhere"):
                how["include"] = "/**"
            coverage.users.forked_hook = _nothing_to_do
            self._lines.begin(how, _opened(self._path))
        begin_collecting()
        super().begin(settings, fd)

    def start_settings(self, settings: dict[str, object]) -> dict[str, object]:
        """Those that are the engine's."""
        return {name: value for name, value in settings.items() if name not in OURS}

    def end(self, exit_: str) -> None:
        """Stops both."""
        super().end(exit_)
        if self._path:
            self._lines.end(exit_)

    def after_fork(self, fd: int, settings: dict[str, object]) -> None:
        """In a forked child: goes on into fd and a file of lines of its own, or stops (-2)."""
        super().after_fork(fd, settings)
        if not self._path:
            return
        lines = -2
        if fd != -2:
            try:  # noqa: SIM105  contextlib would import collections
                lines = _opened(self._path)
            except RecordingError:
                pass
        self._lines.after_fork(lines, {"counts": 1})

    def flush(self) -> None:
        """Brings both files up to date."""
        super().flush()
        if self._path:
            self._lines.flush()

    def ahead(self, exit_: str, ask: bool = False) -> None:
        """Writes all, as if the process ended now in this way; "" takes it back."""
        super().ahead(exit_, ask)
        if self._path:
            self._lines.ahead(exit_)


def _nothing_to_do() -> None:
    """In a forked child: nothing to do, since CheckRecorder.after_fork sees to coverage, too."""


def _opened(path: str) -> int:
    """A new file of lines: of the first process under its name, of others with their numbers behind it."""
    from seismo.process.output_file import out_of_the_way

    name, number = path, 0
    while True:
        try:
            return out_of_the_way(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:  # another process' of the program, or this one's before it became another by exec
            name, number = f"{path}.{os.getpid()}-{number}", number + 1
        except OSError as error:
            raise RecordingError(f"the lines cannot be recorded: {error.strerror}", path) from None


def begin_collecting() -> None:
    """Lets the cycle collector begin where it does each time: with nothing in it that may be garbage."""
    if gc.isenabled():
        gc.collect()


def one_round() -> None:
    """Has pyperf run each benchmark once, in one process: how often it would, it chooses by time."""
    sys.meta_path.insert(0, _Rounds())


class _Rounds:
    """Finds pyperf's runner, once, and gives it the option that it has for this."""

    NAME, OPTION = "pyperf._runner", "debug_single_value"

    def find_spec(self, name: str, path: Any, _target: Any = None) -> Any:
        """The module's spec, if it is that one."""
        if name != self.NAME:
            return None
        sys.meta_path.remove(self)
        others = (one.find_spec(name, path) for one in sys.meta_path)
        spec: Any = next(filter(None, others), None)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        loader: Any = spec.loader
        real = loader.exec_module

        def exec_module(module: Any) -> None:
            real(module)
            try:
                self._change(module.Runner)
            except AttributeError:  # another version
                return

        loader.exec_module = exec_module
        return spec

    def _change(self, runner: Any) -> None:
        real = runner._set_args

        def _set_args(self: Any, args: Any) -> None:
            if hasattr(args, _Rounds.OPTION) and not getattr(args, "worker", False):
                args.rigorous = args.fast = False
                args.debug_single_value = True
            real(self, args)

        runner._set_args = _set_args
