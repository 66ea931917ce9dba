"""The owners of the lines that made objects: the program, a library, or imports. The summary imports it.

Any program's first births are in the import system, which makes all code and constants of imported modules. So imports
are separate from other lines of the standard library, and both follow the program's own lines.
"""

from __future__ import annotations

from seismo.report.libraries import STANDARD, of_functions
from seismo.report.words import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model import Recording
    from seismo.model.objects.groups import ObjectGroup

IMPORTS = "imports"
NO_LINE = "no Python line"  # made by the interpreter itself, or by a C thread
_FROZEN = "<frozen "
_MACHINERY = "<frozen importlib"


def place(file: str, line: int) -> str:
    """Return where objects were made, `app.py:12`, escaped for display."""
    if not file:
        return NO_LINE
    return location(file.removeprefix(_FROZEN).rstrip(">") if file.startswith(_FROZEN) else file, line)


class Libraries:
    """The owners of the lines of a recording."""

    def __init__(self, recording: Recording) -> None:
        functions = {function for function in recording.objects["function"] if function >= 0}
        self._of = of_functions(recording, functions)
        files = recording.functions["file"]
        for function in functions:
            if self._of[function] == STANDARD and files[function].startswith(_MACHINERY):
                self._of[function] = IMPORTS

    def of(self, group: ObjectGroup) -> str:
        """Return the library whose line made the objects, or "" for the program itself or no line."""
        return self._of.get(group.function, "")

    def own(self, groups: Sequence[ObjectGroup]) -> list[ObjectGroup]:
        """Return the groups of the program's own lines."""
        return [group for group in groups if not self.of(group)]

    def others(self, groups: Sequence[ObjectGroup], number: Callable[[ObjectGroup], float]) -> dict[str, float]:
        """Return the libraries' sums of a number, the largest first."""
        sums: dict[str, float] = {}
        for group in groups:
            library = self.of(group)
            if library:
                sums[library] = sums.get(library, 0) + number(group)
        return dict(sorted(sums.items(), key=lambda item: -item[1]))


def others_in_words(others: dict[str, float], shown: Callable[[float], str] = "{:,.0f}".format) -> str:
    """Return `34,000 by imports, 1,200 by lines of the standard library`, or "" if there is none.

    shown: formats a number.
    """
    return ", ".join(
        f"{shown(number)} by {library if library == IMPORTS else f'lines of {library}'}"
        for library, number in others.items()
        if number
    )
