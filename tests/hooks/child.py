"""Runs one of CPython's own test files with other functions in the place of the interpreter's.

    child.py FILE MODE

MODE: "own" (the interpreter's own functions), "hooks" (seismo.hooks' stand-ins), "hooks+SOURCE" (the same under a
recorder on that source), "own+SOURCE" (the interpreter's own under it), "deaf" (stand-ins that do nothing: the tests
must notice).

Programs that the tests run in processes of their own get the functions replaced, too.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCE = next((one for one in sys.path if (Path(one or ".") / "seismo").is_dir()), "")
# Of a large file, only the tests that are about these hooks.
ABOUT = {"test_threading": ("trace", "tracing", "profile")}
NAMES = ("setprofile", "getprofile", "settrace", "gettrace")
ALL_THREADS = ("setprofile_all_threads", "settrace_all_threads")


def replace(mode: str) -> None:
    """Puts the mode's functions into sys and threading, and starts the recorder."""
    import threading

    kind, _, source = mode.partition("+")
    if source:
        import seismo

        seismo.start(source=source, c_functions="none" if source == "evalframe" else "auto")
    if kind == "deaf":
        for name in NAMES:
            setattr(sys, name, lambda *functions: None)
    elif kind == "hooks":
        from seismo import hooks

        for name in NAMES:
            setattr(sys, name, getattr(hooks, name))
        for name in ALL_THREADS:
            if hasattr(threading, name):  # 3.12 and later
                setattr(threading, name, getattr(hooks, name))


def replace_in_children(mode: str) -> None:
    """The tests' own child processes: `python -c CODE` and `python FILE`."""
    import subprocess

    from test.support import script_helper

    prefix = f"import sys; sys.path[:0] = {[str(HERE), SOURCE]!r}; import child; child.replace({mode!r})\n"
    run, popen = script_helper.run_python_until_end, subprocess.Popen

    def run_replaced(*args: str, **env: Any) -> Any:
        if "-c" in args:
            at = args.index("-c") + 1
            args = (*args[:at], prefix + args[at], *args[at + 1 :])
        return run(*args, **env)

    class Popen(popen):  # type: ignore[valid-type,misc]
        def __init__(self, args: Any, *rest: Any, **options: Any) -> None:
            if isinstance(args, list) and len(args) == 2 and args[0] == sys.executable:
                script = Path(args[1])
                script.write_text(prefix + script.read_text())
            super().__init__(args, *rest, **options)

    script_helper.run_python_until_end = run_replaced
    subprocess.Popen = Popen  # type: ignore[misc]


if __name__ == "__main__":
    from conformance import run_tests

    file, mode = sys.argv[1:]

    def replace_all() -> None:
        replace(mode)
        replace_in_children(mode)

    run_tests(file, replace_all, ABOUT.get(file, ()))
