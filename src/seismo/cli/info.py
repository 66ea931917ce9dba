"""Shows what a file is and what it contains.

The output lists the tool, program, time and machine, processes and threads, the sizes of tables, and losses.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from seismo import progress
from seismo.cli.dataset import is_given, verify
from seismo.cli.files import add_file, open_recording, or_newest
from seismo.cli.parsing import add_color
from seismo.report.about import as_json, write_about
from seismo.report.paper import paper_for

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `seismo info`."""
    add_file(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="of a trace: recount the calls of each path from the journal and compare them with the call tree; exit "
        "status 1 if they differ; of a dataset: compare the checksums of its files",
    )
    add_color(parser)


def run(args: Namespace) -> int:
    """Describe the file on standard output."""
    args.file = or_newest(args.file)
    if args.verify and is_given(args.file):
        return verify(args.file)
    progress.begin("reading the recording")
    recording = open_recording(args.file)
    if args.verify:
        progress.begin("recounting the calls")
        from seismo.report.calls.verify import write_verified

        return write_verified(paper_for(sys.stdout, args.color), recording, args.file)
    if args.json:
        sys.stdout.write(as_json(recording, args.file) + "\n")
    else:
        write_about(paper_for(sys.stdout, args.color), recording, args.file)
    return 0
