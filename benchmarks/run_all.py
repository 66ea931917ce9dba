"""Run all benchmarks on all interpreters and write their tables into docs/performance.md.

    benchmarks/run_all.py                                       this interpreter, the full suite
    benchmarks/run_all.py --quick --only overhead truth         a rough reading of two
    benchmarks/run_all.py --python 3.11=python3.11 --python "3.14=COMMAND ... python3.14"
    benchmarks/run_all.py --docs-only                           write the tables again from the last results

--python LABEL=COMMAND names an interpreter; the last word of COMMAND is the interpreter, words before it are a prefix
that runs it (in a container, another root folder ...) and must keep the current folder and the environment. Each gets
a virtual environment .venvs-bench/LABEL with what benchmarks/requirements.txt names (--no-install leaves it as it is)
and a build of seismo of its own under benchmarks/build. --build-only prepares all that and measures nothing.

The machine should do nothing else meanwhile. Results are kept as JSON under benchmarks/build/results/LABEL.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import BUILD, ROOT, number, table

NAMES = [
    "overhead",
    "whole_process",
    "truth",
    "memory",
    "threads",
    "children",
    "report_million",
    "scaling",
    "hooks",
    "cprofile",
    "coverage",
    "lines",
    "refs",
]
RESULTS = BUILD / "results"
PAGE = ROOT / "docs" / "performance.md"
ACCURACY = ROOT / "docs" / "accuracy.md"
ENVIRONMENTS = ROOT / ".venvs-bench"


@dataclass
class Interpreter:
    """A label, the words of the command that run it, and that command inside its virtual environment."""

    label: str
    command: list[str]

    @property
    def python(self) -> list[str]:
        """The environment's interpreter; its path is relative, as a prefix may change the root but not the folder."""
        return [*self.command[:-1], str(Path(".venvs-bench") / self.label / "bin" / "python")]

    @property
    def library(self) -> Path:
        """The folder with this interpreter's build of seismo."""
        return BUILD / f"seismo-{self.label}" / "lib"


def parse_interpreter(text: str) -> Interpreter:
    """LABEL=COMMAND. ArgumentTypeError when it is not that."""
    label, equals, command = text.partition("=")
    words = shlex.split(command)
    if not equals or not words or not label or "/" in label:
        raise argparse.ArgumentTypeError(f"{text!r} is not LABEL=COMMAND")
    return Interpreter(label, words)


