"""Whole runs: seismo's recorder and coverage.py come to the same lines, branches and percentages."""

import json
import sys
from pathlib import Path

import children
import differences
import pytest
from measure import under_coverage, under_seismo

HERE = Path(__file__).parent
MODULES = [
    "argparse", "ast", "calendar", "configparser", "contextlib", "dataclasses", "difflib", "fractions", "graphlib",
    "queue", "shlex", "statistics", "string", "textwrap",
]  # fmt: skip
LIBRARY = [
    "*/covered/library.py",
    "*/json/*.py",
    "*/tomllib/*.py",
    "*/string/*.py",
    *(f"*/{one}.py" for one in MODULES),
]


def in_a_process(tool):
    """Return what of the library is covered in a process that imports it anew."""
    words = ["-W", "ignore", HERE / "measure.py", tool, HERE / "covered" / "library.py", *LIBRARY]
    return json.loads(children.python(*words).stdout)


def test_uses_of_the_library_come_to_what_coverage_says():
    expected, found = in_a_process("coverage"), in_a_process("seismo")
    assert len(expected) >= len(LIBRARY) - 3
    assert sorted(found) == sorted(expected)
    for path, of in expected.items():
        for name, value in of.items():
            assert found[path][name] == value, f"{path}: {name}"


@pytest.mark.parametrize("program", ["branching", "raises", "withs"])
def test_a_program_comes_to_what_coverage_says(program, monkeypatch):
    if program in differences.UNTIL_3_13 and sys.version_info >= (3, 14):
        pytest.skip("coverage.py comes to another result there, which differences.py explains")
    monkeypatch.setenv("COVERAGE_CORE", "ctrace")  # coverage.py's other core comes to less, as raises.py says
    path = str(HERE / "covered" / f"{program}.py")
    expected, found = (measured(path, [path])[path] for measured in (under_coverage, under_seismo))
    for name, value in expected.items():
        assert found[name] == value, name
