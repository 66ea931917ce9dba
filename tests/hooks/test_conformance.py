"""CPython's own tests of its profile and trace functions pass with seismo.hooks in their place, recorders running."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from outcomes import outcomes_of
from paths import DOCS
from recorded import sources

HERE = Path(__file__).parent
FILES = ("test_sys_setprofile", "test_sys_settrace", "test_threading")
# How many tests of each file run at least: one that finds none passes too easily.
AT_LEAST = {"test_sys_setprofile": 20, "test_sys_settrace": 250, "test_threading": 4}
RECORDERS = ("profilefunc", "evalframe") if "evalframe" in sources() else ("monitoring",)
MODES = ["hooks", *(f"hooks+{source}" for source in RECORDERS)]
if "profilefunc" in RECORDERS:  # which shares the slots that the interpreter's own functions use
    MODES.append("own+profilefunc")
VERSIONS = {"all", "{}.{}.{}".format(*sys.version_info), "{}.{}".format(*sys.version_info)}
_REENTRANCY = (
    "expects an error from sys.{} while it releases the previous function; "
    "seismo simply sets the function, as 3.12 does"
)
_HOOKS = "hooks, hooks+profilefunc, hooks+evalframe"
# Tests that do not pass: their names, versions of Python or "all", modes, and reasons. One that passes after all fails
# the test below, so this table cannot grow old. docs/hooks.md has it under Conformance.
EXCEPTIONS = [
    (
        "test_sys_setprofile.TestEdgeCases.test_reentrancy",
        "3.11",
        f"{_HOOKS}, own+profilefunc",
        _REENTRANCY.format("setprofile"),
    ),
    ("test_sys_settrace.TestEdgeCases.test_reentrancy", "3.11", _HOOKS, _REENTRANCY.format("settrace")),
]


def outcomes(file: str, mode: str) -> dict[str, tuple[str, str]]:
    """What became of each test, by its name without "test."."""
    found = {test.removeprefix("test."): told for test, told in outcomes_of(HERE / "child.py", file, mode).items()}
    assert len(found) >= AT_LEAST[file]
    return found


def failures(found: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {test: detail for test, (outcome, detail) in found.items() if outcome == "failed"}


@pytest.mark.crossed
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("file", FILES)
def test_passes(file, mode):
    excused = {
        test
        for test, versions, modes, _ in EXCEPTIONS
        if test.startswith(f"{file}.") and VERSIONS & {*versions.split(", ")} and mode in modes.split(", ")
    }
    failed = failures(outcomes(file, mode))
    unexpected = failed.keys() - excused
    if unexpected and mode.startswith("hooks"):  # what the interpreter's own functions fail as well is none of ours
        unexpected -= failures(outcomes(file, mode.replace("hooks", "own"))).keys()
    assert not unexpected, "\n".join(f"{test}\n{failed[test]}" for test in sorted(unexpected))
    assert excused <= failed.keys(), "listed as exceptions, but they pass"


def test_a_broken_stand_in_is_noticed():
    """The harness replaces what the tests call: stand-ins that leave out returns fail nearly all of them."""
    assert len(failures(outcomes("test_sys_setprofile", "deaf"))) > 10


def test_every_exception_is_documented():
    page = (DOCS / "hooks.md").read_text()
    section = page.partition("\n### Conformance\n")[2].partition("\n##")[0]
    rows = re.findall(r"^\| `(test_[^`]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", section, re.MULTILINE)
    assert section
    assert rows == EXCEPTIONS
