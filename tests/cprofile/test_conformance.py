"""CPython's own tests of cProfile pass with seismo.cprofile in its place."""

import sys
from pathlib import Path

import pytest
from conformance import check, exceptions_of, failures
from paths import DOCS

CHILD = Path(__file__).with_name("child.py")
OWN = "test_profiling.test_tracing_profiler" if sys.version_info >= (3, 15) else "test_cprofile"
# How many tests of each file run at least.
FILES = {OWN: 10, "test_profile": 6}


@pytest.mark.parametrize("file", FILES)
def test_passes(file):
    check(CHILD, file, "seismo", "own", FILES[file], exceptions_of(DOCS / "cprofile.md"))


def test_a_broken_stand_in_is_noticed():
    """The harness replaces what the tests use: one that loses who called whom fails."""
    failed = failures(CHILD, OWN, "deaf", FILES[OWN])[1]
    assert any(test.endswith(".test_cprofile") for test in failed)


def test_the_exceptions_are_found():
    assert len(exceptions_of(DOCS / "cprofile.md")) == 5
