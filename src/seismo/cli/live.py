"""A report that is refreshed on the terminal while the program runs."""

from __future__ import annotations

import io
import shutil
import sys
import time
from typing import TYPE_CHECKING

from seismo.cli.files import say
from seismo.errors import RecordingError, UsageError
from seismo.escape import wants_colour
from seismo.report.facts import command_line, wall_ns
from seismo.report.paper import ColourPaper, Paper
from seismo.report.words import Signs, duration, width_of
from seismo.view.routes import ServedRecording

if TYPE_CHECKING:
    from argparse import Namespace

    from seismo.model import Recording
    from seismo.report.kind import Kind
    from seismo.report.options import Options

INTERVAL = 0.5  # seconds between checks of the file, which a recorder writes about every second
_CLEAR = "\x1b[H\x1b[2J"
_WITHOUT = ("format", "html", "open", "around")  # options that replace the report by another output


def check(args: Namespace) -> None:
    """Raise UsageError for options that exclude --live."""
    for name in _WITHOUT:
        if getattr(args, name):
            raise UsageError(f"--{name} does not go with --live", hint=f"leave out one of them: --{name} or --live")


def follow(kind: Kind, recording: Recording, file: str, options: Options) -> int:
    """Show the activity since the last refresh whenever the file has grown, until the program has ended."""
    shown, before = ServedRecording(file, recording, live=True), None
    try:
        while True:
            version = shown.version
            _write(kind, shown.recording, before, options)
            before = shown.recording
            while shown.version == version:
                if shown.ending:
                    say(
                        "the program has ended"
                        if shown.ending == "ended"
                        else "the process has ended without finishing the recording"
                    )
                    return 0
                time.sleep(INTERVAL)
                shown.refresh()
    except KeyboardInterrupt:
        return 0


def _write(kind: Kind, now: Recording, before: Recording | None, options: Options) -> None:
    """Write the report's tables, cut to the height of the terminal, over the previous ones."""
    signs, screen = Signs.of(sys.stdout), sys.stdout.isatty()
    part, of = now, "since the start"
    if before is not None:
        try:
            part = now.subtract(before)
        except RecordingError:  # the children's parts were merged meanwhile, so the states cannot be subtracted
            pass
        else:
            of = f"in the last {duration(wall_ns(now) - wall_ns(before), signs)}"
    page = io.StringIO()
    make = ColourPaper if wants_colour(options.color, screen) else Paper
    kind.report(make(page, width_of(sys.stdout), signs), part, options)
    tables = page.getvalue().partition("\n\n")[2]  # the facts before the tables do not change
    page = io.StringIO()
    make(page, width_of(sys.stdout), signs).line((command_line(now), "title"), (f"  {of}; Ctrl-C ends", "quiet"))
    page.write(f"{tables}\n")
    lines = page.getvalue().splitlines(keepends=True)
    sys.stdout.write(_CLEAR + "".join(lines[: shutil.get_terminal_size().lines - 1]) if screen else page.getvalue())
    sys.stdout.flush()
