"""The owners of the lines that made objects: the program, a library, or imports. The summary imports it.

Any program's first births are in the import system, which makes all code and constants of imported modules. So imports
are separate from other lines of the standard library, and both follow the program's own lines.
"""

from __future__ import annotations

from seismo.report.libraries import STANDARD, of_functions
from seismo.report.words import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from seismo.model import Recording

IMPORTS = "imports"
NO_LINE = "no Python line"  # made by the interpreter itself, or by a C thread
_FROZEN = "<frozen "
_MACHINERY = "<frozen importlib"


def place(file: str, line: int) -> str:
    """Return where objects were made, `app.py:12`, escaped for display."""
    if not file:
        return NO_LINE
    return location(file.removeprefix(_FROZEN).rstrip(">") if file.startswith(_FROZEN) else file, line)


def owners(recording: Recording) -> dict[int, str]:
    """Return the library of each function whose lines made objects, or "" for the program itself."""
    functions = {function for function in recording.objects["function"] if function >= 0}
    found = of_functions(recording, functions)
    files = recording.functions["file"]
    for function in functions:
        if found[function] == STANDARD and files[function].startswith(_MACHINERY):
            found[function] = IMPORTS
    return found
