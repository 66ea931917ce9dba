"""Opening what a verb is given: a recording, or another tool's file that seismo.formats can read."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from seismo.errors import RecordingError

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from seismo.model import Recording

MAGIC = b"\x8fseismo\n"
FILE_HELP = "a recording (.seismo), or a profile of another tool (see seismo export --list); - reads standard input"


def add_file(parser: ArgumentParser, name: str = "file") -> None:
    """The positional argument for a file to read."""
    parser.add_argument(name, metavar=name.upper(), help=FILE_HELP)


def open_recording(path: str) -> Recording:
    """Reads the file, whichever format its first bytes and its suffix say it is. Raises SeismoError when it cannot."""
    from seismo import model

    if path == "-":
        return model.read(sys.stdin.buffer.read())
    try:
        with open(path, "rb") as file:
            start = file.read(512)
    except IsADirectoryError:
        raise RecordingError("this is a folder, not a recording", path, _recordings_in(path)) from None
    except FileNotFoundError:
        raise RecordingError("there is no such file", path, _recordings_in(os.path.dirname(path) or ".")) from None
    except (OSError, ValueError) as error:
        raise RecordingError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}", path) from None
    if not (start and MAGIC.startswith(start[: len(MAGIC)])):
        from seismo import formats

        entry = formats.by_path(path) or formats.by_start(start)
        if entry is not None:
            return entry.read(path)
    return model.read(path)


def _recordings_in(folder: str) -> str:
    """A hint: the newest recordings of the folder."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.name.endswith(".seismo")]
    except OSError:
        return ""
    newest = [os.path.normpath(path) for _, path in sorted(found, reverse=True)[:3]]
    return f"the newest recordings there: {', '.join(newest)}" if newest else "to make one: seismo profile SCRIPT"
