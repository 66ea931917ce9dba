"""What `seismo check` finds, what it wrongly finds, and what it costs.

False alarms. Programs that did not change (pyperformance's, and the test suites of two packages) are compared with
themselves at another revision, while other processes keep all cores busy. Each is a check as a user makes it, with the
limits that hold by default. There should be none.

Regressions. Ten are planted in copies of packages from PyPI, one at a time: a call more in a loop, a changed algorithm,
a lost cache, a needless copy. Found: the check ends with 1. Right: the function that was edited is named first; against
a baseline file, which has no call graph, it alone.

Cost. The CPU time of a child that counts, divided by the bare one, on the test suite of `packaging`: calls and lines,
and births; and `valgrind --tool=cachegrind` on the same. Then `--against REV` as a whole on a small package.

    python benchmarks/check.py                 all of it, some fifteen minutes
    python benchmarks/check.py --only plants   one of: alarms, plants, cost
"""

# ruff: noqa: E501  edits are shown as they are made
from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import BUILD, HERE, arguments, finish, median, number, progress, rounds_of, table

if TYPE_CHECKING:
    from collections.abc import Iterator

SUITES = BUILD / "suites"
# The packages whose test suites are checked: version, and where the tests and the sources are.
PACKAGES = {
    "packaging": ("26.3", ["tests/test_utils.py", "tests/test_licenses.py", "tests/test_errors.py"], "src"),
    "idna": ("3.20", ["tests/test_idna.py", "tests/test_idna_codec.py", "tests/test_idna_concurrency.py"], "."),
}
PROGRAMS = ("deltablue", "richards", "chaos", "go", "hexiom", "generators", "deepcopy", "logging", "regex_compile")
LARGE = ["tests/test_requirements.py"]  # of packaging: what the cost is measured on
CHECKS = 30
PYTEST = [
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-p",
    "no:seismo",
    "-p",
    "no:hypothesispytest",
]


@dataclass(frozen=True)
class Plant:
    """A regression: in which package, what kind, the function it is in, the program that runs it, and the edit."""

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


def git(folder: Path, *words: str) -> None:
    """Runs git in the folder."""
    author = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    """Makes the folder a repository with one revision, main, unless it is one."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--allow-empty", "-m", "as released")


def check(folder: Path, *words: str, path: str = "") -> tuple[dict[str, Any], int, float]:
    """One check: its result, its exit status, and how long it took in seconds."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH", "")]))}
    command = [sys.executable, "-m", "seismo", "check", "-q", "--format", "json", *words]
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    took = time.perf_counter() - begun
    if not done.stdout:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout), done.returncode, took


# ---- regressions ----


def planted(plant: Plant) -> dict[str, Any]:
    """Plants a regression, and checks."""
    spec = importlib.util.find_spec(plant.package)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"{plant.package} is not installed: pip install -r benchmarks/requirements.txt")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source = Path(next(iter(spec.submodule_search_locations)))
        shutil.copytree(source, folder / plant.package, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "run.py").write_text(plant.program)
        commit(folder)
        check(folder, "--update", "run.py")
        edited = folder / plant.package / plant.file
        text = edited.read_text()
        if text.count(plant.before) < 1:
            raise RuntimeError(f"{plant.package} has changed: {plant.before!r} is not in {plant.file}")
        edited.write_text(text.replace(plant.before, plant.after, 1))
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


def suite(name: str) -> Path:
    """The folder of a package's sources and tests, fetched on the first use. RuntimeError when that fails."""
    return fetched(name, PACKAGES[name][0])


def fetched(name: str, version: str) -> Path:
    """The folder of a package's sources, as suite() has it."""
    stem = f"{name.replace('-', '_')}-{version}"
    folder = SUITES / stem
    if not (folder / "tests").is_dir():
        SUITES.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        command += ["--dest", str(SUITES), f"{name}=={version}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        archive = SUITES / f"{stem}.tar.gz"
        if done.returncode or not archive.is_file():
            raise RuntimeError(f"the sources of {name} {version} cannot be downloaded:\n{done.stderr}")
        with tarfile.open(archive) as contents:
            contents.extractall(SUITES, filter="data")
    return folder


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """Keeps all cores busy, and a little more; where others do already, they are enough."""
    spin = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10000))"
    wanted = (os.cpu_count() or 1) + 1
    free = max(0, wanted - int(os.getloadavg()[0]))
    others = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(free)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@contextlib.contextmanager
