"""Run `python -m seismo.cprofile [-o FILE] [-s SORT] [-m MODULE | SCRIPT] [ARGUMENT ...]` like `python -m cProfile`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any


def main() -> None:
    """Run a script or module, then print its statistics or write them to a file.

    The program's exit status is lost, as with cProfile: SystemExit ends the program but not this command. Any other
    exception propagates after the statistics were reported.
    """
    import os
    import pstats
    from optparse import OptionParser

    parser = OptionParser(usage="seismo.cprofile [-o output_file_path] [-s sort] [-m module | scriptfile] [arg] ...")
    parser.allow_interspersed_args = False
    parser.add_option("-o", "--outfile", help="save the statistics in this file, for pstats")
    parser.add_option(
        "-s",
        "--sort",
        help="order of the table: a key of pstats.Stats",
        default=2,
        choices=sorted(pstats.Stats.sort_arg_dict_default),
    )
    parser.add_option("-m", dest="module", action="store_true", help="the program is a library module", default=False)
    options, args = parser.parse_args()
    if not args:
        parser.print_usage()
        sys.exit(2)
    sys.argv[:] = args
    outfile = None if options.outfile is None else os.path.abspath(options.outfile)  # the program may change folders
    if outfile is not None and not _may_be_written(outfile):
        parser.error(f"{outfile} exists and holds no statistics: name another file with -o, or remove it")
    code, names = _load_module(args[0]) if options.module else _load_script(args[0])
    from seismo.cprofile import runctx

    try:
        runctx(code, names, None, outfile, options.sort)
    except BrokenPipeError as error:
        sys.stdout = None  # without this, the interpreter would report the broken pipe again at exit
        sys.exit(error.errno)


def _may_be_written(path: str) -> bool:
    """Return True if the output file may be overwritten: it is missing, empty, or holds statistics.

    cProfile overwrites any file. Statistics are a marshalled dict whose keys are tuples, or an empty dict.
    """
    import os

    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        return True
    try:
        with open(path, "rb") as file:
            begin = file.read(2)
    except OSError:  # the later write reports the error, as in cProfile
        return True
    return begin[:1] in b"{\xfb" and begin[1:] in b"()0\xa8\xa9"


def _load_module(name: str) -> tuple[str, dict[str, Any]]:
    from runpy import run_module

    return "run_module(modname, run_name='__main__')", {"run_module": run_module, "modname": name}


def _load_script(path: str) -> tuple[CodeType, dict[str, Any]]:
    """Return the script's code and the namespace of a new __main__ module, which `import __main__` in it returns."""
    import io
    import os

    sys.path.insert(0, os.path.dirname(path))
    with io.open_code(path) as file:
        # The module's name is matched by filters of warnings.
        extra: dict[str, Any] = {"module": "__main__"} if sys.version_info >= (3, 15) else {}
        code: CodeType = compile(file.read(), path, "exec", **extra)
    main = type(sys)("__main__")
    _kept.append(sys.modules["__main__"])  # keeps seismo's __main__ alive, whose code is still on the stack
    sys.modules["__main__"] = main
    names = main.__dict__
    names["__file__"] = path
    if sys.version_info < (3, 15):
        names["__cached__"] = None
    return code, names


_kept: list[object] = []

if __name__ == "__main__":
    main()
