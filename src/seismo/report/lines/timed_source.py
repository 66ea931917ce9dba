"""A recording of line times with its sources: files, the functions in them, their lines, their texts.

The terminal's report and the page share it. A line of a file may belong to several functions: a lambda or a generator
expression has its lines within those of the enclosing function, whose inner time includes theirs. So lines are kept by
function, and the small functions (`<lambda>`, `<genexpr>`, comprehensions) are shown within the enclosing one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from seismo.report.libraries import file_key, libraries
from seismo.report.sources import Sources
from seismo.report.waiting import NOTABLE, known_waits

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from seismo.model import Recording
    from seismo.model.table import LineRow
    from seismo.report.sources import Source

PYTHON = 0
SMALL = ("<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")


@dataclass
class TimedFunction:
    """A function and its lines, by number."""

    id: int
    module: str
    qualname: str
    file: str
    line: int
    lines: dict[int, LineRow] = field(default_factory=dict)
    small: list[TimedFunction] = field(default_factory=list)  # those that are shown among its lines

    @property
    def own_ns(self) -> float:
        """Return the own time of all its lines, in ns."""
        return sum(line.own_ns for line in self.lines.values())

    @property
    def own_error_ns(self) -> float:
        """Return the error of own_ns; the lines' errors are taken as independent."""
        return math.hypot(*(line.own_error_ns for line in self.lines.values()))

    @property
    def whole_ns(self) -> float:
        """Return its own time and that of the small functions shown among its lines, in ns."""
        return self.own_ns + sum(small.whole_ns for small in self.small)

    def all(self) -> Iterator[TimedFunction]:
        """Yield this function and all small ones nested in it."""
        yield self
        for small in self.small:
            yield from small.all()

    def span(self) -> tuple[int, int]:
        """Return the first and the last line to show."""
        numbers = [self.line, *self.lines, *(number for small in self.small for number in small.span())]
        numbers = [number for number in numbers if number > 0] or [0]
        return min(numbers), max(numbers)

    def at(self, number: int) -> list[LineRow]:
        """Return the rows of a line of the file: the function's own, then those of small functions."""
        return [one.lines[number] for one in self.all() if number in one.lines]


@dataclass
class TimedFile:
    """A file with its functions in the order of their lines. name: as in the table of functions.

    library: its library in words, or "" if it is the program's own.
    """

    name: str
    path: str
    functions: list[TimedFunction]
    sources: Sources
    library: str = ""

    @property
    def source(self) -> Source:
        """Return its text, which is read at the first use."""
        return self.sources.of(self.name)

    @property
    def own_ns(self) -> float:
        """Return the own time of all its lines, in ns."""
        return sum(function.whole_ns for function in self.functions)

    def all(self) -> Iterator[TimedFunction]:
        """Yield its functions, with the small ones nested in them."""
        for function in self.functions:
            yield from function.all()


@dataclass
class TimedProgram:
    """All files, functions (by id) and lines of a recording. whole_ns: the own time of all lines.

    times: a value of --time. known: the kinds of waiting that were distinguished. instructions: offset, text and hits
    of each, by function and line.
    """

    times: str
    known: set[str]
    files: list[TimedFile] = field(default_factory=list)
    functions: dict[int, TimedFunction] = field(default_factory=dict)
    lines: list[LineRow] = field(default_factory=list)
    instructions: dict[tuple[int, int], list[tuple[int, str, int]]] = field(default_factory=dict)
    whole_ns: float = 0.0

    @property
    def notable_ns(self) -> float:
        """Return the least wait in ns that makes a column of waiting worthwhile; infinite if there must be none."""
        waited = sum(line.wait_ns for line in self.lines)
        if self.times == "wait":
            return math.inf
        return max(1.0, NOTABLE * (self.whole_ns + (waited if self.times == "cpu" else 0)))

    def own_files(self) -> TimedProgram:
        """Return the program without libraries' files; whole_ns stays the same."""
        files = [file for file in self.files if not file.library]
        ids = {one.id for file in files for one in file.all()}
        return replace(self, files=files, lines=[line for line in self.lines if line.function in ids])

    def library_times(self) -> dict[str, float]:
        """Return the own time of libraries' lines, in ns, by library."""
        times: dict[str, float] = {}
        for file in self.files:
            if file.library:
                times[file.library] = times.get(file.library, 0.0) + file.own_ns
        return times


def timed_program(recording: Recording, left_out: Container[int] = ()) -> TimedProgram:
    """Return the recording's lines by file and function, most time first. left_out: functions not to show."""
    program = TimedProgram(recording.times, known_waits(recording))
    functions, table = program.functions, recording.functions
    kinds, modules, names, files, first = (table[name] for name in ("kind", "module", "qualname", "file", "line"))
    for row in recording.lines:
        if kinds[row.function] != PYTHON or row.line < 1:  # an empty module's only line is 0
            continue
        program.whole_ns += row.own_ns
        if row.function in left_out:
            continue
        id_ = row.function
        function = functions.get(id_)
        if function is None:
            function = functions[id_] = TimedFunction(id_, modules[id_], names[id_], files[id_], first[id_])
        function.lines[row.line] = row
        program.lines.append(row)
    for one in sorted(recording.instructions, key=lambda row: row.offset):  # the last row of an offset ran last
        program.instructions.setdefault((one.function, one.line), []).append((one.offset, one.text, one.hits))
    program.files = _files(recording, _placed(list(functions.values())))
    return program


def _placed(functions: list[TimedFunction]) -> list[TimedFunction]:
    """Return the functions to show separately; small ones are added to the enclosing function."""
    by_name = {(function.file, function.qualname): function for function in functions}
    alone = []
    for function in functions:
        around, _, name = function.qualname.rpartition(".<locals>.")
        if "." in name:
            around, _, name = function.qualname.rpartition(".")
        host = by_name.get((function.file, around or "<module>")) if name in SMALL else None
        if host is None or host is function:
            alone.append(function)
        else:
            host.small.append(function)
    return alone


def _files(recording: Recording, functions: list[TimedFunction]) -> list[TimedFile]:
    by_file: dict[str, list[TimedFunction]] = {}
    for function in functions:
        by_file.setdefault(file_key(function.file, function.module), []).append(function)
    sources = Sources(recording)
    keys = {}
    for key, members in by_file.items():
        name = members[0].file
        members.sort(key=lambda function: (function.span(), function.qualname))
        keys[key] = TimedFile(name, sources.path(name), members, sources)
    whose = libraries((key, file.path, (one.module for one in file.functions)) for key, file in keys.items())
    for key, file in keys.items():
        file.library = whose[key]
    files = list(keys.values())
    return sorted(files, key=lambda file: (-file.own_ns, file.name))
