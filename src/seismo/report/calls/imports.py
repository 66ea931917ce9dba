"""The import system as one row, and each imported module as another.

The import system's functions (finders, loaders, and the C functions that they call, such as `marshal.loads`) are on the
path from each import statement to the module that it runs. The call tree leaves them out: a module's body, named
`import NAME`, is below its importer. The table of functions has one row for all of them.
"""

from __future__ import annotations

import math
from array import array

from seismo.report.function_names import imported_module
from seismo.report.words import PYTHON, SYNTHETIC, C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from seismo.model import FunctionRow, NodeRow, Recording, Table

MODULES = ("importlib._bootstrap", "importlib._bootstrap_external", "runpy", "zipimport")
FILES = tuple(f"<frozen {module}>" for module in MODULES)
NAME = "<import system>"

_WAITS = ("own_waiting_ns", "ready_ns", "lock_ns", "await_ns")
_SUMS = ("calls", "resumes", "exceptions", "awaits", "own_ns", "own_running_ns", *_WAITS)


class ImportSystem:
    """Ids of functions: the import system's, C functions (its own where it calls them), and modules' bodies."""

    def __init__(self) -> None:
        self.functions: set[int] = set()
        self.c_functions: set[int] = set()
        self.bodies: set[int] = set()

    def has(self, function: int, caller: int) -> bool:
        """Return True if the function is the import system's when called by `caller` (-1 for none)."""
        return function in self.functions or (caller in self.functions and function in self.c_functions)


def import_system(recording: Recording) -> ImportSystem:
    """Return the functions that imports and `python -m` put on every stack."""
    found = ImportSystem()
    functions = recording.functions
    rows = zip(*(functions[name] for name in ("kind", "module", "qualname", "file")), strict=True)
    for function, (kind, module, qualname, file) in enumerate(rows):
        if kind == C:
            (found.functions if (module, qualname) == ("builtins", "__import__") else found.c_functions).add(function)
        elif kind == PYTHON and (module in MODULES or file in FILES):
            found.functions.add(function)
        elif imported_module(kind, module, qualname, file):
            found.bodies.add(function)
    return found


def with_imports_as_one(recording: Recording) -> Table[FunctionRow]:
    """Return the table of functions with the import system's time on one row, that of its first function.

    The rows of its other functions become empty. A C function keeps the calls that other code made.
    """
    system = import_system(recording)
    functions, tree = recording.functions, recording.tree
    if not system.functions:
        return functions
    columns: dict[str, Any] = {name: list(functions[name]) for name in functions.columns}
    one, *others = rows = sorted(system.functions)
    for name in _SUMS:
        columns[name][one] = sum(columns[name][row] for row in rows)
    columns["own_error_ns"][one] = math.hypot(*(columns["own_error_ns"][row] for row in rows))
    for name in (*_SUMS, "own_error_ns", "total_ns", "total_error_ns"):
        for row in others:
            columns[name][row] = 0
    _move_c_functions(columns, tree, system, one)
    columns["module"][one], columns["qualname"][one], columns["kind"][one] = "", NAME, SYNTHETIC
    columns["file"][one], columns["line"][one] = "", 0
    columns["total_ns"][one] = columns["own_ns"][one]
    columns["total_error_ns"][one] = columns["own_error_ns"][one]
    made = {name: _column(functions[name], values) for name, values in columns.items()}
    return type(functions)(type(functions[0]), made, len(functions))


class _Texts(list[str]):
    """A column of text outside of a string table."""

    def strings(self) -> list[str]:
        return self


def _column(old: Any, values: list[Any]) -> Any:
    return memoryview(array(old.format, values)) if isinstance(old, memoryview) else _Texts(values)


def _move_c_functions(columns: dict[str, Any], tree: Table[NodeRow], system: ImportSystem, one: int) -> None:
    parents, functions = tree["parent"], tree["function"]
    sums = {name: tree[name] for name in (*_SUMS, "total_ns")}
    for node, (parent, function) in enumerate(zip(parents, functions, strict=True)):
        if function in system.c_functions and parent >= 0 and functions[parent] in system.functions:
            for name in _SUMS:
                columns[name][one] += sums[name][node]
                columns[name][function] = max(0, columns[name][function] - sums[name][node])
            columns["total_ns"][function] = max(0.0, columns["total_ns"][function] - sums["total_ns"][node])
