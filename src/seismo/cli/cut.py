"""Makes a smaller trace of a trace: a window of time, certain calls, or both.

The result is a recording of its own, which every command reads. Times in it
count from where they counted before. Its call tree is counted from what is in
it; its times are wall-clock times.

With --where, the calls for which the expression is true are kept, with
everything that they called and the calls that they were in (see
docs/expressions.md). An expression may ask for the duration and the own time of
a call, for its depth, its thread, and whether an exception left it (unwind).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from seismo.model import Recording

_EXAMPLES = (
    "examples:\n"
    "  seismo cut app.seismo --from 1.2s --to 3s -o part.seismo\n"
    "  seismo cut app.seismo --from end-500ms -o last.seismo\n"
    "  seismo cut app.seismo --where 'function(\"handle\") and duration > 50ms' -o slow.seismo"
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `seismo cut`."""
    from seismo.cli.files import add_file

    add_file(parser)
    time = "(1.2s, 300ms; from the start of the process), or `end`, or as far before it as end-2s says"
    parser.add_argument("--from", dest="start", metavar="TIME", help=f"where the window begins {time}")
    parser.add_argument("--to", dest="end", metavar="TIME", help="where it ends (default: end)")
    parser.add_argument("--where", metavar="EXPR", help="keep only calls for which the expression is true")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the recording to write")
    parser.add_argument("--force", action="store_true", help="overwrite OUT if it exists")
    parser.epilog = _EXAMPLES


def run(args: Namespace) -> int:
    """Reads the file and writes the part of it."""
    from seismo.cli.files import open_recording, or_newest, recording_path, same
    from seismo.model.timeline.choice import about_calls
    from seismo.model.timeline.cut import cut_into
    from seismo.report.calls.window import END

    if args.start is None and args.end is None and args.where is None:
        raise UsageError("nothing is to be cut", hint="give --from, --to or --where")
    if args.where is not None:
        about_calls(args.where)
    args.file = or_newest(args.file)
    if args.file != "-" and same(args.file, args.output):
        raise UsageError("the output is the recording itself", args.output, "name another file")
    output = recording_path(args.output, args.force)
    recording = open_recording(args.file)
    if not recording.calls:
        raise UsageError(
            "this recording does not say what happened when, and cannot be cut",
            args.file,
            "seismo trace makes one that does",
        )
    start, end = window_of(recording, args.start or "0", args.end or END)
    cut_into(recording, output, start, end, where=args.where)
    return 0


def window_of(recording: Recording, start: str, end: str) -> tuple[int, int]:
    """The window of a trace that --from and --to say, ns. UsageError: nothing is in it."""
    from seismo.report.words import Signs, duration

    last = recording.calls.end_ns + 1
    first, until = time_of(start, "--from", last), time_of(end, "--to", last)
    if first >= until != last:
        raise UsageError("the window ends before it begins", f"--from {start} --to {end}")
    if first >= last:
        took = duration(last - 1, Signs(plain=True))
        raise UsageError("the recording had ended by then", f"--from {start}", f"it took {took}")
    return first, until


def time_of(word: str, option: str, last: int) -> int:
    """A time in ns. last: what `end` is."""
    from seismo.report.calls.window import nanoseconds

    if word == "end":
        return last
    if word.startswith("end-"):
        return max(0, last - nanoseconds(word.removeprefix("end-"), option))
    return nanoseconds(word, option)
