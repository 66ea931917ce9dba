"""One pytest run that is covered: start, a context for each test, workers, the end. pytest_plugin has the options.

Who records where. A covered run has one recording, by default cover.seismo. The process that the user started records
straight into it, so that a crash costs a second at most. Everything else writes a part of its own into a folder beside
it, and at the end the parts are merged in: xdist's workers, and with --seismo-cover-children what tests fork and start.

Workers. A worker of xdist gets the same options, and nothing else, before its conftest files are imported, which is
when it has to start. So the first process says the folder of the parts in an environment variable that exists only in
itself, where no test runs then, and that its workers take out of theirs first of all. A worker on another machine does
not see it: it records into memory, and its recording travels with what xdist brings back at the worker's end anyway; if
it dies, so does its part. One that dies on this machine leaves what it had written.

Contexts are pytest-cov's, so that data of both can be looked at together: NODEID|setup, NODEID|run, NODEID|teardown.
What is imported, collected, or set up by a conftest file belongs to no context; a fixture of a wider scope to the test
that happened to ask for it first.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from seismo.errors import SeismoError
from seismo.record import children, coverage, reach
from seismo.record.output import SUFFIX, Output, replace

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable
    from types import FrameType

    from _pytest.terminal import TerminalReporter

    from seismo.plugins.pytest.reports import Result

PARTS = "SEISMO_COVER_PARTS"
DEFAULT_FILE = f"cover{SUFFIX}"


class _Process(children.Process):
    """A process whose forked children are nobody's business, unless there is a folder for their parts."""

    def forked(self) -> None:
        if not self.parts:
            self.done = True
        super().forked()


