"""Counts of one run of a test suite: recording them in each process, and reading them as one measurement.

A run has a folder. Each process that runs tests writes its recordings of calls and lines there. Beside them, a JSON
file has the number of lines that each test executed, because coverage counts are not by test. The calls of a test are
in the tree, below the frame with its name (plugins.pytest.profile).

Counts include setup, call and teardown of tests. The counts of a single test include only its call phase, because its
setup may be that of a shared fixture. Collection and imports are not counted. Threads that begin after the first test
count for functions but for no test, because similar threads share their rows.

Births are counted by another recorder of the same engine, and so in a separate run (CountingBirths). CountingBirths
records only the thread of the tests, in their phases, and leaves out objects created by pytest and plugins.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seismo import _core
from seismo.check.counted_runs import read_counted
from seismo.check.measurement import Counts, Function, Measurement, Range
from seismo.check.portable_paths import PortablePaths, is_import
from seismo.check.read_recordings import functions_of, of_recordings
from seismo.plugins.pytest.check_fixture import BirthsBlock, Block
from seismo.plugins.pytest.parametrized_growth import families, sizes_of
from seismo.plugins.pytest.profile import PLACE, Frames, frame_of, in_frame, machinery
from seismo.plugins.pytest.recorded_run import Quiet
from seismo.process import engine
from seismo.process.coverage import CoverageRecorder
from seismo.process.objects import recorder
from seismo.process.output_file import SUFFIX, Output

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from contextlib import AbstractContextManager

    import pytest

    from seismo.model import Recording

BLOCK = "|block "  # separates the name of a test from that of its block
# Their activity depends on free workers and on earlier examples, so it is left out; functions they call count.
OTHERS = ("xdist", "execnet", "hypothesis")
# C functions that start a process, by module.
STARTERS = {"_posixsubprocess": {"fork_exec"}, "posix": {"fork", "forkpty", "posix_spawn", "posix_spawnp", "system"}}


class _Counter:
    """The base of the counters of calls and of births. `notes` has what the recordings do not have."""

    block_of_kind: type[Block | BirthsBlock]

    def __init__(self, folder: str, hide: Collection[str]) -> None:
        from importlib.util import find_spec

        self._folder, self._pid = folder, os.getpid()
        specs = map(find_spec, OTHERS)  # find_spec() imports nothing for top-level names
        others = (os.path.dirname(spec.origin) + "/" for spec in specs if spec is not None and spec.origin)
        self._hidden = (*machinery(), *others, *hide)
        self._tests: Counter[str] = Counter()
        self._blocks: dict[str, dict[str, int]] = {}
        self.notes: dict[str, object] = {"blocks": self._blocks}
        self._frames: Frames | None = None
        self._process: Quiet | None = None

    def _output(self, what: str) -> Output:
        return Output(os.path.join(self._folder, f"{what}-{self._pid}{SUFFIX}"), exclusive=True)

    def _begin(self, *runs: tuple[engine.Recorder, dict[str, object], Output]) -> None:
        self._process = Quiet(list(runs))
        try:
            self._process.begin()
        except BaseException:
            self._process.abandon()
            raise

    def block(self, test: str, name: str) -> AbstractContextManager[None]:
        """Return a context that counts a part of a test separately; it may run several times."""
        return self.block_of_kind(self._blocks.setdefault(f"{engine.printable(test)}{BLOCK}{name}", {}))

    def end(self) -> None:
        """Stop counting, and write the remaining files."""
        if self._frames is not None:
            self._frames.remove()
        if self._pid != os.getpid() or self._process is None or self._process.done:
            return
        _core.objects_quiet(False)  # if births were counted: the thread was quiet between the tests
        self._process.finish("")
        Path(self._folder, f"tests-{self._pid}.json").write_text(json.dumps(self.notes), encoding="utf-8")


class Counting(_Counter):
    """A counter of this process's calls and lines, from its creation on."""

    QUANTITIES = ("calls", "lines", "exceptions")
    block_of_kind = Block

    def __init__(self, folder: str, hide: Collection[str] = ()) -> None:
        """Start counting; files in `hide` and those of pytest are left out. Raise SeismoError on failure."""
        super().__init__(folder, hide)
        self._sizes: dict[str, dict[str, int]] = {}
        self.notes |= {"lines": self._tests, "sizes": self._sizes, "began": 0}
        self._begin(
            (engine.Recorder(hide=self._hidden), {"c_functions": "all", "timing": "none"}, self._output("calls")),
            (CoverageRecorder(), {"counts": 1}, self._output("lines")),
        )

    def begin_tests(self, config: pytest.Config) -> None:
        """Insert the frames of tests, and note the time."""
        self._frames = Frames(config, self._run)
        self.notes["began"] = time.time_ns()

    def _run(self, phase: str, function: Callable[..., object], item: pytest.Item, *rest: object) -> object:
        """Count the lines of each test's call, and store its sizes."""
        __tracebackhide__ = True
        before = _core.cover_executed()
        try:
            return in_frame(phase, function, item, *rest)
        finally:
            after = _core.cover_executed()
            if phase == "call":
                name = engine.printable(item.nodeid)
                self._tests[name] += after - before
                if found := sizes_of(item):
                    self._sizes[name] = found


