"""CPython's own tests of its profile and trace functions pass with seismo.hooks in their place, recorders running."""

from pathlib import Path

import pytest
from conformance import check, exceptions_of, failures
from paths import DOCS
from recorded import sources

CHILD = Path(__file__).with_name("child.py")
# How many tests of each file run at least.
FILES = {"test_sys_setprofile": 20, "test_sys_settrace": 250, "test_threading": 4}
RECORDERS = ("profilefunc", "evalframe") if "evalframe" in sources() else ("monitoring",)
MODES = ["hooks", *(f"hooks+{source}" for source in RECORDERS)]
if "profilefunc" in RECORDERS:  # which shares the slots that the interpreter's own functions use
    MODES.append("own+profilefunc")


@pytest.mark.crossed
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("file", FILES)
def test_passes(file, mode):
    exceptions = [row for row in exceptions_of(DOCS / "hooks.md") if mode in row[2].split(", ")]
    check(CHILD, file, mode, mode.replace("hooks", "own"), FILES[file], exceptions)


def test_a_broken_stand_in_is_noticed():
    """The harness replaces what the tests call: stand-ins that do nothing fail nearly all of them."""
    assert len(failures(CHILD, "test_sys_setprofile", "deaf", FILES["test_sys_setprofile"])[1]) > 10


def test_the_exceptions_are_found():
    assert len(exceptions_of(DOCS / "hooks.md")) == 2
