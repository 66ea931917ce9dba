"""Runs a script under a peer that knows living objects, and writes what it found: `objects_run.py PEER OUT SCRIPT ...`.

tracemalloc  one frame an allocation; at the end the snapshot is dumped
memray       its tracker of object lifetimes, for which its command line has no option
"""

import runpy
import sys
import tracemalloc


def main() -> None:
    peer, out = sys.argv[1:3]
    sys.argv = sys.argv[3:]
    if peer == "tracemalloc":
        tracemalloc.start(1)
        runpy.run_path(sys.argv[0], run_name="__main__")
        tracemalloc.take_snapshot().dump(out)
        return
    import memray

    with memray.Tracker(out, track_object_lifetimes=True):
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
