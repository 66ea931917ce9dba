"""Benchmark of `seismo check`: false alarms, detected regressions, and cost.

alarms  Unchanged programs (pyperformance's, and the test suites of two packages) are compared with themselves at
        another revision, while other processes keep all cores busy. Each is a regular check with the default limits.
        There should be no alarm.
plants  Ten regressions are planted in copies of packages from PyPI, one at a time: an additional call in a loop, a
        changed algorithm, a lost cache, a needless copy. Found: the check exits with 1. Right: the edited function is
        named first; against a baseline file, which has no call graph, it is the only one.
cost    The CPU time of a counting child divided by that of a bare one, on the test suite of `packaging`: calls and
        lines, and births; also `valgrind --tool=cachegrind`. Then a complete `--against REV` on a small package.
suites  `pytest --seismo-check` on the suites of attrs, jinja2 and more-itertools. Each is measured for its baseline
        and checked twice unchanged on a busy machine, without an alarm. Then one of its functions is edited to do
        more, and should be named first.

    python benchmarks/check.py                 everything, about forty minutes
    python benchmarks/check.py --only plants   one of them
"""

# ruff: noqa: E501  edits are shown unwrapped
from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import (
    BUILD,
    HERE,
    arguments,
    busy,
    fetched,
    finish,
    load_core,
    median,
    number,
    output_of,
    progress,
    rounds_of,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

# Packages whose test suites are checked: version, tests, and folder of sources.
PACKAGES = {
    "packaging": ("26.3", ["tests/test_utils.py", "tests/test_licenses.py", "tests/test_errors.py"], "src"),
    "idna": ("3.20", ["tests/test_idna.py", "tests/test_idna_codec.py", "tests/test_idna_concurrency.py"], "."),
}
PROGRAMS = ("deltablue", "richards", "chaos", "go", "hexiom", "generators", "deepcopy", "logging", "regex_compile")
LARGE = ["tests/test_requirements.py"]  # of packaging, for the cost
CHECKS = 30
PYTEST = ["-m", "pytest", "-q", *(f"-pno:{name}" for name in ("cacheprovider", "xdist", "seismo", "hypothesispytest"))]


@dataclass(frozen=True)
class Plant:
    """A regression: its package, kind and function, the program that runs it, and the edit."""

    package: str
    kind: str
    function: str
    program: str
    file: str
    before: str
    after: str


ANSI = "rows = [[f'\\x1b[31m{i}\\x1b[0m', i * 3.25, 'x' * (i % 9)] for i in range(120)]\n"
TABULATE = f"from tabulate import tabulate\n{ANSI}for _ in range(3): tabulate(rows, headers=['a', 'b', 'c'])\n"
SORTED = (
    "from sortedcontainers import SortedList\nimport random\n\nclass Key:\n    def __init__(self, n): self.n = n\n"
    "    def __lt__(self, other): return self.n < other.n\n\nrandom.seed(1)\n"
    "keys = [Key(random.random()) for _ in range(400)]\nfound = SortedList()\nfor key in keys: found.add(key)\n"
    "for at in range(10): found.update(keys[at * 40:at * 40 + 400 - at])\n"
)
JINJA = (
    "import jinja2\nenvironment = jinja2.Environment()\nfor i in range(20):\n"
    "    environment.from_string('{% for x in y %}{{ x }}{% endfor %}' + str(i)).render(y=[1, 2])\n"
)
MARKDOWN = (
    "import markdown_it\nparser = markdown_it.MarkdownIt()\nfor i in range(8):\n"
    "    parser.render('# head\\n\\n' + '[[[[*a*](b)] c](d) `e`](f) ' * 4 + '\\n\\n- one\\n- two\\n')\n"
)
PARSO = "import parso\nfor i in range(4): parso.parse(f'def f(a):\\n    return a + {i}\\n' * 5)\n"
H11 = (
    "import h11\nfor _ in range(20):\n    c = h11.Connection(h11.SERVER)\n"
    "    c.receive_data(b'POST / HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 6000\\r\\n\\r\\n')\n    c.next_event()\n"
    "    for _ in range(6):\n        c.receive_data(b'x' * 1000)\n        c.next_event()\n"
)
PYGMENTS = (
    "from pygments import highlight\nfrom pygments.lexers.python import PythonLexer\n"
    "from pygments.formatters.html import HtmlFormatter\n"
    "highlight('def f(a, b=1):\\n    return [a + b for a in range(10)]  # text\\n' * 30, PythonLexer(), HtmlFormatter())\n"
)
IDNA = "import idna\nfor i in range(60): idna.encode('www.b\\u00fccher%d.example.org' % i)\n"
PLANTS = (
    Plant(
        "tabulate", "call more in a loop", "_type", TABULATE, "__init__.py",
        "string = _strip_ansi(string)\n\n    if string is None", "string = _strip_ansi(_strip_ansi(string))\n\n    if string is None",
    ),
    Plant(
        "tabulate", "needless copy", "_visible_width", TABULATE, "__init__.py",
        "        return len_fn(_strip_ansi(s))", '        return len_fn("".join(list(_strip_ansi(s))))',
    ),
    Plant(
        "sortedcontainers", "changed algorithm", "SortedList.add", SORTED, "sortedlist.py",
        "                insort(_lists[pos], value)", "                _lists[pos].append(value)\n                _lists[pos].sort()",
    ),
    Plant(
        "sortedcontainers", "changed algorithm", "SortedList.update", SORTED, "sortedlist.py",
        "            if len(values) * 4 >= self._len:", "            if not values:",
    ),
    Plant("jinja2", "lost cache", "get_lexer", JINJA, "lexer.py", "    lexer = _lexer_cache.get(key)", "    lexer = None"),
    Plant(
        "markdown_it", "lost cache", "ParserInline.skipToken", MARKDOWN, "parser_inline.py",
        "        cache[pos] = state.pos\n", "",
    ),
    Plant(
        "parso", "lost cache", "_get_token_collection", PARSO, "python/tokenize.py",
        "        _token_collection_cache[tuple(version_info)] = result = \\\n            _create_token_collection(version_info)",
        "        result = _create_token_collection(version_info)",
    ),
    Plant(
        "h11", "needless copy", "ReceiveBuffer.maybe_extract_at_most", H11, "_receivebuffer.py",
        "        out = self._data[:count]\n        if not out:", "        out = bytes(bytearray(self._data))[:count]\n        if not out:",
    ),
    Plant(
        "pygments", "call more in a loop", "RegexLexer.get_tokens_unprocessed", PYGMENTS, "lexer.py",
        "                    pos = m.end()\n", "                    pos = max(m.start(), m.end())\n",
    ),
    Plant(
        "idna", "call more in a loop", "encode", IDNA, "core.py",
        "    for label in labels:\n        s = alabel(label)\n", "    for label in labels:\n        alabel(label)\n        s = alabel(label)\n",
    ),
)  # fmt: skip


AGAIN = 2
UNWANTED = ["xdist", "cacheprovider", "cov", "benchmark", "timeout", "anyio"]


@dataclass(frozen=True)
class Suite:
    """A package's tests: version, folder of sources, pytest's arguments, an edit and the edited function."""

    version: str
    source: str
    words: tuple[str, ...]
    file: str
    before: str
    after: str
    function: str


NO_TRIO = ("--ignore=tests/test_async.py", "--ignore=tests/test_async_filters.py")
SUITES = {
    "jinja2": Suite(
        "3.1.6", "src", ("tests", *NO_TRIO), "src/jinja2/lexer.py",
        "    lexer = _lexer_cache.get(key)", "    lexer = None", "get_lexer",
    ),
    "attrs": Suite(
        "26.1.0", "src", ("tests/test_make.py", "tests/test_dunders.py", "tests/test_slots.py"), "src/attr/_make.py",
        "    own_attrs = [\n", "    for _ in range(30): sorted(ca_list, key=lambda pair: str(pair[0]))\n    own_attrs = [\n", "_transform_attrs",
    ),
    "more-itertools": Suite(
        "11.2.1", ".", ("tests",), "more_itertools/more.py",
        "    iterator = iter(partial(take, n, iter(iterable)), [])", "    iterator = iter(partial(take, n, iter(list(map(lambda one: one, iterable)))), [])", "chunked",
    ),
}  # fmt: skip


def git(folder: Path, *words: str) -> None:
    """Run git in the folder."""
    author = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    """Commit everything in the folder, as a repository with the branch main."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--allow-empty", "-m", "as released")


def with_path(path: str) -> dict[str, str]:
    """Return the environment, with a folder of modules prepended to PYTHONPATH."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH", "")]))}


