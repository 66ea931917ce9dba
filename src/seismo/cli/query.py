"""Asks recordings in SQL (with DuckDB: pip install 'seismo[query]').

The tables include functions, paths (the call tree), threads, processes, calls
(of a trace, in time), lines, branches, objects and losses; --tables shows all
with their columns. Times are in ns, with their errors. Several files are one
database: the column `recording` names the file, and ids differ between files.
A dataset has tables of its own (docs/dataset.md).

SQL can only read the recordings: it can neither write nor use files, the
network, or settings. docs/query.md has examples.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from seismo import progress
from seismo.cli.dataset import add_attempts, attempts, is_given, only_one, say_problems
from seismo.cli.files import SUFFIX, check_time, open_recording, or_newest, say, say_incomplete
from seismo.cli.parsing import add_color, add_time
from seismo.cli.trace_window import add_window, window_of
from seismo.dataset import Dataset, schema
from seismo.errors import UsageError
from seismo.formats.destination import check_free, into_path
from seismo.model.recording import FOREVER
from seismo.query import TABLES, Database, Source, described, given, in_sql
from seismo.query.database import MEMORY
from seismo.query.result_writers import write_csv, write_json, write_text
from seismo.report.paper import Paper, paper_for
from seismo.report.words import wrapped

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Iterator

    Table = tuple[str, str, str, Iterable[str]]  # its name, number of rows, description and columns

FORMATS = ("text", "csv", "json", "parquet")
MOST = 1000

_EXAMPLES = (
    "examples:\n"
    "  seismo query 'select qualname, calls, own_ns from functions order by own_ns desc limit 10'\n"
    "  seismo query a.seismo b.seismo 'select recording, sum(calls) from functions group by all'\n"
    "  seismo query app.seismo --from 1s --to 2s 'select count(*) from calls'\n"
    "  seismo query app.seismo 'from functions' --format parquet -o functions.parquet\n"
    "  seismo query app.seismo --tables"
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `seismo query`."""
    parser.add_argument(
        "words",
        metavar="FILE ... SQL",
        nargs="*",
        help=f"recordings (default: the newest *{SUFFIX} in this folder), and the query",
    )
    parser.add_argument("--tables", action="store_true", help="show the tables and their columns instead")
    parser.add_argument("--format", choices=FORMATS, help=f"one of {', '.join(FORMATS)} (default: text, or by OUT)")
    parser.add_argument("-o", "--output", metavar="OUT", help="write to a file")
    parser.add_argument("--force", action="store_true", help="overwrite OUT if it exists")
    parser.add_argument(
        "--limit", metavar="N", type="count", default=MOST, help=f"rows of text to show; 0: all (default: {MOST:,})"
    )
    add_window(parser, "of a trace, calls")
    add_attempts(parser)
    parser.add_argument("--memory", metavar="SIZE", default=MEMORY, help=f"most memory a query takes ({MEMORY})")
    add_time(parser)
    add_color(parser)
    parser.epilog = _EXAMPLES


def run(args: Namespace) -> int:
    """Run the query and write its result."""
    words = list(args.words)
    sql = "" if args.tables else _sql(words)
    if any(map(is_given, words)):
        return _query_dataset(args, words, sql)
    attempts(args, ", ".join(words))
    sources = _sources(words or [or_newest(None)], args)
    if args.tables:
        write_tables(paper_for(sys.stdout, args.color), _tables_of(sources))
        return 0
    _answer(args, sql, partial(Database, sources, memory=args.memory))
    return 0


def _query_dataset(args: Namespace, words: list[str], sql: str) -> int:
    """Run the query on a dataset, or list its tables."""
    path = only_one(words)
    with Dataset(path, memory=args.memory, attempts=attempts(args, path)) as dataset:
        say_problems(dataset)
        if args.tables:
            rows = {name: dataset.rows(f"select count(*) from {name}")[0][0] for name in schema.TABLES}
            tables = [(name, f"{rows[name]:>11,}", "", dict(columns)) for name, columns in schema.TABLES.items()]
            write_tables(paper_for(sys.stdout, args.color), tables)
            return 0
        known = {"views": dataset.views(), "folder": dataset.path, "filesystem": dataset.filesystem}
        _answer(args, sql, partial(Database, [], memory=args.memory, **known))
    return 0


