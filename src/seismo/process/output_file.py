"""The file of a recording while the program runs.

The descriptor. A program may rely on the numbers of the descriptors it opens (the first is 3), and may close all
others, as daemons do. So seismo's descriptor is moved to the top of the allowed range, and is never inherited across
exec. Before each write, the writer checks that it is still the same file. If the program has closed it, `finish` writes
the whole recording once more, to its original path.

The file. The file is created exclusively, is readable only by its owner, and is never created through a dangling link.
While the file is written, it is locked, so that a second run cannot write into it. When most of the file is outdated,
the recorder may replace it by a new one (native/file/writer_renew.c). The number of the descriptor stays the same, and
the identity of the file changes.
"""

from __future__ import annotations

import os
import stat
import sys
from itertools import count

from seismo import _core
from seismo.errors import RecordingError, missing_folder
from seismo.escape import shell_word
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401
from seismo.process.signal_handler_errors import reraise_if_the_programs, tried

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from seismo.process.engine import Recorder

SUFFIX = ".seismo"
MAGIC = b"\x8fseismo\n"
PAGES = (".html", ".htm", ".svg")
EXPORTS = (  # suffixes of seismo.formats, which is not loaded into the program
    ".pstats .prof .cprof .callgrind .cachegrind .collapsed .folded .txt .speedscope .json .gz .pftrace .perfetto "
    ".perfetto-trace .pprof .pb .otlp .coverage .lcov .info .xml"
)
_TEXT = 4096  # bytes of a text file to recognise it by
_PART = 1 << 20  # bytes to copy at a time
_ATTEMPTS = 100
_TOP = 1024  # higher numbers would enlarge the kernel's table of descriptors


class Output:
    """An open recording file.

    path: absolute. fd: its descriptor, or -1 if closed. fresh: True if Output created it. recorder: writes into the
    file, and may put a new one in its place.
    """

    def __init__(self, path: str, exclusive: bool = False, option: str = "-o", force: bool = False) -> None:
        """Open the file for writing, and empty it. Raise RecordingError, or FileExistsError if exclusive.

        A missing file is created for its owner only, since a recording holds the program's arguments. option: the
        option that named the file, for hints. force: overwrite a file that is no recording.
        """
        self.path = os.path.join(_folder(), path_of(option, path))
        self.recorder: Recorder | None = None
        try:
            fd, self.fresh = _open(self.path, exclusive, option, None if force else _is_recording)
            self.fd = out_of_the_way(fd)
        except FileExistsError:
            raise
        except OSError as error:
            reraise_if_the_programs(error)
            raise _unwritable(self.path, error, option) from None
        self.identity = identity(self.fd)
        self.plain = stat.S_ISREG(os.stat(self.fd).st_mode)
        self._root = identity("/")

    def _is_ours(self) -> bool:
        """Return True if the descriptor is still that of the recording."""
        known = self.recorder.file() if self.recorder is not None else (0, 0)
        if known != (0, 0):
            self.identity = known
        return self.fd >= 0 and identity(self.fd) == self.identity

    def close(self) -> None:
        """Close the descriptor if it is still that of the recording. May be called repeatedly."""
        if self._is_ours():  # the program may have closed the file and reused its number
            os.close(self.fd)
        self.fd = -1

    def discard(self) -> None:
        """Close the file, and remove it if Output created it."""
        self.close()
        if self.fresh:
            tried(os.unlink, self.path, otherwise=None)

    def put(self, content: bytes, last: bool) -> None:
        """Replace the file's content in one step; a pipe receives only the last content. Raises OSError."""
        if not self.plain:
            if last:
                replace(self.path, content)
            return
        fd = put(self.path, content)
        try:
            new, ours = identity(fd), self._is_ours()
            if ours:
                os.dup2(fd, self.fd, inheritable=False)
                self.identity = new
        except BaseException:
            os.close(fd)
            raise
        if ours:
            os.close(fd)
        else:  # the program has closed our descriptor
            self.fd, self.identity = out_of_the_way(fd), new

    def finish(self, recorder: Recorder) -> str:
        """Complete the file after the recorder stopped. Return an error message or "".

        If the program moved or removed the file, it is copied to its original path. If the program closed or cut it,
        the recorder's data is written once more. A complete file that is out of reach after chroot stays as it is.
        """
        self.recorder = recorder
        whole = not recorder.write_error() and self._is_ours() and _begins_right(self.fd)
        in_place = whole and self.identity == identity(self.path)
        named = whole and os.stat(self.fd).st_nlink > 0
        try:
            if not in_place and not (named and identity("/") != self._root):
                replace(self.path, self.fd if whole and self.plain else recorder.snapshot())
        except OSError as error:
            reraise_if_the_programs(error)
            return "" if named else f"the recording is incomplete: {error.strerror or error}: {self.path}"
        finally:
            self.close()
        return ""


