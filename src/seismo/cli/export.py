"""Writes a recording in another tool's format, to a file or to standard output.

-f names the format; without it, the suffix of the output file decides.

-f dataset appends recordings to a dataset: a folder of Parquet files for SQL and
many recordings (docs/dataset.md).

--from, --to and --where write a part of a trace, in any format, seismo's own
included. Times keep their origin. The call tree has the counts of this part,
and wall-clock times.

--where keeps the calls that match the expression (see docs/expressions.md), with their callers and everything that they
called. The expression may use the duration, own time, depth and thread of a call, and `unwind` for calls that an
exception left.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from seismo import formats, progress, recording_kinds
from seismo.cli.files import FILE_HELP, SUFFIX, check_time, open_recording, or_newest, same, say, say_incomplete
from seismo.cli.options import FORCE
from seismo.cli.parsing import add_time
from seismo.cli.trace_window import add_window, window_of
from seismo.coverage.recorded_settings import for_recording
from seismo.coverage.settings import rcfile_of
from seismo.errors import UsageError
from seismo.escape import shell_word
from seismo.formats.base import cut_ns
from seismo.formats.destination import check_free
from seismo.model.trace.call_filter import about_calls
from seismo.model.trace.excerpt import cut_into
from seismo.process.output_file import path_of
from seismo.report.coverage.options import add_settings, say_settings
from seismo.report.paper import paper_for
from seismo.report.words import wrapped

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from seismo.formats.base import Format
    from seismo.model import Recording


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `seismo export`."""
    default = f"(default: the newest *{SUFFIX} in this folder); into a dataset, any number of them"
    parser.add_argument("files", metavar="FILE", nargs="*", help=f"{FILE_HELP} {default}")
    parser.add_argument("-f", "--format", metavar="FORMAT", help="the name of the format (see --list), or dataset")
    parser.add_argument("-o", "--output", metavar="OUT", help="the file to write (default: standard output)")
    parser.add_argument("--force", action="store_true", help=FORCE.format("OUT"))
    parser.add_argument(
        "--weight", metavar="WHAT", help="what to count in stacks of objects: births (default), bytes or survivors"
    )
    parser.add_argument(
        "--label",
        dest="labels",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a label of the recordings in the dataset, such as version=1.2; may be given several times",
    )
    add_time(parser, "in formats with a single time, write")
    parser.add_argument(
        "--list", action="store_true", help="list the formats, their suffixes, and what each leaves out"
    )
    traces = parser.add_argument_group("a part of a trace")
    add_window(traces, "write what ran")
    traces.add_argument("--where", metavar="EXPR", help="write only calls that match the expression")
    add_settings(parser.add_argument_group("coverage").add_argument)
    parser.epilog = (
        "examples:\n"
        "  seismo export app-123.seismo -o app.pstats\n"
        "  seismo export app-123.seismo -f collapsed | flamegraph.pl > app.svg\n"
        "  seismo export trace-123.seismo --from 1.2s --to end-500ms -o part.seismo\n"
        "  seismo export trace-123.seismo --where 'duration > 50ms' -o slow.pftrace\n"
        "  seismo export tests-123.seismo -o coverage.xml\n"
        "  seismo export objects-123.seismo -f collapsed --weight survivors\n"
        "  seismo export *.seismo -f dataset -o runs --label version=1.2"
    )


