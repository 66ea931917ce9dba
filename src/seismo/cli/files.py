"""Opening of the files given to a verb: recordings, and files of other tools that seismo.formats can read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from seismo.errors import RecordingError, UsageError
from seismo.escape import printable, shell_word

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from seismo.model import Recording

SUFFIX = ".seismo"
MAKE_ONE = "make one: seismo profile SCRIPT"
FILE_HELP = "a recording (.seismo), or a file of another tool (see seismo export --list); - reads standard input"


def add_file(parser: ArgumentParser, name: str = "file", default: str = "the newest") -> None:
    """Declare an optional positional argument for a file to read. `default` describes the default recording."""
    text = f"{FILE_HELP} (default: {default} *{SUFFIX} in this folder)"
    parser.add_argument(name, metavar=name.upper(), nargs="?", help=text)


def or_newest(path: str | None) -> str:
    """Return the path, or report and return the newest recording of this folder. Raise UsageError if there is none."""
    if path is not None:
        return path
    found = newest(os.curdir)
    if not found:
        raise UsageError("no recording is given, and this folder has none", hint=f"name a recording, or {MAKE_ONE}")
    say(f"{found[0]}, the newest recording in this folder")
    return found[0]


def or_newest_two(old: str | None, new: str | None) -> tuple[str, str]:
    """Return two paths; missing ones default to the newest recordings of the current folder, the older one first."""
    if old is not None and new is not None:
        return old, new
    found = newest(os.curdir)
    if old is not None:
        found = [path for path in found if not same(path, old)]
    if len(found) < (1 if old is not None else 2):
        few = "no other recording" if old is not None else "fewer than two recordings"
        raise UsageError(f"two recordings are needed, and this folder has {few}", hint="name both: seismo diff OLD NEW")
    new, old = found[0], found[1] if old is None else old
    say(f"comparing {old} with {new}, the newest recording in this folder")
    return old, new


def newest(folder: str) -> list[str]:
    """Return the recordings of the folder, newest first, or none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.stat().st_mtime_ns, os.path.normpath(entry.path))
                for entry in entries
                if entry.name.endswith(SUFFIX) and entry.is_file()
            ]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)]


def same(path: str, other: str) -> bool:
    """Return True if both are the same file, or False if that is unknown."""
    try:
        return path == other or os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


def say(text: str) -> None:
    """Write a line to stderr, which keeps piped output clean."""
    if sys.stderr is not None:
        print(f"seismo: {printable(text)}", file=sys.stderr)


def open_recording(
    path: str, attempts: Literal["last", "all"] = "last", by_tasks: bool = False, summed: bool = False
) -> Recording:
    """Read the file in the format that its first bytes and its suffix indicate. A dataset is read as one recording.

    attempts: those of a dataset's tasks that count. by_tasks: as Dataset.read takes it. summed: of a large merge, read
    its sum only, which is faster. Raise SeismoError if it cannot be read.
    """
    from seismo import model
    from seismo.model.read_sum import read_sum
    from seismo.model.recording import begins

    if path == "-":
        return model.read(sys.stdin.buffer.read())
    if Path(path).is_fifo():  # such as <(command) of a shell, which can be read only once
        return model.read(Path(path).read_bytes())
    if os.path.isdir(path) or "://" in path:
        from seismo.dataset import Dataset, is_dataset, is_url

        if is_url(path) or is_dataset(path):
            with Dataset(path, attempts=attempts) as dataset:
                return dataset.read(by_tasks=by_tasks)
    start = _start_of(path)
    if begins(start):
        return (read_sum(path) if summed else None) or model.read(path)
    from seismo import formats  # imported late: there are many formats
    from seismo.watching import match, match_text

    if match_text.is_ours(start) or match.is_json_line(start):
        hint = "record the matches as well: seismo watch EXPRESSION --record FILE ..."
        raise RecordingError("this is the output of seismo watch, not a recording", path, hint)
    if path.endswith(".py"):
        raise RecordingError(
            "this is a program, not a recording", path, f"to record it: seismo profile {shell_word(path)}"
        )
    return formats.read_any(path, start)


def open_running(path: str) -> Recording:
    """Read a recording that may still be written. Raise SeismoError if it cannot be read."""
    from seismo import model

    _start_of(path)
    return model.read(path, running=True)


def _start_of(path: str) -> bytes:
    """Return the file's first bytes. Raise RecordingError, with a hint at other recordings, if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(512)
    except IsADirectoryError:
        raise RecordingError("this is a folder, not a recording", path, _recordings_in(path)) from None
    except FileNotFoundError:
        raise RecordingError("there is no such file", path, _recordings_in(os.path.dirname(path) or ".")) from None
    except (OSError, ValueError) as error:
        raise RecordingError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}", path) from None


def _recordings_in(folder: str) -> str:
    """Return a hint that lists the newest recordings of the folder."""
    found = newest(folder)[:3]
    return f"the newest recordings there: {', '.join(found)}" if found else f"to {MAKE_ONE}"


def say_incomplete(recording: Recording, name: str) -> None:
    """Warn on stderr of a recording that has no end or is damaged, for outputs that do not show it."""
    from seismo.report.facts import incomplete
    from seismo.report.words import Signs

    for _, sentence in incomplete(Signs(plain=True), (name, recording)):
        say(sentence)


def check_time(recording: Recording, time: str | None, path: str) -> None:
    """Raise UsageError if `time` selects times that the recording does not have."""
    from seismo.report.waiting import known_waits

    if time not in (None, "calls") and recording.timeless:
        hint = "leave out --time, or record the program again without --timing none"
        raise UsageError("the recording was made without times", path, hint)
    if time == "wait" and not known_waits(recording):
        hint = "it has elapsed times only; to separate them, record the program again with this version, on Linux"
        raise UsageError("the recording does not separate waiting from running", path, hint)


def recording_path(path: str, force: bool) -> str:
    """Return the path for -o. Raise SeismoError if it is unusable, or if it exists and `force` is not set."""
    from seismo.process.output_file import path_of

    path = path_of("-o", path)
    if os.path.isdir(path):
        raise UsageError("the output is a folder", path, "name a file: -o OUT")
    if os.path.isfile(path) and not force:
        raise UsageError(f"{path} exists", hint="--force overwrites it; or name another file")
    return path
