# ruff: noqa: SIM105, BLE001  contextlib would import collections; nothing of ours may fail in the program
"""The processes that a recorded program starts.

Without --children a forked child continues in its own recording, beside the parent's: app-12.seismo gives
app-34.seismo. A child that subprocess forks only for an exec is not recorded.

With --children, every process writes a part into the folder OUT.parts. The first process merges the parts into OUT at
its end. If it is killed, the parts remain, and `seismo merge` can read them. If it becomes another program by exec, it
merges before the exec. If the new program is a Python, it is the *heir*: it records a part like any process, and merges
again at its end. process.exit_and_exec reaches other interpreters, and handles os._exit and exec. A process that cannot
be recorded leaves a mark (child_startup/unrecorded_mark.py) for the merged recording.

A pool of multiprocessing kills its workers while they wait for work, so they write their data before they wait.
"""

from __future__ import annotations

import os
import sys
from itertools import count

from seismo import _core, recording_kinds
from seismo.errors import RecordingError
from seismo.original_builtins import Restored
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine, exit_and_exec, fork_handlers
from seismo.process.child_startup.unrecorded_mark import SHARED, leave
from seismo.process.output_file import SUFFIX, Output, child_output, first_free, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from seismo.process.engine import Recorder
    from seismo.process.merge_parts import TakenParts


PARTS = ".parts"  # suffix of the parts' folder, which is named after the recording
PATIENCE = 0.5  # seconds that the end of the program waits for children that are just ending


