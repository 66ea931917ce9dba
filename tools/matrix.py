"""Run the test suite on several interpreters, each with seismo installed from the same source distribution.

Standard input has a line for each: a label, then the command that runs the interpreter. Each gets a virtual environment
of its own under .venvs-matrix; whole output goes to LABEL.log there. What each of them runs:

- the newest release runs all tests but what is the same on any Python (`ONCE`) and what opens a browser;
- other releases run what a version may do in a way of its own (`VERSION_TESTS`), but for what is marked `matrix`;
- an older release of a version that is there in a newer one runs what a patch changes (`PATCH_TESTS`);
- the version that this script runs on runs what is marked `matrix`, in the environment of `make test`, which has run
  all else;
- free-threaded builds (labels that end in "t") run what is recorded there (`FREE_THREADED_TESTS`);
- debug builds (labels that end in "debug"), which are slow and whose asserts are on, run what touches the interpreter's
  structures (`SOURCE_TESTS`).

What the tests need is installed once for all interpreters of a version, and linked into the environment of each. The
newest version has all that the extra `test` asks for, the others what the tests of recorders ask for.

With --sanitize the core is built with AddressSanitizer and UndefinedBehaviorSanitizer, whose libraries are loaded
before the interpreter starts; Python's own allocators are switched off so that every object counts. Leaks are not
looked for: an interpreter keeps thousands of blocks until it ends. With --script something else than the tests is run
(with --tests: on the first interpreter after them, by the same build), as many at a time as there are jobs.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import pip
from requirements import requirements

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ".venvs-matrix"
PIP = ["-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check"]
# What runs native code in earnest, for the sanitizers.
SANITIZED_TESTS = [
    *(f"tests/{name}" for name in ("native", "parity", "hooks", "capi", "cprofile", "process", "sessions", "watching")),
    *(f"tests/model/test_trace_{name}.py" for name in ("copy", "excerpt")),
]
FREE_THREADED_TESTS = [f"tests/{name}" for name in ("free_threaded", "hooks", "watching", "capi/test_capi.py")]
SUBINTERPRETER_TESTS = ["tests/process/test_subinterpreters.py"]
FREE_THREADED_TESTS += SUBINTERPRETER_TESTS
FREE_THREADED_PACKAGES = {"rich", "pytest", "pytest-timeout", "hypothesis"}  # others have no wheels for these builds
# What the tests of recorders need. To find and install the others takes longer than to build the core.
RECORDER_PACKAGES = FREE_THREADED_PACKAGES | {"pytest-xdist", "coverage", "greenlet", "gevent", "eventlet", "cython"}
# What an interpreter's asserts are about: what its hooks and our probes do to its structures.
SOURCE_TESTS = ["tests/native/code", "tests/native/compat", "tests/native/hooks", "tests/native/source", "tests/parity"]
# What their asserts add nothing to: much of the same, and what the release of the version runs as well.
NOT_DEBUGGED = [
    "tests/native/code/test_code_objects.py::test_functions_that_come_and_go_take_linear_time",
    "tests/native/compat/test_unknown.py",
    "tests/parity/test_starts_beside.py::test_eventlet",
]
# What a patch release changes: what its hooks report, what its frames and code are like, and CPython's own tests of
# hooks and of cProfile, which it brings along.
PATCH_TESTS = [
    *SOURCE_TESTS,
    *(f"tests/{name}" for name in ("native/hub", "hooks", "cprofile")),
    *(f"tests/process/test_{name}.py" for name in ("programs", "same")),
]
# What a version may do in its own way. The oldest and the newest run everything, so that what is plain Python, reports
# and messages are not here.
VERSION_TESTS = [
    *(f"tests/{name}" for name in ("coverage", "cprofile", "hooks", "native", "parity", "sessions", "watching")),
    *(f"tests/process/test_{name}.py" for name in ("forks", "processes", "programs", "same", "starts")),
    *("tests/capi/test_capi.py", "tests/cli/test_doctor.py", "tests/process/objects", *SUBINTERPRETER_TESTS),
]
# What no interpreter does differently, and why: `make test` runs it on the machine's own (and `make matrix` there what
# is marked `matrix` of it), and nobody else does.
ONCE = {
    "tests/check/test_baseline.py": "is about a text file",
    "tests/check/test_change_causes.py": "reckons with counts, in plain Python",
    "tests/check/test_check_command.py": "is about options, files and revisions; tests/native holds what is counted",
    "tests/check/test_compare.py": "compares counts, in plain Python",
    "tests/check/test_growth.py": "reckons with counts, in plain Python",
    "tests/check/test_recipes.py": "is about files of CI services",
    "tests/cli/test_completion.py": "is about a shell",
    "tests/cli/test_newest.py": "is about the names of files",
    "tests/coverage/test_git_changes.py": "asks git",
    "tests/coverage/test_path_aliases.py": "is about the names of files",
    "tests/dataset": "adds up finished recordings, by DuckDB and Arrow",
    "tests/docs": "shows what the other tests hold",
    "tests/expression": "is a parser in plain Python; tests/native/filter runs what it compiles",
    "tests/formats": "reads and writes finished files, in plain Python",
    "tests/lint": "holds the repository; `make lint` runs it",
    "tests/mcp": "answers by a protocol from finished recordings",
    "tests/model": "reads, merges and compares finished recordings",
    "tests/native/base/test_clock_errors.py": "builds a library in C that has no Python",
    "tests/native/base/test_workers.py": "builds the core once more, for what no version changes",
    "tests/native/clock/test_sampler.py": "is about a thread of the core, which runs no Python",
    "tests/native/estimate": "computes from finished recordings",
    "tests/native/file": "reads and writes files in C, without an interpreter; with the sanitizers its asserts are on",
    "tests/native/filter/test_verdicts.py": "holds two evaluators against each other",
    "tests/native/hub/test_allocation.py": "as tests/native/recorder/test_allocation.py",
    "tests/native/recorder/calls/test_killed.py": "is about when the file is written",
    "tests/native/recorder/calls/test_trace_filter.py": "is about which calls are written, by their times",
    "tests/native/recorder/calls/test_trace_zoom.py": "is about what is summed up while a trace is written",
    "tests/native/recorder/test_allocation.py": "fails allocations; the sanitizers run it as well",
    "tests/native/trace": "as tests/native/file",
    "tests/plugins/test_pytest_budget.py": "is about pytest; tests/check/test_check_command.py holds what is counted",
    "tests/plugins/test_pytest_check.py": "is about pytest; tests/check/test_check_command.py holds what is counted",
    "tests/plugins/test_pytest_objects.py": "is about pytest; tests/sessions holds what is recorded",
    "tests/process/test_idle.py": "is about when a thread of the core writes the file, which waits for no event",
    "tests/process/test_output.py": "is about who may read and write the file",
    "tests/process/test_signals.py": "is about signals that the kernel delivers to threads of the core",
    "tests/process/test_trace_disturbed.py": "is about the system's clocks, and about what happens to the file",
    "tests/pure": "is plain Python, on the same bytes as the core",
    "tests/query": "asks finished recordings, by DuckDB; tests/cli/test_query.py asks on the newest",
    "tests/report/story": "tells finished recordings, in plain Python",
    "tests/typing": "is read by mypy",
    "tests/watching/test_killed.py": "is about when the file is written",
}
# What is the same, too, unless a version prints, sorts or warns in another way: so the newest runs it as well.
ANY_PYTHON = {
    "tests/coverage/test_analysis.py": "holds recordings made by hand against sources",
    "tests/coverage/test_recorded_settings.py": "is about settings in finished recordings",
    "tests/coverage/test_settings.py": "reads coverage.py's settings",
    "tests/coverage/test_unusual_sources.py": "is about where sources are",
    "tests/native/clock/test_waits.py": "is about what the kernel says",
    "tests/native/engine/test_file_grows.py": "is about the size of the file; the oldest has no births and deaths",
    "tests/sessions/test_session_results.py": "is about what is shown",
}
# Greenlet copies a piece of the C stack as it stands, with the marks around our evaluation function's frame.
NOT_SANITIZED = [
    "tests/process/test_programs.py::test_program[greenlets-none]",
    "tests/process/test_programs.py::test_traced_program[greenlets]",
    "tests/native/recorder/lines/test_stacks.py::test_greenlets",
]
OUTSIDE = ("bad_input", "broken_for_good", "children", "idle", "interrupts", "output", "same", "starts", "unseen")
# These are about messages, warnings, shares of time, how often a stated error holds, how much memory or how many bytes
# something takes, and when a file is written, or start and end recordings as other tests of recorded processes do, in
# other places of Python code.
NOT_SANITIZED += [
    *(f"tests/process/test_{name}.py" for name in OUTSIDE),
    "tests/capi/test_examples.py",
    "tests/native/clock/test_sampler.py::test_a_long_function_is_not_sampled_while_it_begins",
    "tests/native/clock/test_waits.py::test_rare_long_calls_of_a_short_function_are_found_although_the_processor_is_taken_away",
    "tests/native/clock/test_waits.py::test_a_program_that_is_stopped_again_and_again_runs_as_long_as_ever",
    "tests/native/clock/test_waits.py::test_a_program_whose_group_may_use_a_fifth_of_a_processor",
    "tests/native/code/test_code_objects.py::test_functions_that_come_and_go_take_linear_time",
    "tests/native/engine/test_file_grows.py::test_as_large_after_an_hour_as_after_ten_minutes",
    "tests/native/engine/test_threads.py::test_memory_is_constant",
    "tests/native/estimate/test_estimate.py::test_errors_hold_the_truth_in_19_of_20",
    "tests/native/recorder/calls/test_killed.py",
    "tests/native/recorder/calls/test_trace.py::test_threads_by_the_thousand_are_told_apart_in_memory_within_bounds",
    "tests/sessions/test_session_results.py",
]
# What damages files and filters byte by byte: the fuzzers do, under the same sanitizers. And what takes longest for the
# little that the core does in it.
NOT_SANITIZED += [
    "tests/native/estimate/test_estimate.py::test_a_deep_tree_needs_no_stack",
    "tests/native/estimate/test_estimate.py::test_recursion",
    "tests/native/file/test_damage.py::test_a_file_cut_at_any_byte_gives_what_is_before",
    "tests/native/trace/test_zoom.py::test_levels_of_levels_say_what_the_tokens_do[whole]",
]
OWN_VERSION = "{}.{}".format(*sys.version_info)
# What `make test` leaves out, wholly or in part.
MARKED = re.compile(r"mark\.(matrix|crossed)\b|\bFIRST_SOURCE\b")
FAILED_TEST = re.compile("(FAILED|ERROR) tests/")


@dataclass
class Run:
    """One interpreter: how it is called, what it runs, and how that went."""

    label: str
    command: list[str]
    tests: list[list[str]]
    scripts: list[list[str]]
    build: dict[str, str]
    own: bool  # whether this script's environment is used, which has seismo and more than the tests need
    all_packages: bool
    packages: "Packages" = field(init=False)
    environment: dict[str, str] = field(default_factory=dict)
    passed: bool = False
    closing: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def python(self) -> list[str]:
        """Return the command for the environment's interpreter, which replaces the last word of `command`."""
        return [sys.executable] if self.own else [*self.command[:-1], f"{ENVIRONMENTS}/{self.label}/bin/python"]


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


