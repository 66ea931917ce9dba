"""Instructions per event for each recorder and source, counted by `valgrind --tool=callgrind`.

    python benchmarks/instructions.py                      this interpreter and the seismo that it imports
    python benchmarks/instructions.py --baseline FOLDER    beside another build (setup.py build --build-lib FOLDER)
    python benchmarks/instructions.py --only calls hub     some of the cases

Times of single events drown in the noise of a busy machine; the number of instructions does not. A case is a loop that
runs twice, in separate processes, for SHORT and LONG iterations. The difference divided by the iterations is the cost
of an iteration without start and end. The cost without a recorder is subtracted. The recorders use the simulated clock,
so that the same segments are timed in every run. Instructions are not times: one that waits for memory takes as long as
a hundred others. Without valgrind the status is 3, and run_all.py leaves it out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from common import arguments, finish, leave_out, number, output_of, progress, table

SHORT, LONG, QUICK_LONG = 2_000, 12_000, 4_000

# `run(n)` is the loop. A case's start precedes it and its stop follows.
LOOPS = {
    "call": "def f(): pass\ndef run(n):\n    for _ in range(n): f()\n",
    "many": "space = {}\nfor i in range(64): exec(f'def f{i}(): pass', space)\n"
    "fs = [space[f'f{i}'] for i in range(64)]\ndef run(n):\n    for _ in range(n // 64):\n        for f in fs: f()\n",
    "len": "def run(n, l=[], len=len):\n    for _ in range(n): len(l)\n",
    "resume": "def g(n):\n    for i in range(n): yield i\ndef run(n):\n    for _ in g(n): pass\n",
    "line": "def run(n):\n    a = b = 0\n    for i in range(n):\n        a = i\n        b = a\n",
    "object": "def run(n):\n    for _ in range(n): object()\n",
}
START = "core.start(recorder={!r}, source={!r}, c_functions={!r}, clock='simulated', calibrate=False, running=False)\n"
STOP = "core.stop()\n"
FILTER = "from seismo.expression import parse\nkept = core.Filter(parse({!r}).program)\n"


@dataclass(frozen=True)
class Case:
    """A loop under a recorder; `events` are those of an iteration."""

    name: str
    loop: str
    events: int
    start: str
    stop: str


def engine(recorder: str, source: str, c_functions: str = "none") -> tuple[str, str]:
    return START.format(recorder, source, c_functions), STOP


def traced(source: str, timing: str) -> tuple[str, str]:
    """Return the start and stop of a trace. Without a file, only the cost on the program's own thread counts."""
    start, stop = engine("calltree", source)
    return start.replace("clock=", f"journal=True, timing={timing!r}, clock="), stop


