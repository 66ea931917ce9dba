"""What goes wrong, as plain lines on stderr and an exit status."""

from __future__ import annotations

import sys

from seismo.errors import SeismoError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

INTERRUPTED = 130
READER_GONE = 141

# What a command may end with by no fault of seismo's. Anything else is a bug and keeps its traceback.
FORESEEN = (SeismoError, OSError, MemoryError, KeyboardInterrupt)

# What a standard stream raises that is closed, full, missing (None) or not a real one.
UNUSABLE = (OSError, ValueError, AttributeError)


def failed(error: BaseException) -> int:
    """Says what failed on stderr and returns the exit status."""
    if isinstance(error, KeyboardInterrupt):
        _drop(sys.stdout)
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _drop(sys.stdout)
        return READER_GONE
    if isinstance(error, SeismoError):
        _complain(error.lines())
        return error.exit_code
    if isinstance(error, OSError) and error.strerror:
        what = error.strerror[0].lower() + error.strerror[1:]
        _complain([what, *([str(error.filename)] if error.filename is not None else [])])
        _drop(sys.stdout)
        return 2
    if isinstance(error, MemoryError):
        _complain(["out of memory"])
        return 2
    raise error


def _complain(lines: list[str]) -> None:
    from contextlib import suppress

    from seismo.escape import printable

    text = "".join(("        " if index else "seismo: ") + printable(line) + "\n" for index, line in enumerate(lines))
    with suppress(*UNUSABLE):
        sys.stdout.flush()  # what was said before the error comes before it
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except UNUSABLE:
        _drop(sys.stderr)  # no stderr, a closed one or a full one: the exit status has to do


def _drop(stream: TextIO | None) -> None:
    """Points the stream's descriptor at nothing, so that the interpreter's own flush at exit does not fail aloud."""
    import os
    from contextlib import suppress

    with suppress(*UNUSABLE):
        if stream is not None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