def run(args: Namespace) -> int:
    """Write the file, or list the formats."""
    if args.list:
        return _list()
    if args.format == "dataset":
        from seismo.cli.dataset import append_all

        return append_all(args)
    if args.labels:
        raise UsageError("--label applies to datasets only", hint="seismo export FILE... -f dataset -o DIR")
    if len(args.files) > 1:
        hint = f"one file is enough: it has {args.files[0]}; -f dataset takes several, seismo merge combines them"
        raise UsageError(f"unexpected argument {args.files[1]!a}", hint=hint)
    args.file = or_newest(args.files[0] if args.files else None)
    if not args.format and not args.output:
        given = open_recording(args.file)
        fitting = formats.names(given.kind, bool(given.calls))
        hint = f"name a file with -o, or a format with -f: {', '.join(fitting)}"
        raise UsageError("the format is missing", hint=hint)
    named = formats.by_name(args.format) if args.format else formats.by_path(args.output)
    rcfile = rcfile_of(args.rcfile, args.no_config)
    progress.begin("reading the recording")
    recording = open_recording(args.file, by_tasks=named is not None and named.labels)
    entry = named or formats.for_path(args.output, recording.kind, bool(recording.calls))
    if rcfile is not None and not recording_kinds.entry(recording.kind).by_settings:
        option = "--rcfile" if args.rcfile else "--no-config"
        raise UsageError(
            f"{option} applies to recordings of coverage only", args.file, f"see: seismo info {shell_word(args.file)}"
        )
    report = None
    if entry.needs_sources and entry.holds(recording.kind):
        from seismo.coverage.analysis import analyze

        report = analyze(recording, settings := for_recording(recording, rcfile=rcfile))
    if args.output and args.output != "-":
        if entry.name == "seismo":
            args.output = path_of("-o", args.output)
        check_free(args.output, args.force, entry.mark)
    if (part := _part(recording, entry, args)) is None:
        return 0
    recording = part
    if entry.holds(recording.kind):
        check_time(recording, args.time, args.file)
    formats.write(recording, args.output, entry.name, args.weight or "", args.time, report)
    _say_of_a_trace(recording, entry, args)
    if not entry.lists_losses:
        say_incomplete(recording, args.file)
    if report is not None:
        say_settings(settings)
        for problem in report.main_problems:
            say(f"{problem.path}: {problem.text}")
    return 0


def _part(recording: Recording, entry: Format, args: Namespace) -> Recording | None:
    """Return the recording to write: the requested part or all of it. Return None if the part was written already."""
    if args.start is None and args.end is None and args.where is None:
        return recording
    if args.where is not None:
        about_calls(args.where)
    window = window_of(recording, args.file, args)
    if entry.name != "seismo" or args.output in (None, "-"):
        return recording.cut(*window, where=args.where)
    if same(args.file, args.output):
        raise UsageError("the output is the recording itself", args.output, "name another file")
    cut_into(recording, args.output, *window, where=args.where)
    return None


def _say_of_a_trace(recording: Recording, entry: Format, args: Namespace) -> None:
    """Report on stderr that the file has no timeline or ends early, and the commands that show the rest."""
    export = f"seismo export {shell_word(args.file)}"
    if recording.calls and entry.name == "json" and not args.format:
        timeline = shell_word(f"{args.output.removesuffix('.json')}.trace.json")
        say(f"the file has tables and no timeline; with the timeline: {export} -o {timeline}")
    cut = cut_ns(recording, entry.most_calls) if entry.most_calls else None
    if cut is None:
        return
    end = f"{cut / 1e9:,.3f} s of {recording.calls.end_ns / 1e9:,.3f} s"
    say(f"the file ends at {end}: a viewer of {entry.name} files opens about {entry.most_calls:,} calls")
    window = f"--from {cut // 1000 / 1e6:.6f}s --to end" + (f" -f {args.format}" if args.format else "")
    folder, name = os.path.split(args.output or "-")
    stem, dot, suffix = name.partition(".")
    out = "" if name == "-" else f" -o {shell_word(os.path.join(folder, f'{stem}-rest{dot}{suffix}'))}"
    say(f"the rest: {export} {window}{out}")
    if args.file != "-":
        say(f"all of it in seismo's own viewer: seismo view {shell_word(args.file)}")


def _list() -> int:
    paper = paper_for(sys.stdout)
    entries = [formats.by_name(name) for name in formats.names()]
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        way = "read and written" if entry.reader else "written only"
        facts = [
            *[f"of {kind.what}" for kind in map(recording_kinds.entry, entry.of) if kind.by_settings],
            way,
            *([f"suffixes {' '.join(entry.suffixes)}"] if entry.suffixes else []),
        ]
        facts += [f"leaves out {entry.lost}"] if entry.lost else []
        lead = f"{entry.name:<{width}}  "
        for words, style in ((entry.description, ""), ("; ".join(facts), "quiet")):
            for line in wrapped(words, paper.width - len(lead)):
                paper.line((lead, "strong"), (line, style))
                lead = " " * len(lead)
    return 0
