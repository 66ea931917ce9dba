"""What coverage costs: whole processes with their data written, beside coverage.py and SlipCover.

Programs. Each tool runs pyperformance's programs (programs.py NAME REPEATS, over two seconds bare) as a process of its
own, all tools in turn in every round; those that take several times as long only in the first.

  bare, floor line             the empty LINE callback that is never switched off: what telling of every line costs
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
import subprocess
import sys
import tarfile
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import programs
import ratios
from common import BUILD, arguments, finish, load_core, median, number, rounds_of, spread, table
from ratios import FLOOR, installed
from whole_process import Tool, measure, render_startup, startup

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = [sys.executable]
PACKAGING = "26.3"
SUITE = BUILD / "suites" / f"packaging-{PACKAGING}"
TESTS = ("markers", "metadata", "tags", "specifiers", "utils", "licenses", "ranges")
QUICK_TESTS = ("tags", "utils")


def tools() -> dict[str, Tool]:
    """All that this interpreter has, in the order of their turns."""
    seismo = [*PYTHON, "-m", "seismo", "cover", "-q", "-o", "OUT"]
    found = {
        "bare": Tool(PYTHON),
        FLOOR: Tool(ratios.floor().command, slow=True),
        "seismo lines": Tool(seismo),
        "seismo branches": Tool([*seismo, "--branch"]),
        "seismo counts": Tool([*seismo, "--counts"]),
    }
    if installed("coverage"):
        for core, branches in cores().items():
            found[f"coverage {core} lines"] = covered_by(core, slow=core == "ctrace")
            if branches:
                found[f"coverage {core} branches"] = covered_by(core, "--branch", slow=core == "ctrace")
    if installed("slipcover") and sys.version_info < (3, 15):
        slipcover = [*PYTHON, "-m", "slipcover", "--json", "--out", "OUT"]
        found["slipcover lines"] = Tool(slipcover, cwd=programs.SCRIPTS)
        found["slipcover branches"] = Tool([*slipcover, "--branch"], cwd=programs.SCRIPTS)
    return found


def cores() -> dict[str, bool]:
    """coverage.py's cores on this interpreter, and whether each knows branches here."""
    if sys.version_info < (3, 12):
        return {"ctrace": True}
    return {"ctrace": True, "sysmon": sys.version_info >= (3, 14)}


def covered_by(core: str, *options: str, slow: bool) -> Tool:
    """coverage.py with one of its cores."""
    command = [*PYTHON, "-m", "coverage", "run", "--rcfile=", "--data-file=OUT", *options]
    return Tool(command, slow=slow, environment={"COVERAGE_CORE": core})


# ---- the test suite ----