class CountingBirths(_Counter):
    """A counter of the objects that the tests of this process create."""

    QUANTITIES = ("births",)
    block_of_kind = BirthsBlock

    def __init__(self, folder: str, hide: Collection[str] = ()) -> None:
        """Initialize; objects of files in `hide` and those of pytest are left out. Raise SeismoError if impossible."""
        recorder.check_possible()
        super().__init__(folder, hide)
        self.notes |= {"births": self._tests, "hidden": (engine.HIDE, *self._hidden)}

    def begin_tests(self, config: pytest.Config) -> None:
        """Start counting with the first test."""
        output = self._output("births")
        engine.begin_collecting()
        self._begin((recorder.ObjectRecorder(), {"holders": 0}, output))
        _core.objects_quiet(True)
        self._frames = Frames(config, self._run)

    def _run(self, phase: str, function: Callable[..., object], item: pytest.Item, *rest: object) -> object:
        """Record a phase of a test, and count the objects that its call creates."""
        __tracebackhide__ = True
        name = engine.printable(item.nodeid)
        run = frame_of(item, phase)
        before = _core.status()["births"]
        _core.objects_quiet(False)
        try:
            return run(function, item, *rest)
        finally:
            _core.objects_quiet(True)
            if phase == "call":
                self._tests[name] += _core.status()["births"] - before


# ---- reading ----


def measurement_of(folder: str, places: PortablePaths, only: Collection[str] | None = None) -> Measurement:
    """Return the measurement of a run. only: the tests to measure; if others ran, functions have no lines."""
    calls, lines = _counted(folder, "calls"), _counted(folder, "lines")
    notes = _notes(folder)
    by_test = _added(one["lines"] for one in notes)

    def below(file: str, qualname: str) -> bool:
        return file == PLACE and (only is None or qualname.rpartition("|")[0] in only)

    all_ran = only is None or set(by_test) <= set(only)
    since = min((one["began"] for one in notes), default=0) if all_ran else None
    found = of_recordings(places, calls, lines if all_ran else (), below=below, since=since)
    ran = {function for function, counts in found.functions.items() if "calls" in counts}
    found.functions = {function: counts for function, counts in found.functions.items() if function in ran}
    found.callers = {
        function: {caller: number for caller, number in callers.items() if caller in ran}
        for function, callers in found.callers.items()
    }
    found.depth = None  # the recorded depth includes pytest's frames
    found.uncounted = _not_followed(found.functions)
    sizes = {name: of for one in notes for name, of in one["sizes"].items()}
    for name, (number, functions) in _calls_of_tests(calls, places, families(sizes)).items():
        found.tests[name] = {"calls": Range(number, number)}
        if functions:
            found.of_tests[name] = functions
    found.sizes = sizes
    for name, number in by_test.items():
        if name in found.tests:
            found.tests[name]["lines"] = Range(number, number)
    _add_blocks(found, notes)
    if only is not None:
        found.tests = {name: counts for name, counts in found.tests.items() if test_of(name) in only}
    return found


