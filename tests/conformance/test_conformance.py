"""CPython's own tests of its profile and trace functions pass with seismo.hooks in their place, recorders running."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from exceptions import EXCEPTIONS
from recorded import sources

import seismo

HERE = Path(__file__).parent
FILES = ("test_sys_setprofile", "test_sys_settrace", "test_threading")
# How many tests of each file run at least: one that finds none passes too easily.
AT_LEAST = {"test_sys_setprofile": 20, "test_sys_settrace": 250, "test_threading": 4}
RECORDERS = ("profilefunc", "evalframe") if "evalframe" in sources() else ("monitoring",)
MODES = ("hooks", *(f"hooks+{source}" for source in RECORDERS))
VERSION = sys.version_info[:3]


def outcomes(file: str, mode: str, *left_out: str) -> dict[str, tuple[str, str]]:
    """What became of each test, by its name without "test."."""
    paths = [str(Path(seismo.__file__).parents[1])]
    child = subprocess.run(
        [sys.executable, str(HERE / "child.py"), file, mode, *(f"test.{test}" for test in left_out)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONFAULTHANDLER": "1"},
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert child.returncode == 0, f"ended with {child.returncode}: {child.stderr[-4000:]}"
    answer = json.loads(child.stdout.splitlines()[-1])
    if "missing" in answer:
        pytest.skip(f"this interpreter comes without its tests: {answer['missing']}")
    found = {test.removeprefix("test."): tuple(outcome) for test, outcome in answer["outcomes"].items()}
    assert len(found) >= AT_LEAST[file]
    return found


def failures(found: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {test: detail for test, (outcome, detail) in found.items() if outcome == "failed"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("file", FILES)
def test_passes(file, mode):
    excused = [row for row in EXCEPTIONS if row.test.startswith(f"{file}.") and row.holds(VERSION, mode)]
    found = outcomes(file, mode, *(row.test for row in excused if not row.ends))
    failed = failures(found)
    unexpected = failed.keys()
    for row in excused:
        meant = {test for test in found if fnmatchcase(test, row.test)}
        assert meant, f"{row.test} is listed as an exception, but there is no such test"
        if row.ends:
            assert meant <= failed.keys(), f"{row.test} is listed as an exception, but passes"
            unexpected -= meant
    if unexpected:  # those that this interpreter fails by itself are none of ours
        unexpected -= failures(outcomes(file, "own")).keys()
    assert not unexpected, "\n".join(f"{test}\n{failed[test]}" for test in sorted(unexpected))


def test_a_broken_stand_in_is_noticed():
    """The harness replaces what the tests call: stand-ins that leave out returns fail nearly all of them."""
    assert len(failures(outcomes("test_sys_setprofile", "deaf"))) > 10


def test_every_exception_is_documented():
    page = (HERE.parents[1] / "docs" / "hooks.md").read_text()
    section = page.partition("\n## Conformance\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(test_[^`]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", section, re.MULTILINE)
    assert rows == [(row.test, row.versions, row.modes, row.reason) for row in EXCEPTIONS]
    assert section
