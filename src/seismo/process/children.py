# ruff: noqa: SIM105, BLE001  contextlib would import collections; nothing of ours may fail in the program
"""The processes that a recorded program starts.

Without --children a forked child goes on in a recording of its own, beside the parent's: app-12.seismo gives
app-34.seismo. A child that subprocess forks only to exec in it is let go.

With --children every process writes a part into the folder OUT.parts, and the first process merges the parts into OUT
when it ends. If it dies, the parts stay; `seismo merge` reads them. If it becomes another program by exec, it merges
before; a Python that it has become is its heir, records a part like any process, and merges again when it ends.

How other interpreters are reached, and what happens before a process ends at once or becomes another program, has
process.exit_and_exec. A process that cannot be recorded leaves a mark (child_startup/unrecorded_mark.py), by which the
merged recording says so.

multiprocessing's pool kills its workers while they wait for work: they write what they have before they wait.
"""

from __future__ import annotations

import os
import sys

from seismo import recording_kinds
from seismo.errors import RecordingError
from seismo.original_builtins import Restored
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine, exit_and_exec, fork_handlers
from seismo.process.output_file import SUFFIX, Output, child_output, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from seismo import _core
    from seismo.process.engine import Recorder
else:
    from seismo import _core


PARTS = ".parts"  # the folder's name is the recording's with this
PATIENCE = 0.5  # seconds that the end of the program waits for children that are just ending


