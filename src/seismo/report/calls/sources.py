"""The sources of functions for pages: in a page of calls those with most of the time, up to a size."""

from __future__ import annotations

import inspect
import tokenize
from typing import TYPE_CHECKING, Any

from seismo.report.page.payload import counts, doubles, shown
from seismo.report.sources import Sources
from seismo.report.words import PYTHON

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seismo.model import Recording
    from seismo.report.calls.page_selection import Chosen
    from seismo.report.page.payload import Columns

MOST = 300  # most functions
LONGEST = 250  # most lines of one function
ROOM = 400_000  # most characters of all sources; compressed, an eighth
_LINE = 300  # most characters of one line


def sources(recording: Recording, chosen: Chosen) -> tuple[dict[str, object], Columns]:
    """Return the sources by function for the head of a page, and the columns of their lines."""
    numbers = chosen.numbers()
    read = Sources(recording)
    found: dict[str, object] = {}
    known_of: set[int] = set()
    room = ROOM
    for function in _hottest(recording):
        source = None if function in chosen.hidden else source_of(recording, read, function)
        if source is None:
            continue
        room -= sum(map(len, source["lines"]))
        if room < 0 or len(found) >= MOST:
            break
        known_of.add(function)
        found[str(numbers[function])] = source
    return found, _lines(recording, known_of, numbers)


def source_of(recording: Recording, read: Sources, function: int) -> dict[str, Any] | None:
    """Return the first lines of a function, the number of the others, and a problem; None if it has no source."""
    kind, file, first, name = (recording.functions[column][function] for column in ("kind", "file", "line", "qualname"))
    if kind != PYTHON or not file or first < 1:
        return None
    source = read.of(file)
    lines = block(source.lines, first, name)
    kept = [shown(line.expandtabs(), _LINE) for line in lines[:LONGEST]]
    problem = source.problem if lines or source.problem else "the file has no such line: it has changed since"
    return {"first": first, "lines": kept, "more": len(lines) - len(kept), "problem": shown(problem)}


def _hottest(recording: Recording) -> list[int]:
    """Return the functions, first those with the largest shares of running, waiting and calls."""
    running, waiting = (recording.timed(times).functions for times in ("cpu", "wait"))
    columns = [running["own_ns"], running["total_ns"], waiting["own_ns"], running["calls"]]
    wholes = [sum(running["own_ns"]), 2 * sum(running["own_ns"]), sum(waiting["own_ns"]), 2 * sum(running["calls"])]
    weights = [0.0] * len(running)
    for column, whole in zip(columns, wholes, strict=True):
        if whole > 0:
            weights = [weight + value / whole for weight, value in zip(weights, column, strict=True)]
    return sorted(range(len(weights)), key=lambda function: -weights[function])


def block(lines: list[str], first: int, name: str) -> list[str]:
    """Return the lines of the function that begins at line `first`."""
    if name.endswith("<module>"):
        return lines[first - 1 :]
    below = lines[first - 1 : first - 1 + 10 * LONGEST]
    try:
        if name.endswith(">"):  # a comprehension or a lambda: the statement in which it begins
            source = (f"{line}\n" for line in (below[0].lstrip(), *below[1:]))
            tokens = tokenize.generate_tokens(lambda: next(source, ""))
            return below[: next((token.end[0] for token in tokens if token.type == tokenize.NEWLINE), 1)]
        return below[: len(inspect.getblock([f"{line}\n" for line in below]))]
    except (SyntaxError, ValueError, IndexError, tokenize.TokenError, RecursionError, MemoryError):
        return below[:1]


def _lines(recording: Recording, functions: set[int], numbers: Mapping[int, int]) -> Columns:
    """Return the columns of the lines of these functions; empty without recorded lines. numbers: the page's."""
    rows = [row for row in recording.timed("cpu").lines if row.function in functions and row.line > 0]
    if not rows:
        return {}
    return {
        "l.function": counts([numbers[row.function] for row in rows]),
        "l.line": counts([row.line for row in rows]),
        "l.hits": counts([row.hits for row in rows]),
        "l.own": doubles([row.own_ns for row in rows]),
        "l.own_error": doubles([row.own_error_ns for row in rows]),
    }
