"""The plugin of --seismo-profile: a pytest run whose calls are recorded, separately for each test.

In the recording, each phase of a test is a call, such as `tests/test_app.py::test_start|call`. The call has a real
frame with this name. So reports and exports distinguish tests without special support, at a cost of one call per phase.
A recording per test would start and stop the engine thousands of times, and differences of whole trees would take
longer than the tests.

The frame is around pytest's own function for the phase, so most work of other plugins is outside of it. Its file is
<pytest>: pytest omits code without a file from tracebacks.

The functions of pytest itself are left out. In each test they would add some hundred irrelevant paths. Their time
counts for the frame of the test's phase, or for no test.
"""

from __future__ import annotations

import os
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from seismo.errors import UsageError
from seismo.plugins.pytest.recorded_run import RecordedTestRun
from seismo.process import engine
from seismo.process.output_file import SUFFIX

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from seismo.report.paper import Paper

DEFAULT_FILE = f"profile{SUFFIX}"
PLACE = "<pytest>"  # the file name in the code of the phases' frames
PHASES = ("setup", "call", "teardown")


def _phase(function: Callable[..., object], item: pytest.Item, *rest: object) -> object:
    __tracebackhide__ = True
    return function(item, *rest)


_CODE = _phase.__code__.replace(co_filename=PLACE)


class Profile(RecordedTestRun):
    """The plugin of a run whose calls are recorded."""

    name, names_file = "profile", "--seismo-profile"
    heading, doing = "profile", "something is being recorded"

    def __init__(self, options: Namespace) -> None:
        """Start recording. Raise SeismoError if that is not possible or an option is invalid."""
        file = options.seismo_profile or DEFAULT_FILE
        if not file.endswith(SUFFIX) and os.path.exists(file.partition("::")[0]):
            raise UsageError(
                "what follows --seismo-profile is taken for the recording to write, not for tests to run",
                file,
                f"write: pytest {file} --seismo-profile",
            )
        super().__init__(options, file)
        self.limit = options.seismo_profile_limit
        self._frames: Frames | None = None
        self.start(engine.Recorder(hide=machinery()), {}, options.seismo_profile_children)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Insert the frames of phases."""
        self._frames = Frames(session.config)

    def pytest_unconfigure(self) -> None:
        """Remove the frames."""
        if self._frames is not None:
            self._frames.remove()
        super().pytest_unconfigure()

    def show(self, paper: Paper) -> None:
        """Write the slowest tests and the functions that they share."""
        from seismo.model import read
        from seismo.plugins.pytest.slowest_tests import write

        write(paper.asked_by("--seismo-profile-limit=N"), read(self.path), self.limit)
        paper.line(f"seismo report {os.path.relpath(self.path, self.folder)}   shows the rest")


def machinery() -> tuple[str, ...]:
    """Return the folders of pytest's own code."""
    import _pytest
    import pluggy

    return tuple(os.path.dirname(module.__file__ or "") + "/" for module in (_pytest, pluggy, pytest))


class Frames:
    """The frames around each phase of each test."""

    def __init__(self, config: pytest.Config, run: Callable[..., object] | None = None) -> None:
        """Replace the functions of pytest's plugin that runs tests. run: called as `in_frame`, which it must call."""
        self._real: list[tuple[Any, Callable[..., object]]] = []
        for phase in PHASES:
            for implementation in getattr(config.hook, f"pytest_runtest_{phase}").get_hookimpls():
                if implementation.plugin_name == "runner":
                    self._real.append((implementation, implementation.function))
                    implementation.function = _named(run or in_frame, phase, implementation.function)

    def remove(self) -> None:
        """Restore the original functions."""
        for implementation, function in self._real:
            implementation.function = function
        self._real = []


def _named(run: Callable[..., object], phase: str, function: Callable[..., object]) -> Callable[..., object]:
    def named(item: pytest.Item, *rest: object) -> object:
        __tracebackhide__ = True
        return run(phase, function, item, *rest)

    return named


def in_frame(phase: str, function: Callable[..., object], item: pytest.Item, *rest: object) -> object:
    """Call pytest's function for a phase of a test in a frame that is named after them."""
    __tracebackhide__ = True
    return frame_of(item, phase)(function, item, *rest)


def frame_of(item: pytest.Item, phase: str) -> Callable[..., object]:
    """Return a function that calls its first argument with the others, in a frame named after the test's phase."""
    name = engine.printable(f"{item.nodeid}|{phase}")
    line = item.location[1] or 0
    code = _CODE.replace(co_name=name, co_qualname=name, co_firstlineno=line + 1)
    return FunctionType(code, {"__builtins__": {}})