def call_all(log: TextIO, run: Run, jobs: int) -> bool:
    """Run the scripts side by side, each with a log of its own until it ends."""

    def one(numbered: tuple[int, list[str]]) -> tuple[bool, Path]:
        number, words = numbered
        path = ROOT / ENVIRONMENTS / f"{run.label}-{number}.log"
        with path.open("w", encoding="utf-8") as own:
            return call(own, [*run.python, *words], run.environment), path

    with ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(one, enumerate(run.scripts)))
    for _, path in sorted(done, key=lambda pair: not pair[0]):  # what failed comes last: its end is shown
        log.write(path.read_text(encoding="utf-8", errors="replace"))
        path.unlink()
    return all(passed for passed, _ in done)


class Packages:
    """The packages that seismo and its tests need on one version, installed when the first interpreter needs them.

    They are installed separately from seismo, so that only seismo itself bypasses pip's cache. A release installs them
    if there is one: a debug build takes the same wheels, and three times as long. Used by several threads.
    """

    def __init__(self, run: Run) -> None:
        self.maker = run
        self.folder = f"{ENVIRONMENTS}/packages-{run.label}"
        self.lock = threading.Lock()
        self.made: bool | None = None

    @staticmethod
    def shared(runs: list[Run]) -> None:
        """Set run.packages of all: one for each version, and each root folder that a command changes to."""
        found: dict[tuple[str, ...], Packages] = {}
        for run in sorted(runs, key=lambda run: (not run.all_packages, run.label.endswith("debug"))):
            key = (version(run.label.removesuffix("-debug")), *run.command[:-1])
            run.packages = found.setdefault(key, Packages(run))

    def copy(self, log: TextIO, run: Run) -> bool:
        """Make the run's environment, of links to the installed files: pip replaces files and never writes into one."""
        with self.lock:
            if self.made is None:
                self.made = self._install(log)
        own = f"{ENVIRONMENTS}/{run.label}"
        shutil.rmtree(ROOT / own, ignore_errors=True)
        if not self.made or not call(log, [*run.command, "-m", "venv", "--without-pip", own], {}):
            return False
        [installed], [place] = (list((ROOT / at).glob("lib/python*/site-packages")) for at in (self.folder, own))
        shutil.copytree(installed, place, copy_function=os.link, dirs_exist_ok=True)
        for path in (ROOT / self.folder / "bin").iterdir():
            if not path.is_symlink() and not (ROOT / own / "bin" / path.name).exists():
                script = path.read_text(encoding="utf-8").replace(str(ROOT / self.folder), str(ROOT / own))
                (ROOT / own / "bin" / path.name).write_text(script, encoding="utf-8")
                (ROOT / own / "bin" / path.name).chmod(0o755)
        return True

    def _install(self, log: TextIO) -> bool:
        shutil.rmtree(ROOT / self.folder, ignore_errors=True)
        python = [*self.maker.command[:-1], f"{self.folder}/bin/python"]
        if not call(log, [*self.maker.command, "-m", "venv", "--without-pip", self.folder], {}):
            return False
        [place] = (ROOT / self.folder).glob("lib/python*/site-packages")
        # This script's pip is newer and faster than those that the interpreters would install.
        shutil.copytree(Path(pip.__file__).parent, place / "pip", ignore=shutil.ignore_patterns("__pycache__"))
        names = FREE_THREADED_PACKAGES if self.maker.label.endswith("t") else RECORDER_PACKAGES
        needed = [one for one in requirements("test") if self.maker.all_packages or one.partition(">")[0] in names]
        return call(log, [*python, *PIP, "setuptools>=77", *needed], {})


