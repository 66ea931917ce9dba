"""Whole processes with their output written: the times that a user waits, and start-up on an empty script.

Every tool runs the same pyperformance program (about half a second bare) as described in processes.py, with output to a
file. Missing tools (trace0 needs 3.13) are left out and named.

  bare            python SCRIPT ...
  seismo none     python -m seismo profile -q --c-functions none -o FILE      Python functions only
  trace0          trace0 run -o FILE                                          Python functions only
  seismo auto     python -m seismo profile -q -o FILE                         Python and C functions
  seismo counts   python -m seismo profile -q --timing none -o FILE           the same, counts alone
  cProfile        python -m cProfile -o FILE                                  Python and C functions
  yappi, VizTracer, pyinstrument (1 ms sampling): two programs, once; VizTracer keeps its last 3,000,000 entries

Start-up: an empty script, bare and under `seismo profile -q`, strictly in turn, median and minimum of many.
"""

from __future__ import annotations

from common import arguments, finish, installed
from processes import PYTHON, Tool, results_of

# Repeats of the body for a run of about half a second on the slowest interpreter.
PROGRAMS = {"deltablue": 12, "richards": 9, "chaos": 9, "go": 4, "deepcopy": 9, "sqlglot": 7}
FEW = ("deltablue", "chaos", "sqlglot")
STARTED = ("bare", "seismo auto", "seismo none", "cProfile")  # with an empty script
BASES = {"to_cprofile": "cProfile", "to_trace0": "trace0"}
PEERS = ("trace0", "yappi", "VizTracer", "pyinstrument")  # may be missing


def tools() -> dict[str, Tool]:
    """Return all tools in the order of their turns, even if not installed."""
    seismo = [*PYTHON, "-m", "seismo", "profile", "-q", "-o", "OUT"]
    viztracer = ["--quiet", "--tracer_entries", "3000000", "-o", "OUT.json", "--"]
    return {
        "bare": Tool(PYTHON),
        "seismo none": Tool([*seismo, "--c-functions", "none"]),
        "trace0": Tool([*PYTHON, "-m", "trace0", "run", "-o", "OUT"]),
        "seismo auto": Tool(seismo),
        "seismo counts": Tool([*seismo, "--timing", "none"]),
        "cProfile": Tool([*PYTHON, "-m", "cProfile", "-o", "OUT"]),
        "yappi": Tool([*PYTHON, "-m", "yappi", "-b", "-c", "wall", "-o", "OUT"], slow=True),
        "VizTracer": Tool([*PYTHON, "-m", "viztracer", *viztracer], slow=True),
        "pyinstrument": Tool([*PYTHON, "-m", "pyinstrument", "-r", "pyisession", "-o", "OUT"], slow=True),
    }


def main() -> None:
    options = arguments(__doc__, rounds=2, quick_rounds=1, only=PROGRAMS).parse_args()
    missing = [name for name in PEERS if not installed(name)]
    found = {name: tool for name, tool in tools().items() if name not in missing}
    repeats = {name: PROGRAMS[name] for name in options.only or (FEW if options.quick else PROGRAMS)}
    results, parts, method = results_of(options, found, BASES, repeats, STARTED)
    method += f"; not installed: {', '.join(missing)}" if missing else ""
    finish("whole_process", options, method, results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
