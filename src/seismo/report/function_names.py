"""The name of a function in a report, and where it is defined.

The summary in a recorded process uses it: no import that it could not afford.
"""

from __future__ import annotations

import sys

from seismo.escape import printable
from seismo.report.words import PYTHON, C, Signs, cells, function_name, location, shorten

IMPORT = "import "  # the prefix for the body of a module
BODY = "<module>"  # the qualified name of a module's body
IN_C = "(C)"
COMPILED, COMPILED_BRIEFLY = "(compiled, its inside is not recorded)", "(compiled)"
STANDARD = {"", *sys.stdlib_module_names}  # modules; a C function without one is a built-in
LEAST = 8  # columns of a name; a narrower one means nothing


def is_compiled(kind: int, module: str) -> bool:
    """Return True for a C function of an extension module that is not part of the standard library.

    Cython, mypyc and pybind11 make such modules from code that a reader may take for Python. A recording has no file
    of a C function, so the first part of its module's name decides.
    """
    return kind == C and module.partition(".")[0] not in STANDARD


def imported_module(kind: int, module: str, qualname: str, file: str) -> str:
    """Return the module whose body the function is, or "" for other functions and for the main program."""
    body = kind == PYTHON and qualname == BODY and module not in ("", "__main__", "__mp_main__")
    return module if body and (not file.startswith("<") or file.startswith("<frozen ")) else ""


def shown_name(kind: int, module: str, qualname: str, file: str) -> str:
    """Return `module:qualname`, or `import module` for the body of an imported module."""
    imported = imported_module(kind, module, qualname, file)
    return printable(IMPORT + imported) if imported else function_name(kind, module, qualname)


def place(kind: int, module: str, file: str, line: int) -> str:
    """Return `file.py:12` without folders, "" if unknown, or IN_C or COMPILED for a C function."""
    if kind != C:
        return location(file, line)
    return COMPILED if is_compiled(kind, module) else IN_C


def fitted(name: str, where: str, width: int, signs: Signs) -> tuple[str, str]:
    """Return a name and its place in `width` columns: without the place if it does not fit, and then cut.

    Compiled code is named in any case, since its time has no other explanation.
    """
    if where and cells(name) + 2 + cells(where) <= width:
        return name, where
    where = COMPILED_BRIEFLY if where == COMPILED and width >= LEAST + 2 + len(COMPILED_BRIEFLY) else ""
    room = width - (2 + cells(where) if where else 0)
    lead = IMPORT if name.startswith(IMPORT) and room > len(IMPORT) else ""
    return lead + shorten(name.removeprefix(lead), room - len(lead), signs), where
