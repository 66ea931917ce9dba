"""Runs a program under coverage.py or under seismo's recorder, and prints what came of it as JSON.

    python measure.py coverage|seismo PROGRAM PATTERN...

Both have the same modules loaded beforehand, so that the program finds the same world.
"""

import contextlib
import io
import json
import os
import sys

import coverage
from instructions import Heard

from seismo import _core
from seismo.coverage.analysis import analyze
from seismo.coverage.settings import Settings
from seismo.model import read

NAMES = ("statements", "executed", "missing", "excluded")


def run(path, start, stop):
    with open(path, encoding="utf-8") as stream:
        code = compile(stream.read(), path, "exec", dont_inherit=True)
    sys.argv = [path]
    with contextlib.redirect_stdout(io.StringIO()):
        start()
        try:
            exec(code, {"__name__": "__main__", "__file__": path})
        finally:
            stop()


def under_coverage(path, patterns):
    measured = coverage.Coverage(data_file=None, branch=True, include=patterns, config_file=False)
    run(path, measured.start, measured.stop)
    found = {}
    for file in measured.get_data().measured_files():
        analysis = measured._analyze(file)
        found[file] = {name: sorted(getattr(analysis, name)) for name in NAMES}
        for name, branches in (
            ("taken", analysis.executed_branch_arcs()),
            ("not taken", analysis.missing_branch_arcs()),
        ):
            found[file][name] = sorted((start, end) for start, ends in branches.items() for end in ends)
        found[file]["percent"] = analysis.numbers.pc_covered_str
    return found


def under_seismo(path, patterns):
    coverage.Coverage(data_file=None, config_file=False)
    meta = json.dumps({"recorder": "coverage", "branch": True})
    run(path, lambda: _core.start(recorder="coverage", branch=True, meta=meta), lambda: _core.stop(recorder="coverage"))
    report = analyze(read(_core.snapshot("coverage")), Settings(include=tuple(patterns)))
    assert not [problem for problem in report.problems if not problem.minor], report.problems
    found = {}
    for file in report.files:
        found[file.absolute] = {name: getattr(file, name) for name in NAMES}
        found[file.absolute] |= {"taken": file.executed_branches, "not taken": file.missing_branches}
        found[file.absolute]["percent"] = file.numbers.percent_text()
    return found


def by_instructions(path):
    """The steps that the program's instructions went (3.12 and later)."""
    heard = Heard(path)
    run(path, heard.start, heard.stop)
    return heard.steps


if __name__ == "__main__":
    tool, program, *chosen = sys.argv[1:]
    measure = {"coverage": under_coverage, "seismo": under_seismo}[tool]
    print(json.dumps(measure(os.path.realpath(program), chosen)))
