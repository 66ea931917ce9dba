"""Shows what a program that is recorded is doing now: its functions and paths, by what they did since the last look.

    seismo profile app.py &
    seismo top                   the newest recording of this folder
    seismo top app-123.seismo
    seismo top 123               the process with this number

On a terminal it stays and looks again every second or so: o, t, c and w sort by own time, total time, calls and
waiting; s switches between the last interval and the time since the start; p gives all rows to paths, to functions, or
to both; q ends it. On a pipe, or with --once, it writes what it sees and ends.

The recorder writes about every second, so what is shown is that old. A look costs the program nothing.
"""

from __future__ import annotations

import glob
import os
import select
import sys
import time
from typing import TYPE_CHECKING

from seismo.errors import RecordingError, UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from seismo.report.calls.top import Look

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, REST, LINE = "\x1b[H", "\x1b[J", "\x1b[K"
KEYS = {"o": "own", "t": "total", "c": "calls", "w": "waiting"}
NEXT = {"both": "paths", "paths": "functions", "functions": "both"}
PATIENCE = 5  # looks take at most one part in so many of the time


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `seismo top`."""
    from seismo.cli.parsing import add_color
    from seismo.report.calls.top import ORDERS, SHOWN

    parser.add_argument(
        "target",
        metavar="FILE|PID",
        nargs="?",
        help="a recording, or the number of a process that records (default: the newest *.seismo in this folder)",
    )
    parser.add_argument("--sort", choices=ORDERS, default="own", help="the order of the rows (default: own)")
    parser.add_argument("--show", choices=SHOWN, default="both", help="what the rows are (default: both)")
    parser.add_argument("--interval", metavar="SECONDS", type="number", default=1.0, help="between looks (default: 1)")
    parser.add_argument(
        "--limit",
        metavar="N",
        type="count",
        default=20,
        help="functions where there is no terminal (default: 20; 0: all), and half as many paths",
    )
    parser.add_argument("--once", action="store_true", help="write what there is to see since the start, and end")
    add_color(parser)


def run(args: Namespace) -> int:
    """Looks until it is told to end, or the recording has its end."""
    from seismo.cli.files import or_newest

    if not 0.1 <= args.interval <= 3600:
        raise UsageError("the interval must be from 0.1 to 3600 seconds", f"--interval {args.interval}")
    target = args.target
    path = _of_process(int(target)) if target and target.isascii() and target.isdigit() else or_newest(target)
    first = _read(path)
    if args.once or not (sys.stdout.isatty() and sys.stdin.isatty()):
        return _once(args, first)
    return _Screen(args, path).run(first)


def _read(path: str) -> Look:
    from seismo.cli.files import open_running
    from seismo.report.calls.top import look
    from seismo.report.kind import of

    recording = open_running(path)
    kind = of(recording)
    if not kind.runs:
        raise UsageError(
            f"this is a recording of {kind.what}; top shows recordings of calls", path, "see: seismo report"
        )
    return look(recording)


def _once(args: Namespace, found: Look) -> int:
    from seismo.report.calls.top import Room, write_look
    from seismo.report.paper import paper_for

    limit = args.limit or sys.maxsize
    rooms = {"both": Room(limit, limit // 2), "functions": Room(limit, 0), "paths": Room(0, limit)}
    write_look(paper_for(sys.stdout, args.color), found, None, args.sort, rooms[args.show])
    return 0


def _of_process(pid: int) -> str:
    """The recording that a process writes: the one that its command line names, or one that has its number."""
    try:
        folder = os.readlink(f"/proc/{pid}/cwd")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read().split(b"\0")]
    except (FileNotFoundError, ProcessLookupError):
        raise UsageError(
            f"there is no process {pid}", hint="give the number of one that runs, or a recording"
        ) from None
    except OSError as error:
        raise UsageError(
            f"process {pid} cannot be looked at: {error.strerror}", hint="give the recording's file instead"
        ) from None
    named = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-o", "--output")]
    named += [word.partition("=")[2] for word in words if word.startswith(("--output=", "-o="))]
    found = [path for path in (os.path.join(folder, name) for name in named) if os.path.isfile(path)]
    found += glob.glob(os.path.join(glob.escape(folder), f"*-{pid}.seismo"))
    if not found:
        raise UsageError(
            f"no recording of process {pid} is known",
            hint=f"give its file; looked for -o in its command line and for *-{pid}.seismo in {folder}",
        )
    return found[0]


class _Screen:
    """A terminal that shows one look after the other, and listens to keys."""

    def __init__(self, args: Namespace, path: str) -> None:
        self.color, self.order, self.interval, self.path = args.color, args.sort, args.interval, path
        self.show = args.show
        self.from_start = False
        self.wait = args.interval

    def run(self, first: Look) -> int:
        """Until q, Ctrl-C, or the end of the terminal."""
        import termios
        import tty

        stdin = sys.stdin.fileno()
        before = termios.tcgetattr(stdin)
        sys.stdout.write(ENTER)
        try:
            tty.setcbreak(stdin)
            self._watch(first)
        except KeyboardInterrupt:
            pass
        finally:
            termios.tcsetattr(stdin, termios.TCSADRAIN, before)
            sys.stdout.write(LEAVE)
            sys.stdout.flush()
        return 0

    def _watch(self, now: Look) -> None:
        before: Look | None = None
        stamp, state = self._stamp(), ""
        while True:
            self._show(now, None if self.from_start else before, state)
            key = self._key()
            if key == "q":
                return
            self.order = KEYS.get(key, self.order)
            self.from_start ^= key == "s"
            if key == "p":
                self.show = NEXT[self.show]
            if key:
                continue
            latest = self._stamp()
            if latest == stamp:
                state = quiet(now, time.time() - latest[1] / 1e9)
                continue
            began = time.monotonic()
            try:
                before, now, state = now, _read(self.path), ""
            except RecordingError:
                state = "cannot be read at the moment"
                continue
            stamp = latest
            self.wait = max(self.interval, PATIENCE * (time.monotonic() - began))

    def _stamp(self) -> tuple[int, int]:
        try:
            status = os.stat(self.path)
        except OSError:
            return (0, 0)
        return (status.st_size, status.st_mtime_ns)

    def _key(self) -> str:
        """The key that was pressed before the next look is due; "": none."""
        ready, _, _ = select.select([sys.stdin], [], [], self.wait)
        return os.read(sys.stdin.fileno(), 1).decode("latin-1") or "q" if ready else ""

    def _show(self, now: Look, before: Look | None, state: str) -> None:
        import io
        import shutil

        from seismo.escape import wants_colour
        from seismo.report.calls.top import HEAD, NARROWEST, divided, since, write_look
        from seismo.report.paper import ColourPaper, Paper
        from seismo.report.words import Signs

        size = shutil.get_terminal_size()
        page = io.StringIO()
        make = ColourPaper if wants_colour(self.color, True) else Paper
        paper = make(page, size.columns, Signs.of(sys.stdout), NARROWEST)
        room = divided(max(1, size.lines - HEAD - 1), self.show, len(since(now, before)))
        write_look(paper, now, before, self.order, room, state, keys(self.from_start, self.show))
        lines = page.getvalue().splitlines()[: size.lines - 1]
        sys.stdout.write(HOME + "".join(f"{line}{LINE}\n" for line in lines) + REST)
        sys.stdout.flush()


def keys(from_start: bool, show: str) -> tuple[str, ...]:
    """What can be pressed, the most needed first. from_start, show: what is shown now."""
    span = "last look" if from_start else "from the start"
    return ("q: quit", "o t c w: sort", f"s: {span}", f"p: {NEXT[show]}")


def quiet(now: Look, age: float) -> str:
    """Why a recording that was not written since the last look is as it is. age: seconds since it was written."""
    if now.ended:
        return "ended"
    from seismo.report.facts import gone

    why = f"; there is no process {now.pid} here" if gone(now.pid) else ""
    return f"not written for {age:,.0f} s{why}"
