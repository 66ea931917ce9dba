"""What one run of a test suite does, counted: in each of its processes, and read as one measurement.

A run has a folder. Each process that runs tests writes its calls and its lines there, as `seismo check` records them,
and a JSON file with the lines that each test executed: coverage has counts of lines, and not of tests. The calls of a
test are in the tree, below the frame that has its name (plugins.pytest.profile).

What counts is what tests do, in setup, call and teardown; what a test counts for itself is its call alone, as setup may
be that of a fixture that other tests use. Neither collecting tests nor importing is counted, and no other thread than
the one that runs tests.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seismo.check.measurement import Counts, Range
from seismo.check.places import is_import
from seismo.check.reading import of_recordings
from seismo.plugins.pytest.profile import PLACE, Frames, frame_of, machinery
from seismo.plugins.pytest.run import Quiet
from seismo.record import counting, engine
from seismo.record.output import SUFFIX, Output

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import pytest

    from seismo.check.measurement import Measurement
    from seismo.check.places import Places
    from seismo.model import Recording

BLOCK = "|block "  # between a test's name and that of a block in it
OTHERS = ("xdist", "execnet")  # what they do depends on which worker is free


class _Life(counting.Life):
    """Both recorders, without pytest's own functions."""

    def __init__(self, hide: Collection[str]) -> None:
        super().__init__()
        self._hide = (*machinery(), *_folders(OTHERS), *hide)


def _folders(modules: Collection[str]) -> list[str]:
    from importlib.util import find_spec

    specs = [find_spec(name) for name in modules]
    return [os.path.dirname(spec.origin) + "/" for spec in specs if spec is not None and spec.origin]


class Counting:
    """Counts what this process does, from now on."""

    def __init__(self, folder: str, hide: Collection[str] = ()) -> None:
        """hide: files that are left out, besides pytest's. Raises SeismoError when it cannot."""
        self._folder, self._pid = folder, os.getpid()
        self._tests: dict[str, int] = {}
        self._blocks: dict[str, dict[str, int]] = {}
        self._frames: Frames | None = None
        lines = os.path.join(folder, f"lines-{self._pid}{SUFFIX}")
        output = Output(os.path.join(folder, f"calls-{self._pid}{SUFFIX}"), exclusive=True)
        settings: dict[str, object] = {"c_functions": "all", "timing": "none", "lines": lines}
        self._process = Quiet(output, settings, "", True, _Life(hide))
        try:
            self._process.begin()
        except BaseException:
            output.discard()
            raise

    def begin_tests(self, config: pytest.Config) -> None:
        """Tests are about to run."""
        self._frames = _CountedFrames(config, self._tests)

    def note_block(self, name: str, counts: dict[str, int]) -> None:
        """A block of a test, which may run several times."""
        into = self._blocks.setdefault(name, {})
        for quantity, number in counts.items():
            into[quantity] = into.get(quantity, 0) + number

    def end(self) -> None:
        """Stops, and writes what is not written."""
        if self._frames is not None:
            self._frames.remove()
        if self._pid != os.getpid() or self._process.done:
            return
        self._process.finish("")
        path = Path(self._folder, f"tests-{self._pid}.json")
        path.write_text(json.dumps({"lines": self._tests, "blocks": self._blocks}), encoding="utf-8")


class _CountedFrames(Frames):
    """Counts the lines of each test's call, too."""

    def __init__(self, config: pytest.Config, lines: dict[str, int]) -> None:
        self._lines = lines
        super().__init__(config)

    def _named(self, phase: str, function: Callable[..., object]) -> Callable[..., object]:
        if phase != "call":
            return super()._named(phase, function)
        from seismo import _core

        def named(item: pytest.Item, *rest: object) -> object:
            __tracebackhide__ = True
            before = _core.cover_executed()
            try:
                return frame_of(item, phase)(function, item, *rest)
            finally:
                name = engine.printable(item.nodeid)
                self._lines[name] = self._lines.get(name, 0) + _core.cover_executed() - before

        return named


# ---- reading ----


def measurement_of(folder: str, places: Places, only: Collection[str] | None = None) -> Measurement:
    """The measurement of a run. only: of these tests; where more ran, no lines of functions."""
    from seismo.model import read

    calls = [read(path) for path in sorted(Path(folder).glob(f"calls-*{SUFFIX}"))]
    lines = [read(path) for path in sorted(Path(folder).glob(f"lines-*{SUFFIX}"))]
    told: list[dict[str, Any]] = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob("tests-*.json"))
    ]
    by_test: dict[str, int] = {}
    for one in told:
        for name, number in one["lines"].items():
            by_test[name] = by_test.get(name, 0) + number

    def below(file: str, qualname: str) -> bool:
        return file == PLACE and (only is None or qualname.rpartition("|")[0] in only)

    all_ran = only is None or set(by_test) <= set(only)
    found = of_recordings(places, calls, lines if all_ran else (), below=below)
    ran = {function for function, counts in found.functions.items() if "calls" in counts}
    found.functions = {function: counts for function, counts in found.functions.items() if function in ran}
    found.callers = {
        function: {caller: number for caller, number in callers.items() if caller in ran}
        for function, callers in found.callers.items()
    }
    found.depth = None  # that of pytest
    for name, number in _calls_of_tests(calls).items():
        found.tests[name] = {"calls": Range(number, number)}
    for name, number in by_test.items():
        if name in found.tests:
            found.tests[name]["lines"] = Range(number, number)
    for one in told:
        for name, counts in one["blocks"].items():
            block: Counts = {quantity: Range(number, number) for quantity, number in counts.items()}
            found.tests[name] = block
    if only is not None:
        found.tests = {name: counts for name, counts in found.tests.items() if test_of(name) in only}
    return found


def block_of(test: str, name: str) -> str:
    """What a block of a test is called."""
    return f"{test}{BLOCK}{name}"


def test_of(name: str) -> str:
    """The test that a block is of; a test itself."""
    return name.partition(BLOCK)[0]


def calls_of(recording: Recording) -> int:
    """All its calls, without those of the import system."""
    files = recording.functions["file"]
    imports = {at for at in range(len(recording.functions)) if is_import(files[at])}
    tree, number = recording.tree, 0
    below: list[bool] = []
    for parent, function, calls in zip(*(tree[name] for name in ("parent", "function", "calls")), strict=True):
        below.append(function in imports or (parent >= 0 and below[parent]))
        number += 0 if below[-1] else calls
    return number


def _calls_of_tests(recordings: Collection[Recording]) -> dict[str, int]:
    """{test: the calls that its call made}, without those of the import system."""
    found: dict[str, int] = {}
    for recording in recordings:
        files, names = recording.functions["file"], recording.functions["qualname"]
        size = len(recording.functions)
        tests = {at: names[at].removesuffix("|call") for at in range(size) if files[at] == PLACE}
        tests = {at: name for at, name in tests.items() if names[at].endswith("|call")}
        imports = {at for at in range(size) if is_import(files[at])}
        tree = recording.tree
        of: list[str] = []
        for parent, function, calls in zip(*(tree[name] for name in ("parent", "function", "calls")), strict=True):
            name = "" if function in imports else of[parent] if parent >= 0 else ""
            if function in tests:
                name = tests[function]
                found.setdefault(name, 0)
            elif name:
                found[name] += calls
            of.append(name)
    return found
