"""Run the test suite on several interpreters, each with seismo installed from the same source distribution.

Standard input has a line for each: a label, then the command that runs the interpreter. A label that ends in
"debug" stands for a debug build, which runs the tests of the native core only: it is slow, and its asserts are
there; where there are several, the last runs all of these. The others run all, but for the reading side, plain Python
over finished recordings, and for the repository itself: these the last of them runs for all (and `make test` on the
machine's own). A version that is run in full anyway, by `make test` or in a later release, is run once more where
releases and builds differ: the native core and the processes that are recorded. Each interpreter gets a virtual
environment of its own under .venvs-matrix; whole output goes to LABEL.log there.

With --sanitize the core is built with AddressSanitizer and UndefinedBehaviorSanitizer, whose libraries are loaded
before the interpreter starts; Python's own allocators are switched off so that every object counts. Leaks are not
looked for: an interpreter keeps thousands of blocks until it ends. With --script something else than the tests is run
(with --tests: after them, by the same build), one after the other where there are several, until one fails.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ".venvs-matrix"
# What runs native code in earnest: all that a debug build, ten times slower, is asked to run.
NATIVE_TESTS = [
    f"tests/{name}" for name in ("native", "parity", "hooks", "capi", "cprofile", "coverage/test_branches*.py")
]
# Where a version is run twice, the processes that are recorded come on top; with the sanitizers, what else is native.
RECORDING_TESTS = [*NATIVE_TESTS, *(f"tests/{name}" for name in ("record", "sessions", "watch"))]
SANITIZED_TESTS = [*RECORDING_TESTS, "tests/expression", "tests/model"]
# Sources and the engine themselves: of each debug build.
CORE_ROOMS = ["base", "code", "compat", "engine", "file", "recorder/calls", "slots"]
CORE_TESTS = [*(f"tests/native/{room}" for room in CORE_ROOMS), "tests/parity"]
# What makes of a recording what people read, and what holds the repository: no interpreter does that differently.
READING_TESTS = [f"tests/{name}" for name in ("formats", "report", "docs", "lint", "typing", "native/estimate")]
READING_VERBS = ("color", "completion", "mistakes", "newest", "options", "overwriting", "verbs")
READING_TESTS += [f"tests/cli/test_{name}.py" for name in READING_VERBS]
# The first two start Python with an empty environment: nothing loads the sanitizers' libraries before the core. In
# the others greenlet copies a piece of the C stack as it stands, with the marks around our evaluation function's frame.
NOT_SANITIZED = [
    "tests/record/test_children.py::test_the_environment_is_the_programs_own",
    "tests/record/test_children.py::test_all_processes_in_one_file",
    "tests/record/test_programs.py::test_program[greenlets-none]",
    "tests/native/recorder/lines/test_stacks.py::test_greenlets[tracefunc]",
]


@dataclass
class Run:
    """One interpreter: how it is called, what it runs, and how that went."""

    label: str
    command: list[str]
    work: list[list[str]]
    build: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    passed: bool = False
    closing: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def python(self) -> list[str]:
        """The command that runs the environment's interpreter: the last word was the interpreter itself."""
        return [*self.command[:-1], f"{ENVIRONMENTS}/{self.label}/bin/python"]


