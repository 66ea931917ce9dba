"""Whole runs: seismo's recorder and coverage.py come to the same lines, branches and percentages."""

import json
import sys
from pathlib import Path

import children
import differences
import pytest

HERE = Path(__file__).parent
MODULES = [
    "argparse", "ast", "calendar", "configparser", "contextlib", "dataclasses", "difflib", "fractions", "graphlib",
    "queue", "shlex", "statistics", "string", "textwrap",
]  # fmt: skip
PROGRAMS = {
    "branching": ["*/branching.py"],
    "raises": ["*/raises.py"],
    "withs": ["*/withs.py"],
    "library": [
        "*/covered/library.py",
        "*/json/*.py",
        "*/tomllib/*.py",
        "*/string/*.py",
        *(f"*/{name}.py" for name in MODULES),
    ],
}


def measured(tool, program):
    words = [sys.executable, "-W", "ignore", HERE / "measure.py", tool, HERE / "covered" / f"{program}.py"]
    environment = children.environment()
    if program in differences.C_TRACER_ONLY:
        environment["COVERAGE_CORE"] = "ctrace"
    done = children.run([*words, *PROGRAMS[program]], env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_run_comes_to_what_coverage_says(program):
    if program in differences.UNTIL_3_13 and sys.version_info >= (3, 14):
        pytest.skip("coverage.py comes to another result there, which differences.py explains")
    expected = measured("coverage", program)
    assert len(expected) >= len(PROGRAMS[program]) - 3
    found = measured("seismo", program)
    assert sorted(found) == sorted(expected)
    for path, of in expected.items():
        for name, value in of.items():
            assert found[path][name] == value, f"{path}: {name}"
