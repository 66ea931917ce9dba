"""Cost of coverage: whole processes with their data written, beside coverage.py and SlipCover.

Programs. Each tool runs pyperformance's programs (over two seconds bare) as described in processes.py; coverage.py's C
tracer runs two of them, once.

  bare, floor line             an empty LINE callback that is never disabled: the cost of reporting every line
  seismo lines|branches|counts python -m seismo cover -q [--branch|--counts] -o FILE
  coverage ctrace|sysmon       coverage run [--branch], COVERAGE_CORE; sysmon on 3.12 and later, its branches on 3.14
  slipcover                    python -m slipcover [--branch] --json --out FILE; not on 3.15

Each tool uses its default selection of the program's own files (no standard library, no site-packages). SlipCover,
whose default is the current folder, runs in that of the script.

Test suite. About a thousand fast tests of the package `packaging`, from its source distribution, under bare pytest,
--seismo-cover and pytest-cov, with a context per test, without reports.

Start-up: an empty script.
"""

from __future__ import annotations

import math
import os
import sys
from importlib.metadata import entry_points
from typing import Any

import programs
from common import arguments, fetched, finish, geomean, installed, load_core, number, rounds_of, table
from processes import FLOOR, PYTHON, REPEATS, Tool, chosen, compare, measure, results_of, under

PACKAGING = "26.3"
TESTS = ("markers", "metadata", "tags", "specifiers", "utils", "licenses", "ranges")
QUICK_TESTS = ("tags", "utils")
MODERN, NEWER = sys.version_info >= (3, 12), sys.version_info >= (3, 14)
# coverage.py's cores on this interpreter, with True if a core supports branches here.
CORES = {"ctrace": True, "sysmon": NEWER} if MODERN else {"ctrace": True}


def tools() -> dict[str, Tool]:
    """Return all tools that this interpreter supports, in the order of their turns."""
    seismo = [*PYTHON, "-m", "seismo", "cover", "-q", "-o", "OUT"]
    found = {
        "bare": Tool(PYTHON),
        FLOOR: under("line"),
        "seismo lines": Tool(seismo),
        "seismo branches": Tool([*seismo, "--branch"]),
        "seismo counts": Tool([*seismo, "--counts"]),
    }
    command = [*PYTHON, "-m", "coverage", "run", "--rcfile=", "--data-file=OUT"]
    for core, branches in CORES.items() if installed("coverage") else ():
        slow, how = core == "ctrace", {"COVERAGE_CORE": core}
        found[f"coverage {core} lines"] = Tool(command, slow, how)
        if branches:
            found[f"coverage {core} branches"] = Tool([*command, "--branch"], slow, how)
    if installed("slipcover") and sys.version_info < (3, 15):
        slipcover = [*PYTHON, "-m", "slipcover", "--json", "--out", "OUT"]
        found["slipcover lines"] = Tool(slipcover, cwd=programs.SCRIPTS)
        found["slipcover branches"] = Tool([*slipcover, "--branch"], cwd=programs.SCRIPTS)
    return found


def suite_tools(folder: str) -> dict[str, Tool]:
    """Return pytest bare and under each tool with contexts. sysmon, coverage.py's other core, lacks contexts."""
    pytest = [*PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", f"{folder}/tests/pytest.ini"]
    pytest += ["--rootdir", folder, "-p", "no:xdist", "-p", "no:hypothesispytest"]
    path = {"PYTHONPATH": os.pathsep.join([f"{folder}/src", *filter(None, [os.environ.get("PYTHONPATH")])])}
    seismo = [*pytest, "--seismo-cover=packaging", "--seismo-cover-report=none", "--seismo-cover-file=OUT.seismo"]
    if not any(entry.name == "seismo" for entry in entry_points(group="pytest11")):  # not installed, only on sys.path
        seismo[3:3] = ["-p", "seismo.plugins.pytest_plugin"]
    found = {
        "bare": Tool([*pytest, "-p", "no:seismo", "-p", "no:pytest_cov"], environment=path),
        "seismo lines, contexts": Tool(seismo, environment=path),
    }
    if installed("pytest-cov"):
        covered = [*pytest, "--cov=packaging", "--cov-report=", "--cov-config=/dev/null", "--cov-context=test"]
        how = {**path, "COVERAGE_CORE": "ctrace", "COVERAGE_FILE": "OUT"}
        found["pytest-cov ctrace lines, contexts"] = Tool(covered, True, how)
    return found


def measure_suite(rounds: int, quick: bool) -> dict[str, Any]:
    """Return results as of one program, "packaging"; empty, with the reason on stderr, if there is no suite."""
    try:
        folder = fetched("packaging", PACKAGING)
    except RuntimeError as error:
        print(f"the test suite is left out: {error}", file=sys.stderr)
        return {}
    (folder / "tests" / "pytest.ini").write_text("[pytest]\n")  # not the project's settings: these need more plugins
    script = [str(folder / "tests" / f"test_{name}.py") for name in (QUICK_TESTS if quick else TESTS)]
    return compare(measure({"packaging": 0}, suite_tools(str(folder)), rounds, lambda *_: script), {})


def against(results: dict[str, Any], name: str, peers: list[str]) -> dict[str, float]:
    """Return a tool's relation to peers over the programs; empty if no peer was measured.

    `worst` is the largest ratio of its wall time to that of the best peer. `added` is the mean ratio of added times.
    """
    ratios, added = [], []
    for row in results.values():
        there = [row[peer] for peer in peers if peer in row]
        if name in row and there:
            best = min(there, key=lambda peer: peer["best"])
            ratios.append(row[name]["best"] / best["best"])
            added.append(row[name]["added"] / best["added"] if best["added"] > 0 else math.nan)
    return {"worst": max(ratios), "added": geomean(added)} if ratios else {}


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=1, only=REPEATS).parse_args()
    load_core()
    programs.SCRIPTS.mkdir(parents=True, exist_ok=True)  # SlipCover starts there
    found = tools()
    starting = [name for name in found if name != FLOOR and not name.endswith(" branches")]
    results, parts, method = results_of(options, found, {"to_floor": FLOOR}, chosen(options), starting)
    results["against"] = {}
    for what in ("lines", "branches"):
        peers = [f"{peer} {what}" for peer in ("coverage ctrace", "coverage sysmon", "slipcover")]
        results["against"][what] = against(results["programs"], f"seismo {what}", peers)
        results["against"][f"{what} ctrace"] = against(results["programs"], f"seismo {what}", peers[:1])
    results["suite"] = measure_suite(rounds_of(options), options.quick)
    row = results["suite"].get("packaging", {})
    cells = [[name, number(value["best"]), number(value["times"])] for name, value in row.items()]
    parts.append(table([f"tests of packaging {PACKAGING}", "s", "× bare"], cells))
    finish("coverage", options, method, results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
