"""Pages of results: docs/performance.md, one page per interpreter, and the table of README.md.

Each table is between the markers `<!-- begin: NAME -->` and `<!-- end: NAME -->`. Existing text is kept where there are
no new measurements.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from common import BUILD, ROOT, number, table
from targets import TARGETS, TITLES, dig

if TYPE_CHECKING:
    from pathlib import Path

# The subject of each benchmark, in the order in which they run.
BENCHMARKS = {
    "overhead": "bare, empty hooks, `seismo profile` with several options, cProfile, `seismo.cprofile`, in one process",
    "whole_process": "whole processes with their output: the same, trace0, yappi, VizTracer, pyinstrument; start-up",
    "truth": "how far the shown shares of the time are from those of the unprofiled program; stated errors that hold",
    "errors": "how wide the stated errors of times are, and how many of them hold beside busy processes and in blocks",
    "timeline": "`seismo trace` and `seismo profile`: added time, CPU, bytes a call, how exact a time is",
    "large": "a million paths, a trace of 10^8 calls: bytes a path, memory, `seismo report`, pictures, `seismo query`",
    "check": "`seismo check`: false alarms, planted regressions, what counting costs",
    "equal_runs": "`seismo diff`: functions listed between equal runs of five programs, and planted changes found",
    "instructions": "how many instructions an event costs with each recorder and source (needs valgrind)",
    "hooks": "`seismo.hooks` and `seismo.watch`: matching nothing, 1 call in 10,000, everything; two tools; hunter",
    "coverage": "`seismo cover`, coverage.py and SlipCover: programs, a test suite, start-up",
    "lines": "`seismo lines`, an empty `LINE` callback and line_profiler",
    "browser": "the page of calls and `seismo view` in Chromium",
    "objects": "`seismo objects`, an empty reference tracer, tracemalloc, and memray's object lifetimes (3.13.3 on)",
}
RESULTS = BUILD / "results"
PAGE = ROOT / "docs" / "performance.md"
TABLES = ROOT / "docs" / "performance"
README = ROOT / "README.md"

NONE = number(math.nan, 0)
Summary = dict[str, dict[str, str]]  # the cells of a table by the text of their target and their label


def load(label: str, name: str) -> Any:
    """Return the stored document of a benchmark on an interpreter, or None."""
    path = RESULTS / label / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def reading(label: str, name: str, *keys: str) -> float:
    """Return a number inside the stored results, or nan if any part of the path is missing."""
    return dig(load(label, name), "results", *keys)


def section(page: str, name: str) -> str:
    """Return the text between the markers of `name`, or "" if there are none."""
    _, _, rest = page.partition(f"<!-- begin: {name} -->\n")
    return rest.partition(f"<!-- end: {name} -->")[0].rstrip("\n")


def marked(name: str, text: str) -> str:
    """Return the text between the markers of `name`."""
    return f"<!-- begin: {name} -->\n{text}\n<!-- end: {name} -->"


def replace_section(page: str, name: str, text: str) -> str:
    """Return the page with the text between the markers of `name` replaced. Raise ValueError if there are none."""
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    if begin not in page or end not in page:
        raise ValueError(f"the page has no section {name!r}; add the line {begin} and the line {end}")
    head, rest = page.split(begin, 1)
    return head + marked(name, text) + rest.split(end, 1)[1]


def rows_of(page: str, name: str) -> list[dict[str, str]]:
    """Return the rows of the table in a section of the page, by the names of columns."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section(page, name).splitlines()]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def summary(group: str, labels: list[str], page: str) -> Summary:
    """Return the cells of one table of the summary, with missed targets in bold.

    A reading that is not stored is that of the page. Interpreters without any reading have no column.
    """
    old = {row[""]: row for row in rows_of(page, f"summary {group}")}
    found: Summary = {}
    for target in TARGETS[group]:
        cells = found[target.text] = {}
        for label in labels:
            cell = number(reading(label, target.benchmark, *target.keys), target.digits)
            if cell == NONE:
                cell = old.get(target.text, {}).get(label, NONE).strip("*")
            missed = cell != NONE and target.missed(label, float(cell))
            cells[label] = f"**{cell}**" if missed else cell
    measured = [label for label in labels if any(cells[label] != NONE for cells in found.values())]
    return {text: {label: cells[label] for label in measured} for text, cells in found.items()}


