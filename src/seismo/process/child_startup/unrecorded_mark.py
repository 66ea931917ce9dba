"""The mark of a process that could not be recorded, in the folder of the parts.

Such a process may be any Python since 2.7, so this file needs only the standard library. sitecustomize, beside this
file, runs it as text.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

import os
import sys

MARK = ".mark"
SHARED = "marks"  # a folder inside the folder of the parts, writable for all; it exists only if root is recorded
LINES = ("pid", "ppid", "version", "argv", "why")


def leave(folder, why):
    """Leave a mark of this process. Never raises, because nothing could handle it."""
    shared = os.path.join(folder, SHARED)
    version = ".".join(map(str, sys.version_info[:3]))
    words = " ".join(getattr(sys, "orig_argv", None) or getattr(sys, "argv", None) or [sys.executable or "python"])
    lines = [_line(text) for text in (os.getpid(), os.getppid(), version, words, why)]
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    for place in (folder, shared):
        for number in range(100):
            try:
                fd = os.open(os.path.join(place, "%d-%d%s" % (os.getpid(), number, MARK)), flags, 0o644)  # noqa: UP031
            except OSError:
                if os.path.exists(os.path.join(place, "%d-%d%s" % (os.getpid(), number, MARK))):  # noqa: UP031
                    continue
                break
            os.write(fd, "\n".join(lines).encode("ascii", "replace"))
            os.close(fd)
            return


def _line(text):
    return repr(str(text)[:800]).encode("ascii", "backslashreplace").decode("ascii")[1:-1]