class Cover:
    """The plugin of one run: registered when it has started, in the first process and in each worker."""

    def __init__(self, options: Namespace) -> None:
        """Starts covering. Raises SeismoError when it cannot, or when an option cannot be."""
        from seismo.plugins.pytest import reports as pytest_reports

        self.options = options
        self.reports = pytest_reports.wanted(options.seismo_cover_report)
        self.settings = pytest_reports.settings(options)
        self.contexts = options.seismo_cover_context != "none"
        self.folder = os.getcwd()  # a test may go elsewhere and stay there
        self.notes: list[str] = []
        self.result: Result | None = None
        self.failed = False
        self._crashed: list[str] = []
        self._shipped = 0
        self._ended = False
        children.abandon()  # a recording of this process for somebody else ends where one of its own begins
        if coverage.users:
            raise SeismoError(
                "coverage is being recorded in this process already",
                hint="leave out --seismo-cover, or run this pytest in a process of its own",
            )
        self.pid = os.getpid()
        self.is_worker = _is_worker()
        if not self.is_worker:  # now, not after an hour of tests
            pytest_reports.check(self.settings, self.reports, options.seismo_cover_force)
        self.parts = os.environ.pop(PARTS, "") if self.is_worker else ""
        self.path, output = self._output()
        try:
            if not self.is_worker:
                self.parts = tempfile.mkdtemp(".parts", f"{os.path.basename(self.path)}.", os.path.dirname(self.path))
            self._start(output)
        except BaseException as error:
            if output is not None:
                output.discard()
            self._remove_parts()
            if isinstance(error, OSError):
                raise SeismoError(
                    f"the folder for the recordings of other processes cannot be created: {error.strerror}", self.path
                ) from None
            raise

    def _output(self) -> tuple[str, Output | None]:
        """Where this process records, and the recording of the run."""
        path = os.path.join(self.folder, self.options.seismo_cover_file or DEFAULT_FILE)
        if self.is_worker:
            return path, children.part(self.parts) if self.parts else None
        if self.options.seismo_cover_append and os.path.exists(path):
            from seismo.model import read

            read(path)  # what cannot be read should be said now, not after an hour of tests
            return path, Output(f"{path}.{os.getpid()}{SUFFIX}", option="--seismo-cover-file")
        return path, Output(path, option="--seismo-cover-file")

    def _start(self, output: Output | None) -> None:
        follow = bool(self.options.seismo_cover_children or self.settings.children) and bool(self.parts)
        life = coverage.Life()
        self.process = _Process(output, coverage.options(self.settings), self.parts if follow else "", True, life)
        if not self.is_worker:
            self.process.at_end = _nothing
        if follow:
            reach.hear(self.process)
        try:
            self.process.begin()
        except BaseException:
            self._let_go()
            raise

    def _let_go(self) -> None:
        if self.process.parts:
            reach.unhear(self.process)

    def _remove_parts(self) -> None:
        if self.parts and not self.is_worker:
            with suppress(OSError):  # not empty: what is left there was told
                os.rmdir(self.parts)

    # ---- while it runs ----

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Tests are about to run."""
        if not self.is_worker:
            self.notes += _taken_for_source(session.config.invocation_params.args)
        if self.contexts:
            session.config.pluginmanager.register(Contexts(self.process), "seismo-cover-contexts")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        """Workers are about to be started: they look for the folder as soon as they run."""
        os.environ[PARTS] = self.parts

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended, well or not."""
        output = getattr(node, "workeroutput", None)
        if not output:
            self._crashed.append(node.gateway.id)
        elif "seismo_cover" in output:
            self._shipped += 1
            replace(os.path.join(self.parts, f"shipped-{self._shipped}{SUFFIX}"), output.pop("seismo_cover"))

    # ---- the end ----

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Ends the recording after everybody else's end, and judges; the terminal's summary comes after this."""
        if self.pid != os.getpid():  # a test forked, and the child came back
            return
        self._end()
        if self.is_worker:
            if self.process.output is None:
                session.config.workeroutput["seismo_cover"] = self.process.life.snapshot()  # type: ignore[attr-defined]
            return
        if session.config.option.collectonly:
            self.reports, self.settings = [], self.settings.replace(fail_under=0.0)
        from seismo.plugins.pytest import reports as pytest_reports

        try:
            self._gather()
            self.result = pytest_reports.result(self.path, self.settings)
            self.failed = not self.result.enough
        except Exception as error:  # noqa: BLE001  what the tests have to say must not go under
            self.notes.append(_words("there is no report", error))
            self.failed = True
        if self.failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        self.process.finish("")
        self._let_go()
        os.environ.pop(PARTS, None)

    def _gather(self) -> None:
        """Makes one recording of all."""
        process = self.process
        output = process.output
        assert output is not None  # only a worker's is
        from seismo.record.gather import gather

        told = [output.finish(process.life), *gather(output, self.parts)]
        self.notes += [line for line in told if line]
        if output.path != self.path:
            from seismo.model import merge, read

            merge([read(self.path), read(output.path)]).save(self.path)
            os.unlink(output.path)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Writes what was found, under a heading."""
        if self.is_worker or self.pid != os.getpid():
            return
        if not (self.reports or self.notes or self._crashed or self.settings.fail_under):
            return
        from seismo.plugins.pytest import reports as pytest_reports

        terminalreporter.write_sep("=", "coverage")
        if self._crashed:
            names = ", ".join(self._crashed)
            self.notes.insert(
                0, f"these workers crashed: {names}; what they executed in their last second may be missing"
            )
        for note in self.notes:
            terminalreporter.write_line(note, yellow=True)
        if self.result is not None:
            try:
                pytest_reports.check(self.settings, self.reports, self.options.seismo_cover_force)
                pytest_reports.write(self.result, self.reports, terminalreporter)
            except Exception as error:  # noqa: BLE001
                terminalreporter.write_line(_words("the report is incomplete", error), red=True)

    def pytest_unconfigure(self) -> None:
        """Whatever happened, nothing of ours stays behind."""
        if self.pid == os.getpid():
            self._end()
            self._remove_parts()


def _words(what: str, error: Exception) -> str:
    """What failed, and why; a bug of ours with its place."""
    if isinstance(error, SeismoError):
        return f"{what}: {error}"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"
    return f"{what}: {type(error).__name__}: {error}{place}"


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


def _nothing(_output: Output) -> int:
    """The first process' file is finished when all the parts are there, not when the recorder stops."""
    return 0


def _is_worker() -> bool:
    """Whether this pytest is one of xdist's workers: xdist runs itself as a module of that name in them.

    Its variables in the environment would not tell: what a worker's tests start has them, too.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if name == "__channelexec__":
            return True
        if name == "_pytest.config" and frame.f_code.co_name in (
            "main",
            "_main",
        ):  # a pytest that a test of a worker runs
            return False
        frame = frame.f_back
    return False


class Contexts:
    """Says which test runs."""

    def __init__(self, process: children.Process) -> None:
        self._switch = coverage.context
        self._settings = process.settings

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
