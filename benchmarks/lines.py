"""Cost of `seismo lines`: whole processes with their data written, beside the empty LINE callback and line_profiler.

The empty LINE callback is the cost of reporting every line, a lower bound for `seismo lines`.

  bare, floor line       the empty LINE callback around the whole program
  seismo lines           python -m seismo lines -q -o FILE
  seismo lines --only    the same, for the program's own script only
  line_profiler          all functions and methods of the script registered; two programs, once
"""

from __future__ import annotations

from common import arguments, finish, installed, load_core
from processes import FLOOR, PYTHON, REPEATS, Tool, chosen, results_of, under


def tools() -> dict[str, Tool]:
    """Return the tools that run whole programs, in the order of their turns."""
    seismo = [*PYTHON, "-m", "seismo", "lines", "-q", "-o", "OUT"]
    found = {
        "bare": Tool(PYTHON),
        FLOOR: under("line"),
        "seismo lines": Tool(seismo),
        "seismo lines --only": Tool([*seismo, "--only", "__main__"]),
    }
    return {**found, "line_profiler": under("line_profiler", slow=True)} if installed("line_profiler") else found


def main() -> None:
    options = arguments(__doc__, rounds=3, quick_rounds=1, only=REPEATS).parse_args()
    load_core()
    started = ("bare", "seismo lines")
    results, parts, method = results_of(options, tools(), {"to_floor": FLOOR}, chosen(options), started)
    finish("lines", options, method, results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
