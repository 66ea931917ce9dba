"""What coverage costs: whole processes with their data written, beside coverage.py and SlipCover.

Programs. Each tool runs pyperformance's programs (over two seconds bare) as processes.py says; those that take several
times as long only in the first round.

  bare, floor line             the empty LINE callback that is never switched off: what reporting of every line costs
  seismo lines|branches|counts python -m seismo cover -q [--branch|--counts] -o FILE
  coverage ctrace|sysmon       coverage run [--branch], COVERAGE_CORE; sysmon on 3.12 and later, its branches on 3.14
  slipcover                    python -m slipcover [--branch] --json --out FILE; not on 3.15

All keep their usual view of what is the program's own (not the standard library, not site-packages); SlipCover, which
takes the current folder, runs in that of the script.

Test suite. Some thousand fast tests of the package `packaging`, from its source distribution, under bare pytest, under
--seismo-cover and under pytest-cov, with a context for each test and without, no report.

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
from processes import (
    FLOOR,
    PYTHON,
    REPEATS,
    Tool,
    chosen,
    compare,
    measure,
    render,
    render_startup,
    startup,
    totals,
    under,
    unrest,
)

PACKAGING = "26.3"
TESTS = ("markers", "metadata", "tags", "specifiers", "utils", "licenses", "ranges")
QUICK_TESTS = ("tags", "utils")
MODERN, NEWER = sys.version_info >= (3, 12), sys.version_info >= (3, 14)
# coverage.py's cores on this interpreter, and whether each knows branches here.
CORES = {"ctrace": True, "sysmon": NEWER} if MODERN else {"ctrace": True}


def tools() -> dict[str, Tool]:
    """Return all that this interpreter has, in the order of their turns."""
    seismo = [*PYTHON, "-m", "seismo", "cover", "-q", "-o", "OUT"]
    found = {
        "bare": Tool(PYTHON),
        FLOOR: under("line", slow=True),
        "seismo lines": Tool(seismo),
        "seismo branches": Tool([*seismo, "--branch"]),
        "seismo counts": Tool([*seismo, "--counts"]),
    }
    for core, branches in CORES.items() if installed("coverage") else ():
        command = [*PYTHON, "-m", "coverage", "run", "--rcfile=", "--data-file=OUT"]
        for what, words in {"lines": [], "branches": ["--branch"]}.items():
            if branches or what == "lines":
                how = {"COVERAGE_CORE": core}
                found[f"coverage {core} {what}"] = Tool([*command, *words], core == "ctrace", how)
    if installed("slipcover") and sys.version_info < (3, 15):
        slipcover = [*PYTHON, "-m", "slipcover", "--json", "--out", "OUT"]
        found["slipcover lines"] = Tool(slipcover, cwd=programs.SCRIPTS)
        found["slipcover branches"] = Tool([*slipcover, "--branch"], cwd=programs.SCRIPTS)
    return found


def suite_tools(folder: str) -> dict[str, Tool]:
    """Return pytest bare and under each tool, with contexts and without."""
    pytest = [*PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", f"{folder}/tests/pytest.ini"]
    pytest += ["--rootdir", folder, "-p", "no:xdist", "-p", "no:hypothesispytest"]
    path = {"PYTHONPATH": os.pathsep.join([f"{folder}/src", *filter(None, [os.environ.get("PYTHONPATH")])])}
    seismo = [*pytest, "--seismo-cover=packaging", "--seismo-cover-report=none", "--seismo-cover-file=OUT.seismo"]
    if not any(entry.name == "seismo" for entry in entry_points(group="pytest11")):  # not installed, only on the path
        seismo[3:3] = ["-p", "seismo.plugins.pytest_plugin"]
    found = {
        "bare": Tool([*pytest, "-p", "no:seismo", "-p", "no:pytest_cov"], environment=path),
        "seismo lines": Tool([*seismo, "--seismo-cover-context=none"], environment=path),
        "seismo lines, contexts": Tool(seismo, environment=path),
        "seismo branches, contexts": Tool([*seismo, "--seismo-cover-branch"], environment=path),
    }
    covered = [*pytest, "--cov=packaging", "--cov-report=", "--cov-config=/dev/null"]
    for core in CORES if installed("pytest-cov") else ():
        how = {**path, "COVERAGE_CORE": core, "COVERAGE_FILE": "OUT"}
        found[f"pytest-cov {core} lines"] = Tool(covered, environment=how)
        if core == "ctrace":  # the other core knows no contexts
            contexts = [*covered, "--cov-context=test"]
            found["pytest-cov ctrace lines, contexts"] = Tool(contexts, True, how)
            found["pytest-cov ctrace branches, contexts"] = Tool([*contexts, "--cov-branch"], True, how)
    return found


def measure_suite(rounds: int, quick: bool) -> dict[str, Any]:
    """Return results as of one program, "packaging"; empty, with the reason on stderr, when there is no suite."""
    try:
        folder = fetched("packaging", PACKAGING)
    except RuntimeError as error:
        print(f"the test suite is left out: {error}", file=sys.stderr)
        return {}
    (folder / "tests" / "pytest.ini").write_text("[pytest]\n")  # not the project's settings, which ask for more plugins
    script = [str(folder / "tests" / f"test_{name}.py") for name in (QUICK_TESTS if quick else TESTS)]
    return compare(measure({"packaging": 0}, suite_tools(str(folder)), rounds, lambda *_: script), {})


def against(results: dict[str, Any], name: str, peers: list[str]) -> dict[str, float]:
    """Return how a tool stands beside others, over the programs; empty when none of them was measured.

    times: its wall time over that of the best peer; worst: the largest of these; added: added over added, of that peer.
    """
    ratios, added = [], []
    for row in results.values():
        there = [row[peer] for peer in peers if peer in row]
        if name in row and there:
            best = min(there, key=lambda peer: peer["best"])
            ratios.append(row[name]["best"] / best["best"])
            added.append(max(row[name]["added"], 0.0) / best["added"] if best["added"] > 0 else math.nan)
    known = [value for value in added if value > 0]
    return {"times": geomean(ratios), "worst": max(ratios), "added": geomean(known)} if ratios else {}


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=1, only=REPEATS).parse_args()
    load_core()
    there, rounds = tools(), rounds_of(options)
    programs.SCRIPTS.mkdir(parents=True, exist_ok=True)  # where SlipCover starts
    starting = {name: tool for name, tool in there.items() if name != FLOOR and not name.endswith(" branches")}
    start = startup(starting, options.quick)
    readings = measure(chosen(options), there, rounds)
    compared = compare(readings, {"to_floor": FLOOR})
    results: dict[str, Any] = {"programs": compared, "totals": totals(compared), "startup": start, "against": {}}
    for what in ("lines", "branches"):
        peers = [f"{peer} {what}" for peer in ("coverage ctrace", "coverage sysmon", "slipcover")]
        results["against"][what] = against(compared, f"seismo {what}", peers)
        results["against"][f"{what} ctrace"] = against(compared, f"seismo {what}", peers[:1])
    results["suite"] = measure_suite(rounds, options.quick)
    row = results["suite"].get("packaging", {})
    cells = [[name, number(value["best"]), number(value["times"])] for name, value in row.items()]
    parts = [render(compared), table([f"tests of packaging {PACKAGING}", "s", "× bare"], cells), render_startup(start)]
    method = f"best wall time of {rounds} interleaved rounds (the slow ones: 1); {unrest(readings)}; start-ups in turn"
    finish("coverage", options, method, results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
