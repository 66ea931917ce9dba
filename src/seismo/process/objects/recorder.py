"""The recorder of births and deaths for a whole process, and the interpreters that support it."""

from __future__ import annotations

import gc
import sys

from seismo import _core, recording_kinds
from seismo.errors import RecordingError
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


HINT = (
    "run the program on Python 3.13.3 or newer; with this one, tracemalloc or memray show allocations, objgraph shows "
    "living objects, and seismo profile shows calls"
)


def why_not() -> str:
    """Return why this interpreter cannot record births and deaths, or "" if it can."""
    if sys.implementation.name != "cpython" or sys.version_info < (3, 13, 3):
        version = sys.version.split(maxsplit=1)[0]
        return f"recording objects needs CPython 3.13.3 or newer, and this is {version}"
    reason = _core.objects_objection()
    return f"births and deaths of objects cannot be recorded: {reason}" if reason else ""


def check_possible() -> None:
    """Raise RecordingError, with alternatives, if births and deaths cannot be recorded."""
    reason = why_not()
    if reason:
        raise RecordingError(reason, hint=HINT)


class ObjectRecorder(engine.Recorder):
    """The recorder of objects. At the end it searches the holders of so many sites, with `leaks` of spans."""

    name = recording_kinds.OBJECTS
    at_end = ("holders", "leaks")
    _holders = 0
    _leaks = False

    def start(self, settings: dict[str, object], fd: int, forked: Callable[[], None]) -> None:
        """Start the engine."""
        check_possible()
        self._holders = int(settings.get("holders") or 0)  # type: ignore[call-overload]
        self._leaks = bool(settings.get("leaks"))
        _core.objects_quiet(True)
        try:
            super().start(settings, fd, forked)
        finally:
            _core.objects_quiet(False)

    def stop(self, exit_: str = "") -> None:
        """Search holders if wanted, then stop and save how the program ended."""
        _core.objects_quiet(True)
        try:
            try:
                _core.objects_end()
                self._ask()
            finally:  # stop even if Ctrl-C interrupts the search
                super().stop(exit_)
        finally:
            _core.objects_quiet(False)

    def ahead(self, exit_: str, ask: bool = False) -> None:
        """Write everything as the base class does; with `ask`, search the holders first."""
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
            if self._leaks and gc.isenabled():  # the program's end will collect garbage, too
                collect()
                _core.objects_end()  # finalizers may have created objects
            if self._holders:
                from seismo.process.objects.survivors import ask_at_end

                engine.quietly(ask_at_end, self._holders, self._leaks)
        except Exception:  # noqa: BLE001  without holders, the recording is complete all the same
            return

    def after_fork(self, fd: int, settings: dict[str, object]) -> None:
        """Continue as the engine does. A forked child searches only leaks: workers end often, and share the heap."""
        if not self._leaks:
            self._holders = 0
        super().after_fork(fd, settings)


def collect() -> None:
    """Collect garbage on a thread on which deaths are recorded and births are not."""
    _core.objects_quiet(False)
    try:
        gc.collect()
        gc.collect()  # a second pass frees objects that finalizers released
        sys._clear_internal_caches()  # type: ignore[attr-defined]  # the type cache keeps attribute names alive
    finally:
        _core.objects_quiet(True)
