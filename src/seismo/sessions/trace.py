"""Recording of calls with their times from inside: `with seismo.trace()` and `@seismo.trace`."""

from __future__ import annotations

import os

from seismo.errors import RecordingError
from seismo.original_builtins import Restored
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process import engine
from seismo.process.output_file import identity, out_of_the_way
from seismo.sessions.decorator import also_decorates
from seismo.sessions.profile import Profile
from seismo.sessions.recording_session import difference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from seismo.options import TraceOptions


class Trace(Profile):
    """A session that records calls and their times.

    The journal grows with the running time, so it is always written to a file. Without `output`, this is an unnamed
    temporary file, which exists as long as the session runs. `recording` is the recording of the last use. A session
    that begins while another one records shares that session's journal: its own recording has the calls of its time,
    but no timeline.
    """

    name = "trace"

    def __init__(self, output: str | os.PathLike[str] | None, settings: dict[str, object]) -> None:
        super().__init__(output, settings)
        self._unnamed = output is None
        self._fd = -1  # descriptor of the temporary file, which vanishes at the program's end because it has no name
        self._identity = (0, 0)

    def _begin(self) -> None:
        if self._unnamed:
            with Restored():
                self._fd, self.output = engine.quietly(_temporary)
                self._identity = identity(self._fd)
        try:
            super()._begin()
        except BaseException:
            self._tidy()
            raise
        if self._unnamed and self._file is None:
            self._tidy()  # another session records into its own file, so this one stays empty

    def _end(self) -> None:
        if self._unnamed and self.output is not None and identity(self._fd) != self._identity:
            # The program has closed the temporary file. The timeline is lost, and the call counts remain.
            if self._file is not None:
                self._file.close()
            self._file = self.output = None
        try:
            try:
                super()._end()
            except RecordingError as error:
                if not self._unnamed:
                    raise
                raise _no_room(error.what.removesuffix(f": {self.output}")) from None
            if self.output is not None:
                with Restored():
                    self._sum, self._stretches = engine.quietly(difference, None, self.output), []
        finally:
            self._tidy()

    def _forked(self) -> None:
        super()._forked()
        self._tidy()

    def _tidy(self) -> None:
        if self._unnamed and self.output is not None:
            fd, self._fd, self.output = self._fd, -1, None
            if identity(fd) == self._identity:
                os.close(fd)


def _no_room(why: str) -> RecordingError:
    hint = "let TMPDIR be a folder with room, or name a file: seismo.trace(output=...)"
    return RecordingError("a trace takes a temporary file, and this one cannot be written", why, hint)


def _temporary() -> tuple[int, str]:
    """Return the descriptor and path of an unnamed file. Raise RecordingError if it cannot be created."""
    import tempfile

    try:
        folder = tempfile.gettempdir()
        try:
            fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError:  # the file system lacks O_TMPFILE
            fd, path = tempfile.mkstemp(".seismo")
            os.unlink(path)
    except OSError as error:
        raise _no_room(error.strerror or str(error)) from None
    fd = out_of_the_way(fd)
    return fd, f"/proc/self/fd/{fd}"


@also_decorates
def trace(*, output: str | os.PathLike[str] | None = None, **options: Unpack[TraceOptions]) -> Trace:
    """Record every call in a `with` block, or in a function whenever it runs, with its times.

        with seismo.trace(output="block.seismo") as t: ...     t.recording
        @seismo.trace                                          function.trace.recording

    The recording is one of calls, as with `profile`, and has a journal beside the call tree. The journal includes
    events of `seismo.mark`, `seismo.span` and `seismo.count`. Options and exceptions are those of `profile`, with these
    differences:

    - timing: "sampled" (default: the order is exact, and each time has an error bound) or "every" (each event is
      timed).
    - depth: deeper calls are counted but not timed.
    - min_duration_ns: calls that were surely shorter, and their callees, are counted but not timed.
    """
    return Trace(output, {**engine.given("trace", options), "journal": 1})