def suite() -> Path:
    """The folder of packaging's sources and tests, fetched on the first use. RuntimeError when that fails."""
    if not (SUITE / "tests").is_dir():
        SUITE.parent.mkdir(parents=True, exist_ok=True)
        command = [*PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        command += ["--dest", str(SUITE.parent), f"packaging=={PACKAGING}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        archive = SUITE.parent / f"packaging-{PACKAGING}.tar.gz"
        if done.returncode or not archive.is_file():
            raise RuntimeError(f"the sources of packaging {PACKAGING} cannot be downloaded:\n{done.stderr}")
        with tarfile.open(archive) as contents:
            contents.extractall(SUITE.parent, filter="data")
    return SUITE


def suite_tools(folder: Path) -> dict[str, Tool]:
    """Pytest bare and under each tool, with contexts and without."""
    pytest = [*PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(folder / "tests" / "pytest.ini")]
    pytest += ["--rootdir", str(folder), "-p", "no:xdist", "-p", "no:hypothesispytest"]
    path = {"PYTHONPATH": os.pathsep.join([str(folder / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])}
    seismo = [*pytest, "--seismo-cover=packaging", "--seismo-cover-report=none", "--seismo-cover-file=OUT.seismo"]
    if not any(entry.name == "seismo" for entry in entry_points(group="pytest11")):  # not installed, only on the path
        seismo[3:3] = ["-p", "seismo.plugins.pytest_plugin"]
    found = {
        "bare": Tool([*pytest, "-p", "no:seismo", "-p", "no:pytest_cov"], environment=path),
        "seismo lines": Tool([*seismo, "--seismo-cover-context=none"], environment=path),
        "seismo lines, contexts": Tool(seismo, environment=path),
        "seismo branches, contexts": Tool([*seismo, "--seismo-branch"], environment=path),
    }
    if not installed("pytest-cov"):
        return found
    covered = [*pytest, "--cov=packaging", "--cov-report=", "--cov-config=/dev/null"]
    for core in cores():
        environment = {**path, "COVERAGE_CORE": core, "COVERAGE_FILE": "OUT"}
        found[f"pytest-cov {core} lines"] = Tool(covered, environment=environment)
        if core == "ctrace":  # the other core knows no contexts
            contexts = [*covered, "--cov-context=test"]
            found["pytest-cov ctrace lines, contexts"] = Tool(contexts, environment=environment, slow=True)
            found["pytest-cov ctrace branches, contexts"] = Tool(
                [*contexts, "--cov-branch"], environment=environment, slow=True
            )
    return found


def measure_suite(rounds: int, quick: bool) -> dict[str, Any]:
    """Results as of one program, "packaging"; empty, with the reason said, when there is no suite."""
    try:
        folder = suite()
    except RuntimeError as error:
        print(f"the test suite is left out: {error}", file=sys.stderr)
        return {}
    (folder / "tests" / "pytest.ini").write_text("[pytest]\n")  # not the project's settings, which ask for more plugins
    script = [str(folder / "tests" / f"test_{name}.py") for name in (QUICK_TESTS if quick else TESTS)]
    return ratios.compare(measure({"packaging": 0}, suite_tools(folder), rounds, lambda *_: script))


# ---- results ----


def promises(results: dict[str, Any]) -> list[tuple[str, str, float]]:
    """What is promised, and what it came to."""
    summed, start, suite_row = results["totals"], results["startup"], results["suite"].get("packaging", {})
    rows = []
    for what in ("lines", "branches"):
        name = f"seismo {what}"
        if sys.version_info >= (3, 12):
            rows.append((f"{what}, × bare: geomean", "≤ 1.05", summed.get(name, {}).get("times", math.nan)))
            rows.append((f"{what}, × bare: worst", "", summed.get(name, {}).get("times_worst", math.nan)))
        found = results["against"].get(what, {})
        rows.append((f"{what} ÷ the fastest peer's time: worst", "≤ 1", found.get("worst", math.nan)))
        target = "≤ 0.5" if sys.version_info < (3, 12) else ""
        added = results["against"].get(f"{what} ctrace", {}).get("added", math.nan)
        rows.append((f"{what}: added ÷ coverage.py's C tracer's", target, added))
    rows.append(("counts: added ÷ the floor's", "≤ 1.3", summed.get("seismo counts", {}).get("to_floor", math.nan)))
    for name in ("seismo lines, contexts", "pytest-cov ctrace lines, contexts"):
        target = "≤ 1.15" if name.startswith("seismo") else ""
        rows.append((f"test suite, {name}, × bare", target, suite_row.get(name, {}).get("times", math.nan)))
    rows.append(("start-up more than bare, ms", "≤ 25", start.get("seismo lines", {}).get("added_median", math.nan)))
    return rows


def beside(results: dict[str, Any]) -> dict[str, Any]:
    """How seismo stands beside its peers, for lines and for branches."""
    found: dict[str, Any] = {}
    for what in ("lines", "branches"):
        peers = [f"{peer} {what}" for peer in ("coverage ctrace", "coverage sysmon", "slipcover")]
        found[what] = ratios.against(results, f"seismo {what}", peers)
        found[f"{what} ctrace"] = ratios.against(results, f"seismo {what}", peers[:1])
    return found


def main() -> None:
    parser = arguments(__doc__, rounds=3, quick_rounds=1)
    parser.add_argument("--only", nargs="+", choices=ratios.REPEATS, help="only these programs")
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the programs' usual repeats")
    parser.add_argument("--starts", type=int, help="start-ups of an empty script (default 40, quick 15)")
    parser.add_argument("--no-suite", action="store_true", help="leave the test suite out")
    options = parser.parse_args()
    if load_core() is None:
        raise SystemExit("seismo cannot be imported")
    programs.sources()
    there, rounds, starts = tools(), rounds_of(options), options.starts or (15 if options.quick else 40)
    chosen = ratios.chosen(options.only, options.quick, options.scale)
    starting = {name: tool for name, tool in there.items() if name != FLOOR and not name.endswith(" branches")}
    programs.SCRIPTS.mkdir(parents=True, exist_ok=True)  # where SlipCover starts
    start = startup(starting, starts)
    readings = measure(chosen, there, rounds, ratios.script_of)
    compared = ratios.compare(readings)
    results: dict[str, Any] = {"programs": compared, "totals": ratios.totals(compared), "startup": start}
    results["against"] = beside(compared)
    results["floor_in_process"] = ratios.floor_in_process(list(chosen), rounds)
    results["suite"] = {} if options.no_suite else measure_suite(rounds, options.quick)
    rows = promises(results)
    results["promises"] = {text: value for text, _, value in rows}
    parts = [ratios.targets(rows), ratios.render(compared, results["totals"])]
    parts.append(ratios.told_in_process(results["floor_in_process"]))
    if results["suite"]:
        row = results["suite"]["packaging"]
        cells = [[name, number(value["best"]), number(value["times"])] for name, value in row.items()]
        parts.append(table([f"tests of packaging {PACKAGING}", "s", "× bare"], cells))
    parts.append(render_startup(start))
    unrest = max(spread([r.wall for r in row["bare"]]) for row in readings.values())
    method = (
        f"best wall time of {rounds} interleaved rounds (the slow ones: 1), programs of "
        f"{number(median([row['bare']['best'] for row in compared.values()]), 1)} s bare; bare readings spread up to "
        f"{unrest * 100:.1f} %; {starts} start-ups in turn"
    )
    finish("coverage", options, method, results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