def summary_table(group: str, found: Summary) -> str:
    """Return a table of the summary."""
    rows = [[target.text, target.shown, *found[target.text].values()] for target in TARGETS[group]]
    return table(["", "target", *next(iter(found.values()))], rows)


def misses(tables: dict[str, Summary]) -> str:
    """Return a table of the results that miss their target for each reason, below it."""
    found: dict[str, list[list[str]]] = {}
    for group, targets in TARGETS.items():
        for target in targets:
            bold = [(cell, label) for label, cell in tables[group][target.text].items() if "**" in cell]
            if bold:
                measured = ", ".join(f"{cell.strip('*')} on {label}" for cell, label in bold)
                row = [f"{TITLES[group]}: {target.text}", target.shown, measured]
                found.setdefault(target.why, []).append(row)
    parts = (f"{why}\n\n{table(['', 'target', 'measured'], rows)}" for why, rows in found.items())
    return "\n\n".join(parts) or "Nothing."


# The rows of the README's table: the name there, and the group and text of its target.
NUMBERS = [
    ("cost compared with the cheapest possible hook", "calls", "programs, default mode, mean: ÷ floor"),
    ("cost compared with cProfile, whole processes", "calls", "whole processes, default mode: ÷ cProfile"),
    ("largest error in a share of the run time (points): seismo", "accuracy", "default mode, worst phase: points"),
    ("largest error in a share of the run time (points): cProfile", "accuracy", "cProfile, worst phase: points"),
]


def numbers_table(tables: dict[str, Summary]) -> str:
    """Return the README's table of results from the summary, for the interpreters with results of calls."""
    found = {name: tables[group][text] for name, group, text in NUMBERS}
    labels = list(next(iter(found.values())))
    rows = [[name, *(row.get(label, NONE).strip("*") for label in labels)] for name, row in found.items()]
    return table(["", *labels], rows)


def about_table(labels: list[str], page: str) -> str:
    """Return the table of machines and interpreters that were measured."""
    rows = {row["label"]: list(row.values()) for row in rows_of(page, "machine")}
    for label in labels:
        document = next(filter(None, (load(label, name) for name in BENCHMARKS)), None)
        if document:
            about = document["machine"]
            options = "with --enable-optimizations" if about["enable_optimizations"] else about["build"]
            keys = ("processor", "cores", "system", "date")
            rows[label] = [label, about["python"], about["compiler"], options, *(str(about[key]) for key in keys)]
    head = ["label", "Python", "compiler", "build", "processor", "cores", "system", "date"]
    return table(head, [rows[label] for label in labels if label in rows])


def write_tables(label: str) -> None:
    """Write the page of an interpreter with every stored table and every table that the page already has."""
    path = TABLES / f"{label}.md"
    old = path.read_text() if path.exists() else ""
    parts = [
        f"# Measured on Python {label}",
        """\
These are the tables that `benchmarks/run_all.py` wrote for this interpreter.
[performance.md](../performance.md) explains what each measures, how they are read, and on which machine.""",
    ]
    for name in BENCHMARKS:
        text = section(old, name)
        document = load(label, name)
        if document:
            text = f"{document['text']}\n\n{document['method'][0].upper()}{document['method'][1:]}."
        if text:
            parts += [f"## {name}.py", marked(name, text)]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n")


def write_pages() -> list[Path]:
    """Write all stored results to the pages, and return the pages' paths."""
    stored = {path.parent.name for path in RESULTS.glob("*/*.json")}
    known = stored | {path.stem for path in TABLES.glob("*.md")}
    labels = sorted(known, key=lambda label: [int(part) for part in re.findall(r"\d+", label)])
    page = PAGE.read_text()
    tables = {group: summary(group, labels, page) for group in TARGETS}
    for group, found in tables.items():
        page = replace_section(page, f"summary {group}", summary_table(group, found))
    page = replace_section(page, "misses", misses(tables))
    page = replace_section(page, "machine", about_table(labels, page))
    explained = [f"| `{name}.py` | {what} |" for name, what in BENCHMARKS.items()]
    page = replace_section(page, "benchmarks", "\n".join(["| benchmark | what it measures |", "|---|---|", *explained]))
    PAGE.write_text(page)
    for label in labels:
        write_tables(label)
    README.write_text(replace_section(README.read_text(), "numbers", numbers_table(tables)))
    return [PAGE, README, *sorted(TABLES.glob("*.md"))]
