"""Errors of commands, as plain lines on stderr and an exit status."""

from __future__ import annotations

import sys

from seismo.errors import SeismoError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

INTERRUPTED = 130
READER_GONE = 141

# Errors that are not bugs of seismo. Any other exception is a bug and keeps its traceback.
FORESEEN = (SeismoError, OSError, MemoryError, KeyboardInterrupt)

# Exceptions of a standard stream that is closed, full, missing (None) or replaced.
UNUSABLE = (OSError, ValueError, AttributeError)


def failed(error: BaseException) -> int:
    """Report an error on stderr and return the exit status."""
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
        sys.stdout.flush()  # flush stdout first, so that the error follows the output
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except UNUSABLE:
        _drop(sys.stderr)  # without a usable stderr, only the exit status remains


def _drop(stream: TextIO | None) -> None:
    """Redirect the stream to os.devnull, so that the interpreter's flush at exit does not fail with a message."""
    import os
    from contextlib import suppress

    with suppress(*UNUSABLE):
        if stream is not None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
