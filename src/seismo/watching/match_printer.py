"""The output of a watch, as text or as JSON lines."""

from __future__ import annotations

import os
import sys

from seismo.errors import SeismoError, UsageError
from seismo.escape import COLOURS, wants_colour
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process.engine import one_of
from seismo.process.fork_handlers import new_lock
from seismo.watching import match_text as text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo.watching.match import Match


class Printer:
    """A writer of matches to a stream, or to a file that it opens and closes.

    output: a path or an open text file; None stands for sys.stderr
    color: one of COLOURS, for text
    text: the Writer that formats matches as text
    """

    def __init__(self, output: object = None, *, json: bool = False, color: str = "auto") -> None:
        """Prepare the output. Raise UsageError for an unknown color."""
        self.text = text.Writer()
        self._output, self._json, self._color = output, json, one_of("color", color, COLOURS)
        self._lock = new_lock()
        self._stream: Any = None
        self._opened = False  # True if this object opened the stream, and so must close it

    def open(self) -> None:
        """Open the stream, or keep that of an earlier use. Raise SeismoError if it cannot be opened."""
        if self._stream is not None and self._opened:
            return
        output = sys.stderr if self._output is None else self._output
        if isinstance(output, (str, os.PathLike)):
            try:
                output = open(output, "a", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
            except OSError as error:
                raise SeismoError(f"cannot write the output: {error.strerror or error}", str(self._output)) from None
            self._opened = True
        elif output is not None and not hasattr(output, "write"):
            raise UsageError(f"output cannot be a {type(output).__name__}", hint="it is a path or an open text file")
        self._stream = output
        self.text = text.Writer(_coloured(output, self._color), _needs_ascii(output))

    def close(self) -> None:
        """Close the file if open() opened it."""
        with self._lock:
            if self._opened:
                self._stream.close()
                self._opened, self._stream = False, None

    def write(self, match: Match) -> None:
        """Write one match."""
        with self._lock:  # also guards the text writer's current thread and task
            stream = self._stream
            if stream is None:
                return
            stream.write(match.json_line() if self._json else self.text.match(match))
            flush = getattr(stream, "flush", None)
            if flush is not None:
                flush()

    def complain(self, line: str) -> None:
        """Write a line for the user: into the text output, or to stderr if the output is JSON."""
        try:
            stream = self._stream if hasattr(self._stream, "write") and not self._json else sys.stderr
            stream.write(f"{line}\n")
        except Exception:  # noqa: BLE001  nothing else could report the failure
            return


def _coloured(stream: Any, color: str) -> bool:
    try:
        terminal = bool(stream.isatty())
    except (AttributeError, ValueError, OSError):
        terminal = False
    return wants_colour(color, terminal)


def _needs_ascii(stream: Any) -> bool:
    encoding = getattr(stream, "encoding", None)
    return type(encoding) is str and not encoding.lower().replace("-", "").startswith("utf")
