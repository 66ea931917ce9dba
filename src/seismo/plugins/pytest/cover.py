"""The plugin of --seismo-cover, which records the coverage of a pytest run with a context for each test.

The options are in pytest_plugin, and the base class is in recorded_run. Contexts are named like pytest-cov's, so that
data of both can be combined: NODEID|setup, NODEID|run, NODEID|teardown. Imports, collection and the setup of conftest
files belong to no context. A fixture of a wider scope belongs to the first test that requested it.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from seismo.plugins.pytest import coverage_reports
from seismo.plugins.pytest.recorded_run import RecordedTestRun
from seismo.process import coverage
from seismo.process.output_file import SUFFIX, Output

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable

    from seismo.plugins.pytest.coverage_reports import Result
    from seismo.process import children
    from seismo.report.paper import Paper

DEFAULT_FILE = f"cover{SUFFIX}"


class Cover(RecordedTestRun):
    """The plugin of a run whose coverage is recorded."""

    name, names_file = "cover", "--seismo-cover-file"
    heading, doing = "coverage", "coverage is being recorded"

    def __init__(self, options: Namespace) -> None:
        """Start recording coverage. Raise SeismoError if that is not possible or an option is invalid."""
        super().__init__(options, options.seismo_cover_file or DEFAULT_FILE)
        self.reports = coverage_reports.wanted(options.seismo_cover_report)
        self.settings = coverage_reports.settings(options)
        self.contexts = options.seismo_cover_context != "none"
        self.result: Result | None = None
        if not self.is_worker:  # before the tests run, which may take an hour
            coverage_reports.check(self.settings, self.reports, options.seismo_cover_force)
        follow = bool(options.seismo_cover_children or self.settings.children)
        self.start(coverage.CoverageRecorder(), coverage.options(self.settings), follow)

    def output(self) -> Output:
        """Return the first process's output. With --seismo-cover-append, it is a file beside the existing recording."""
        if self.options.seismo_cover_append and os.path.exists(self.path):
            from seismo.model import read

            read(self.path)  # raises for an unreadable file before the tests run
            return Output(f"{self.path}.{os.getpid()}{SUFFIX}", option=self.names_file)
        return super().output()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Register the contexts, and warn of a SOURCE that looks like a test."""
        if not self.is_worker:
            self.notes += _taken_for_source(session.config.invocation_params.args)
        if self.contexts:
            session.config.pluginmanager.register(Contexts(self.process), "seismo-cover-contexts")

    def judge(self, session: pytest.Session) -> bool:
        """Return True if coverage is too low."""
        if session.config.option.collectonly:
            self.reports, self.settings = [], self.settings.replace(fail_under=0.0)
        self.result = coverage_reports.result(self.path, self.settings)
        return not self.result.enough

    def is_quiet(self) -> bool:
        """Return True if neither reports nor a minimum were requested."""
        return not (self.reports or self.settings.fail_under)

    def show(self, paper: Paper) -> None:
        """Write the reports."""
        if self.result is not None:
            coverage_reports.check(self.settings, self.reports, self.options.seismo_cover_force)
            coverage_reports.write(self.result, self.reports, paper)


def _taken_for_source(args: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return warnings about `--seismo-cover tests`, where the word was meant as the tests to run."""
    found = []
    for option, word in pairwise(map(str, args)):
        name = os.path.basename(word.partition("::")[0].rstrip("/"))
        if option == "--seismo-cover" and name.startswith("test"):
            right = f"to run these tests and measure what the settings say: pytest {word} --seismo-cover"
            found.append(
                f"note: {word} after --seismo-cover is taken for what to measure, not for tests to run; {right}"
            )
    return found


def _entering(phase: str) -> Callable[[Contexts, pytest.Item], None]:
    """Return the hook that enters the context of a phase."""

    @pytest.hookimpl(tryfirst=True)
    def enter(self: Contexts, item: pytest.Item) -> None:
        self.enter(f"{item.nodeid}|{phase}")

    return enter


class Contexts:
    """A plugin that sets the context of each phase of a test."""

    def __init__(self, process: children.Process) -> None:
        _, self._settings, _ = process.runs[0]

    pytest_runtest_setup, pytest_runtest_call, pytest_runtest_teardown = map(_entering, ("setup", "run", "teardown"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Leave the last test's context."""
        self.enter("")

    def enter(self, name: str) -> None:
        """Enter the context of this name."""
        self._settings["context"] = name  # processes that the test starts get this context
        coverage.context(name)