def unchanged(name: str) -> Iterator[tuple[Path, list[str], str]]:
    """A project that does not change: its folder, the words that run it, and the path of its sources in it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "project"
        if name in PACKAGES:
            shutil.copytree(suite(name), folder)
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
    """Checks of what did not change, in turn, on a busy machine."""
    found = []
    names = [*PROGRAMS, *PACKAGES]
    with contextlib.ExitStack() as stack:
        stack.enter_context(busy())
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
    """The CPU time of a command, and of the processes that it waited for."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH", "")]))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:6])}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def cost(rounds: int) -> dict[str, Any]:
    """What counting costs on a test suite, and `--against` as a whole on a small package."""
    from seismo.process.objects.recorder import why_not

    with unchanged("packaging") as (folder, words, path), tempfile.TemporaryDirectory() as scratch:
        words = [*words[: -len(PACKAGES["packaging"][1])], *LARGE]
        counting = [sys.executable, "-m", "seismo", "check", "--counted"]
        options = ["-q", "-o", f"{scratch}/c.seismo"]
        tools = {
            "bare": [sys.executable, *words],
            "calls and lines": [*counting, "calls", *options, "--lines", f"{scratch}/l.seismo", *words],
        }
        if not why_not():
            tools["births"] = [*counting, "births", *options, *words]
        readings: dict[str, list[float]] = {name: [] for name in tools}
        for turn in range(rounds + 1):
            for name, command in tools.items():
                progress(f"cost: {name}, round {turn}")
                took = seconds(command, folder, path)
                if turn:  # the first one fills caches
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
    """A check of a small package that did not change: all in all, and the bare run."""
    plant = PLANTS[0]
    spec = importlib.util.find_spec(plant.package)
    assert spec is not None
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source = Path(next(iter(spec.submodule_search_locations or ())))
        shutil.copytree(source, folder / plant.package, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "run.py").write_text(plant.program)
        commit(folder)
        bare = []
        for _ in range(3):
            begun = time.perf_counter()
            subprocess.run([sys.executable, "run.py"], cwd=folder, check=True, capture_output=True)
            bare.append(time.perf_counter() - begun)
        taken = [check(folder, "--against", "main", "run.py")[2] for _ in range(3)]
    return {"bare_s": median(bare), "seconds": median(taken), "allowed_s": 3 * median(bare) + 5}


def main() -> None:
    """Measures, and prints."""
    parser = arguments(__doc__, 5, 1)
    parser.add_argument("--only", choices=("alarms", "plants", "cost"), help="measure only this")
    parser.add_argument("--checks", type=int, default=CHECKS, help=f"checks of what did not change (default {CHECKS})")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    texts = []
    if options.only in (None, "plants"):
        rows = []
        for plant in PLANTS:
            progress(f"regressions: {plant.package} {plant.function}")
            rows.append(planted(plant))
        results["plants"] = rows
        results["found"] = sum(row["found"] for row in rows)
        results["first"] = sum(row["rank"] == 1 for row in rows)
        texts.append(
            table(
                ["regression", "in", "found by", "named", "against a file"],
                [
                    [
                        f"{row['package']}: {row['kind']}",
                        row["function"],
                        ", ".join(row["beyond"]) or "not found",
                        "first" if row["rank"] == 1 else f"{row['rank'] or 'not'} {row['named']}",
                        "alone" if row["named_against_file"] == [row["function"]] else str(row["named_against_file"]),
                    ]
                    for row in rows
                ],
            )
        )
        texts.append(f"{results['found']} of {len(rows)} found, the right function first in {results['first']}")
    if options.only in (None, "alarms"):
        checks = alarms(6 if options.quick else options.checks)
        false = [one for one in checks if one["status"] == 1]
        undecided = [one for one in checks if one["status"] == 2]
        results |= {"alarms": checks, "false_alarms": len(false), "undecided": len(undecided)}
        texts.append(
            f"{len(checks)} checks of unchanged programs on a busy machine: {len(false)} false alarms, "
            f"{len(undecided)} undecided"
        )
        texts += [f"  {one['program']}: {one['beyond']} {one['named']}" for one in (*false, *undecided)]
    if options.only in (None, "cost"):
        results["cost"] = found = cost(rounds_of(options))
        ratios = [[name, number(ratio)] for name, ratio in found["ratios"].items()]
        texts.append(
            table(["counting / bare, tests of packaging", ""], [["bare", f"{found['bare_s']:.2f} s"], *ratios])
        )
        one = found["small_against"]
        texts.append(
            f"--against, all in all, a program with tabulate: {one['seconds']:.1f} s "
            f"(3 x bare + 5 s = {one['allowed_s']:.1f} s)"
        )
    method = "CPU time, --against by the wall clock; medians; each check as a process of its own, against a revision that is the same or lacks the edit"
    finish("check", options, method, results, "\n\n".join(texts))


if __name__ == "__main__":
    main()
