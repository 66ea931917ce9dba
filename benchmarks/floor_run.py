"""Runs a program under an empty hook: `python floor_run.py HOOK SCRIPT [ARGS...]`, for the whole-process benchmarks."""

import runpy
import sys

from common import load_floor

if __name__ == "__main__":
    hook = sys.argv[1]
    sys.argv = sys.argv[2:]
    load_floor().start(hook)
    runpy.run_path(sys.argv[0], run_name="__main__")
