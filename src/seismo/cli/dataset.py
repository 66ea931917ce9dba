"""The parts of export, report, diff, query and merge that are about datasets (seismo.dataset)."""

from __future__ import annotations

import os
import sys
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from seismo import progress
from seismo.cli.files import open_recording, or_newest, say
from seismo.errors import UsageError
from seismo.escape import printable
from seismo.report.paper import paper_for
from seismo.report.tables import Grid
from seismo.report.words import duration, function_name, location, shorten, three_digits

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Sequence

    from seismo.dataset import Dataset
    from seismo.model import Recording
    from seismo.report.paper import Paper

LABEL = "label="
MOST_RUNS = 20  # of a side of a diff
# Options of `seismo report` that do not go with --by.
_OF_REPORTS = (
    *("sort", "all", "format", "html", "open", "time"),
    *("tree", "callers", "callees", "columns", "thread", "where"),
)
# Options of `seismo export` for formats that are files.
_OF_FILES = ("weight", "time", "start", "end", "where", "rcfile", "no_config", "force")


def is_given(path: str | None) -> bool:
    """Return True if the path is a dataset. A URL can be nothing else."""
    from seismo.dataset import is_dataset, is_url

    return path is not None and (is_url(path) or (os.path.isdir(path) and is_dataset(path)))


def add_attempts(parser: ArgumentParser) -> None:
    """Declare --attempts."""
    help_ = "of a dataset's tasks that were retried: the last attempt that finished (last), or all of them (all)"
    parser.add_argument("--attempts", choices=("last", "all"), help=help_)


def attempts(args: Namespace, path: str) -> Literal["last", "all"]:
    """Return which attempts count. Raise UsageError if they are named for what is no dataset."""
    if args.attempts and not is_given(path):
        raise UsageError("--attempts applies to datasets only", path, "leave it out")
    return args.attempts or "last"


def say_problems(dataset: Dataset) -> None:
    """Report on stderr what of the dataset is left out."""
    for problem in dataset.problems:
        say(f"{dataset.path}: {problem}")


def verify(path: str) -> int:
    """Compare the checksums of a dataset's files. Return 1 if a part of it is damaged."""
    from seismo.dataset import Dataset

    with Dataset(path) as dataset:
        dataset.verify()
        say_problems(dataset)
        sys.stdout.write(f"{len(dataset.recordings):,} recordings are whole, {len(dataset.problems):,} problems\n")
        return 1 if dataset.problems else 0


def append_all(args: Namespace) -> int:
    """Append the recordings to a dataset. Return 2 if one of them could not be read."""
    from seismo.dataset import append

    if not args.output or args.output == "-":
        raise UsageError("the folder of the dataset is not named", hint="-f dataset -o DIR")
    for name in _OF_FILES:
        if getattr(args, name):
            option = {"start": "from", "end": "to"}.get(name, name).replace("_", "-")
            raise UsageError(f"--{option} does not go with -f dataset", hint="it appends whole recordings")
    pairs = [label.partition("=") for label in args.labels]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise UsageError(f"--label cannot be {name!a}", hint="give NAME=VALUE: --label version=1.2")
    files = args.files or [or_newest(None)]
    found = append(args.output, files, {name: value for name, _, value in pairs}, open_recording)
    for one in found:
        if one.remark:
            say(f"{one.name}: {one.remark}")
    say(f"{sum(one.added for one in found)} of {len(files)} recordings appended to {args.output}")
    return 2 if any(one.failed for one in found) else 0


def only_one(paths: Sequence[str]) -> str:
    """Return the only path. Raise UsageError for several, or for one that is no dataset."""
    if len(paths) != 1 or not is_given(paths[0]):
        raise UsageError("a dataset goes with no other file", ", ".join(paths), "append the files to it: seismo export")
    return paths[0]


def merge_dataset(files: Sequence[str], output: str, engine: str, form: str | None) -> None:
    """Write the sum of a dataset's recordings to a file, or to a new dataset."""
    from seismo.dataset import Dataset, compact

    if not any(map(is_given, files)):
        option = "--format" if form else "--engine"
        raise UsageError(f"{option} applies to datasets only", ", ".join(files), "leave it out")
    with Dataset(only_one(files)) as dataset:
        if form:
            compact(dataset, output, engine)
        elif engine == "duckdb":
            dataset.read().save(output)
        else:
            import tempfile

            with tempfile.TemporaryDirectory(dir=os.path.dirname(output) or None) as folder:
                compact(dataset, folder, engine)
                with Dataset(folder) as whole:
                    whole.read().save(output)
        say_problems(dataset)


