"""Runs one of CPython's own test files with seismo.cprofile in cProfile's place: child.py FILE MODE.

MODE: "own" (the interpreter's cProfile), "seismo", "deaf" (a stand-in that loses who called whom: the tests must
notice).

Whatever name the tests use for it is replaced (cProfile, profiling.tracing, _lsprof), in processes of their own, too.
"""

from __future__ import annotations

import gc
import os
import sys
import types
import unittest
from pathlib import Path
from typing import Any

from conformance import run_tests

SOURCE = next((os.path.abspath(one) for one in sys.path if (Path(one or ".") / "seismo").is_dir()), "")


def replace(mode: str) -> None:
    from seismo import _core, cprofile

    lsprof = types.ModuleType("_lsprof")
    lsprof.Profiler = _core.Profiler  # type: ignore[attr-defined]
    sys.modules["_lsprof"] = lsprof
    sys.modules["cProfile"] = cprofile
    if sys.version_info >= (3, 15):
        import profiling

        profiling.tracing = cprofile
        sys.modules["profiling.tracing"] = cprofile
    if mode == "deaf":
        cprofile.Profile.getstats = (
            lambda self: [  # type: ignore[method-assign]
                type(entry)((*entry[:5], None)) for entry in _core.Profiler.getstats(self)
            ]
        )


def replace_in_children() -> None:
    """`python -m cProfile` in the tests runs ours; -I and -E would hide where it is."""
    from test.support import script_helper

    run = script_helper.run_python_until_end

    def run_replaced(*args: str, **env: Any) -> Any:
        ours = ("cProfile", "profiling.tracing", "seismo.cprofile")
        args = tuple(
            "seismo.cprofile" if before == "-m" and one in ours else one
            for before, one in zip(("", *args), args, strict=False)
        )
        if "seismo.cprofile" in args:
            env = {**os.environ, "PYTHONPATH": SOURCE, **env, "__isolated": False, "__cleanenv": True}
        return run(*args, **env)

    script_helper.run_python_until_end = run_replaced


class Alone(unittest.TestResult):
    """Stops the profilers that a test has left on: profile.py objects to company."""

    def stopTest(self, test: unittest.TestCase) -> None:
        from seismo import _core

        super().stopTest(test)
        for one in gc.get_objects():
            if type(one).__module__.startswith("seismo.") and isinstance(one, _core.Profiler):
                one.disable()


if __name__ == "__main__":
    file, mode = sys.argv[1:]

    def replace_all() -> None:
        if mode != "own":
            replace(mode)
            replace_in_children()

    run_tests(file, replace_all, kind=Alone)
