"""Runs a script under line_profiler with all its functions and methods: `line_profiler_run.py OUT SCRIPT [ARGS...]`.

kernprof wants decorators or a module to be imported. A script's functions come to be while it runs, so the name of each
is looked up when the script asks for its work to be repeated (programs.repeat), which is when all of them are there.
"""

import runpy
import sys
import types
from pathlib import Path

import programs
from line_profiler import LineProfiler


def register(profiler: LineProfiler, names: dict[str, object], file: str) -> None:
    """Adds the functions that the file defines, those in its classes too."""
    for value in list(names.values()):
        if isinstance(value, types.FunctionType) and value.__code__.co_filename == file:
            profiler.add_function(value)
        elif isinstance(value, type) and value.__module__ == "__main__":
            register(profiler, dict(vars(value)), file)


def main() -> None:
    out, script = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    profiler = LineProfiler()
    repeat = programs.repeat

    def profiled(name: str, times: int) -> None:
        register(profiler, sys._getframe(1).f_globals, script)
        profiler.enable_by_count()
        try:
            repeat(name, times)
        finally:
            profiler.disable_by_count()

    programs.repeat = profiled
    runpy.run_path(script, run_name="__main__")
    profiler.dump_stats(out)
    if not Path(out).stat().st_size:
        sys.exit("line_profiler has seen nothing")


if __name__ == "__main__":
    main()
