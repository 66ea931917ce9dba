"""A pytest run whose calls are recorded, each test's apart: --seismo-profile.

One recording, in which each phase of a test is a call of its own: `tests/test_app.py::test_start|call`, and |setup and
|teardown. It is a real frame with this name, so all that shows or exports calls can tell tests apart without knowing
what a test is, and it costs the run one call a phase. A recording for each test would start and stop the engine
thousands of times, and take a difference of whole trees would take longer than the tests.

The frame stands around pytest's own function that sets up, calls or takes down the test, and so inside of what other
plugins do around a phase. Its file is <pytest>: pytest leaves code without a file out of tracebacks.

The functions of pytest itself are left out. In each test they would make some hundred paths that tell nothing of it.
What they take counts for the frame of the phase that they serve, or for no test.
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

    from _pytest.terminal import TerminalReporter

DEFAULT_FILE = f"profile{SUFFIX}"
PLACE = "<pytest>"  # the file of the frames that stand for phases
PHASES = ("setup", "call", "teardown")


def _phase(function: Callable[..., object], item: pytest.Item, *rest: object) -> object:
    __tracebackhide__ = True
    return function(item, *rest)


_CODE = _phase.__code__.replace(co_filename=PLACE)


class Profile(RecordedTestRun):
    """The plugin of one run that is profiled."""

    name, names_file = "profile", "--seismo-profile"
    heading, doing = "profile", "something is being recorded"

    def __init__(self, options: Namespace) -> None:
        """Starts recording. Raises SeismoError when it cannot, or when an option cannot be."""
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
        """Tests are about to run."""
        self._frames = Frames(session.config)

    def pytest_unconfigure(self) -> None:
        """Takes the frames out again."""
        if self._frames is not None:
            self._frames.remove()
        super().pytest_unconfigure()

    def judge(self, session: pytest.Session) -> bool:  # noqa: ARG002
        """What took how long is no failure."""
        return False

    def show(self, terminal: TerminalReporter) -> None:
        """Writes the slowest tests and what they share."""
        from seismo.model import read
        from seismo.plugins.pytest.slowest_tests import write
        from seismo.plugins.pytest.terminal import paper_of

        paper = paper_of(terminal)
        write(paper, read(self.path), self.limit)
        paper.line(f"seismo report {os.path.relpath(self.path, self.folder)}   shows the rest")
        paper.flush()


def machinery() -> tuple[str, ...]:
    """The folders of pytest's own code."""
    import _pytest
    import pluggy

    return tuple(os.path.dirname(module.__file__ or "") + "/" for module in (_pytest, pluggy, pytest))


class Frames:
    """Puts a frame with its name around each phase of each test."""

    def __init__(self, config: pytest.Config) -> None:
        """Changes the functions of the plugin that runs tests, of this pytest alone."""
        self._real: list[tuple[Any, Callable[..., object]]] = []
        for phase in PHASES:
            for implementation in getattr(config.hook, f"pytest_runtest_{phase}").get_hookimpls():
                if implementation.plugin_name == "runner":
                    self._real.append((implementation, implementation.function))
                    implementation.function = self._named(phase, implementation.function)

    def remove(self) -> None:
        """Puts back what was there."""
        for implementation, function in self._real:
            implementation.function = function
        self._real = []

    def _named(self, phase: str, function: Callable[..., object]) -> Callable[..., object]:
        def named(item: pytest.Item, *rest: object) -> object:
            __tracebackhide__ = True
            return frame_of(item, phase)(function, item, *rest)

        return named


def frame_of(item: pytest.Item, phase: str) -> Callable[..., object]:
    """A function whose frame has the name of this phase of the test. It calls its first argument with the others."""
    name = engine.printable(f"{item.nodeid}|{phase}")
    line = item.location[1] or 0
    code = _CODE.replace(co_name=name, co_qualname=name, co_firstlineno=line + 1)
    return FunctionType(code, {"__builtins__": {}})
