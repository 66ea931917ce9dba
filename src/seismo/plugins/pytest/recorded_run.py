"""One pytest run that is recorded as a whole: start, workers, the end. What is recorded, `cover` and `profile` say.

Who records where. A run has one recording, by default cover.seismo or profile.seismo. The process that the user started
records straight into it, so that a crash costs a second at most. Everything else writes a part of its own into a folder
beside it, and at the end the parts are merged in: xdist's workers, and with --seismo-...-children what tests fork and
start.

Workers. A worker of xdist gets the same options, and nothing else, before its conftest files are imported, which is
when it has to start. So the first process says the folder of the parts in an environment variable that exists only in
itself, where no test runs then, and that its workers take out of theirs first of all. A worker on another machine does
not see it: it records into memory, and its recording travels with what xdist brings back at the worker's end anyway; if
it dies, so does its part. One that dies on this machine leaves what it had written.
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


class Quiet(children.Process):
    """A process whose forked children are not recorded, unless there is a folder for their parts."""

    def forked(self) -> None:
        """In a forked child."""
        if not self.parts:
            self.done = True
        super().forked()


class RecordedTestRun:
    """The plugin of one run: registered when it has started, in the first process and in each worker.

    name: of the option, --seismo-NAME. names_file: the option that names the recording. heading: of the summary. doing:
    what happens, in words.
    """

    name = names_file = heading = doing = ""

    def __init__(self, options: Namespace, file: str) -> None:
        """file: the recording's, relative to the folder that pytest runs in. Nothing has started yet."""
        self.options = options
        self.folder = os.getcwd()  # a test may go elsewhere and stay there
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
        """Where the first process records."""
        return Output(self.path, option=self.names_file)

    def start(self, recorder: Recorder, settings: dict[str, object], follow: bool) -> None:
        """Starts recording. follow: the processes that tests start or fork, too. Raises SeismoError."""
        children.abandon()  # a recording of this process for somebody else ends where one of its own begins
        if recorder.users:
            raise SeismoError(
                f"{self.doing} in this process already",
                hint=f"leave out --seismo-{self.name}, or run this pytest in a process of its own",
            )
        output = None
        if self.is_worker:
            self.parts = os.environ.pop(self._variable, "")
            output = children.part(self.parts) if self.parts else None
        else:
            output = self.output()
        try:
            if not self.is_worker:
                self.parts = tempfile.mkdtemp(".parts", f"{os.path.basename(self.path)}.", os.path.dirname(self.path))
            self._begin(output, recorder, settings, follow and bool(self.parts))
        except BaseException as error:
            if output is not None:
                output.discard()
            self._remove_parts()
            if isinstance(error, OSError):
                raise SeismoError(
                    f"the folder for the recordings of other processes cannot be created: {error.strerror}", self.path
                ) from None
            raise

    def _begin(self, output: Output | None, recorder: Recorder, settings: dict[str, object], follow: bool) -> None:
        self.process = Quiet([(recorder, settings, output)], self.parts if follow else "")
        if not self.is_worker:
            self.process.at_end = _nothing
        if follow:
            exit_and_exec.subscribe(self.process)
        try:
            self.process.begin()
        except BaseException:
            self._let_go()
            raise

    def _let_go(self) -> None:
        if self.process.parts:
            exit_and_exec.unsubscribe(self.process)

    def _remove_parts(self) -> None:
        if self.parts and not self.is_worker:
            with suppress(OSError):  # not empty: what is left there was told
                os.rmdir(self.parts)

    # ---- what the kinds of runs do ----

    def judge(self, session: pytest.Session) -> bool:
        """In the first process, when the recording is whole: whether the run fails."""
        raise NotImplementedError

    def is_quiet(self) -> bool:
        """Whether there is nothing to say but what went wrong."""
        return False

    def show(self, terminal: TerminalReporter) -> None:
        """Writes what was found."""
        raise NotImplementedError

    # ---- while it runs ----

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        """Workers are about to be started: they look for the folder as soon as they run."""
        os.environ[self._variable] = self.parts

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended, well or not."""
        output = getattr(node, "workeroutput", None)
        if not output:
            self._crashed.append(node.gateway.id)
        elif self._shipment in output:
            self._shipped += 1
            replace(os.path.join(self.parts, f"shipped-{self._shipped}{SUFFIX}"), output.pop(self._shipment))

    # ---- the end ----

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Ends the recording after everybody else's end, and judges; the terminal's summary comes after this."""
        if self.pid != os.getpid():  # a test forked, and the child came back
            return
        self.end()
        if self.is_worker:
            if self.process.output is None:
                session.config.workeroutput[self._shipment] = self.process.recorder.snapshot()  # type: ignore[attr-defined]
            return
        try:
            self._gather()
            failed = self.judge(session)
        except Exception as error:  # noqa: BLE001  what the tests have to say must not go under
            self.notes.append(words("there is no report", error))
            failed = True
        if failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def end(self) -> None:
        """Stops recording, once."""
        if self._ended:
            return
        self._ended = True
        self.process.finish("")
        self._let_go()
        os.environ.pop(self._variable, None)

    def _gather(self) -> None:
        """Makes one recording of all."""
        process = self.process
        output = process.output
        assert output is not None  # only a worker's is
        from seismo.process.merge_parts import merge_folder

        told = [output.finish(process.recorder), *merge_folder(output.path, self.parts)]
        self.notes += [line for line in told if line]
        if output.path != self.path:
            from seismo.model import merge, read

            merge([read(self.path), read(output.path)]).save(self.path)
            os.unlink(output.path)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Writes what was found, under a heading."""
        if self.is_worker or self.pid != os.getpid():
            return
        if self.is_quiet() and not (self.notes or self._crashed):
            return
        terminalreporter.write_sep("=", self.heading)
        if self._crashed:
            names = ", ".join(self._crashed)
            self.notes.insert(
                0, f"these workers crashed: {names}; what they executed in their last second may be missing"
            )
        for note in self.notes:
            terminalreporter.write_line(note, yellow=True)
        try:
            self.show(terminalreporter)
        except Exception as error:  # noqa: BLE001
            terminalreporter.write_line(words("the report is incomplete", error), red=True)

    def pytest_unconfigure(self) -> None:
        """Whatever happened, nothing of ours stays behind."""
        if self.pid == os.getpid():
            self.end()
            self._remove_parts()


def words(what: str, error: Exception) -> str:
    """What failed, and why; a bug of ours with its place."""
    if isinstance(error, SeismoError):
        return f"{what}: {error}"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"
    return f"{what}: {type(error).__name__}: {error}{place}"


def _nothing(_output: Output) -> int:
    """The first process' file is finished when all the parts are there, not when the recorder stops."""
    return 0


def is_worker() -> bool:
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
