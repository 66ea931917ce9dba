"""Whole processes with their output written: the times that a user waits, and start-up on an empty script.

Every tool runs the same pyperformance program (programs.py NAME REPEATS, about half a second bare) as described in
processes.py, with output to a file. Missing tools (trace0 needs 3.13) are left out and named.

  bare            python programs.py ...
  seismo none     python -m seismo profile -q --c-functions none -o FILE      Python functions only
  trace0          trace0 run -o FILE                                          Python functions only
  seismo auto     python -m seismo profile -q -o FILE                         Python and C functions
  seismo counts   python -m seismo profile -q --timing none -o FILE           the same, counts alone
  cProfile        python -m cProfile -o FILE                                  Python and C functions
  yappi, VizTracer, pyinstrument (1 ms sampling): short runs of two programs, once, beside bare and cProfile; VizTracer
                  with room for all its entries

Start-up: an empty script, bare and under `seismo profile -q`, strictly in turn, median and minimum of many.
"""

from __future__ import annotations

from importlib.util import find_spec

import programs
from common import HERE, arguments, finish, rounds_of
from processes import PYTHON, Tool, compare, measure, render, render_startup, startup, totals, unrest

# Repeats of the body for a run of about half a second on the slowest interpreter.
PROGRAMS = {"deltablue": 12, "richards": 9, "chaos": 9, "go": 4, "deepcopy": 9, "sqlglot": 7}
FEW = ("deltablue", "chaos", "sqlglot")
SHORT = {"deltablue": 2, "sqlglot": 2}
STARTED = ("bare", "seismo auto", "seismo none", "cProfile")  # with an empty script
BASES = {"to_cprofile": "cProfile", "to_trace0": "trace0"}
PEERS = ("trace0", "yappi", "viztracer", "pyinstrument")  # modules that may be missing


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


def words(program: str, repeats: int) -> list[str]:
    """Return the words that run a program."""
    return [str(HERE / "programs.py"), program, str(repeats)]


def main() -> None:
    options = arguments(__doc__, rounds=2, quick_rounds=1, only=PROGRAMS).parse_args()
    programs.sources()
    there = tools()
    missing = [name for name in there if name.lower() in PEERS and find_spec(name.lower()) is None]
    there = {name: tool for name, tool in there.items() if name not in missing}
    rounds, names = rounds_of(options), options.only or (FEW if options.quick else PROGRAMS)
    start = startup({name: there[name] for name in STARTED}, options.quick)
    fast = {name: tool for name, tool in there.items() if not tool.slow}
    slow = {name: tool for name, tool in there.items() if tool.slow or name in ("bare", "cProfile")}
    readings = measure({name: PROGRAMS[name] for name in names}, fast, rounds, words)
    compared, short = compare(readings, BASES), compare(measure(SHORT, slow, 1, words), BASES)
    results = {"programs": compared, "totals": totals(compared), "startup": start, "missing": missing}
    results |= {"slow": short, "slow_totals": totals(short)}
    method = (
        f"best wall time of {rounds} interleaved rounds (slow tools: 1, short programs); {unrest(readings)}; "
        "start-ups in turn" + (f"; not installed: {', '.join(missing)}" if missing else "")
    )
    text = "\n\n".join([render(compared), render(short), render_startup(start)])
    finish("whole_process", options, method, results, text)


if __name__ == "__main__":
    main()
