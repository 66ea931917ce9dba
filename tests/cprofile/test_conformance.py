"""CPython's own tests of cProfile pass with seismo.cprofile in its place."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from outcomes import outcomes_of
from paths import DOCS

HERE = Path(__file__).parent
OWN = "test_profiling.test_tracing_profiler" if sys.version_info >= (3, 15) else "test_cprofile"
# How many tests of each file run at least: one that finds none passes too easily.
FILES = {OWN: 10, "test_profile": 6}
VERSION = "{}.{}".format(*sys.version_info)


class Excuse(NamedTuple):
    """A test that fails for a reason. A row whose test passes after all fails, so that this cannot grow old."""

    test: str
    versions: str  # separated by commas; a test that a patch release does not have yet needs none
    reason: str


EXCUSES = [
    Excuse(
        "test_profile_enable_disable",
        "3.11, 3.12, 3.13, 3.14, 3.15",
        "expects the profile slot (3.11) or the tool id 2 to be taken; seismo leaves them to others",
    ),
    Excuse("test_profile_as_context_manager", "3.11, 3.12, 3.13, 3.14, 3.15", "the same"),
    Excuse(
        "test_second_profiler",
        "3.12, 3.13, 3.14, 3.15",
        "expects a second profiler to be refused; here any number can run at once",
    ),
    Excuse(
        "test_crash_with_not_enough_args",
        "3.13, 3.14, 3.15",
        "calls private methods that cProfile registers with sys.monitoring and that do not exist here",
    ),
    Excuse(
        "test_bad_counter_during_dealloc",
        "3.11",
        "expects a profiler without references to continue; here it stops when it is freed",
    ),
]


def outcomes(file: str, mode: str) -> dict[str, tuple[str, str]]:
    """What became of each test of this file's own module, by class and method."""
    told = outcomes_of(HERE / "child.py", file, mode)
    found = {test.partition(f"{file}.")[2]: outcome for test, outcome in told.items() if file in test}
    assert len(found) >= FILES[file]
    return found


def failures(found: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {test.rpartition(".")[2]: detail for test, (outcome, detail) in found.items() if outcome == "failed"}


@pytest.mark.parametrize("file", FILES)
def test_passes(file):
    found = outcomes(file, "seismo")
    names = {test.rpartition(".")[2] for test in found}
    excused = {row.test for row in EXCUSES if VERSION in row.versions.split(", ") and file == OWN} & names
    failed = failures(found)
    unexpected = failed.keys() - excused
    if unexpected:  # those that this interpreter fails by itself are none of ours
        unexpected -= failures(outcomes(file, "own")).keys()
    assert not unexpected, "\n".join(f"{test}\n{failed[test]}" for test in sorted(unexpected))
    assert excused <= failed.keys(), "listed as exceptions, but they pass"


def test_a_broken_stand_in_is_noticed():
    """The harness replaces what the tests use: one that loses who called whom fails."""
    assert "test_cprofile" in failures(outcomes(OWN, "deaf"))


def test_every_excuse_is_documented():
    page = (DOCS / "cprofile.md").read_text()
    section = page.partition("\n## Conformance\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(test_\w+)` \| ([^|]*) \| ([^|]*) \|$", section, re.MULTILINE)
    assert [Excuse(*row) for row in rows] == EXCUSES
