# ruff: noqa: SIM105  contextlib would import collections
"""Recording calls in time from inside: `with seismo.trace()` and `@seismo.trace`."""

from __future__ import annotations

import os

from seismo.originals import Restored
from seismo.originals import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.record import engine
from seismo.sessions.profile import Profile, chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar, overload

    from seismo.expression import Expression
    from seismo.model import Recording

    P = ParamSpec("P")
    R = TypeVar("R")


class Trace(Profile):
    """A session that records calls and when they were.

    A journal is as long as its program, so it always goes into a file: without `output` into a temporary one, which is
    there for as long as the session runs. recording is of the last use. A session that begins while another one
    records shares that one's journal: its own recording has the calls of its time, but no timeline.
    """

    name = "trace"

    def __init__(self, output: str | os.PathLike[str] | None, settings: dict[str, object]) -> None:
        super().__init__(output, settings)
        self._unnamed = output is None

    def _begin(self) -> None:
        if self._unnamed:
            with Restored():
                self.output = engine.quietly(_temporary)
        try:
            super()._begin()
        except BaseException:
            self._tidy()
            raise

    def _end(self) -> None:
        assert self.output is not None
        try:
            super()._end()
            with Restored():
                self._sum, self._stretches = engine.quietly(_read, self.output), []
        finally:
            self._tidy()

    def _tidy(self) -> None:
        if self._unnamed and self.output is not None:
            path, self.output = self.output, None
            try:
                os.unlink(path)
            except OSError:
                pass  # the program was quicker


def _temporary() -> str:
    import tempfile

    fd, path = tempfile.mkstemp(".seismo")
    os.close(fd)
    return path


def _read(path: str) -> Recording:
    from seismo.model import read

    return read(path)


if TYPE_CHECKING:

    @overload
    def trace(function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def trace(
        *,
        c_functions: str | None = None,
        output: str | os.PathLike[str] | None = None,
        clock: str | None = None,
        timing: str | None = None,
        source: str | None = None,
        max_paths: int | None = None,
        where: str | Expression | None = None,
    ) -> Trace: ...


def trace(
    function: Callable[..., Any] | None = None,
    /,
    *,
    c_functions: str | None = None,
    output: str | os.PathLike[str] | None = None,
    clock: str | None = None,
    timing: str | None = None,
    source: str | None = None,
    max_paths: int | None = None,
    where: str | Expression | None = None,
) -> Any:
    """Records every call in a `with` block, or in a function whenever it runs, and when it was.

        with seismo.trace(output="block.seismo") as t: ...     t.recording
        @seismo.trace                                          function.trace.recording

    The recording is one of calls, as `profile` makes it, with a journal beside the tree. Takes what `profile` takes,
    and raises what it raises. timing: "frugal" (default: the order is exact, and each time carries how far off it may
    be) or "every": each event has its own time. What the program says of itself by `seismo.mark`, `seismo.span` and
    `seismo.count` is in the journal.
    """
    settings = chosen(where, c_functions=c_functions, clock=clock, timing=timing, source=source, max_paths=max_paths)
    session = Trace(output, {**settings, "journal": 1})
    return session if function is None else session(function)