class Process(exit_and_exec.Listener):
    """The recorders of this process with their files, and the end of the recording.

    runs: the recorders, each with its settings and its file, or None for no file (a forked child that is not recorded).
    The first one's file is the recording. parts: the folder of --children, or "". quiet: print nothing.

    at_end: called with the recording after the recorders stopped, except in forked children, which only close their
    files. at_end finishes the recording, and returns the exit status for a program that ends with 0. taken: the parts
    that at_end merged for an exec, which may fail.

    has_over: True if over() will be called. prepare: loads what at_end needs, before the program gives up its root
    directory or its privileges. heir: True if the program that this process becomes by exec merges the parts.
    """

    def __init__(
        self, runs: list[tuple[Recorder, dict[str, object], Output | None]], parts: str = "", quiet: bool = True
    ) -> None:
        self.runs = runs
        self.quiet = quiet
        self.parts = parts
        self.pid = os.getpid()
        self.exit = ""
        self.begun = self.done = self.ahead = False
        self.has_over = self.early = False
        self.at_end: Callable[[Output], int] | None = None
        self.taken: TakenParts | None = None
        self.prepare: Callable[[], None] | None = None
        self.close_in_child: list[int] = []  # descriptors that a child must close

    @property
    def output(self) -> Output | None:
        """Return the recording."""
        return self.runs[0][2]

    @property
    def recorder(self) -> Recorder:
        """Return the recorder of the recording."""
        return self.runs[0][0]

    def begin(self) -> None:
        """Start the recorders, and register the end of the recording. Raise SeismoError if a recorder cannot start."""
        import atexit
        from types import MethodType

        # The first exit function to be registered is the last to run. A debugger left active by the program must not
        # trace it.
        last = MethodType(_core.at_end, MethodType(_core.quietly, self._last))
        self._register = MethodType(atexit.register, last)
        self._register()
        started: list[Recorder] = []
        try:
            for recorder, settings, output in reversed(self.runs):  # the first must not record the start of others
                # In a forked child the first recorder that is notified handles all of them.
                recorder.start(settings, -1 if output is None else output.fd, self.forked)
                started.append(recorder)
        except BaseException:
            for recorder in reversed(started):
                recorder.abandon()
            atexit.unregister(last)
            raise
        self.begun = True
        self._written()

    def _written(self) -> None:
        """Write the first chunks, so that the files of a process that is killed early identify it."""
        for recorder, _, output in self.runs:
            if output is not None:
                output.recorder = recorder
        self.flush()

    def flush(self) -> None:
        """Bring the files up to date."""
        for recorder, _, _ in self.runs:
            recorder.flush()

    def over(self, how: str) -> None:
        """Note how the main module ended. Threads and exit functions of the program may still run."""
        import atexit

        self.exit = how
        if self.begun and not self.done and (self.early or not atexit._ncallbacks()):
            self._register()  # the program has run or cleared all exit functions, including seismo's

    def _last(self) -> None:
        """Handle the last exit function, unless the program has run all exit functions early and continues."""
        threading = sys.modules.get("threading")
        at_work = threading.main_thread().is_alive() if threading is not None else sys._getframe().f_back is not None
        if at_work and self.has_over and not self.exit:
            self.early = True
        else:
            self.finish()

    def finish(self, exit_: str | None = None, /) -> None:
        """End the recording, once and only in its own process. Never raises, so the program ends as usual."""
        if self.done or not self.begun or self.pid != os.getpid():
            return
        self.done = True
        try:
            with Restored():
                self._finish(exit_)
        except BaseException as error:  # nothing could handle even Ctrl-C at this point
            self.complain(f"the end of the recording failed: {type(error).__name__}: {error}")

    def _finish(self, exit_: str | None) -> None:
        for recorder, _, _ in self.runs:
            recorder.stop(self.exit if exit_ is None else exit_)
        for recorder, _, output in self.runs[self.at_end is not None :]:
            trouble = "" if output is None else output.finish(recorder)
            if trouble:
                self._lost(trouble, RecordingError(trouble))
        if self.output is None or self.at_end is None:
            return
        self.verdict = self.at_end(self.output)
        if self.verdict and self.exit == "0" and exit_ is None:
            _core.exit_with(self.verdict)

    @property
    def first(self) -> bool:
        """Return True if this process merges the parts of the others."""
        return self.at_end is not None and self.pid == os.getpid()

    def packed(self) -> str:
        """Return the text that another process needs to be recorded, too."""
        heir = self.pid if self.ahead and self.heir and self.first else 0
        recorders = {recorder.name: settings for recorder, settings, _ in self.runs}
        return exit_and_exec.pack(recorders, self.parts, heir)

    def before_exec(self, likely: bool, /) -> None:
        """Complete the file, and if the exec is likely to succeed, show the results. exec_failed() undoes this."""
        if self.done or not self.begun or self.pid != os.getpid() or self.output is None:
            return
        self.ahead = True
        try:
            with Restored():
                for recorder, _, _ in self.runs:
                    recorder.ahead("exec", likely)
                if likely and self.at_end is not None:
                    engine.unrecorded(self.at_end, self.output)
        except BaseException as error:
            self.complain(f"the end of the recording failed: {type(error).__name__}: {error}")

    def exec_failed(self) -> None:
        """Continue the recording after a failed exec."""
        if self.ahead and not self.done and self.pid == os.getpid():
            self.ahead = False
            for recorder, _, _ in self.runs:
                recorder.ahead("")
            if self.taken is not None and self.output is not None:
                with Restored():
                    engine.unrecorded(self.taken.put_back, self.parts, self.output, self.recorder.move)

    def before_leaving(self) -> None:
        """Load the modules that the end needs, before the program changes its root or its user."""
        prepare, self.prepare = self.prepare, None
        if prepare is not None and self.at_end is not None and self.pid == os.getpid() and not self.done:
            with Restored():
                engine.unrecorded(prepare)

    def abandon(self) -> None:
        """Stop the recorders, and remove what they have written, and in the first process the folder of the parts."""
        begun, self.done = self.begun and not self.done, True
        for recorder, _, output in self.runs:
            if begun:
                recorder.abandon()
            if output is not None:
                output.discard()
        if self.parts and self.first:
            remove_folder(self.parts)

    def complain(self, text: str) -> None:
        """Print a message about a loss on stderr, unless --quiet is set."""
        if not self.quiet:
            say(text)

    def _lost(self, text: str, error: Exception) -> None:
        self.complain(text)
        mark(self.parts, error)

    def forked(self) -> None:
        """Start the recording of a forked child, or disable it there."""
        if self.pid == os.getpid():
            return  # another recorder was notified first
        parent_pid, self.pid = self.pid, os.getpid()
        self.at_end = None
        self.exit = ""
        for fd in self.close_in_child:
            try:
                os.close(fd)
            except OSError:
                pass
        self.close_in_child = []
        parents = [output for _, _, output in self.runs]
        self.runs = [(recorder, settings, None) for recorder, settings, _ in self.runs]
        if not (self.done or _forked_to_exec()):
            self._open(parents, parent_pid)
        self.done = self.output is None
        for recorder, settings, output in self.runs:
            recorder.after_fork(-2 if output is None else output.fd, settings)
        if not self.done:
            self._written()
            if self.parts:
                _watch_pools(self.flush)

    def _open(self, parents: list[Output | None], parent_pid: int) -> None:
        """Open a file in a forked child for each file of the parent, or none if one cannot be opened."""
        opened: list[Output] = []
        try:
            for parent in parents:
                if parent is not None:
                    path = parent.path
                    parent.close()
                    opened.append(part(self.parts) if self.parts else child_output(path, parent_pid, self.pid))
        except Exception as error:
            for output in opened:
                output.discard()
            self._lost(f"the recording of process {self.pid} is lost: {error}", error)
            return
        for number, output in enumerate(opened):
            self.runs[number] = (*self.runs[number][:2], output)


