"""Which lines that made objects are the program's own, and how many objects the others made. The summary imports it.

A program that imports anything has its first births in the import machinery, which makes all code and constants of what
is imported. So imports stand apart from the other lines of the standard library, and both behind the program's own.
"""

from __future__ import annotations

from seismo.report.libraries import STANDARD, of_functions
from seismo.report.words import PYTHON, location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seismo.model import Recording
    from seismo.model.objects.groups import ObjectGroup

IMPORTS = "imports"
NO_LINE = "no Python line"  # made it: the interpreter itself, or a thread of C
_FROZEN = "<frozen "
_MACHINERY = "<frozen importlib"


def place(file: str, line: int) -> str:
    """Where objects were made, `app.py:12`, safe to show."""
    if not file:
        return NO_LINE
    return location(PYTHON, file.removeprefix(_FROZEN).rstrip(">") if file.startswith(_FROZEN) else file, line)


class Libraries:
    """Whose the lines of a recording are."""

    def __init__(self, recording: Recording) -> None:
        functions = {function for function in recording.objects["function"] if function >= 0}
        self._of = of_functions(recording, functions)
        files = recording.functions["file"]
        for function in functions:
            if self._of[function] == STANDARD and files[function].startswith(_MACHINERY):
                self._of[function] = IMPORTS

    def of(self, group: ObjectGroup) -> str:
        """The library whose line made the objects; "": the program itself, or no line at all."""
        return self._of.get(group.function, "")

    def own(self, groups: Sequence[ObjectGroup]) -> list[ObjectGroup]:
        """The groups of the program's own lines."""
        return [group for group in groups if not self.of(group)]

    def others(self, groups: Sequence[ObjectGroup], number: Callable[[ObjectGroup], float]) -> dict[str, float]:
        """What the libraries' lines have of a number, by library, the most first."""
        sums: dict[str, float] = {}
        for group in groups:
            library = self.of(group)
            if library:
                sums[library] = sums.get(library, 0) + number(group)
        return dict(sorted(sums.items(), key=lambda item: -item[1]))


def others_in_words(others: dict[str, float], shown: Callable[[float], str] = "{:,.0f}".format) -> str:
    """`34,000 by imports, 1,200 by lines of the standard library`; empty when there is none. shown: how a number is."""
    return ", ".join(
        f"{shown(number)} by {library if library == IMPORTS else f'lines of {library}'}"
        for library, number in others.items()
        if number
    )
