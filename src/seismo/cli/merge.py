"""Makes one recording of several: processes of one program, or many runs.

Processes and threads stay apart in it; a report sums them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from seismo.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `seismo merge`."""
    from seismo.cli.files import FILE_HELP

    parser.add_argument("output", metavar="OUT", help="the recording to write")
    parser.add_argument("files", metavar="FILE", nargs="+", help=FILE_HELP)
    parser.add_argument("--force", action="store_true", help="write OUT even if it is there already")


def run(args: Namespace) -> int:
    """Reads all files, then writes the merged recording."""
    from seismo import model
    from seismo.cli.files import open_recording

    if os.path.isdir(args.output):
        raise UsageError("the output is a folder", args.output, "name a file: seismo merge OUT FILE...")
    if os.path.exists(args.output) and not args.force and os.path.isfile(args.output):
        raise UsageError(
            "the output is there already",
            args.output,
            "OUT comes first: seismo merge OUT FILE...; --force overwrites it",
        )
    merged = model.merge([open_recording(path) for path in args.files])
    merged.save(args.output)
    return 0
