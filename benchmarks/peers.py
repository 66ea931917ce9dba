"""Runs a script under a tool without a suitable command line: `peers.py WHAT OUT SCRIPT [ARGS...]`.

line, references  the empty hook on these events, without output
tracemalloc       one frame per allocation; the snapshot is dumped at the end
memray            its tracker of object lifetimes, which its command line does not offer
line_profiler     with all the script's functions and methods. kernprof requires decorators or an imported module.
                  A script's functions are created while it runs, so their names are resolved when the script calls
                  programs.repeat, at which point all of them exist.
"""

import runpy
import sys
import tracemalloc
import types


def register(profiler, names: dict[str, object], file: str) -> None:
    """Add the functions that the file defines, including those in its classes."""
    for value in list(names.values()):
        if isinstance(value, types.FunctionType) and value.__code__.co_filename == file:
            profiler.add_function(value)
        elif isinstance(value, type) and value.__module__ == "__main__":
            register(profiler, dict(vars(value)), file)


def main() -> None:
    what, out = sys.argv[1:3]
    sys.argv = sys.argv[3:]

    def run() -> None:
        runpy.run_path(sys.argv[0], run_name="__main__")

    if what in ("line", "references"):
        from common import empty_hook

        empty_hook(what)[0]()
        run()
    elif what == "tracemalloc":
        tracemalloc.start(1)
        run()
        tracemalloc.take_snapshot().dump(out)
    elif what == "memray":
        import memray

        with memray.Tracker(out, track_object_lifetimes=True):
            run()
    else:
        import programs
        from line_profiler import LineProfiler

        profiler, repeat = LineProfiler(), programs.repeat

        def profiled(name: str, times: int) -> None:
            register(profiler, sys._getframe(1).f_globals, sys.argv[0])
            with profiler:
                repeat(name, times)

        programs.repeat = profiled
        run()
        profiler.dump_stats(out)


if __name__ == "__main__":
    main()