def carry_out(run: Run, distribution: str, jobs: int) -> Run:
    """Make the environment, install, test. Errors end in run.passed and run.closing."""
    start = time.monotonic()
    path = ROOT / ENVIRONMENTS / f"{run.label}.log"
    install = [*run.python, *PIP, "--no-build-isolation", "--no-cache-dir", "--no-deps", distribution]
    with path.open("w", encoding="utf-8") as log:
        made = run.own or (run.packages.copy(log, run) and call(log, install, run.build))
        run.passed = made and all(call(log, [*run.python, *words], run.environment) for words in run.tests)
        run.passed = run.passed and call_all(log, run, jobs)
    lines = path.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    told = [line for line in lines if line.endswith(" finds") or (" passed" in line and " in " in line)]
    closing = (told or lines)[-max(1, len(run.tests)) :]  # libraries may have a word at the end, too
    run.closing = closing if run.passed else [*filter(FAILED_TEST.match, lines[:-60]), *lines[-60:]]
    run.seconds = time.monotonic() - start
    return run


def sanitizer_libraries(prefix: list[str]) -> str:
    """Return the paths of the sanitizers' run-time libraries for LD_PRELOAD, where a command with this prefix runs.

    The C++ library is added if there is one: the sanitizers must find its `throw` to wrap it, for greenlet.
    """
    compiler = os.environ.get("CC", "gcc")
    names = ("libasan.so", "libubsan.so", "libstdc++.so.6")
    asks = [[*prefix, compiler, f"-print-file-name={name}"] for name in names]
    paths = [subprocess.run(ask, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip() for ask in asks]
    return " ".join(path for path in paths if os.path.isabs(path))


def exists(name: str) -> bool:
    """Return True if there is this folder, file or test. A folder or file may have stars."""
    path, _, test = name.partition("::")
    found = list(ROOT.glob(path))
    return bool(found) and (not test or f"def {test.partition('[')[0]}(" in found[0].read_text(encoding="utf-8"))


def suite(*names: str, workers: int = 1, marks: str = "not matrix") -> list[str]:
    """Return the words after the interpreter's that run the tests of some folders or files, which may have stars."""
    listed = (*names, *ONCE, *ANY_PYTHON, *NOT_SANITIZED, *NOT_DEBUGGED)
    missing = [name for name in listed if not exists(name)]
    if missing:
        raise SystemExit(f"There are no such tests any more as {', '.join(missing)}: tools/matrix.py names them.")
    found = sorted(path.relative_to(ROOT).as_posix() for name in names for path in ROOT.glob(name))
    spread = ["-n", str(workers)] if workers > 1 else []
    how = ["--assert=plain", "--showlocals"]  # to rewrite the assertions would take each interpreter ten seconds
    return ["-m", "pytest", "-q", *how, "--timeout", "600", "-p", "no:cacheprovider", "-m", marks, *spread, *found]


def version(label: str) -> str:
    """Return the version that a label like 3.13.18 is a release of, or any other label itself; of 3.14.7t, 3.14t."""
    return ".".join(label.split(".")[:2]) + ("t" if label.count(".") > 1 and label.endswith("t") else "")


def releases_of(labels: list[str]) -> list[str]:
    """Return the labels that name neither a debug build nor a free-threaded one."""
    return [label for label in labels if not label.endswith(("debug", "t"))]


def compiler_flags(label: str, labels: list[str]) -> str:
    """Return how the core is built: for the newest release and without the GIL as for users.

    To optimise less takes the others half of the time or less. Nor does any have debug information, which users'
    compilers make: it is a tenth of the work, and more of the packing.
    """
    if label.endswith("debug"):
        return "-g0 -O0"
    return "-g0" if label.endswith("t") or label == releases_of(labels)[-1] else "-g0 -O1"


def selected(label: str, labels: list[str]) -> list[list[str]]:
    """Return the commands that run the tests of one of these interpreters, which are in the order of their versions."""
    if label.endswith("t"):
        return [suite(*FREE_THREADED_TESTS)]
    releases = releases_of(labels)
    newest = {version(name): name for name in releases}  # of each version, the last that is named
    if label.endswith("debug"):
        work = [*suite(*SOURCE_TESTS), *(f"--deselect={test}" for test in NOT_DEBUGGED)]
    elif label == releases[-1]:
        return [[*suite("tests", marks="not browser"), *(f"--ignore={path}" for path in ONCE)]]
    elif version(label) == OWN_VERSION:
        files = [path for path in ROOT.glob("tests/**/test_*.py") if MARKED.search(path.read_text(encoding="utf-8"))]
        return [suite(*(path.relative_to(ROOT).as_posix() for path in files), marks="matrix")]
    elif newest[version(label)] != label:
        work = suite(*PATCH_TESTS)
    else:
        work = suite(*VERSION_TESTS)
    return [[*work, *(f"--ignore={path}" for path in (*ONCE, *ANY_PYTHON))]]


def runs(lines: list[str], options: argparse.Namespace) -> list[Run]:
    """Return the runs for the lines of standard input, the longest first, so that no core idles at the end.

    The releases come first, from the newest on, then the free-threaded and the debug builds.
    """
    found = []
    labels = [line.split()[0] for line in lines]
    for line in reversed(lines):
        label, *command = line.split()
        scripts = [script.split() for script in options.script]
        build = {"CFLAGS": compiler_flags(label, labels), "SEISMO_TESTING": "1"}
        newest = label in releases_of(labels)[-1:] and not options.sanitize
        own = label in releases_of(labels)[:-1] and version(label) == OWN_VERSION and not options.sanitize
        run = Run(label, command, selected(label, labels), scripts, build, own, all_packages=newest)
        if options.sanitize:
            words = suite(*SANITIZED_TESTS, workers=options.jobs + 1)  # some of them wait
            run.tests = [[*words, *(f"--deselect={test}" for test in NOT_SANITIZED)]]
            run.build = {"SEISMO_SANITIZE": "1", "SEISMO_TESTING": "1"}
            run.environment = {
                "LD_PRELOAD": sanitizer_libraries(command[:-1]),
                "PYTHONMALLOC": "malloc",
                "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:abort_on_error=1:handle_segv=0",
                "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            }
        if scripts and not (options.tests and label == labels[0]):
            run.tests = []
        found.append(run)
    Packages.shared(found)
    return sorted(found, key=lambda run: run.label not in releases_of(labels))


def main() -> int:
    """Run all and print each closing line. Return 1 if anything failed or nothing could be run."""
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
    parser.add_argument("--tests", action="store_true", help="run the tests as well, on the first interpreter")
    options = parser.parse_args()
    wanted = runs(sys.stdin.read().splitlines(), options)
    if not wanted:
        print('No interpreter to run on: name some with PYTHONS="python3.12 ..."', file=sys.stderr)
        return 1
    (ROOT / ENVIRONMENTS).mkdir(exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        for run in pool.map(lambda run: carry_out(run, options.distribution, options.jobs), wanted):
            print(f"--- {run.label}: {'passed' if run.passed else 'FAILED'} in {run.seconds:.0f} s", flush=True)
            print("\n".join(run.closing), flush=True)
    failed = [run.label for run in wanted if not run.passed]
    print(
        f"{len(wanted) - len(failed)} of {len(wanted)} interpreters passed"
        + "".join(f", not {name}" for name in failed)
    )
    # An assertion may take a screen, so that the names of failed tests come last: who reads a log sees its end.
    print("".join(f"{line[:200]}\n" for run in wanted for line in run.closing if FAILED_TEST.match(line)), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