class Process:
    """What this process records into, and how it ends.

    runs: the recorders, each with its settings and its file; None: there is none (forked, and not worth one). What is
    written first of all, the recording, is the first one's. parts: the folder of --children, or "". quiet: say nothing.
    at_end: called with the recording after the recorders stopped; not in forked children, which only close theirs. It
    gives the exit status of a program that itself ends with 0, and finishes the recording. went_on: called with the
    recording when an exec failed before which at_end had been called.
    has_over: over() will be called. prepare: loads what at_end needs, before the program gives up its root or its
    rights. heir: what this process becomes by exec is to gather, into the file that the folder of parts is named
    after.
    """

    def __init__(
        self,
        runs: list[tuple[Recorder, dict[str, object], Output | None]],
        parts: str = "",
        quiet: bool = True,
    ) -> None:
        self.runs = runs
        self.quiet = quiet
        self.parts = parts
        self.pid = os.getpid()
        self.exit = ""
        self.begun = self.done = self.ahead = False
        self.has_over = self.early = False
        self.at_end: Callable[[Output], int] | None = None
        self.went_on: Callable[[Output], None] | None = None
        self.prepare: Callable[[], None] | None = None
        self.heir = False
        self.verdict = 0
        self.close_in_child: list[int] = []  # descriptors that a child has no use for

    @property
    def output(self) -> Output | None:
        """The recording."""
        return self.runs[0][2]

    @property
    def recorder(self) -> Recorder:
        """The recorder of the recording."""
        return self.runs[0][0]

    def begin(self) -> None:
        """Start the recorders into their files, and arrange the end. Raise SeismoError when one cannot start."""
        import atexit
        from types import MethodType

        # First to be registered, last to run; and what it does is for no debugger that the program has left at work.
        last = MethodType(_core.at_end, MethodType(_core.quietly, self._last))
        self._register = MethodType(atexit.register, last)
        self._register()
        try:
            self._start(self.runs[::-1])  # what the first one records is not to have the start of another in it
        except BaseException:
            atexit.unregister(last)
            raise
        self.begun = True
        self._written()

    def _start(self, runs: list[tuple[Recorder, dict[str, object], Output | None]]) -> None:
        """Start all of these recorders or none."""
        if not runs:
            return
        recorder, settings, output = runs[0]
        # In a forked child the first recorder that hears of it sees to all of them.
        recorder.start(settings, -1 if output is None else output.fd, self.forked)
        try:
            self._start(runs[1:])
        except BaseException:
            recorder.abandon()
            raise

    def _written(self) -> None:
        """Write what is known at the start: a process that dies young leaves files that say whose they are."""
        for recorder, _, output in self.runs:
            if output is not None:
                output.belongs_to(recorder)
        self.flush()

    def flush(self) -> None:
        """Bring the files up to date."""
        for recorder, _, _ in self.runs:
            recorder.flush()

    def over(self, how: str) -> None:
        """The program's main module is through: its threads and exit functions are not."""
        import atexit

        self.exit = how
        if self.begun and not self.done and (self.early or not atexit._ncallbacks()):
            self._register()  # the program has run all exit functions, or dropped them, and ours with them

    def _last(self) -> None:
        """The last exit function. The program may run them all itself, and go on: then there is another end."""
        threading = sys.modules.get("threading")
        at_work = threading.main_thread().is_alive() if threading is not None else sys._getframe().f_back is not None
        if at_work and self.has_over and not self.exit:
            self.early = True
        else:
            self.finish()

    def finish(self, exit_: str | None = None) -> None:
        """Ends the recording: once, in the process that it is of. Never raises: the program's end is its own."""
        if self.done or not self.begun or self.pid != os.getpid():
            return
        self.done = True
        try:
            with Restored():
                self._finish(exit_)
        except BaseException as error:  # Ctrl-C, too: there is nobody left to handle it
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
        """Whether this process gathers what the others record."""
        return self.at_end is not None and self.pid == os.getpid()

    def packed(self) -> str:
        """What another process has to know to be recorded, too."""
        heir = self.pid if self.ahead and self.heir and self.first else 0
        recorders = {recorder.name: settings for recorder, settings, _ in self.runs}
        return exit_and_exec.pack(recorders, self.parts, heir)

    def before_exec(self, likely: bool) -> None:
        """Makes the file whole; if the exec is likely to succeed, ends all but the recorder. exec_failed() goes on."""
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
        """Goes on as if nothing had been."""
        if self.ahead and not self.done and self.pid == os.getpid():
            self.ahead = False
            for recorder, _, _ in self.runs:
                recorder.ahead("")
            if self.went_on is not None and self.output is not None:
                with Restored():
                    engine.unrecorded(self.went_on, self.output)

    def before_leaving(self) -> None:
        """Loads what the end needs, once: afterwards it may be out of reach."""
        prepare, self.prepare = self.prepare, None
        if prepare is not None and self.at_end is not None and self.pid == os.getpid() and not self.done:
            with Restored():
                engine.unrecorded(prepare)

    def abandon(self) -> None:
        """Stop the recorders, and remove what they have written."""
        begun, self.done = self.begun and not self.done, True
        for recorder, _, output in self.runs:
            if begun:
                recorder.abandon()
            if output is not None:
                output.discard()

    def complain(self, text: str) -> None:
        """Says on stderr what was lost, unless the user asked for silence."""
        if not self.quiet:
            say(text)

    def _lost(self, text: str, error: Exception) -> None:
        self.complain(text)
        mark(self.parts, error)

    def forked(self) -> None:
        """In a forked child: a recording of its own, or none."""
        if self.pid == os.getpid():
            return  # another recorder was the first to hear of it
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
        """In a forked child: open a file for each of the parent's, all or none."""
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
    """Whether this child was forked by subprocess, which will only exec in it (Popen with preexec_fn)."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(engine.HIDE):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "_execute_child"


def part(folder: str) -> Output:
    """A new part of this process, locked for as long as a process writes it. Raises RecordingError."""
    number = 0
    while True:
        name = f"{os.getpid()}-{number}{SUFFIX}"
        try:
            output = Output(os.path.join(folder, name), exclusive=True)
            break
        except FileExistsError:  # this process before it called exec, or the parent's parent's with a number used again
            number += 1
    return output


def make_folder(folder: str) -> None:
    """Makes the folder of the parts, unless it is there. Raises OSError."""
    from seismo.process.child_startup.unrecorded_mark import SHARED

    os.makedirs(folder, 0o700, exist_ok=True)
    if os.geteuid() == 0:  # who gives up root's rights can still leave a mark
        os.chmod(folder, 0o711)
        os.makedirs(os.path.join(folder, SHARED), exist_ok=True)
        os.chmod(os.path.join(folder, SHARED), 0o1733)


def remove_folder(folder: str) -> None:
    """Removes the folder of the parts, if it is empty."""
    from seismo.process.child_startup.unrecorded_mark import SHARED

    for place in (os.path.join(folder, SHARED), folder):
        try:
            os.rmdir(place)
        except OSError:
            pass  # there is none, or somebody's part is in it


def mark(folder: str, error: Exception) -> None:
    """Leaves word in the folder of the parts, if there is one, that this process is not recorded."""
    from seismo.process.child_startup.unrecorded_mark import leave

    if folder and os.path.isdir(folder):
        leave(folder, f"{type(error).__name__}: {error}")  # type: ignore[no-untyped-call]


# ---- in a process that was reached ----

_followed: Process | None = None


def follow(packed: str) -> None:
    """Called by the hook at the start of an interpreter, with what the variable has. Raises what prevents recording."""
    global _followed
    recorders, folder, heir = exit_and_exec.unpack(packed)
    if heir == os.getpid():
        make_folder(folder)
    if not os.path.isdir(folder):
        return  # the first process has ended and merged: nobody would read the part
    words = "\n".join(sys.orig_argv[1:])
    if "from multiprocessing.resource_tracker import" in words:
        return  # multiprocessing's own housekeeping, not the program
    server = "from multiprocessing.forkserver import" in words  # forks the program's processes, runs nothing of it
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
    """This program is what the first process has become: it gathers, into the recording which that one has left."""
    path = list(sys.path)  # without the program's

    def load() -> None:
        programs, sys.path = sys.path, path
        try:
            from seismo.process import merge_parts  # noqa: F401
        finally:
            sys.path = programs

    def end(output: Output) -> int:
        if process.done:  # else it becomes another, which gathers
            load()
            from seismo.process import merge_parts

            output.finish(process.recorder)
            merge_parts.merge_folder(process.parts.removesuffix(PARTS), process.parts)
        return 0

    process.heir, process.at_end, process.prepare = True, end, load


def _fork_only(process: Process) -> None:
    """Records not this process but those it forks."""

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
    """A followed process turns out to be a `seismo profile` of its own: its recording is that one's business."""
    global _followed
    if _followed is None:
        return
    process, _followed = _followed, None
    process.abandon()
    if process.first:
        remove_folder(process.parts)
    exit_and_exec.unsubscribe(process)


def _watch_pools(flush: Callable[[], None], load: bool = False) -> None:
    """A multiprocessing pool ends by killing its workers, at once after the last result and while they wait for work.

    So a worker writes its part before it hands over a result, unless that is dear and would take a good share of its
    time, and before it waits. load: import multiprocessing.queues for it; a spawned process is about to.
    """
    if load:
        import multiprocessing.queues  # noqa: F401  for sys.modules
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
