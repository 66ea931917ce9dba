"""seismo.cprofile beside cProfile: the time that each adds to a program, with the same sums as a result.

Small programs (Python calls, methods, generators, C functions, a mix) and bodies of pyperformance's programs, measured
as described in inprocess.py; a profiler is cleared after its turn. In brackets: seismo's added time divided by
cProfile's, and cProfile's divided by that of an empty hook on the same events. The tools "py" omit C functions
(builtins=False).
"""

from __future__ import annotations

import ast
import cProfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs
from common import Case, arguments, rounds_of
from inprocess import Tool, bare, conclude, empty, measure, micro

from seismo.cprofile import Profile

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(ast.__file__).read_text()[:8000].rpartition("\ndef ")[0]


def c_functions(count: int) -> None:
    items: list[int] = []
    for i in range(count):
        items.append(i)
        len(items)


def mix(count: int) -> None:
    for _ in range(count):
        ast.unparse(ast.parse(SOURCE))  # many functions, many callers


def small(quick: bool) -> dict[str, Case]:
    size = 1 if quick else 2
    return {**micro(quick), "C functions": lambda: c_functions(200_000 * size), "unparse": lambda: mix(20 * size)}


def profiler(kind: Callable[..., Any], builtins: bool, base: str) -> Tool:
    profile = kind(builtins=builtins)

    def stop() -> None:
        profile.disable()
        profile.clear()

    return Tool(lambda: profile.enable(builtins=builtins), stop, base)


def main() -> None:
    options = arguments(__doc__, rounds=5, quick_rounds=2, only=programs.PROGRAMS).parse_args()
    found = {
        "bare": bare(),
        "floor c": empty("floor c"),
        "cProfile": profiler(cProfile.Profile, True, "floor c"),
        "seismo": profiler(Profile, True, "cProfile"),
        "cProfile py": profiler(cProfile.Profile, False, "floor c"),
        "seismo py": profiler(Profile, False, "cProfile py"),
    }
    names = options.only or ([] if options.quick else list(programs.PROGRAMS))
    cases = {**small(options.quick), **{name: programs.load(name) for name in names}}
    readings = {"micro": {}, "programs": measure(cases, found, rounds_of(options))}
    method = f"best of {rounds_of(options)} interleaved rounds, one process; added time over bare"
    conclude("cprofile", options, found, readings, method)


if __name__ == "__main__":
    main()