def _answer(args: Namespace, sql: str, opened: Callable[..., Database]) -> None:
    """Run the query on a database and write its result. opened: opens it, with a file that it may write as `output`."""
    suffix = os.path.splitext(args.output or "")[1].removeprefix(".")
    form = args.format or (suffix if suffix in FORMATS else "text")
    if form == "parquet" and not args.output:
        raise UsageError("parquet is a binary format", hint="give a file: -o OUT.parquet")
    if args.output:
        check_free(args.output, args.force, b"")
    if form == "parquet":
        _write_parquet(args, opened, sql)
        return
    progress.begin("running the query")
    with opened() as database:
        _write(args, form, database, sql)
        _say_problems(database)


def _sql(words: list[str]) -> str:
    """Remove the query from the words and return it. Raise UsageError if there is none."""
    if not words:
        raise UsageError("no query is given", hint="seismo query FILE 'select * from functions'; or --tables")
    last = words[-1]
    if os.path.isfile(last) or (last.endswith(SUFFIX) and not any(map(str.isspace, last))):
        hint = f"seismo query {last} 'select * from functions'; or --tables"
        raise UsageError("these are files, and no query is given", last, hint)
    return words.pop()


def _sources(paths: list[str], args: Namespace) -> list[Source]:
    """Return the recordings, each named by its file name, or by its path where that is ambiguous."""
    ends = [os.path.basename(path) for path in paths]
    found = []
    for path, end in progress.over("reading recordings", zip(paths, ends, strict=True), len(paths)):
        recording = open_recording(path)
        check_time(recording, args.time, path)
        say_incomplete(recording, path)
        name = path if ends.count(end) > 1 else end
        window = (0, FOREVER) if args.start is None and args.end is None else window_of(recording, path, args)
        found.append(Source(name, recording.timed(args.time or "wall"), *window))
    return found


def _write(args: Namespace, form: str, database: Database, sql: str) -> None:
    import io

    result = database.run(sql)  # run before the output is opened, so that a failed query leaves it unchanged

    def write(stream: io.TextIOBase, paper: Paper) -> None:
        if form == "csv":
            write_csv(stream, result, stream.isatty())  # type: ignore[arg-type]
        elif form == "json":
            write_json(stream, result)  # type: ignore[arg-type]
        else:
            write_text(paper, result, args.limit)

    if not args.output or args.output == "-":
        write(sys.stdout, paper_for(sys.stdout, args.color))  # type: ignore[arg-type]
        return
    with into_path(args.output) as file:
        stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            write(stream, Paper(stream, 80))
        finally:
            stream.detach()  # detach() flushes, and into_path() closes the file


def _write_parquet(args: Namespace, opened: Callable[..., Database], sql: str) -> None:
    """Write to a temporary file beside the target and rename it. DuckDB may write to this path only."""
    from contextlib import suppress

    target = os.path.realpath(args.output)
    if os.path.isdir(target):
        raise UsageError("the output is a directory", args.output, "give the name of a file in it")
    # The name has no part of the target's, which may be undecodable.
    part = os.path.join(os.path.dirname(target), f".seismo-{os.getpid()}.part")
    try:
        with opened(output=part) as database:
            database.write_parquet(sql, part)
            _say_problems(database)
        os.replace(part, target)
    finally:
        with suppress(OSError):
            os.unlink(part)


def _say_problems(database: Database) -> None:
    """Warn on stderr of gaps in the calls of a trace."""
    for name, problem in dict.fromkeys(database.problems):
        say(f"{name}: {problem}")


def _tables_of(sources: list[Source]) -> Iterator[Table]:
    for name, entry in TABLES.items():
        rows = sum(len(table) if hasattr(table := given(name, source), "__len__") else 0 for source in sources)
        yield name, f"{'' if name == 'calls' else f'{rows:,}':>9}", entry.description, described(name)


def write_tables(paper: Paper, tables: Iterable[Table]) -> None:
    """Write the name of each table, its number of rows, its description and its columns."""
    found = list(tables)
    width = max(len(name) for name, *_ in found)
    for name, rows, description, columns in found:
        lead = f"{name:<{width}}  {rows}  "
        for words, style in ((description, ""), (", ".join(map(in_sql, columns)), "quiet")):
            for line in wrapped(words, paper.width - len(lead)) if words else ():
                paper.line((lead[:width], "strong"), lead[width:], (line, style))
                lead = " " * len(lead)
