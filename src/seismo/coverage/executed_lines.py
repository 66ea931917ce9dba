"""The recorded lines and steps of each source file, with their counts and contexts."""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

from seismo.model.columns import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seismo.coverage.coverage_report import Arc
    from seismo.model.recording import Recording

PYTHON = 0  # a kind of function
_P = TypeVar("_P")  # a line or an arc


class ExecutedLines:
    """The recorded lines and arcs of one file, as the interpreter reported them."""

    def __init__(self) -> None:
        self.hits: dict[int, int] = {}  # executions of each line
        self.arcs: dict[Arc, int] = {}
        # Lines and arcs of each code object, by its first line and name.
        self.functions: dict[tuple[int, str], tuple[set[int], set[Arc]]] = {}
        # Size (-1 if unreadable) and CRC-32 (-1 if unknown) of the source when it was recorded.
        self.versions: set[tuple[int, int]] = set()
        self.line_contexts: dict[int, set[str]] = {}
        self.arc_contexts: dict[Arc, set[str]] = {}
        self.conditions: list[tuple[Any, ...]] = []  # rows of the table of branches
        self.modules: set[str] = set()

    def lines(self) -> set[int]:
        """Return all executed lines, or the ends of all steps if a recording has no lines (coverage.py's of branches).

        With lines, the ends of steps are not used: the target of a jump need not run if the exit of a `with` comes
        first.
        """
        return set(self.hits) or {line for arc in self.arcs for line in arc if line > 0}


def read_executed(
    recording: Recording, folder: str, contexts: Sequence[str] = ()
) -> tuple[dict[str, ExecutedLines], set[str]]:
    """Return the files of a recording by absolute path without links, and the names of code without a file.

    folder: start of relative paths
    contexts: regular expressions; if there are any, only lines and steps in matching contexts count
    """
    files: dict[str, ExecutedLines] = {}
    generated: set[str] = set()
    places, resolved = _places(recording), functools.cache(_resolved)
    of_function: list[tuple[ExecutedLines, set[int], set[Arc]] | None] = []
    for kind, module, qualname, file, line, *_ in rows_of(recording, "functions"):
        path, versions = places.get(file, (None, set()))
        if path is None:  # the recorder has no path for it, so this is a guess from its name
            path = "" if not file or file.startswith("<") else os.path.join(folder, file)
        if kind != PYTHON or not path:
            of_function.append(None)
            generated.update([file] if kind == PYTHON else [])
            continue
        recorded = files.setdefault(resolved(path), ExecutedLines())
        recorded.versions.update(versions)
        recorded.modules.add(module)
        name = qualname.rpartition(".")[2]
        of_function.append((recorded, *recorded.functions.setdefault((line, name), (set(), set()))))
    names_of = [name for (name,) in rows_of(recording, "contexts")]
    lines, arcs = defaultdict[int, set[str]](set), defaultdict[int, set[str]](set)
    for context, kind, row in recording.context_rows():
        if kind < 2:
            (lines, arcs)[kind][row].add(names_of[context])
    search = re.compile("|".join(f"(?:{context})" for context in contexts)).search if contexts else None

    def is_wanted(names: set[str] | None) -> bool:
        return search is None or any(map(search, names or ("",)))

    for row, (function, line, hits, *_) in enumerate(rows_of(recording, "lines")):
        of, names = of_function[function], lines.get(row)
        if of is not None and line > 0 and is_wanted(names):
            _count(line, hits, names, of[1], of[0].hits, of[0].line_contexts)
    for row, (function, start, end, hits, *_) in enumerate(rows_of(recording, "arcs")):
        of, names = of_function[function], arcs.get(row)
        if of is not None and is_wanted(names):
            _count((start, end), hits, names, of[2], of[0].arcs, of[0].arc_contexts)
    for values in rows_of(recording, "branches"):
        of = of_function[values[0]]
        if of is not None:
            of[0].conditions.append(values)
    return files, generated


def has_arcs(recording: Recording) -> bool:
    """Return True if the recording, or one that was merged into it, has branches or arcs."""
    return any(part.get("branch") is True for part in recording.parts) or bool(len(recording.arcs))


def _count(
    place: _P, hits: int, names: set[str] | None, own: set[_P], sums: dict[_P, int], contexts: dict[_P, set[str]]
) -> None:
    """Add the hits of a line or arc to those of its code object and file, with the names of its contexts."""
    own.add(place)
    sums[place] = sums.get(place, 0) + hits
    if names:
        contexts.setdefault(place, set()).update(names)


def _resolved(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # not a path: it has a zero byte or cannot be encoded
        return path


def _places(recording: Recording) -> dict[str, tuple[str, set[tuple[int, int]]]]:
    """Map each co_filename to its absolute path ("" if it is no file) and its recorded versions."""
    places: dict[str, tuple[str, set[tuple[int, int]]]] = {}
    for file, path, size, _, crc, *_ in rows_of(recording, "sources"):
        known, versions = places.get(file, ("", set()))
        places[file] = known or path, versions | {(size, crc)}
    return places