def copied(package: str, folder: Path) -> None:
    """Copy an installed package into the folder."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"{package} is not installed: pip install -r benchmarks/requirements.txt")
    source = Path(next(iter(spec.submodule_search_locations)))
    shutil.copytree(source, folder / package, ignore=shutil.ignore_patterns("__pycache__"))


def edit(file: Path, before: str, after: str) -> None:
    """Edit a file. Raise RuntimeError if it lacks the text to replace."""
    text = file.read_text()
    if before not in text:
        raise RuntimeError(f"{before!r} is not in {file}: the package has changed")
    file.write_text(text.replace(before, after, 1))


def check(folder: Path, *words: str, path: str = "") -> tuple[dict[str, Any], int, float]:
    """Run a check. Return its findings, suspects and number of omitted items, its exit status, and its duration (s)."""
    environment = with_path(path)
    command = [sys.executable, "-m", "seismo", "check", "-q", "--format", "json", *words]
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    took = time.perf_counter() - begun
    if not done.stdout:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
    document = json.loads(done.stdout)
    rows = {name: section["rows"] for name, section in document["sections"].items()}
    return {"findings": [], "suspects": [], **rows, "left_out": document["left_out"]}, done.returncode, took


# ---- regressions ----


def planted(plant: Plant) -> dict[str, Any]:
    """Plant a regression and check."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copied(plant.package, folder)
        (folder / "run.py").write_text(plant.program)
        commit(folder)
        check(folder, "--update", "run.py")
        edit(folder / plant.package / plant.file, plant.before, plant.after)
        result, status, took = check(folder, "--against", "main", "run.py")
        by_file = check(folder, "run.py")[0]
    names, of_file = ([one["function"]["qualname"] for one in side["suspects"]] for side in (result, by_file))
    return {
        "package": plant.package,
        "kind": plant.kind,
        "function": plant.function,
        "found": status == 1,
        "rank": names.index(plant.function) + 1 if plant.function in names else 0,
        "named": names[:3],
        "named_against_file": of_file,
        "beyond": [one["quantity"] for one in result["findings"] if one["verdict"] == "beyond"],
        "seconds": took,
    }


