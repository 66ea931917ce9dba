"""Runs a script under what has no command line for it: `peers.py WHAT OUT SCRIPT [ARGS...]`.

line, references  the empty hook on these events, with nothing to write
tracemalloc       one frame an allocation; at the end the snapshot is dumped
memray            its tracker of object lifetimes, for which its command line has no option
line_profiler     with all the script's functions and methods. kernprof wants decorators or a module to be imported. A
                  script's functions come to be while it runs, so the name of each is looked up when the script asks for
                  its work to be repeated (programs.repeat), which is when all of them are there.
"""

import runpy
import sys
import tracemalloc
import types


def register(profiler, names: dict[str, object], file: str) -> None:
    """Adds the functions that the file defines, those in its classes too."""
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
        from common import load_floor

        load_floor().start(what)
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
