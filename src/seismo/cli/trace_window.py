"""The options --from and --to, which select a window of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.errors import UsageError
from seismo.report.calls.window import END, nanoseconds
from seismo.report.words import Signs, duration

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _ArgumentGroup

    from seismo.model import Recording


def add_window(parser: ArgumentParser | _ArgumentGroup, what: str) -> None:
    """Declare the options. `what` describes the selected part in their help."""
    time = "1.2s or 300ms from the start of the process, `end`, or end-2s"
    parser.add_argument("--from", dest="start", metavar="TIME", help=f"{what} from this time on: {time}")
    parser.add_argument("--to", dest="end", metavar="TIME", help="and up to this time (default: end)")


def window_of(recording: Recording, path: str, args: Namespace) -> tuple[int, int]:
    """Return the selected window in ns. Raise UsageError if it is empty or the recording is not a trace."""
    if not recording.calls:
        raise UsageError("this recording is not a trace", path, "to record one: seismo trace SCRIPT")
    last = recording.calls.end_ns + 1
    start, end = args.start or "0", args.end or END
    first, until = _time(start, "--from", last), _time(end, "--to", last)
    if first >= until != last:
        raise UsageError("the window ends before it begins", f"--from {start} --to {end}")
    if first >= last:
        took = duration(last - 1, Signs(plain=True))
        raise UsageError("the recording ended before that time", f"--from {start}", f"it took {took}")
    return first, until


def _time(word: str, option: str, last: int) -> int:
    """Return a time in ns. `last` is the value of `end`."""
    if word == "end":
        return last
    if word.startswith("end-"):
        return max(0, last - nanoseconds(word.removeprefix("end-"), option))
    return nanoseconds(word, option)