def path_of(option: str, path: str) -> str:
    """Return the path for a recording of this name; - is standard output. Raise RecordingError for a wrong suffix."""
    stem, suffix = os.path.splitext(path)
    if os.path.basename(path) == ".coverage":
        stem, suffix = f"{path.removesuffix('.coverage')}recording", ".coverage"
    made = shell_word(stem + SUFFIX)
    if suffix.lower() in PAGES:
        what, how = "a page", f"report {made} --html {shell_word(stem + '.html')}"
    elif suffix and suffix.lower() in EXPORTS.split():
        out = shell_word(f"{stem}.coverage.xml" if suffix == ".xml" else path)
        what, how = "another tool's file", f"export {made} -o {out}"
        if suffix == ".json" and "." not in os.path.basename(stem):
            how += f" (timeline: -o {shell_word(stem + '.trace.json')})"
    else:
        return "/dev/stdout" if path == "-" else path
    raise RecordingError(f"a recording cannot be named like {what}", path, f"{option} {made}, and then: seismo {how}")


def open_text(path: str, option: str, is_ours: Callable[[bytes], bool] | None) -> int:
    """Open a text file as _open() does, and return its descriptor, moved out of the way. Raises as that does."""
    return out_of_the_way(_open(os.path.join(_folder(), path), False, option, is_ours, 0o666)[0])


def _open(
    path: str, exclusive: bool, option: str, is_ours: Callable[[bytes], bool] | None, mode: int = 0o600
) -> tuple[int, bool]:
    """Open, empty and lock a file. Return its descriptor, and True if it is new. Raise OSError or RecordingError.

    is_ours: returns True for a beginning that may be overwritten, or None for any. An empty file and a special file
    (/dev/stdout, a pipe) may always be written. A link is followed only to an existing file, so that nobody else can
    choose the files that are created.
    """
    for _ in range(_ATTEMPTS):
        status = tried(os.stat, path, otherwise=None)
        if status is None:
            exclusive_flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                fd = os.open(path, exclusive_flags, mode)
            except FileExistsError:
                if os.path.islink(path):
                    hint = f"name the file itself with {option}"
                    raise RecordingError("this is a link to a file that does not exist", path, hint) from None
                continue  # another process has created the file in the meantime
            lock(fd, path, option)
            return fd, True
        if exclusive:
            raise FileExistsError(path)
        is_plain = stat.S_ISREG(status.st_mode)
        fd = tried(os.open, path, os.O_RDWR | os.O_CLOEXEC, otherwise=-1) if is_plain else -1
        can_read = fd >= 0  # what can only be written has an unknown beginning
        if not can_read:
            fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        if not is_plain:
            return fd, False
        try:
            begin = os.pread(fd, _TEXT, 0) if can_read else b"?" * bool(status.st_size)
            if begin and is_ours is not None and not is_ours(begin):
                what = "is not a recording" if is_ours is _is_recording else "was not written by seismo"
                force = "--force overwrites it; or " if option in ("-o", "--json") else ""
                raise RecordingError(f"{path} exists and {what}", hint=f"{force}name another file with {option}")
            lock(fd, path, option)
            if identity(fd) != identity(path):  # the lock's last holder has replaced the file
                os.close(fd)
                continue
            os.ftruncate(fd, 0)
        except BaseException:
            os.close(fd)
            raise
        return fd, False
    raise RecordingError("another process keeps replacing this file", path, f"name another file with {option}")


