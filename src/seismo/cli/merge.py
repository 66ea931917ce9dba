"""Combines several recordings into one: processes of one program, or many runs.

Processes and threads remain separate in the merged recording; a report adds
them up. Those of a dataset (docs/dataset.md) are added up path by path.

For coverage, a line or branch counts as executed if any recording executed it.
If the same source has different paths, use --paths or the project's settings
([paths] of coverage.py, [tool.seismo.cover.paths]). The first path is that of
this machine; the others are those elsewhere, and may contain wildcards.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from seismo import model, recording_kinds
from seismo.cli.dataset import is_given, merge_dataset
from seismo.cli.files import FILE_HELP, open_recording, recording_path
from seismo.coverage.path_aliases import aliases_of, mapped
from seismo.coverage.recorded_settings import for_recordings
from seismo.coverage.settings import rcfile_of
from seismo.errors import UsageError
from seismo.report.coverage.options import add_settings, say_settings

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from seismo.model import Recording

    _Opener = Callable[[], Recording]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `seismo merge`."""
    parser.add_argument("files", metavar="FILE", nargs="+", help=FILE_HELP)
    parser.add_argument("-o", "--output", metavar="OUT", help="the recording to write")
    parser.add_argument(
        "--paths",
        metavar="CANONICAL=ALIAS",
        action="append",
        default=[],
        help="a folder of sources on this machine and its path elsewhere, such as src=/ci/*/src; may be given several "
        "times",
    )
    add_settings(parser.add_argument)
    parser.add_argument(
        "--engine",
        choices=("duckdb", "dask", "spark", "ray"),
        help="what adds up the recordings of a dataset, given as the only FILE (default: duckdb); Dask, Spark and Ray "
        "use the cluster that their own settings name, else processes of this machine",
    )
    parser.add_argument(
        "-f",
        "--format",
        choices=("dataset",),
        help="write the sum of a dataset as a new dataset, OUT",
    )
    parser.add_argument("--force", action="store_true", help="overwrite OUT if it exists")


def run(args: Namespace) -> int:
    """Read the files, one at a time, and write the merged recording."""
    if args.output is None:
        raise UsageError("the recording to write is not named", hint="-o names it: seismo merge -o OUT FILE...")
    output = args.output if args.format else recording_path(args.output, args.force)
    if any(map(is_given, args.files)) or args.engine or args.format:
        merge_dataset(args.files, output, args.engine or "duckdb", args.format)
        return 0
    openers = [_opener(path) for path in args.files]
    if args.paths or recording_kinds.entry(openers[0]().kind).by_settings:
        openers = _mapped(openers, args)
    model.merge_into(openers, output)
    return 0


def _mapped(openers: list[_Opener], args: Namespace) -> list[_Opener]:
    """Return openers that map the sources' paths to this machine. One recording at a time is in memory."""
    metas = [opener().meta for opener in openers]
    settings = for_recordings(metas, rcfile=rcfile_of(args.rcfile, args.no_config))
    if settings.paths or settings.relative_files:
        say_settings(settings)
    aliases = aliases_of(settings.paths, args.paths)
    if settings.relative_files:
        for folder in {str(meta.get("folder") or "") for meta in metas} - {"", os.getcwd()}:
            aliases.add(folder, os.getcwd())
    return [lambda opener=opener: mapped(opener(), aliases) for opener in openers]  # type: ignore[misc]


def _opener(path: str) -> _Opener:
    """Return a function that reads the file and may be called several times."""
    if os.path.isfile(path):
        return lambda: open_recording(path)
    read = open_recording(path)  # standard input and pipes can be read only once
    return lambda: read
