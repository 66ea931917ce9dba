# ruff: noqa: SIM105  contextlib would import collections
"""The file a recording goes into while the program runs.

The descriptor. A program may count on the numbers of the descriptors it opens (the first is 3), and may close all it
does not know (daemons do: os.closerange(3, 256)). So ours is moved to the top of what is allowed, is never inherited
across exec, and the writer checks before each write that it is still the same file. If the program closed it all the
same, `finish` writes the whole recording once more, under the path as it was when the program began.
"""

from __future__ import annotations

import os
import sys

from seismo.errors import RecordingError
from seismo.originals import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.record.children import Life

SUFFIX = ".seismo"
MAGIC = b"\x8fseismo\n"
_TOP = 1024  # the kernel's table of descriptors grows with the highest: no further than it usually is


class Output:
    """An open recording file. path: absolute. fd: its descriptor, -1 when closed. fresh: we made the file."""

    __slots__ = ("fd", "fresh", "identity", "path")

    def __init__(self, path: str, exclusive: bool = False, option: str = "-o") -> None:
        """Opens the file for writing, emptied. Raises RecordingError; FileExistsError only if exclusive.

        option: what named the file, for hints.
        """
        self.path = os.path.join(_folder(), path)
        self.fresh = not os.path.exists(self.path)
        _guard(self.path, option)
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_EXCL if exclusive else os.O_TRUNC)
        try:
            self.fd = out_of_the_way(os.open(self.path, flags, 0o666))
        except FileExistsError:
            raise
        except OSError as error:
            raise _unwritable(self.path, error, option) from None
        self.identity = _identity(self.fd)

    def close(self) -> None:
        """Closes the descriptor if it is still ours. May be called again."""
        if self.fd >= 0 and _identity(self.fd) == self.identity:  # else it is the program's by now
            os.close(self.fd)
        self.fd = -1

    def discard(self) -> None:
        """Closes and removes the file, if it was made by us."""
        self.close()
        if self.fresh:
            try:
                os.unlink(self.path)
            except OSError:
                pass  # the program's own doing; there is nothing left to tidy

    def finish(self, life: Life) -> str:
        """After the recorder stopped: makes sure that the file is whole. Returns what went wrong, or ''."""
        trouble = life.write_error()
        if not trouble and self.identity == _identity(self.fd) == _identity(self.path):
            self.close()
            return ""
        self.close()
        try:
            replace(self.path, life.snapshot())
        except OSError as error:
            return f"the recording is not whole: {error.strerror or error}: {self.path}"
        return ""


def replace(path: str, content: bytes) -> None:
    """Puts content into the file at path in one step, so that there is never half a file. Raises OSError."""
    try:
        special = os.path.exists(path) and not os.path.isfile(path)
    except OSError:
        special = False
    beside = path if special else f"{path}.{os.getpid()}.tmp"  # /dev/full and pipes cannot be replaced
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_TRUNC, 0o666)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        if not special:
            os.unlink(beside)
        raise
    finally:
        os.close(fd)
    if not special:
        os.replace(beside, path)


def out_of_the_way(fd: int) -> int:
    """The file under a number that programs do not meet, close-on-exec, and fd closed; fd itself if none is free."""
    try:
        limit = min(os.sysconf("SC_OPEN_MAX"), _TOP)
    except (OSError, ValueError):
        limit = 256
    for number in range(limit - 1, max(fd, limit - 64), -1):
        try:
            os.fstat(number)
        except OSError:
            break  # free
    else:
        return fd
    try:
        os.dup2(fd, number, inheritable=False)
    except OSError:
        return fd
    os.close(fd)
    return number


def beside(path: str, parent: int, pid: int) -> str:
    """The recording of a forked child: app-12.seismo gives app-34.seismo, out.seismo gives out-34.seismo."""
    stem = path.removesuffix(SUFFIX).removesuffix(f"-{parent}")
    return f"{stem}-{pid}{SUFFIX}"


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise RecordingError(
            "the current directory does not exist any more", hint="name the recording: -o /PATH/FILE"
        ) from error


def _guard(path: str, option: str) -> None:
    """Refuses to empty a file that is no recording: `seismo profile -o app.py` must not cost anybody a program."""
    try:
        if not os.path.isfile(path):
            return
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return  # whether it can be written is seen next
    try:
        start = os.read(fd, len(MAGIC))
    finally:
        os.close(fd)
    if start and start != MAGIC:
        raise RecordingError("this file is there already and is no recording", path, f"give {option} another name")


def _unwritable(path: str, error: OSError, option: str) -> RecordingError:
    folder = os.path.dirname(path)
    hint = f"name another with {option}"
    if isinstance(error, FileNotFoundError):
        hint = f"there is no folder {folder}: make it, or name another file with {option}"
    elif not os.access(folder, os.W_OK):
        hint = f"the folder {folder} cannot be written: name another file with {option}"
    return RecordingError(f"cannot write the recording: {error.strerror or error}", path, hint)


def _identity(file: int | str) -> tuple[int, int]:
    """What file that is, whatever its name or descriptor; (0, 0) for none."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return 0, 0
    return status.st_dev, status.st_ino


def say(text: str, fd: int = 2) -> None:
    """One line on a descriptor, without the streams of the program. Never fails."""
    try:
        os.write(fd, f"seismo: {text}\n".encode(sys.getfilesystemencoding(), "backslashreplace"))
    except (OSError, ValueError):
        pass