def _not_followed(functions: Mapping[Function, Counts]) -> list[str]:
    """Return a sentence about processes that tests have started, which are not counted."""
    started = sum(
        counts["calls"].high
        for function, counts in functions.items()
        if not function.file and function.qualname in STARTERS.get(function.module, ())
    )
    return [f"processes that tests started are not counted: {started:,}"] if started else []


def births_of(folder: str, places: PortablePaths) -> Measurement:
    """Return the measurement of a run that counted births."""
    notes = _notes(folder)
    hidden = tuple({path for one in notes for path in one["hidden"]})
    found = of_recordings(places, objects=_counted(folder, "births"))
    ours = {function for function, path in found.sources.items() if path.startswith(hidden) or path == PLACE}
    found.functions = {function: counts for function, counts in found.functions.items() if function not in ours}
    for name, number in _added(one["births"] for one in notes).items():
        found.tests[name] = {"births": Range(number, number)}
    _add_blocks(found, notes)
    return found


def _counted(folder: str, what: str) -> list[Recording]:
    """Return the recordings of a run. Raise CheckError where one could not be written."""
    return [read_counted(path) for path in sorted(Path(folder).glob(f"{what}-*{SUFFIX}"))]


def _notes(folder: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob("tests-*.json"))]


def _added(tables: Iterable[dict[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for table in tables:
        found.update(table)
    return found


def _add_blocks(found: Measurement, notes: Iterable[dict[str, Any]]) -> None:
    for one in notes:
        for name, counts in one["blocks"].items():
            found.tests[name] = {quantity: Range(number, number) for quantity, number in counts.items()}


def test_of(name: str) -> str:
    """Return the name of a block's test; the name of a test is returned unchanged."""
    return name.partition(BLOCK)[0]


def calls_of(recording: Recording) -> int:
    """Return the number of calls in a recording, without those of the import system."""
    files = recording.functions["file"]
    imports = {at for at in range(len(recording.functions)) if is_import(files[at])}
    tree, number = recording.tree, 0
    below: list[bool] = []
    for parent, function, calls in zip(*(tree[name] for name in ("parent", "function", "calls")), strict=True):
        below.append(function in imports or (parent >= 0 and below[parent]))
        number += 0 if below[-1] else calls
    return number


def _calls_of_tests(
    recordings: Collection[Recording], places: PortablePaths, wanted: Collection[str]
) -> dict[str, tuple[int, dict[Function, int]]]:
    """Return the calls of each test's call phase without imports; for those in `wanted`, also the calls by function."""
    found: dict[str, tuple[int, dict[Function, int]]] = {}
    for recording in recordings:
        files, names = recording.functions["file"], recording.functions["qualname"]
        size = len(recording.functions)
        tests = {at: names[at].removesuffix("|call") for at in range(size) if files[at] == PLACE}
        tests = {at: name for at, name in tests.items() if names[at].endswith("|call")}
        imports = {at for at in range(size) if is_import(files[at])}
        functions = functions_of(recording, places) if wanted else []
        tree = recording.tree
        of: list[str] = []
        for parent, function, calls in zip(*(tree[name] for name in ("parent", "function", "calls")), strict=True):
            name = "" if function in imports else of[parent] if parent >= 0 else ""
            if function in tests:
                name = tests[function]
                found.setdefault(name, (0, {}))
            elif name:
                number, by_function = found[name]
                found[name] = (number + calls, by_function)
                if name in wanted and (what := functions[function]) is not None:
                    by_function[what] = by_function.get(what, 0) + calls
            of.append(name)
    return found
