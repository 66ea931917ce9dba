"""The base of plugins that record a whole pytest run: start, workers, end. `cover` and `profile` are subclasses.

A run has one recording, by default cover.seismo or profile.seismo. The process that the user started records directly
to it, so that a crash loses a second at most. All other processes write parts to a folder beside it, which are merged
at the end. These are xdist's workers and, with --seismo-...-children, processes that tests fork and start.

A worker of xdist must start recording before its conftest files are imported. At that time it knows nothing but its
options. So the first process puts the folder of the parts into an environment variable, which its workers remove before
anything else. A worker on another machine does not receive it. Such a worker records to memory, and xdist returns the
recording at the worker's end. If the worker crashes, its part is lost. A worker that crashes on this machine leaves
what it had written.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from seismo.errors import SeismoError
from seismo.process import children, exit_and_exec
from seismo.process.output_file import SUFFIX, Output, replace

if TYPE_CHECKING:
    from argparse import Namespace
    from types import FrameType

    from _pytest.terminal import TerminalReporter

    from seismo.process.engine import Recorder
    from seismo.report.paper import Paper


class Quiet(children.Process):
    """A process whose forked children are recorded only if there is a folder for their parts."""

    def forked(self) -> None:
        """Disable the recording in a forked child if there is no folder for parts."""
        if not self.parts:
            self.done = True
        super().forked()


class RecordedTestRun:
    """The plugin of one run, in the first process and in each worker.

    Recording has started when the plugin is registered. `name` is the NAME in the option --seismo-NAME. `names_file` is
    the option with the recording's path. `heading` stands above the summary. `doing` describes the activity in error
    messages.
    """

    name = names_file = heading = doing = ""

    def __init__(self, options: Namespace, file: str) -> None:
        """Initialize, without starting to record. `file` is the recording's path, relative to the current folder."""
        self.options = options
        self.folder = os.getcwd()  # a test may change the current folder
        self.path = os.path.join(self.folder, file)
        self.notes: list[str] = []
        self.pid = os.getpid()
        self.is_worker = is_worker()
        self.parts = ""
        self.process: children.Process
        self._variable = f"SEISMO_{self.name.upper()}_PARTS"
        self._shipment = f"seismo_{self.name}"
        self._crashed: list[str] = []
        self._shipped = 0
        self._ended = False

    def output(self) -> Output:
        """Return the output of the first process."""
        return Output(self.path, option=self.names_file)

    def start(self, recorder: Recorder, settings: dict[str, object], follow: bool) -> None:
        """Start recording; with `follow`, also in processes that tests start or fork. Raise SeismoError on failure."""
        children.abandon()  # end a recording that a parent process started here
        if recorder.users:
            raise SeismoError(
                f"{self.doing} in this process already",
                hint=f"leave out --seismo-{self.name}, or run this pytest in a process of its own",
            )
        if self.is_worker:
            self.parts = os.environ.pop(self._variable, "")
            output = children.part(self.parts) if self.parts else None
        else:
            output = self.output()
        self.process = Quiet([(recorder, settings, output)])
        try:
            if not self.is_worker:
                self.process.at_end = lambda _: 0  # the file is completed later, when all parts are there
                self.parts = tempfile.mkdtemp(".parts", f"{os.path.basename(self.path)}.", os.path.dirname(self.path))
            self.process.parts = self.parts if follow else ""
            if self.process.parts:
                exit_and_exec.subscribe(self.process)
            self.process.begin()
        except BaseException as error:
            self._let_go()
            if output is not None:
                output.discard()
            self._remove_parts()
            if isinstance(error, OSError):
                raise SeismoError(
                    f"the folder for the recordings of other processes cannot be created: {error.strerror}", self.path
                ) from None
            raise

    def _let_go(self) -> None:
        if self.process.parts:
            exit_and_exec.unsubscribe(self.process)

    def _remove_parts(self) -> None:
        if self.parts and not self.is_worker:
            with suppress(OSError):  # the folder is not empty if parts could not be merged, which was reported
                os.rmdir(self.parts)

    # ---- for subclasses ----

    def judge(self, session: pytest.Session) -> bool:  # noqa: ARG002
        """Return True if the run fails. The first process calls this when the recording is complete."""
        return False

    def is_quiet(self) -> bool:
        """Return True if only problems are to be reported."""
        return False

    def show(self, paper: Paper) -> None:
        """Write the results."""
        raise NotImplementedError

    # ---- while it runs ----

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        """Set the folder for workers, which read it as soon as they start."""
        os.environ[self._variable] = self.parts

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Store the recording of a worker from another machine, or note that a worker crashed."""
        output = getattr(node, "workeroutput", None)
        if not output:
            self._crashed.append(node.gateway.id)
        elif self._shipment in output:
            self._shipped += 1
            replace(os.path.join(self.parts, f"shipped-{self._shipped}{SUFFIX}"), output.pop(self._shipment))

    # ---- the end ----

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End the recording after all other plugins, and set the exit status before the terminal summary."""
        if self.pid != os.getpid():  # a test forked this process, and the child went on to the session's end
            return
        self.end()
        if self.is_worker:
            if self.process.output is None:
                session.config.workeroutput[self._shipment] = self.process.recorder.snapshot()  # type: ignore[attr-defined]
            return
        try:
            self._gather()
            failed = self.judge(session)
        except Exception as error:  # noqa: BLE001  the tests' results must still be shown
            self.notes.append(words("there is no report", error))
            failed = True
        if failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def end(self) -> None:
        """Stop recording, once."""
        if self._ended:
            return
        self._ended = True
        self.process.finish("")
        self._let_go()
        os.environ.pop(self._variable, None)

    def _gather(self) -> None:
        process = self.process
        output = process.output
        assert output is not None  # workers have no output, and never gather
        from seismo.process.merge_parts import merge_folder

        messages = [output.finish(process.recorder), *merge_folder(output.path, self.parts)]
        self.notes += [line for line in messages if line]
        if output.path != self.path:
            from seismo.model import merge, read

            merge([read(self.path), read(output.path)]).save(self.path)
            os.unlink(output.path)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Write the results under a heading."""
        if self.is_worker or self.pid != os.getpid():
            return
        if self._crashed:
            names = ", ".join(self._crashed)
            lost = "what they executed in their last second may be missing"
            self.notes.insert(0, f"these workers crashed: {names}; {lost}")
        if self.is_quiet() and not self.notes:
            return
        terminalreporter.write_sep("=", self.heading)
        for note in self.notes:
            terminalreporter.write_line(note, yellow=True)
        try:
            paper = _paper_of(terminalreporter)
            self.show(paper)
            paper.flush()
        except Exception as error:  # noqa: BLE001
            terminalreporter.write_line(words("the report is incomplete", error), red=True)

    def pytest_unconfigure(self) -> None:
        """Stop recording and remove the folder in any case."""
        if self.pid == os.getpid():
            self.end()
            self._remove_parts()


def _paper_of(terminal: TerminalReporter) -> Paper:
    """Return a paper that writes to pytest's terminal, coloured if pytest uses colours."""
    from seismo.report.paper import ColourPaper, Paper

    writer = terminal._tw
    terminal.ensure_newline()
    writer.flush()
    return (ColourPaper if writer.hasmarkup else Paper)(writer._file, writer.fullwidth)


def words(what: str, error: Exception) -> str:
    """Return a message about a failure; for a bug of seismo, it includes the source line."""
    if isinstance(error, SeismoError):
        return f"{what}: {error}"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"
    return f"{what}: {type(error).__name__}: {error}{place}"


def is_worker() -> bool:
    """Return True if this pytest is a worker of xdist, which runs itself there as a module with a special name.

    xdist's environment variables are not sufficient, because processes that a worker's tests start inherit them.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if name == "__channelexec__":
            return True
        # This is a pytest that a worker's test runs inside the worker.
        if name == "_pytest.config" and frame.f_code.co_name in ("main", "_main"):
            return False
        frame = frame.f_back
    return False