def environment(interpreter: Interpreter) -> dict[str, str]:
    """The environment of a benchmark: this interpreter's seismo first, no debugging or testing switches."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SEISMO", "PYTHON"))}
    return {**kept, "PYTHONPATH": str(interpreter.library)}


def prepare(interpreter: Interpreter, install: bool) -> None:
    """Make the virtual environment and build seismo. SystemExit with the command's words when a step fails."""

    def step(what: str, command: list[str]) -> None:
        done = subprocess.run(
            command, cwd=ROOT, env=environment(interpreter), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{interpreter.label}: {what} failed: {shlex.join(command)}\n{done.stdout}{done.stderr}")

    if install:
        if not (ENVIRONMENTS / interpreter.label / "bin").is_dir():
            step(
                "making the environment",
                [*interpreter.command, "-m", "venv", str(Path(".venvs-bench") / interpreter.label)],
            )
        step("installing", [*interpreter.python, "-m", "pip", "install", "-q", "-r", "benchmarks/requirements.txt"])
    base = interpreter.library.parent
    base.mkdir(parents=True, exist_ok=True)
    build = ["setup.py", "-q", "build", "--build-base", str(base / "base"), "--build-lib", str(interpreter.library)]
    step("building seismo", [*interpreter.python, *build])


def run(interpreter: Interpreter, name: str, quick: bool) -> bool:
    """Run one benchmark, its table on stdout and its JSON under results. False when it fails."""
    target = RESULTS / interpreter.label / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [*interpreter.python, f"benchmarks/{name}.py", "--json", str(target)]
    start = time.monotonic()
    print(f"--- {name} on {interpreter.label}", flush=True)
    done = subprocess.run(command + (["--quick"] if quick else []), cwd=ROOT, env=environment(interpreter), check=False)
    print(f"--- {name} on {interpreter.label}: {time.monotonic() - start:.0f} s\n", flush=True)
    if done.returncode:
        print(f"{name} on {interpreter.label} failed: exit {done.returncode}", file=sys.stderr)
        target.unlink(missing_ok=True)
    return done.returncode == 0


def load(label: str, name: str) -> dict[str, Any] | None:
    """The kept document of a benchmark on an interpreter, or None."""
    try:
        document: dict[str, Any] = json.loads((RESULTS / label / f"{name}.json").read_text())
    except (OSError, ValueError):
        return None
    return document


def dig(document: dict[str, Any] | None, *keys: str) -> float:
    """A number deep in a document's results; nan when any part of the way is missing."""
    found: Any = document["results"] if document else None
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return float(found) if isinstance(found, (int, float)) else math.nan


_NOTHING, _RELATIONS = ("totals", "filters"), ("relations",)
_DELTABLUE = ("whole", "deltablue")
# What the project promises: label, target, benchmark, way to the number, digits.
TARGETS: list[tuple[str, str, str, tuple[str, ...], int]] = [
    ("micro programs, Python functions: worst", "≤ 1.15", "overhead", ("totals", "micro", "seismo none", "worst"), 2),
    ("micro programs, default mode: worst", "≤ 1.15", "overhead", ("totals", "micro", "seismo auto", "worst"), 2),
    ("programs, Python functions: geomean", "≤ 1.3", "overhead", ("totals", "programs", "seismo none", "geomean"), 2),
    ("programs, Python functions: worst", "≤ 1.8", "overhead", ("totals", "programs", "seismo none", "worst"), 2),
    ("programs, default mode: geomean", "≤ 1.3", "overhead", ("totals", "programs", "seismo auto", "geomean"), 2),
    ("programs, default mode: worst", "≤ 1.8", "overhead", ("totals", "programs", "seismo auto", "worst"), 2),
    (
        "whole process, Python functions: added ÷ cProfile's",
        "< ½ on 3.11 and 3.12, < ¼ after",
        "whole_process",
        ("totals", "seismo none", "to_cprofile"),
        2,
    ),
    (
        "whole process, default mode: added ÷ cProfile's",
        "< ¾ on 3.11, < ½ on 3.12, < ¼ after",
        "whole_process",
        ("totals", "seismo auto", "to_cprofile"),
        2,
    ),
    (
        "whole process, Python functions: added ÷ trace0's",
        "< 1",
        "whole_process",
        ("totals", "seismo none", "to_trace0"),
        2,
    ),
    ("start-up more than bare, ms", "≤ 25", "whole_process", ("startup", "seismo auto", "added_median"), 1),
    ("bytes a distinct path", "≤ 200", "memory", ("seismo memory", "bytes_a_path"), 0),
    ("bytes a call", "0", "memory", ("seismo memory", "bytes_a_call"), 2),
    ("report of a million paths: first line, s", "< 2", "report_million", ("first_line",), 2),
    ("time shares, default mode: worst error, points", "≤ 3", "truth", ("tools", "seismo auto", "worst"), 1),
    ("the same, 19 of 20 single runs, beyond bare", "≤ 5", "truth", ("tools", "seismo auto", "nineteen"), 1),
    ("time shares, Python functions: worst error, points", "≤ 3", "truth", ("tools", "seismo none", "worst"), 1),
    ("time shares, cProfile: worst error, points", "", "truth", ("tools", "cProfile", "worst"), 1),
    ("a hook that matches nothing, × bare", "≤ 1.03, on 3.11 the floor", "hooks", (*_NOTHING, "hook", "geomean"), 2),
    ("a watch that matches nothing, × bare", "≤ 1.03, on 3.11 the floor", "hooks", (*_NOTHING, "watch", "geomean"), 2),
    ("the empty profile hook, × bare", "", "hooks", (*_NOTHING, "floor profile", "geomean"), 2),
    ("hunter matching nothing, × bare", "", "hooks", (*_NOTHING, "hunter", "geomean"), 1),
    ("a hook on 1 call in 10,000, × bare", "≤ 1.10 after 3.11", "hooks", ("totals", "rare", "hook", "worst"), 2),
    ("a watch on 1 call in 10,000, × bare", "≤ 1.10 after 3.11", "hooks", ("totals", "rare", "watch", "worst"), 2),
    ("a Python callback ÷ sys.setprofile's", "≤ 1", "hooks", (*_RELATIONS, "python ÷ sys.setprofile", "geomean"), 2),
    ("a C callback ÷ the floor", "≤ 1.2", "hooks", (*_RELATIONS, "c ÷ floor c", "geomean"), 2),
    ("a second Python callback ÷ alone", "≤ 0.3", "hooks", (*_RELATIONS, "python, python", "geomean"), 2),
    ("a second C callback ÷ alone", "≤ 0.3", "hooks", (*_RELATIONS, "c, c", "geomean"), 2),
    ("seismo.cprofile: added ÷ cProfile's", "< 1", "cprofile", ("totals", "seismo", "geomean"), 2),
    ("coverage of lines, × bare", "≤ 1.05 after 3.11", "coverage", ("totals", "seismo lines", "times"), 2),
    ("coverage of branches, × bare", "≤ 1.05 after 3.11", "coverage", ("totals", "seismo branches", "times"), 2),
    ("coverage of lines ÷ the fastest peer, worst", "≤ 1", "coverage", ("against", "lines", "worst"), 2),
    ("coverage of branches ÷ the fastest peer, worst", "≤ 1", "coverage", ("against", "branches", "worst"), 2),
    (
        "coverage of lines: added ÷ coverage.py's C tracer's",
        "≤ 0.5 on 3.11",
        "coverage",
        ("against", "lines ctrace", "added"),
        2,
    ),
    (
        "coverage of branches: added ÷ coverage.py's C tracer's",
        "≤ 0.5 on 3.11",
        "coverage",
        ("against", "branches ctrace", "added"),
        2,
    ),
    (
        "a test suite with contexts, × bare",
        "≤ 1.15",
        "coverage",
        ("suite", "packaging", "seismo lines, contexts", "times"),
        2,
    ),
    (
        "the same under pytest-cov, × bare",
        "",
        "coverage",
        ("suite", "packaging", "pytest-cov ctrace lines, contexts", "times"),
        2,
    ),
    ("hit counts: added ÷ an empty LINE callback's", "≤ 1.3", "coverage", ("totals", "seismo counts", "to_floor"), 2),
    ("seismo lines: added ÷ an empty LINE callback's", "≤ 1.6", "lines", ("totals", "seismo lines", "to_floor"), 2),
    ("line_profiler, × bare", "", "lines", ("slow_totals", "line_profiler", "times"), 1),
    ("start-up of seismo cover more than bare, ms", "≤ 25", "coverage", ("startup", "seismo lines", "added_median"), 1),
    ("start-up of seismo lines more than bare, ms", "≤ 25", "lines", ("startup", "seismo lines", "added_median"), 1),
    ("refs by type: ns an event", "≤ 5", "refs", ("totals", "seismo types", "ns"), 1),
    ("refs by line: ns an event", "≤ 35", "refs", ("totals", "seismo lines", "ns"), 1),
    ("the empty tracer: ns an event", "", "refs", ("totals", "floor references", "ns"), 1),
    ("memray's object lifetimes: ns an event", "", "refs", ("totals", "memray", "ns"), 0),
    ("deltablue under refs by line, × bare", "≤ 1.6", "refs", (*_DELTABLUE, "seismo lines", "times"), 2),
    ("deltablue under tracemalloc, × bare", "", "refs", (*_DELTABLUE, "tracemalloc", "times"), 2),
    ("deltablue under memray's object lifetimes, × bare", "", "refs", (*_DELTABLUE, "memray", "times"), 2),
    ("refs: table, bytes a live object, at its worst", "≤ 40", "refs", ("memory", "seismo lines", "worst"), 1),
    ("start-up of seismo refs more than bare, ms", "≤ 25", "refs", ("startup", "seismo lines", "added_median"), 1),
    ("a C callback beside a Python one ÷ alone", "≤ 0.3", "hooks", (*_RELATIONS, "python, c", "geomean"), 2),
]


NONE = number(math.nan, 0)


def cells_of(page: str, name: str) -> list[list[str]]:
    """The rows of the table in a section of the page, its head first."""
    _, _, rest = page.partition(f"<!-- begin: {name} -->")
    lines = [line for line in rest.partition("<!-- end:")[0].splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return rows[:1] + rows[2:]


def renewed(page: str, name: str, head: list[str], rows: list[list[str]]) -> str:
    """The table, with the readings that the page's section has where there is no new one; columns by name."""
    old_head, *old_rows = cells_of(page, name) or [head]
    old = {(row[0], column): cell for row in old_rows for column, cell in zip(old_head, row, strict=False)}
    columns = head + [column for column in old_head if column not in head]
    columns[1:] = sorted(columns[1:], key=lambda column: (column[0].isdigit(), column))
    result = []
    for row in rows:
        new = dict(zip(head, row, strict=True))
        cells = [new.get(column, NONE) for column in columns]
        result.append(
            [
                cell if set(cell) - set("– ()") or column == "target" else old.get((row[0], column), cell)
                for column, cell in zip(columns, cells, strict=True)
            ]
        )
    return table(columns, result)


def summary_table(labels: list[str], page: str) -> str:
    """The promises and what was measured, an interpreter a column."""
    rows = []
    for text, target, name, keys, digits in TARGETS:
        rows.append([text, target, *(number(dig(load(label, name), *keys), digits) for label in labels)])
    return renewed(page, "summary", ["", "target", *labels], rows)


def about_table(labels: list[str], page: str) -> str:
    """The machine and the interpreters that were measured."""
    measured = {label for label in labels if any(load(label, name) for name in NAMES)}
    rows = [row for row in cells_of(page, "machine")[1:] if row[0] not in measured]
    for label in labels:
        document = next((d for d in (load(label, name) for name in NAMES) if d), None)
        if document:
            about = document["machine"]
            options = "with --enable-optimizations" if about["enable_optimizations"] else about["build"]
            rows.append(
                [
                    label,
                    about["python"],
                    about["compiler"],
                    options,
                    about["processor"],
                    str(about["cores"]),
                    about["system"],
                    about["date"],
                ]
            )
    rows.sort()
    return table(["label", "Python", "compiler", "build", "processor", "cores", "system", "date"], rows)


def truth_table(labels: list[str], page: str) -> str:
    """Errors of time shares in points: the worst phase and, in brackets, what 19 of 20 single runs keep to."""
    tools = ("seismo auto", "seismo none", "seismo all", "cProfile", "by the program's clock", "bare again")
    rows = []
    for tool in tools:
        cells = []
        for label in labels:
            worst, single = (dig(load(label, "truth"), "tools", tool, key) for key in ("worst", "nineteen"))
            cells.append(f"{number(worst, 1)} ({number(single, 1)})")
        rows.append([tool, *cells])
    return renewed(page, "truth summary", ["worst phase (19 of 20 runs)", *labels], rows)


def replace_section(page: str, name: str, text: str) -> str:
    """The page with what stands between the markers of `name` replaced.

    Where there are none, new ones come at the end of the interpreter's section, whose label is the name's last word, or
    of the page.
    """
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    if begin not in page or end not in page:
        above, heading, section = page.partition(f"\n## Python {name.rpartition(' ')[2]}\n")
        section, following, below = section.partition("\n## ")
        page = f"{above}{heading}{section}".rstrip()
        return f"{page}\n\n{begin}\n{text}\n{end}\n{following}{below}"
    head, rest = page.split(begin, 1)
    _, tail = rest.split(end, 1)
    return f"{head}{begin}\n{text}\n{end}{tail}"


def write_page(labels: list[str]) -> None:
    """Put all kept results into docs/performance.md, and those of truth into docs/accuracy.md."""
    page = PAGE.read_text()
    page = replace_section(page, "summary", summary_table(labels, page))
    page = replace_section(page, "machine", about_table(labels, page))
    for label in labels:
        for name in NAMES:
            document = load(label, name)
            if document:
                text = f"{document['text']}\n\n{document['method'][0].upper()}{document['method'][1:]}."
                page = replace_section(page, f"{name} {label}", text)
    PAGE.write_text(page)
    accuracy = ACCURACY.read_text()
    ACCURACY.write_text(replace_section(accuracy, "truth summary", truth_table(labels, accuracy)))
    print(f"{PAGE.relative_to(ROOT)} and {ACCURACY.relative_to(ROOT)} are written")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="rough readings, about half a minute an interpreter")
    how.add_argument("--full", action="store_true", help="the full suite, about three minutes an interpreter (default)")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=" ".join(NAMES))
    parser.add_argument("--python", action="append", type=parse_interpreter, metavar="LABEL=COMMAND", default=[])
    parser.add_argument("--interpreters", nargs="+", metavar="LABEL", help="of those named by --python, only these")
    parser.add_argument("--no-install", action="store_true", help="the environments are there already")
    parser.add_argument("--build-only", action="store_true", help="prepare environments and builds, measure nothing")
    parser.add_argument("--no-docs", action="store_true", help="do not write docs/performance.md (quick never does)")
    parser.add_argument("--docs-only", action="store_true", help="only write docs/performance.md from the last results")
    options = parser.parse_args()
    here = Interpreter(".".join(platform.python_version_tuple()[:2]), [sys.executable])
    chosen: list[Interpreter] = options.python or [here]
    if options.interpreters:
        unknown = set(options.interpreters) - {interpreter.label for interpreter in chosen}
        if unknown:
            parser.error(f"no --python for {', '.join(sorted(unknown))}")
        chosen = [interpreter for interpreter in chosen if interpreter.label in options.interpreters]
    failed = False
    if not options.docs_only:
        for interpreter in chosen:
            prepare(interpreter, install=not options.no_install)
        for interpreter in [] if options.build_only else chosen:
            for name in options.only:
                failed |= not run(interpreter, name, options.quick)
    if not (options.no_docs or options.quick or options.build_only):
        kept = sorted(folder.name for folder in RESULTS.iterdir() if folder.is_dir()) if RESULTS.is_dir() else []
        write_page(kept)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
