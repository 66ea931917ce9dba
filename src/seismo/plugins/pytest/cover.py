"""A pytest run that is covered, with a context for each test. pytest_plugin has the options, `run` the rest of a run.

Contexts are pytest-cov's, so that data of both can be looked at together: NODEID|setup, NODEID|run, NODEID|teardown.
What is imported, collected, or set up by a conftest file belongs to no context; a fixture of a wider scope to the test
that happened to ask for it first.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from seismo.plugins.pytest.recorded_run import RecordedTestRun
from seismo.process import coverage
from seismo.process.output_file import SUFFIX, Output

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from _pytest.terminal import TerminalReporter

    from seismo.plugins.pytest.coverage_reports import Result
    from seismo.process import children

DEFAULT_FILE = f"cover{SUFFIX}"


class Cover(RecordedTestRun):
    """The plugin of one run that is covered."""

    name, names_file = "cover", "--seismo-cover-file"
    heading, doing = "coverage", "coverage is being recorded"

    def __init__(self, options: Namespace) -> None:
        """Starts covering. Raises SeismoError when it cannot, or when an option cannot be."""
        from seismo.plugins.pytest import coverage_reports as pytest_reports

        super().__init__(options, options.seismo_cover_file or DEFAULT_FILE)
        self.reports = pytest_reports.wanted(options.seismo_cover_report)
        self.settings = pytest_reports.settings(options)
        self.contexts = options.seismo_cover_context != "none"
        self.result: Result | None = None
        if not self.is_worker:  # now, not after an hour of tests
            pytest_reports.check(self.settings, self.reports, options.seismo_cover_force)
        follow = bool(options.seismo_cover_children or self.settings.children)
        self.start(coverage.CoverageRecorder(), coverage.options(self.settings), follow)

    def output(self) -> Output:
        """Where the first process records: beside the recording that it is to be added to, if it is."""
        if self.options.seismo_cover_append and os.path.exists(self.path):
            from seismo.model import read

            read(self.path)  # what cannot be read should be said now, not after an hour of tests
            return Output(f"{self.path}.{os.getpid()}{SUFFIX}", option=self.names_file)
        return super().output()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Tests are about to run."""
        if not self.is_worker:
            self.notes += _taken_for_source(session.config.invocation_params.args)
        if self.contexts:
            session.config.pluginmanager.register(Contexts(self.process), "seismo-cover-contexts")

    def judge(self, session: pytest.Session) -> bool:
        """Whether too little is covered."""
        from seismo.plugins.pytest import coverage_reports as pytest_reports

        if session.config.option.collectonly:
            self.reports, self.settings = [], self.settings.replace(fail_under=0.0)
        self.result = pytest_reports.result(self.path, self.settings)
        return not self.result.enough

    def is_quiet(self) -> bool:
        """Whether nothing was asked for."""
        return not (self.reports or self.settings.fail_under)

    def show(self, terminal: TerminalReporter) -> None:
        """Writes the reports."""
        from seismo.plugins.pytest import coverage_reports as pytest_reports

        if self.result is not None:
            pytest_reports.check(self.settings, self.reports, self.options.seismo_cover_force)
            pytest_reports.write(self.result, self.reports, terminal)


def _taken_for_source(args: Iterable[str | os.PathLike[str]]) -> list[str]:
    """What to say of `--seismo-cover tests`: the word is taken for what to cover, and was meant as what to run."""
    found = []
    for option, word in pairwise(map(str, args)):
        name = os.path.basename(word.partition("::")[0].rstrip("/"))
        if option == "--seismo-cover" and name.startswith("test"):
            right = f"to run these tests and measure what the settings say: pytest {word} --seismo-cover"
            found.append(
                f"note: {word} after --seismo-cover is taken for what to measure, not for tests to run; {right}"
            )
    return found


class Contexts:
    """Says which test runs."""

    def __init__(self, process: children.Process) -> None:
        self._switch = coverage.context
        _, self._settings, _ = process.runs[0]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """What follows sets the test up."""
        self._enter(f"{item.nodeid}|setup")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """What follows is the test."""
        self._enter(f"{item.nodeid}|run")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """What follows takes the test down."""
        self._enter(f"{item.nodeid}|teardown")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """No test any more."""
        self._enter("")

    def _enter(self, name: str) -> None:
        self._settings["context"] = name  # of the processes that are started meanwhile
        self._switch(name)
