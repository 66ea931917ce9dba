"""Benchmark of `seismo check`: false alarms, detected regressions, and cost.

alarms  Unchanged programs (pyperformance's, and the test suites of two packages) are compared with themselves at
        another revision, while other processes keep all cores busy. Each is a regular check with the default limits.
        There should be no alarm.
plants  Ten regressions are planted in copies of packages from PyPI, one at a time: an additional call in a loop, a
        changed algorithm, a lost cache, a needless copy. Found: the check exits with 1. Right: the edited function is
        named first; against a baseline file, which has no call graph, it is the only one.
cost    The CPU time of a counting child divided by that of a bare one, on the test suite of `packaging`: calls and
        lines, and births. Then a complete `--against REV` on a small package.
    python benchmarks/check.py                 everything, about half an hour
    python benchmarks/check.py --only plants   one of them
"""

# ruff: noqa: E501  edits are shown unwrapped
from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import (
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
    timed,
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
PLANTS = [Plant(*row) for row in (
    ("tabulate", "call more in a loop", "_type", TABULATE, "__init__.py",
     "string = _strip_ansi(string)\n\n    if string is None", "string = _strip_ansi(_strip_ansi(string))\n\n    if string is None"),
    ("tabulate", "needless copy", "_visible_width", TABULATE, "__init__.py",
     "        return len_fn(_strip_ansi(s))", '        return len_fn("".join(list(_strip_ansi(s))))'),
    ("sortedcontainers", "changed algorithm", "SortedList.add", SORTED, "sortedlist.py",
     "                insort(_lists[pos], value)", "                _lists[pos].append(value)\n                _lists[pos].sort()"),
    ("sortedcontainers", "changed algorithm", "SortedList.update", SORTED, "sortedlist.py",
     "            if len(values) * 4 >= self._len:", "            if not values:"),
    ("jinja2", "lost cache", "get_lexer", JINJA, "lexer.py", "    lexer = _lexer_cache.get(key)", "    lexer = None"),
    ("markdown_it", "lost cache", "ParserInline.skipToken", MARKDOWN, "parser_inline.py",
     "        cache[pos] = state.pos\n", ""),
    ("parso", "lost cache", "_get_token_collection", PARSO, "python/tokenize.py",
     "        _token_collection_cache[tuple(version_info)] = result = \\\n            _create_token_collection(version_info)",
     "        result = _create_token_collection(version_info)"),
    ("h11", "needless copy", "ReceiveBuffer.maybe_extract_at_most", H11, "_receivebuffer.py",
     "        out = self._data[:count]\n        if not out:", "        out = bytes(bytearray(self._data))[:count]\n        if not out:"),
    ("pygments", "call more in a loop", "RegexLexer.get_tokens_unprocessed", PYGMENTS, "lexer.py",
     "                    pos = m.end()\n", "                    pos = max(m.start(), m.end())\n"),
    ("idna", "call more in a loop", "encode", IDNA, "core.py",
     "    for label in labels:\n        s = alabel(label)\n", "    for label in labels:\n        alabel(label)\n        s = alabel(label)\n"),
)]  # fmt: skip


def commit(folder: Path) -> None:
    """Make the folder a repository with the branch main, and commit everything in it."""
    author = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")
    for words in ("init -q -b main", "add -A -f", "commit -q -m released"):
        output_of(["git", *author, *words.split()], cwd=folder)


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


def check(folder: Path, *words: str, path: str = "") -> tuple[dict[str, Any], int]:
    """Run a check. Return its findings and suspects, and its exit status."""
    command = [sys.executable, "-m", "seismo", "check", "-q", "--format", "json", *words]
    done = subprocess.run(command, cwd=folder, env=with_path(path), capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
    rows = {name: section["rows"] for name, section in json.loads(done.stdout)["sections"].items()}
    return {"findings": [], "suspects": [], **rows}, done.returncode


@contextlib.contextmanager
def project(plant: Plant) -> Iterator[Path]:
    """Yield the folder of a repository with a copy of the plant's package and the program that runs it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copied(plant.package, folder)
        (folder / "run.py").write_text(plant.program)
        commit(folder)
        yield folder


def beyond_limits(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the findings that fail a check."""
    return [one for one in result["findings"] if one["verdict"] == "beyond"]


def planted(plant: Plant) -> tuple[bool, bool, list[str]]:
    """Plant a regression and check. Return if it is found, if its function is named first, and the cells of its row."""
    progress(f"regressions: {plant.package} {plant.function}")
    with project(plant) as folder:
        check(folder, "--update", "run.py")
        edit(folder / plant.package / plant.file, plant.before, plant.after)
        result, status = check(folder, "--against", "main", "run.py")
        by_file = check(folder, "run.py")[0]
    names, of_file = ([one["function"]["qualname"] for one in side["suspects"]] for side in (result, by_file))
    first = names[:1] == [plant.function]
    cells = [
        f"{plant.package}: {plant.kind}",
        plant.function,
        ", ".join(one["quantity"] for one in beyond_limits(result)) or "not found",
        "first" if first else f"not first: {names[:3]}",
        "alone" if of_file == [plant.function] else str(of_file),
    ]
    return status == 1, first, cells


def of_plants(rounds: int, checks: int) -> tuple[dict[str, Any], list[str]]:
    found, first, rows = zip(*(planted(plant) for plant in PLANTS), strict=True)
    shown = table(["regression", "in", "found by", "named", "against a file"], rows)
    text = f"{sum(found)} of {len(rows)} found, the right function first in {sum(first)}"
    return {"found": sum(found), "first": sum(first)}, [shown, text]


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
        shutil.copy(programs.script(name), folder / "run.py")
        commit(folder)
        yield folder, ["run.py", "1"], ""


def of_alarms(rounds: int, checks: int) -> tuple[dict[str, Any], list[str]]:
    """Check unchanged programs in turn, with all cores busy; fewer processes if the machine is already under load."""
    failed: dict[int, list[str]] = {1: [], 2: []}
    names = [*PROGRAMS, *PACKAGES]
    with contextlib.ExitStack() as stack:
        stack.enter_context(busy(max(0, (os.cpu_count() or 1) + 1 - int(os.getloadavg()[0]))))
        projects = {name: stack.enter_context(unchanged(name)) for name in names[:checks]}
        for turn in range(checks):
            name = names[turn % len(names)]
            progress(f"false alarms: {name}, {turn + 1} of {checks}")
            folder, words, path = projects[name]
            result, status = check(folder, "--against", "main", *words, path=path)
            if status in failed:
                limits = [one["limit"] for one in beyond_limits(result)]
                failed[status].append(f"  {name}: {limits} {[one['function'] for one in result['suspects'][:2]]}")
    false, undecided = failed.values()
    text = (
        f"{checks} checks of unchanged programs on a busy machine: {len(false)} false alarms, "
        f"{len(undecided)} undecided"
    )
    return {"false_alarms": len(false)}, [text, *false, *undecided]


def seconds(command: list[str], folder: Path, path: str) -> float:
    """Return the CPU time of a command and its child processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output_of(command, cwd=folder, env={**with_path(path), "PYTHONHASHSEED": "0"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def of_cost(rounds: int, checks: int) -> tuple[dict[str, Any], list[str]]:
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
    with project(PLANTS[0]) as folder:
        small = median([timed(lambda: check(folder, "--against", "main", "run.py")) for _ in range(3)])
    bare = median(readings.pop("bare"))
    ratios = {name: median(times) / bare for name, times in readings.items()}
    rows = [["bare", f"{bare:.2f} s"], *([name, number(ratio)] for name, ratio in ratios.items())]
    rows.append(["--against, a program with tabulate", f"{small:.1f} s"])
    return {"cost": {"ratios": ratios, "small_against": {"seconds": small}}}, [
        table(["counting / bare, tests of packaging", ""], rows)
    ]


PARTS = {"plants": of_plants, "alarms": of_alarms, "cost": of_cost}


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