def diff_sides(args: Namespace) -> tuple[list[str], list[str], dict[str, Recording]]:
    """Return the names of the recordings of both sides of a diff by a label, and the recordings by their names."""
    from seismo.dataset import Dataset

    path = only_one([one for one in (args.old, args.new) if one is not None] or [""])
    if not args.by.startswith(LABEL) or args.by == LABEL:
        raise UsageError(f"--by cannot be {args.by!a}", hint="name a label: --by label=version")
    label = args.by.removeprefix(LABEL)
    with Dataset(path) as dataset:
        found = dataset.label_values(label)
        old, new = _two_values(label, found, args.olds, args.news)
        runs: dict[str, Recording] = {}
        names = []
        for value in (old, new):
            chosen = found[value]
            if len(chosen) > MOST_RUNS:
                say(f"{label}={value} has {len(chosen):,} recordings: the last {MOST_RUNS} are compared")
                chosen = chosen[-MOST_RUNS:]
            names.append([f"{label}={value} {name[:8]}" for name in chosen])
            runs |= zip(names[-1], map(dataset.read, chosen), strict=True)
        say_problems(dataset)
    return *names, runs  # type: ignore[return-value]


def _two_values(
    label: str, found: dict[str, list[str]], olds: list[str] | None, news: list[str] | None
) -> tuple[str, str]:
    """Return the values of both sides: those given, or the only two, that of the earlier recording first."""
    values = [*(olds or ()), *(news or ())] or list(found)
    if len(set(values)) != 2 or len(values) != 2 or not found.keys() >= set(values):
        hint = f"name two: --old A --new B; there are: {', '.join(map(ascii, list(found)[:12]))}"
        raise UsageError("two values of the label are compared", f"--by label={label}", hint)
    return values[0], values[1]


# ---- seismo report DIR --by ----


def report_groups(args: Namespace) -> int:
    """Write how functions spread over groups, and which functions explain that the slow ones are slow."""
    from seismo.dataset import Dataset, explain, spread

    for name in _OF_REPORTS:
        if getattr(args, name):
            raise UsageError(f"--{name} does not go with --by {args.by}", args.file, "leave it out")
    limit = args.limit or 15
    paper = paper_for(sys.stdout, args.color)
    with Dataset(args.file, attempts=attempts(args, args.file)) as dataset:
        progress.begin("comparing groups")
        count, rows = spread(dataset, args.by, limit, by_name=args.by_name)
        why = explain(dataset, args.by, limit, by_name=args.by_name)
        say_problems(dataset)
    what = {"host": "hosts", "process": "processes", "task": "tasks"}.get(args.by, f"values of {args.by}")
    paper.line(
        (f"Own time over {count:,} {printable(what)}", "title"), (" (those without the function count as 0)", "quiet")
    )
    cells = [[_ms(paper, value) for value in row.own] + [f"{value:,}" for value in row.calls[1::2]] for row in rows]
    heads = ["least", "median", "95 %", "most", "calls: median", "most"]
    _write_rows(paper, heads, cells, [_name(row) for row in rows])
    paper.line()
    paper.line((f"What explains the slowest {len(why.slow):,} of {count:,}", "title"))
    slowest = f"  their own time: {_ms(paper, why.slow[-1][1])} to {_ms(paper, why.slow[0][1])}; mean of the others: "
    paper.line((slowest + _ms(paper, why.mean), "quiet"))
    for name, own in why.slow[:3]:
        paper.line((f"  {printable(str(name))}: {_ms(paper, own)}", "quiet"))
    sure = [row for row in why.functions if row.is_sure]
    cells = []
    for row in sure:
        part, error = row.explained
        about, ratio = paper.signs.about if row.is_by_calls else "", paper.signs.times
        cells.append([
            *(f"{about}{100 * part:.0f} %", f"{paper.signs.error}{100 * error:.0f} %", f"{row.groups:,}"),
            "only they" if row.ratio == inf else f"{three_digits(row.ratio)}{ratio}",
            *(f"{row.slow_calls:,.0f}", f"{row.rest_calls:,.1f}", _ms(paper, row.slow_own), _ms(paper, row.rest_own)),
        ])  # fmt: skip
    heads = ["explains", paper.signs.error, "of slow", "calls", "slow", "others", "own: slow", "others"]
    _write_rows(paper, heads, cells, [_name(row) for row in sure])
    if any(row.is_by_calls for row in sure):
        paper.line(
            (f"  {paper.signs.about} by calls, at the time of a call over all; its times vary too much", "quiet")
        )
    if not sure:
        paper.line(("  nothing beyond what the others vary", "quiet"))
    return 0


def _ms(paper: Paper, ns: float) -> str:
    return duration(ns, paper.signs)


def _name(row: Any) -> str:
    return f"{function_name(row.kind, row.module, row.qualname)}  {location(row.file, row.line)}".strip()


def _write_rows(paper: Paper, heads: Sequence[str], rows: Sequence[Sequence[str]], names: Iterable[str]) -> None:
    if not rows:
        return
    grid = Grid(heads, rows, paper.width)
    paper.line((grid.head + "function", "quiet"))
    for row, name in zip(rows, names, strict=True):
        paper.line(grid.line(row), (shorten(name, grid.room, paper.signs), "name"))