def requirements() -> list[str]:
    """What seismo and its tests need, installed apart from seismo so that only seismo itself bypasses pip's cache."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return ["setuptools>=77", *project["dependencies"], *project["optional-dependencies"]["test"]]


def call(log: TextIO, command: list[str], environment: dict[str, str]) -> bool:
    """Run a command with its output in the log. Variables go through env(1): a command may change the root folder."""
    if environment:
        where = len(command) - next(i for i, word in enumerate(reversed(command)) if word.endswith("bin/python")) - 1
        words = [f"{name}={value}" for name, value in environment.items()]
        command = [*command[:where], "env", *words, *command[where:]]
    log.write(f"$ {' '.join(command)}\n")
    log.flush()
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False
    )
    return done.returncode == 0


def carry_out(run: Run, distribution: str) -> Run:
    """Make the environment, install, test. Errors end in run.passed and run.closing."""
    start = time.monotonic()
    shutil.rmtree(ROOT / ENVIRONMENTS / run.label, ignore_errors=True)
    path = ROOT / ENVIRONMENTS / f"{run.label}.log"
    pip = [*run.python, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check"]
    steps = [
        ([*run.command, "-m", "venv", f"{ENVIRONMENTS}/{run.label}"], {}),
        ([*pip, *requirements()], {}),
        ([*pip, "--no-build-isolation", "--no-cache-dir", "--no-deps", distribution], run.build),
        *(([*run.python, *words], run.environment) for words in run.work),
    ]
    with path.open("w", encoding="utf-8") as log:
        run.passed = all(call(log, command, environment) for command, environment in steps)
    lines = path.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    run.closing = lines[-1:] if run.passed else lines[-60:]
    run.seconds = time.monotonic() - start
    return run


def sanitizer_libraries() -> str:
    """The paths of the sanitizers' run-time libraries, as LD_PRELOAD wants them.

    The C++ library stands beside them where there is one: they must find its `throw` to wrap it, for greenlet.
    """
    compiler = os.environ.get("CC", "gcc")
    asks = [[compiler, f"-print-file-name={name}"] for name in ("libasan.so", "libubsan.so", "libstdc++.so.6")]
    paths = [subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip() for ask in asks]
    return " ".join(path for path in paths if os.path.isabs(path))


def suite(*names: str, workers: int = 1) -> list[str]:
    """The words after the interpreter's that run the tests of some folders or files, which may have stars."""
    found = sorted(path.relative_to(ROOT).as_posix() for name in names for path in ROOT.glob(name))
    spread = ["-n", str(workers)] if workers > 1 else []
    return ["-m", "pytest", "-q", "--timeout", "600", "-p", "no:cacheprovider", "-m", "not timing", *spread, *found]


def version(label: str) -> str:
    """The version that a label like 3.13.18 is a release of; of another label, itself."""
    return ".".join(label.split(".")[:2])


def runs(lines: list[str], options: argparse.Namespace) -> list[Run]:
    """What is to be run, from the lines of standard input; slow ones first."""
    found = []
    labels = [line.split()[0] for line in lines]
    releases = [label for label in labels if not label.endswith("debug")]
    complete = releases[-1:] + [label for label in labels if label.endswith("debug")][-1:]
    newest = {version(label): label for label in releases}  # of each version, the last that is named
    for line in lines:
        label, *command = line.split()
        work = suite("tests")
        if version(label) == "{}.{}".format(*sys.version_info) or newest.get(version(label), label) != label:
            work = suite(*RECORDING_TESTS)
        if label.endswith("debug"):
            work = suite(*(NATIVE_TESTS if label in complete else CORE_TESTS))
        if label not in releases[-1:]:
            work += [f"--ignore={path}" for path in READING_TESTS]
        if options.sanitize:
            work = suite(*SANITIZED_TESTS, workers=options.jobs)
            work += [f"--deselect={test}" for test in NOT_SANITIZED]
        scripts = [script.split() for script in options.script]
        run = Run(label, command, [work, *scripts] if options.tests or not scripts else scripts)
        if options.sanitize:
            run.build = {"SEISMO_SANITIZE": "1", "SEISMO_TESTING": "1"}
            run.environment = {
                "LD_PRELOAD": sanitizer_libraries(),
                "PYTHONMALLOC": "malloc",
                "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:abort_on_error=1:handle_segv=0",
                "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            }
        found.append(run)
    return sorted(found, key=lambda run: not run.label.endswith("debug"))


def main() -> int:
    """Run all and print each closing line; 1 when anything failed or nothing could be run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("distribution", help="seismo's source distribution")
    parser.add_argument("--jobs", type=int, default=1, help="interpreters at work at the same time")
    parser.add_argument("--sanitize", action="store_true", help="build and run under the sanitizers")
    parser.add_argument(
        "--script",
        metavar="WORDS",
        action="append",
        default=[],
        help="what to run instead of the tests: a file and its arguments; may be given several times",
    )
    parser.add_argument("--tests", action="store_true", help="run the tests as well, before the scripts")
    options = parser.parse_args()
    wanted = runs(sys.stdin.read().splitlines(), options)
    if not wanted:
        print('No interpreter to run on: name some with PYTHONS="python3.12 ..."', file=sys.stderr)
        return 1
    (ROOT / ENVIRONMENTS).mkdir(exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        for run in pool.map(lambda run: carry_out(run, options.distribution), wanted):
            print(f"--- {run.label}: {'passed' if run.passed else 'FAILED'} in {run.seconds:.0f} s", flush=True)
            print("\n".join(run.closing), flush=True)
    failed = [run.label for run in wanted if not run.passed]
    print(
        f"{len(wanted) - len(failed)} of {len(wanted)} interpreters passed"
        + "".join(f", not {name}" for name in failed)
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