def _forked_to_exec() -> bool:
    """Return True if subprocess forked this child only for an exec (Popen with preexec_fn)."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(engine.HIDE):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "_execute_child"


def part(folder: str) -> Output:
    """Return a new, locked part for this process, which may have others from before its exec. Raise RecordingError."""
    return first_free(os.path.join(folder, f"{os.getpid()}-{number}{SUFFIX}") for number in count())


def make_folder(folder: str) -> None:
    """Make the folder of the parts if it is missing. Raises OSError."""
    os.makedirs(folder, 0o700, exist_ok=True)
    if os.geteuid() == 0:  # a process that gives up root's privileges must still be able to leave a mark
        os.chmod(folder, 0o711)
        os.makedirs(os.path.join(folder, SHARED), exist_ok=True)
        os.chmod(os.path.join(folder, SHARED), 0o1733)


def remove_folder(folder: str) -> None:
    """Remove the folder of the parts, if it is empty."""
    for place in (os.path.join(folder, SHARED), folder):
        try:
            os.rmdir(place)
        except OSError:
            pass  # the folder is missing, or holds another process's part


def mark(folder: str, error: Exception) -> None:
    """Leave a mark in the folder of the parts, if it exists, that this process is not recorded."""
    if folder and os.path.isdir(folder):
        leave(folder, f"{type(error).__name__}: {error}")  # type: ignore[no-untyped-call]


# ---- In a process that was reached. ----

_followed: Process | None = None


def follow(packed: str) -> None:
    """Start recording at the start of an interpreter, or raise an error. packed: the value of SEISMO_CHILDREN."""
    global _followed
    recorders, folder, heir = exit_and_exec.unpack(packed)
    if heir == os.getpid():
        make_folder(folder)
    if not os.path.isdir(folder):
        return  # the first process has merged and ended, so nothing would read a part
    words = "\n".join(sys.orig_argv[1:])
    if "from multiprocessing.resource_tracker import" in words:
        return  # multiprocessing's resource tracker runs nothing of the program
    server = "from multiprocessing.forkserver import" in words  # the fork server runs nothing of the program itself
    process = Process(
        [
            (recording_kinds.recorder(name), settings, None if server else part(folder))
            for name, settings in recorders.items()
        ],
        folder,
    )
    _followed = process
    if heir == process.pid:
        _inherit(process)
    exit_and_exec.subscribe(process)
    if server:
        _fork_only(process)
        return
    try:
        process.begin()
    except BaseException:
        abandon()
        raise
    if "from multiprocessing.spawn import" in words:
        _watch_pools(process.flush, load=True)


def _inherit(process: Process) -> None:
    """Let this process merge the parts at its end, because the first process became this program by exec."""
    path = list(sys.path)  # the import path before the program adds its own entries

    def load() -> None:
        programs, sys.path = sys.path, path
        try:
            from seismo.process import merge_parts  # noqa: F401
        finally:
            sys.path = programs

    def end(output: Output) -> int:
        if process.done:  # the recording is not done if exec is about to replace the program, which then merges
            load()
            from seismo.process import merge_parts

            output.finish(process.recorder)
            merge_parts.merge_folder(process.parts.removesuffix(PARTS), process.parts)
        return 0

    process.heir, process.at_end, process.prepare = True, end, load


def _fork_only(process: Process) -> None:
    """Record the processes that this one forks, but not this one."""

    def child() -> None:
        process.pid = os.getpid()
        if _forked_to_exec():
            return
        try:
            process.runs = [(recorder, settings, part(process.parts)) for recorder, settings, _ in process.runs]
            process.begin()
        except Exception as error:
            process._lost(f"the recording of process {process.pid} is lost: {error}", error)

    _watch_pools(process.flush, load=True)
    fork_handlers.register(child, fork_handlers.LAST)


def abandon() -> None:
    """Drop the recording that a parent's --children began in this process, because the process records itself."""
    global _followed
    if _followed is None:
        return
    process, _followed = _followed, None
    process.abandon()
    exit_and_exec.unsubscribe(process)


def _watch_pools(flush: Callable[[], None], load: bool = False) -> None:
    """Write a pool worker's part before multiprocessing can kill it.

    A pool kills its workers after the last result, while they wait for work. So a worker writes its part before it
    waits, and before it returns a result unless writing takes too much time. load: import multiprocessing.queues, which
    a spawned process will import anyway.
    """
    if load:
        import multiprocessing.queues  # noqa: F401  the import fills sys.modules
    queues = sys.modules.get("multiprocessing.queues")
    if queues is None or hasattr(queues.SimpleQueue.get, "seismo"):
        return
    from time import monotonic

    real_get, real_put = queues.SimpleQueue.get, queues.SimpleQueue.put
    due = 0.0

    def flush_and_measure() -> None:
        nonlocal due
        begin = monotonic()
        flush()
        end = monotonic()
        due = end + 2 * (end - begin) if end - begin > 0.002 else 0.0

    def get(self):  # type: ignore[no-untyped-def]
        if self.empty():
            flush_and_measure()
        return real_get(self)

    def put(self, obj):  # type: ignore[no-untyped-def]
        if monotonic() >= due:
            flush_and_measure()
        return real_put(self, obj)

    get.seismo = True  # type: ignore[attr-defined]
    for function, real in ((get, real_get), (put, real_put)):
        function.__qualname__, function.__module__ = real.__qualname__, real.__module__
    queues.SimpleQueue.get, queues.SimpleQueue.put = get, put