# ---- false alarms ----


def idle_cores() -> int:
    """Return the number of processes that keep all cores busy; fewer if the machine is already under load."""
    return max(0, (os.cpu_count() or 1) + 1 - int(os.getloadavg()[0]))


@contextlib.contextmanager
def unchanged(name: str) -> Iterator[tuple[Path, list[str], str]]:
    """Yield an unchanged project: its folder, the arguments that run it, and the path of its sources."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "project"
        if name in PACKAGES:
            shutil.copytree(fetched(name, PACKAGES[name][0]), folder)
            commit(folder)
            _, tests, source = PACKAGES[name]
            yield folder, [*PYTEST, "-c", "/dev/null", "--rootdir", ".", *tests], str(folder / source)
            return
        folder.mkdir()
        programs.sources()
        for path in HERE.glob("*.py"):
            shutil.copy(path, folder)
        (folder / "build").symlink_to(BUILD)
        git(folder, "init", "-q", "-b", "main")
        (folder / ".gitignore").write_text("__pycache__\n")
        commit(folder)
        yield folder, ["programs.py", name, "1"], ""


def alarms(checks: int) -> list[dict[str, Any]]:
    """Return the results of checks of unchanged programs, in turn, on a busy machine."""
    found = []
    names = [*PROGRAMS, *PACKAGES]
    with contextlib.ExitStack() as stack:
        stack.enter_context(busy(idle_cores()))
        projects = {name: stack.enter_context(unchanged(name)) for name in names}
        for turn in range(checks):
            name = names[turn % len(names)]
            progress(f"false alarms: {name}, {turn + 1} of {checks}")
            folder, words, path = projects[name]
            result, status, took = check(folder, "--against", "main", *words, path=path)
            beyond = [one["limit"] for one in result["findings"] if one["verdict"] == "beyond"]
            found.append(
                {
                    "program": name,
                    "status": status,
                    "beyond": beyond,
                    "left_out": len(result["left_out"]),
                    "named": [suspect["function"] for suspect in result["suspects"][:2]],
                    "seconds": took,
                }
            )
            print(f"{turn + 1} {name}: status {status}, {took:.0f} s {beyond}", file=sys.stderr, flush=True)
    return found


# ---- cost ----


def seconds(command: list[str], folder: Path, path: str) -> float:
    """Return the CPU time of a command and its child processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output_of(command, cwd=folder, env={**with_path(path), "PYTHONHASHSEED": "0"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def cost(rounds: int) -> dict[str, Any]:
    """Return the cost of counting on a test suite, and of a complete `--against` on a small package."""
    with unchanged("packaging") as (folder, words, path), tempfile.TemporaryDirectory() as scratch:
        words = [*words[: -len(PACKAGES["packaging"][1])], *LARGE]
        counting = [sys.executable, "-m", "seismo", "check", "--counted"]
        options = ["-q", "-o", f"{scratch}/c.seismo"]
        tools = {
            "bare": [sys.executable, *words],
            "calls and lines": [*counting, "calls", *options, "--lines", f"{scratch}/l.seismo", *words],
        }
        if load_core().ref_objection() is None:
            tools["births"] = [*counting, "births", *options, *words]
        readings: dict[str, list[float]] = {name: [] for name in tools}
        for turn in range(rounds + 1):
            for name, command in tools.items():
                progress(f"cost: {name}, round {turn}")
                took = seconds(command, folder, path)
                if turn:  # the first run fills caches
                    readings[name].append(took)
        if shutil.which("valgrind"):
            progress("cost: cachegrind")
            grind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
            with contextlib.suppress(RuntimeError):
                readings["cachegrind"] = [seconds([*grind, sys.executable, *words], folder, path)]
        bare = median(readings["bare"])
        small = planted_nothing()
    return {
        "bare_s": bare,
        "readings_s": readings,
        "ratios": {name: median(times) / bare for name, times in readings.items() if name != "bare"},
        "small_against": small,
    }


def planted_nothing() -> dict[str, float]:
    """Return the durations of a check of an unchanged small package, and of the bare run."""
    plant = PLANTS[0]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copied(plant.package, folder)
        (folder / "run.py").write_text(plant.program)
        commit(folder)
        bare = []
        for _ in range(3):
            begun = time.perf_counter()
            subprocess.run([sys.executable, "run.py"], cwd=folder, check=True, capture_output=True)
            bare.append(time.perf_counter() - begun)
        taken = [check(folder, "--against", "main", "run.py")[2] for _ in range(3)]
    return {"bare_s": median(bare), "seconds": median(taken), "allowed_s": 3 * median(bare) + 5}


# ---- suites under pytest ----


def ran(folder: Path, suite: Suite, *words: str) -> tuple[int, str]:
    """Run a check of the suite. Return pytest's exit status and the report of the check."""
    command = [sys.executable, "-m", "pytest", "-q", *(f"-pno:{name}" for name in UNWANTED), "--seismo-check", *words]
    environment = with_path(str(folder / suite.source))
    done = subprocess.run(
        [*command, *suite.words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    said = done.stdout.partition("= seismo check =")[2]
    if not said or "tests failed" in said or ("--seismo-update" in words and done.returncode):
        raise RuntimeError(f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode, said


def checked(name: str) -> dict[str, Any]:
    """Return the results for a suite."""
    suite = SUITES[name]
    source = fetched(name, suite.version)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "project"
        shutil.copytree(source, folder)
        commit(folder)
        progress(f"{name}: the baseline")
        ran(folder, suite, "--seismo-update")
        same = []
        for turn in range(AGAIN):
            progress(f"{name}: check {turn + 1}")
            same.append(ran(folder, suite))
        edit(folder / suite.file, suite.before, suite.after)
        progress(f"{name}: the edit")
        status, said = ran(folder, suite)
    named = re.findall(r"^  \d+\. \S+?:(\S+)", said, re.MULTILINE)
    return {
        "suite": name,
        "alarms": sum("exceeded" in said or "worse than linear" in said for _, said in same),
        "undecided": sum(bool(status) and "exceeded" not in said for status, said in same),
        "found": status == 1 and "exceeded" in said,
        "rank": named.index(suite.function) + 1 if suite.function in named else 0,
        "named": named[:3],
        "said": [said for status, said in same if status],
    }


# ---- main ----


def of_plants(rounds: int, checks: int) -> tuple[dict[str, Any], list[str]]:
    rows = []
    for plant in PLANTS:
        progress(f"regressions: {plant.package} {plant.function}")
        rows.append(planted(plant))
    found, first = sum(row["found"] for row in rows), sum(row["rank"] == 1 for row in rows)
    cells = [
        [
            f"{row['package']}: {row['kind']}",
            row["function"],
            ", ".join(row["beyond"]) or "not found",
            rank_of(row),
            "alone" if row["named_against_file"] == [row["function"]] else str(row["named_against_file"]),
        ]
        for row in rows
    ]
    shown = table(["regression", "in", "found by", "named", "against a file"], cells)
    text = f"{found} of {len(rows)} found, the right function first in {first}"
    return {"plants": rows, "found": found, "first": first}, [shown, text]


def rank_of(row: dict[str, Any]) -> str:
    """Return the rank of an edited function as a cell."""
    return "first" if row["rank"] == 1 else f"{row['rank'] or 'not'} {row['named']}"


def of_alarms(rounds: int, checks: int) -> tuple[dict[str, Any], list[str]]:
    done = alarms(checks)
    false, undecided = ([one for one in done if one["status"] == status] for status in (1, 2))
    text = (
        f"{len(done)} checks of unchanged programs on a busy machine: {len(false)} false alarms, "
        f"{len(undecided)} undecided"
    )
    each = [f"  {one['program']}: {one['beyond']} {one['named']}" for one in (*false, *undecided)]
    return {"alarms": done, "false_alarms": len(false), "undecided": len(undecided)}, [text, *each]


def of_cost(rounds: int, checks: int) -> tuple[dict[str, Any], list[str]]:
    found = cost(rounds)
    rows = [["bare", f"{found['bare_s']:.2f} s"], *([name, number(ratio)] for name, ratio in found["ratios"].items())]
    small = found["small_against"]
    text = (
        f"--against, all in all, a program with tabulate: {small['seconds']:.1f} s "
        f"(3 x bare + 5 s = {small['allowed_s']:.1f} s)"
    )
    return {"cost": found}, [table(["counting / bare, tests of packaging", ""], rows), text]


def of_suites(rounds: int, checks: int) -> tuple[dict[str, Any], list[str]]:
    with busy(idle_cores()):
        rows = [checked(name) for name in SUITES]
    cells = [[row["suite"], str(row["alarms"]), str(row["undecided"]), rank_of(row)] for row in rows]
    return {"suites": rows}, [table(["suite", f"alarms in {AGAIN}", "undecided", "edited function named"], cells)]


PARTS = {"plants": of_plants, "alarms": of_alarms, "cost": of_cost, "suites": of_suites}


def main() -> None:
    options = arguments(__doc__, 5, 1, only=PARTS).parse_args()
    results: dict[str, Any] = {}
    texts = []
    for name in options.only or PARTS:
        found, text = PARTS[name](rounds_of(options), 6 if options.quick else CHECKS)
        results |= found
        texts += text
    method = (
        "CPU time, --against by the wall clock; medians; each check as a process of its own, against a revision that "
        "is the same or lacks the edit"
    )
    finish("check", options, method, results, "\n\n".join(texts))


if __name__ == "__main__":
    main()
