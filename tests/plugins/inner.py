"""Inner pytests: projects of a few files, what ran them, and what they said."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import children
import pytest
from covered_suites import write

import seismo
from seismo.process.objects.recorder import why_not

if TYPE_CHECKING:
    from pathlib import Path

    from seismo.model import Recording

PLUGIN = "seismo.plugins.pytest_plugin"
recorded = pytest.mark.skipif(bool(why_not()), reason="births and deaths of objects cannot be recorded here")


class Project:
    """A folder with Python files, and pytest run in it. recorded: the name of the recording that it makes."""

    def __init__(self, folder: Path, recorded: str, pytester: pytest.Pytester | None = None, **files: str) -> None:
        self.folder, self.recorded, self.pytester = folder, recorded, pytester
        self.options = ["-p", "no:cacheprovider", "-p", PLUGIN]
        write(self.folder, **files)
        (self.folder / "pytest.ini").write_text("[pytest]\n")  # so that this folder is the root

    def write(self, **files: str) -> None:
        write(self.folder, **files)

    def run(self, *options: str) -> pytest.RunResult:
        """In this process; its own modules are forgotten afterwards."""
        return self.pytester.runpytest_inprocess("-q", *self.options, *options)

    def refused(self, *options: str) -> str:
        """Return what pytest prints on stderr when it rejects these options, before any test runs."""
        done = self.run(*options)
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        return done.stderr.str()

    def run_apart(self, *options: str, status: int = 0, said: str = "", **variables: str) -> str:
        """Run in a separate process, which must end with this status. Return its stdout and stderr."""
        words = ["-m", "pytest", "-q", *self.options, *options]
        env = children.environment(self.folder, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        for name in ("PYTHONHASHSEED", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
            env.pop(name, None)
        streams = {"input": said, "stderr": subprocess.STDOUT}
        return children.python(*words, cwd=self.folder, env=env | variables, status=status, **streams).stdout

    @property
    def recording(self) -> Recording:
        return seismo.open(self.folder / self.recorded)


def outcomes(done: pytest.RunResult) -> dict[str, str]:
    """{test: PASSED, FAILED, ...} of the summary."""
    found = {}
    for line in done.outlines:
        if match := re.match(r"(PASSED|FAILED|SKIPPED|XFAIL|XPASS|ERROR) (?:\[\d+\] )?test_it\.py::(\S+)", line):
            found[match[2].rpartition("::")[2]] = match[1]
    return found


def expected(source: str, failing: str) -> dict[str, str]:
    """What names say: those that end in `failing` fail, all others pass."""
    names = re.findall(r"def (test_\w+)", source)
    return {name: "FAILED" if name.endswith(failing) else "PASSED" for name in names}
