"""Pages of results: docs/performance.md, one page per interpreter, and the tables of docs/accuracy.md and README.md.

Each table is between the markers `<!-- begin: NAME -->` and `<!-- end: NAME -->`. Existing text is kept where there are
no new measurements.
"""

from __future__ import annotations

import json
import math
import re
from itertools import compress
from typing import TYPE_CHECKING, Any

from common import BUILD, ROOT, number, table
from targets import TARGETS, TITLES, dig

if TYPE_CHECKING:
    from collections.abc import Callable
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
ACCURACY = ROOT / "docs" / "accuracy.md"
README = ROOT / "README.md"

NONE = number(math.nan, 0)


def load(label: str, name: str) -> dict[str, Any] | None:
    """Return the stored document of a benchmark on an interpreter, or None."""
    try:
        document: dict[str, Any] = json.loads((RESULTS / label / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None
    return document


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


def cells_of(page: str, name: str) -> list[list[str]]:
    """Return the rows of the table in a section of the page, the head first."""
    lines = [line for line in section(page, name).splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return rows[:1] + rows[2:]


def is_reading(cell: str) -> bool:
    """Return True unless the cell is a dash, plain or in brackets."""
    return bool(set(cell) - set("– ()"))


def renewed(page: str, name: str, head: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table, in which missing readings are replaced by those in the page's section.

    Readings are matched by their row's first cell and their column's name. If the head's first cell has changed, the
    old readings belong to something else and are dropped. Interpreters without any reading have no column.
    """
    old_head, *old_rows = cells_of(page, name) or [head]
    old = {(row[0], column): cell for row in old_rows for column, cell in zip(old_head, row, strict=False)}
    if old_head[0] != head[0]:
        old = {}
    labels = {*head[1:], *old_head[1:]} - {"target"}
    fixed = head[:2] if "target" in head else head[:1]
    columns = fixed + sorted(labels, key=lambda label: [int(part) for part in re.findall(r"\d+", label)])
    result = []
    for row in rows:
        new = dict(zip(head, row, strict=True))
        cells = [new.get(column, NONE) for column in columns]
        result.append(
            [
                cell if is_reading(cell) or column in fixed else old.get((row[0], column), cell)
                for column, cell in zip(columns, cells, strict=True)
            ]
        )
    read = [column in fixed or any(is_reading(row[at]) for row in result) for at, column in enumerate(columns)]
    return list(compress(columns, read)), [list(compress(row, read)) for row in result]


def value_of(cell: str) -> float:
    """Return the number in a cell of the summary, or nan for a dash."""
    try:
        return float(cell.strip("*"))
    except ValueError:
        return math.nan


def summary(group: str, labels: list[str], page: str) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of one table of the summary, with missed targets in bold."""
    targets = TARGETS[group]
    rows = [
        [
            target.text,
            target.shown,
            *(number(reading(label, target.benchmark, *target.keys), target.digits) for label in labels),
        ]
        for target in targets
    ]
    columns, rows = renewed(page, f"summary {group}", ["", "target", *labels], rows)
    for target, row in zip(targets, rows, strict=True):
        for at, label in list(enumerate(columns))[2:]:
            plain = row[at].strip("*")
            row[at] = f"**{plain}**" if target.missed(label, value_of(plain)) else plain
    return columns, rows


def misses(tables: dict[str, tuple[list[str], list[list[str]]]]) -> str:
    """Return a table of the results that miss their target for each reason, below it."""
    found: dict[str, list[list[str]]] = {}
    for group, (columns, rows) in tables.items():
        for target, row in zip(TARGETS[group], rows, strict=True):
            bold = [f"{cell.strip('*')} on {label}" for label, cell in zip(columns, row, strict=True) if "**" in cell]
            if bold:
                found.setdefault(target.why, []).append(
                    [f"{TITLES[group]}: {target.text}", target.shown, ", ".join(bold)]
                )
    parts = (f"{why}\n\n{table(['', 'target', 'measured'], rows)}" for why, rows in found.items())
    return "\n\n".join(parts) or "Nothing."


# The rows of the README's table: the name there, and the group and text of its target.
NUMBERS = [
    ("cost compared with the cheapest possible hook", "calls", "programs, default mode, mean: ÷ floor"),
    ("cost compared with cProfile, whole processes", "calls", "whole processes, default mode: ÷ cProfile"),
    ("largest error in a share of the run time (points): seismo", "accuracy", "default mode, worst phase: points"),
    ("largest error in a share of the run time (points): cProfile", "accuracy", "cProfile, worst phase: points"),
]


def numbers_table(tables: dict[str, tuple[list[str], list[list[str]]]]) -> str:
    """Return the README's table of results from the summary, without interpreters that have none of them."""
    found: dict[str, dict[str, str]] = {}
    for name, group, text in NUMBERS:
        columns, rows = tables[group]
        (row,) = (row for row in rows if row[0] == text)
        found[name] = {label: cell.strip("*") for label, cell in zip(columns[2:], row[2:], strict=True)}
    labels = [label for label in tables["calls"][0][2:] if any(row.get(label, NONE) != NONE for row in found.values())]
    return table(["", *labels], [[name, *(row.get(label, NONE) for label in labels)] for name, row in found.items()])


def about_table(labels: list[str], page: str) -> str:
    """Return the table of machines and interpreters that were measured."""
    documents = {label: next((d for d in (load(label, name) for name in BENCHMARKS) if d), None) for label in labels}
    rows = [row for row in cells_of(page, "machine")[1:] if not documents.get(row[0])]
    for label, document in documents.items():
        if document:
            about = document["machine"]
            options = "with --enable-optimizations" if about["enable_optimizations"] else about["build"]
            keys = ("processor", "cores", "system", "date")
            rows.append([label, about["python"], about["compiler"], options, *(str(about[key]) for key in keys)])
    return table(["label", "Python", "compiler", "build", "processor", "cores", "system", "date"], sorted(rows))


def accuracy_table(name: str, head: str, labels: list[str], page: str) -> str:
    """Return a table of docs/accuracy.md from the results, or as it is if there are none."""
    rows = [[text, *(cell_of(label) for label in labels)] for text, cell_of in ACCURACY_ROWS[name].items()]
    if not any(is_reading(cell) for row in rows for cell in row[1:]):
        return section(page, name)
    return table(*renewed(page, name, [head, *labels], rows))


def shares_of(tool: str) -> Callable[[str], str]:
    """Return the function of a label for a cell: the worst phase's error, and in brackets that of 19 of 20 runs."""
    return lambda label: " ".join(
        way.format(number(reading(label, "truth", "tools", tool, key), 1))
        for way, key in (("{}", "worst"), ("({})", "nineteen"))
    )


def percent(*keys: str) -> Callable[[str], str]:
    """Return the function of a label for a cell: a number in per cent."""
    return lambda label: number(reading(label, *keys), 0)


TRUTH_TOOLS = ("seismo auto", "seismo none", "seismo all", "cProfile", "by the program's clock", "bare again")
ACCURACY_ROWS: dict[str, dict[str, Callable[[str], str]]] = {
    "truth summary": {tool: shares_of(tool) for tool in TRUTH_TOOLS},
    "errors summary": {
        "stated errors that hold": percent("truth", "tools", "seismo auto", "held"),
        "stated error of a phase, median": percent("truth", "tools", "seismo auto", "stated"),
        "main functions in a run of 0.3 s, worst stated error": percent("errors", "worst", "0.3"),
        "main functions in a run of 0.3 s, median stated error": percent("errors", "median", "0.3"),
        "main functions in a run of 1 s, worst stated error": percent("errors", "worst", "1"),
        "main functions in a run of 1 s, median stated error": percent("errors", "median", "1"),
        "beside busy processes: own times within their stated error": percent("errors", "busy", "held"),
        "beside busy processes: widest stated error": percent("errors", "busy", "stated"),
        "blocks of 0.1 to 1 ms: mean off, worst shape": percent("errors", "blocks", "off"),
        "blocks of 0.1 to 1 ms: whole times within their stated error": percent("errors", "blocks", "held"),
        "blocks of 0.1 to 1 ms: widest stated error": percent("errors", "blocks", "stated"),
    },
}


def write_tables(label: str) -> None:
    """Write the page of an interpreter with every stored table and every table that the page already has."""
    path = TABLES / f"{label}.md"
    old = path.read_text() if path.exists() else ""
    head = [
        f"# Measured on Python {label}",
        "These are the tables that `benchmarks/run_all.py` wrote for this interpreter.",
        "[performance.md](../performance.md) explains what each measures, how they are read, and on which machine.",
    ]
    parts = [head[0], "\n".join(head[1:])]
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
    labels = sorted(folder.name for folder in RESULTS.iterdir() if folder.is_dir()) if RESULTS.is_dir() else []
    page = PAGE.read_text()
    tables = {group: summary(group, labels, page) for group in TARGETS}
    for group, (columns, rows) in tables.items():
        page = replace_section(page, f"summary {group}", table(columns, rows))
    page = replace_section(page, "misses", misses(tables))
    page = replace_section(page, "machine", about_table(labels, page))
    explained = [f"| `{name}.py` | {what} |" for name, what in BENCHMARKS.items()]
    page = replace_section(page, "benchmarks", "\n".join(["| benchmark | what it measures |", "|---|---|", *explained]))
    PAGE.write_text(page)
    known = {path.stem for path in TABLES.glob("*.md")}
    for label in sorted({*labels, *known}):
        write_tables(label)
    accuracy = ACCURACY.read_text()
    for name, head in (("truth summary", "worst phase (19 of 20 runs)"), ("errors summary", "per cent")):
        accuracy = replace_section(accuracy, name, accuracy_table(name, head, labels, accuracy))
    ACCURACY.write_text(accuracy)
    README.write_text(replace_section(README.read_text(), "numbers", numbers_table(tables)))
    return [PAGE, ACCURACY, README, *sorted(TABLES.glob("*.md"))]