def cases() -> list[Case]:
    """Return the cases whose hooks this interpreter has."""
    modern = sys.version_info >= (3, 12)
    found: list[Case] = []
    for source in ("monitoring" if modern else "evalframe", "profilefunc"):
        found += [
            Case(f"calls {source}", "call", 2, *engine("calltree", source)),
            Case(f"calls {source}, 64 functions", "many", 2, *engine("calltree", source)),
            Case(f"resumes {source}", "resume", 2, *engine("calltree", source)),
            Case(f"traced calls {source}", "call", 2, *traced(source, "sampled")),
            Case(f"traced calls {source}, each with its time", "call", 2, *traced(source, "every")),
        ]
        if source != "evalframe":
            found.append(Case(f"C functions {source}", "len", 2, *engine("calltree", source, "all")))
    source = "monitoring" if modern else "tracefunc"
    found += [
        Case(f"lines {source}", "line", 3, *engine("linetimes", source)),
        Case(f"lines {source}, calls", "call", 3, *engine("linetimes", source)),
    ]
    counting = START.replace("clock=", "timing='none', clock=")
    for source in ("starts", "monitoring") if modern else ("evalframe",):
        begin = counting.format("calltree", source, "none")
        found += [
            Case(f"counts {source}", "call", 1, begin, STOP),
            Case(f"counts {source}, 64 functions", "many", 1, begin, STOP),
            Case(f"counts {source}, resumes", "resume", 1, begin, STOP),
        ]
        if modern:
            of_all = counting.format("calltree", source, "all")
            found.append(Case(f"counts {source}, C functions", "len", 1, of_all, STOP))
    # The program's own marks while nothing records, beside a call of an empty function.
    says = "import seismo\ndef empty(name, /, **values): pass\ndef f():\n    "
    for name, statement in {
        "an empty function": "empty('x')",
        "an empty function, a value": "empty('x', n=3)",
        "mark": "seismo.mark('x')",
        "mark, a value": "seismo.mark('x', n=3)",
        "count": "seismo.count('x', 3)",
        "span": "with seismo.span('x'): pass",
    }.items():
        found.append(Case(f"idle: {name}", "call", 1, f"{says}{statement}\n", ""))
    covering = "core.start(recorder='coverage', counts=True)\n", "core.stop(recorder='coverage')\n"
    watching = FILTER.format("(call or return) and function('*f')") + "import seismo\n"
    watching += "seen = seismo.watch(\"(call or return) and function('*f')\", 'count').__enter__()\n"
    missing = watching.replace("*f", "*nothing")
    profiling = "import seismo.cprofile\nseen = seismo.cprofile.Profile()\nseen.enable()\n"
    found += [
        Case("coverage, lines counted", "line", 3, *covering),
        Case("coverage, calls", "call", 3, *covering),
        Case("hub, a watch that counts", "call", 2, watching, "seen.__exit__(None, None, None)\n"),
        Case("hub, a watch of nothing", "call", 2, missing, "seen.__exit__(None, None, None)\n"),
        Case("hub, cprofile", "call", 2, profiling, "seen.disable()\n"),
    ]
    if sys.version_info >= (3, 13, 3):
        found.append(Case("objects by line", "object", 2, *engine("lifetimes", "reftracer")))
    return found


def count(program: str, library: str | None) -> int:
    """Return the instructions of a process that runs this program. Raise RuntimeError if it fails."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SEISMO", "PYTHON"))}
    environment |= {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": library or ""}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        said = output_of([*valgrind, sys.executable, "-c", program], env=environment, stderr=subprocess.STDOUT)
    found = re.search(r"Collected\s*:\s*(\d+)", said)
    assert found, said[-2000:]
    return int(found[1])


def a_turn(case: Case, library: str | None, recorded: bool, most: int) -> float:
    """Return the instructions of one iteration of a case's loop, which runs at most `most` iterations."""
    head = "import gc\nfrom seismo import _core as core\ngc.disable()\n" + LOOPS[case.loop]

    def program(turns: int) -> str:
        run = f"run(64)\nrun({turns})\n"
        return head + (case.start + run + case.stop if recorded else run)

    return (count(program(most), library) - count(program(SHORT), library)) / (most - SHORT)


def main() -> None:
    parser = arguments(__doc__, rounds=1, quick_rounds=1)
    parser.add_argument("--baseline", metavar="FOLDER", help="a folder with another build of seismo")
    parser.add_argument("--only", nargs="+", metavar="WORD", default=[""], help="cases whose names begin with these")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        leave_out("there is no valgrind")
    most = QUICK_LONG if options.quick else LONG
    bare: dict[str, float] = {}
    rows, results = [], {}
    for case in cases():
        if not case.name.startswith(tuple(options.only)):
            continue
        progress(case.name)
        if case.loop not in bare:
            bare[case.loop] = a_turn(case, None, False, most)

        def price(library: str | None, case: Case = case) -> float:
            return (a_turn(case, library, True, most) - bare[case.loop]) / case.events

        event, before = price(None), price(options.baseline) if options.baseline else None
        results[case.name] = {"bare": bare[case.loop], "event": event, "baseline": before}
        cells = [number(bare[case.loop], 1), number(event, 1), number(before, 1)]
        rows.append([case.name, *cells, number(event / before if before else None, 3)])
    method = f"instructions by callgrind, {most:,} turns less {SHORT:,}; an event is what it adds to the bare turn"
    head = ["case", "a turn, bare", "an event", "baseline", "ratio"]
    finish("instructions", options, method, results, table(head, rows))


if __name__ == "__main__":
    main()
