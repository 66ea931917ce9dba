"""Equal runs: the number of unchanged functions that `seismo diff` lists, and its detection of changed ones.

- Equal: five programs, recorded in pairs of equal runs, one run a side. Every function that a diff lists as changed, in
  own time or in calls, is a false alarm.
- Planted: the fourth of these programs, which calls a function that takes about 5 % of the time. In half of the
  recordings, this function does a tenth more (five runs a side) or twice as much (one run a side), with the same number
  of calls. The result is the number of diffs that list it, and of other functions that they list.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from common import HERE, arguments, finish, output_of, progress, rounds_of, table

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAMS = {
    "pygments": """\
import inspect, argparse, pygments, pygments.lexers, pygments.formatters
source = inspect.getsource(argparse)
pygments.highlight(source, pygments.lexers.PythonLexer(), pygments.formatters.HtmlFormatter())
""",
    "more_itertools": """\
import more_itertools as m
for _ in range(60):
    for found in (m.chunked(range(3000), 7), m.windowed(range(3000), 5), m.sliced(list(range(3000)), 9),
                  m.split_at(range(3000), lambda x: x % 10 == 0), m.unique_everseen(x % 99 for x in range(3000)),
                  m.set_partitions(range(7), 3), m.peekable(range(3000)), m.collapse([[1, [2]], 3] * 300)):
        list(found)
""",
    "json": """\
import json
data = {str(n): [n, {"a": [n / 3, None, True, "x" * (n % 50)]}] for n in range(6000)}
for _ in range(3):
    assert json.loads(json.dumps(data, indent=1, sort_keys=True)) == data
""",
    "unparse": """\
import ast, sys, argparse, inspect, typing
def planted(times):
    total = 0
    for number in range(times):
        total += number * number
    return total
tree = [ast.parse(inspect.getsource(module)) for module in (argparse, inspect, typing)]
for one in tree * 4:
    for part in one.body:
        ast.unparse(part)
        planted(int(sys.argv[1]))
""",
    "deltablue": f"import sys; sys.path.insert(0, {str(HERE)!r}); import programs; programs.load('deltablue')()\n",
}
HEAD = ("program", "runs a side", "diffs", "planted found", "others listed")
USUAL, TENTH_MORE, TWICE = 300, 330, 600  # iterations of the planted function's loop


def record(folder: Path, name: str, target: str, times: int = USUAL) -> Path:
    """Record one run of a program. `times` are the iterations of the planted function."""
    script, recording = folder / f"program_{name}.py", folder / f"{target}.seismo"
    script.write_text(PROGRAMS[name])
    progress(f"{name} {target}")
    command = [sys.executable, "-m", "seismo", "profile", "-q", "--force", "-o", str(recording), str(script)]
    output_of([*command, str(times)])
    return recording


def changed(old: Sequence[Path], new: Sequence[Path]) -> list[str]:
    """Return the functions that `seismo diff` lists as changed."""
    command = [sys.executable, "-m", "seismo", "diff", "--json", "--old", *map(str, old), "--new", *map(str, new)]
    rows = json.loads(output_of(command))["functions"]
    return [row["qualname"] for row in rows if row["significant"] or are_apart(row["calls_old"], row["calls_new"])]


def are_apart(old: list[int] | int, new: list[int] | int) -> bool:
    """Return True if two numbers, or two ranges over several runs, do not overlap."""
    a, b = ([side] if isinstance(side, int) else side for side in (old, new))
    return max(a) < min(b) or max(b) < min(a)


def pairs(folder: Path, name: str, runs: int, times: int, rounds: int) -> list[list[str]]:
    """Return the functions that each diff lists.

    `runs` is per side; `times` are the planted iterations on the new side.
    """
    found = []
    for _ in range(rounds):
        taken = [(record(folder, name, f"old-{run}"), record(folder, name, f"new-{run}", times)) for run in range(runs)]
        found.append(changed([old for old, _ in taken], [new for _, new in taken]))
    return found


def main() -> None:
    options = arguments(__doc__, rounds=4, quick_rounds=1, only=PROGRAMS).parse_args()
    cases = [(f"{name}, equal", name, 1, USUAL) for name in options.only or PROGRAMS]
    cases += [] if options.only else [("a tenth more", "unparse", 5, TENTH_MORE), ("twice", "unparse", 1, TWICE)]
    rows, results = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for title, name, runs, times in cases:
            found = results[title] = pairs(Path(folder), name, runs, times, rounds_of(options))
            hits = [one for listed in found for one in listed if one == "planted" and times != USUAL]
            others = sum(map(len, found)) - len(hits)
            rows.append([title, str(runs), str(len(found)), "–" if times == USUAL else str(len(hits)), str(others)])
    method = f"{rounds_of(options)} diffs a row, the runs of both sides by turns"
    finish("equal_runs", options, method, results, table(HEAD, rows))


if __name__ == "__main__":
    main()