def lock(fd: int, path: str, option: str = "-o") -> None:
    """Lock the file, where that is possible, until this process ends. Raises RecordingError if another one has."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        hint = f"wait for its end, or name another file with {option}"
        raise RecordingError("another run is writing into this file", path, hint) from None
    except OSError as error:
        reraise_if_the_programs(error)


def _begins_right(fd: int) -> bool:
    """Return True if the file still has its beginning, or if it cannot be read (a pipe)."""
    return tried(os.pread, fd, len(MAGIC), 0, otherwise=MAGIC) == MAGIC or not stat.S_ISREG(os.stat(fd).st_mode)


def child_output(path: str, parent: int, pid: int) -> Output:
    """Return a new file for the recording of a forked child. Raise SeismoError."""
    stem = beside(path, parent, pid).removesuffix(SUFFIX)
    return first_free(f"{stem}{f'-{number}' if number else ''}{SUFFIX}" for number in count())


def first_free(paths: Iterable[str]) -> Output:
    """Return a new file under the first path that no earlier process of the same pid has used. Raise SeismoError."""
    for path in paths:
        try:
            return Output(path, exclusive=True)
        except FileExistsError:
            continue
    raise AssertionError("the paths have no end")


def replace(path: str, content: bytes | int) -> None:
    """Replace the file's content in one step by bytes, or by those of a descriptor's file. Raises OSError."""
    status = tried(os.stat, path, otherwise=None)
    if status is None or stat.S_ISREG(status.st_mode):
        os.close(put(path, content))
        return
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)  # /dev/full and pipes cannot be replaced
    try:
        write_all(fd, content)
    finally:
        os.close(fd)


def put(path: str, content: bytes | int) -> int:
    """Replace the file at path by a new one, as replace() does. Return its locked descriptor. Raises OSError."""
    target = _behind_links(path)
    status = tried(os.stat, target, otherwise=None)
    new = f"{os.path.dirname(target)}/.seismo-{os.getpid()}-{os.urandom(8).hex()}.part"
    fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        lock(fd, new)
        write_all(fd, content)
        if status is not None:
            os.fchmod(fd, stat.S_IMODE(status.st_mode))
        os.replace(new, target)
    except BaseException:  # BaseException includes errors of the program's signal handlers
        os.close(fd)
        tried(os.unlink, new, otherwise=None)
        raise
    return fd


def _behind_links(path: str) -> str:
    """Return the path behind any links; os.path.realpath would take a signal handler's error for a file's."""
    for _ in range(_ATTEMPTS):
        link = tried(os.readlink, path, otherwise="")
        if not link:
            break
        path = os.path.join(os.path.dirname(path), link)
    return path


def write_all(fd: int, content: bytes | int) -> None:
    """Write bytes, or all of the file behind a descriptor. Raises OSError."""
    at, view = 0, memoryview(b"" if isinstance(content, int) else content)
    while True:
        if isinstance(content, int) and not view:
            view = memoryview(os.pread(content, _PART, at))
            at += len(view)
        if not view:
            return
        view = view[_core.write(fd, view) :]


def out_of_the_way(fd: int) -> int:
    """Move a descriptor to a number that programs do not use, with close-on-exec. Return the new number."""
    limit = min(tried(os.sysconf, "SC_OPEN_MAX", otherwise=256), _TOP)
    for number in range(limit - 1, max(fd, limit - 64), -1):
        if tried(os.fstat, number, otherwise=None) is None:
            break  # the number is free
    else:
        return fd
    if tried(os.dup2, fd, number, False, otherwise=-1) < 0:
        return fd
    os.close(fd)
    return number


def beside(path: str, parent: int, pid: int) -> str:
    """Return the path for a forked child's recording: app-34.seismo for app-12.seismo, out-34.seismo for out.seismo."""
    stem = path.removesuffix(SUFFIX).removesuffix(f"-{parent}")
    return f"{stem}-{pid}{SUFFIX}"


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        reraise_if_the_programs(error)
        raise RecordingError(
            "the current directory no longer exists", hint="name the recording: -o /PATH/FILE"
        ) from error


def _is_recording(begin: bytes) -> bool:
    return begin.startswith(MAGIC)


def _unwritable(path: str, error: OSError, option: str) -> RecordingError:
    folder = os.path.dirname(path)
    hint = missing_folder(path, f"name another file with {option}") or f"name another with {option}"
    if os.path.isdir(folder) and not os.access(folder, os.W_OK):
        hint = f"the folder {folder} cannot be written: name another file with {option}"
    return RecordingError(f"cannot write the recording: {error.strerror or error}", path, hint)


def identity(file: int | str) -> tuple[int, int]:
    """Return the device and inode of a file by its name or descriptor, or (0, 0) if there is none."""
    status = tried(os.stat, file, otherwise=None)
    return (0, 0) if status is None else (status.st_dev, status.st_ino)


def say(text: str, fd: int = 2) -> None:
    """Write one line to a descriptor, without using the program's streams. Fails silently."""
    line = f"seismo: {text}\n".encode(sys.getfilesystemencoding(), "backslashreplace")
    tried(os.write, fd, line, otherwise=0)
