"""The recorder of births and deaths as one who records a whole process has it, and where it can run at all."""

from __future__ import annotations

import sys

from seismo import recording_kinds
from seismo.errors import RecordingError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from seismo import _core
else:
    from seismo import _core

HINT = (
    "run the program on Python 3.13.3 or newer; with this one, tracemalloc or memray show allocations, objgraph shows "
    "living objects, and seismo profile shows calls"
)


def why_not() -> str:
    """Why births and deaths cannot be recorded by this interpreter; "": they can."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or "free-threading" in sys.version:
        return "births and deaths of objects cannot be recorded on a free-threaded build of Python"
    if sys.implementation.name != "cpython" or sys.version_info < (3, 13, 3):
        version = sys.version.split(maxsplit=1)[0]
        return f"recording objects needs CPython 3.13.3 or newer, and this is {version}"
    reason = _core.ref_objection()
    return f"births and deaths of objects cannot be recorded: {reason}" if reason else ""


def check_possible() -> None:
    """Raises RecordingError, with what to use instead, where births and deaths cannot be recorded."""
    reason = why_not()
    if reason:
        raise RecordingError(reason, hint=HINT)


class ObjectRecorder(engine.EngineRecorder):
    """The recorder of objects, which asks at the end who holds what lives."""

    def __init__(self, name: str = recording_kinds.OBJECTS) -> None:
        super().__init__(name)
        self._holders = 0
        self._leaks = False

    def start(self, settings: dict[str, object], fd: int, forked: Callable[[], None]) -> None:
        """As the engine's. Two more settings: holders, of how many sites it is asked; leaks, of what spans left."""
        check_possible()
        self._holders = int(settings.get("holders") or 0)  # type: ignore[call-overload]
        self._leaks = bool(settings.get("leaks"))
        _core.objects_quiet(True)
        try:
            super().start(settings, fd, forked)
        finally:
            _core.objects_quiet(False)

    def start_settings(self, settings: dict[str, object]) -> dict[str, object]:
        """The settings that are the engine's."""
        return {name: value for name, value in settings.items() if name not in ("holders", "leaks")}

    def stop(self, exit_: str = "") -> None:
        """Stops, saving how the program ended; first asks who holds what lives, if that is wanted."""
        _core.objects_quiet(True)
        try:
            try:
                _core.objects_end()
                self._ask()
            finally:  # Ctrl-C may come
                super().stop(exit_)
        finally:
            _core.objects_quiet(False)

    def ahead(self, exit_: str, ask: bool = False) -> None:
        """As the engine's; ask: who holds what lives."""
        _core.objects_quiet(True)
        try:
            if exit_ and ask:
                _core.objects_end()
                self._ask()
            super().ahead(exit_)
        finally:
            _core.objects_quiet(False)

    def _ask(self) -> None:
        try:
            if self._leaks and _collects():
                collect()
                _core.objects_end()  # what it set free may have made something
            if self._holders:
                from seismo.process.objects.survivors import ask_at_end

                engine.quietly(ask_at_end, self._holders, self._leaks)
        except Exception:  # noqa: BLE001  there is a recording without it, and the program has ended well
            return

    def after_fork(self, fd: int, settings: dict[str, object]) -> None:
        """As the engine's. A forked child asks for leaks only: a pool's workers end often, and share what is held."""
        if not self._leaks:
            self._holders = 0
        super().after_fork(fd, settings)


def _collects() -> bool:
    """Whether the program lets garbage be collected; its end will then do that, too."""
    import gc

    return gc.isenabled()


def collect() -> None:
    """Has what nobody holds destroyed, by a thread whose births are not recorded and whose deaths are."""
    import gc

    _core.objects_quiet(False)
    try:
        gc.collect()
        gc.collect()  # what finalizers set free
        sys._clear_internal_caches()  # type: ignore[attr-defined]  # its names of attributes survive each call of C code
    finally:
        _core.objects_quiet(True)
