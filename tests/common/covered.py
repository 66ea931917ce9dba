"""Shared helpers for tests of coverage: programs run under the recorder, and the numbers of one program's file.

A program is a text. It is compiled under a unique file name, and only the rows of that file are examined.
"""

from __future__ import annotations

import itertools
import linecache
import sys
import textwrap
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import children
import recorded
from paths import COMMON
from recorded import Image

from seismo import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

_numbers = itertools.count(1)


def compiled(text: str) -> CodeType:
    """Return the program's code, compiled under a unique file name."""
    text = textwrap.dedent(text).lstrip("\n")
    name = f"/nowhere/program_{next(_numbers)}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return compile(text, name, "exec")


class Covered:
    """The rows of one file in a recording of coverage."""

    def __init__(self, data: bytes, file: str) -> None:
        self.image = image = Image(data)
        assert image.problems == []
        self.functions = {row["id"]: row for row in image.functions() if row["file"] == file}
        self.rows = [row for row in image.tables["lines"] if row["function"] in self.functions]
        self.lines: Counter[int] = Counter()
        for row in self.rows:
            self.lines[row["line"]] += row["hits"]
        self.arcs: Counter[tuple[int, int]] = Counter()
        for row in image.tables["arcs"]:
            if row["function"] in self.functions:
                self.arcs[row["from_line"], row["to_line"]] += row["hits"]
        self.branches = [row for row in image.tables["branches"] if row["function"] in self.functions]
        self.losses = image.losses

    def steps_from(self, *lines: int) -> dict[tuple[int, int], int]:
        """Return the arcs out of these lines with their hits. 3.11 also reports arcs other than those of branches."""
        return {step: hits for step, hits in self.arcs.items() if step[0] in lines}

    def by_function(self) -> dict[str, dict[int, int]]:
        """Return lines and hits by qualified name."""
        found: dict[str, dict[int, int]] = {}
        for row in self.rows:
            found.setdefault(self.functions[row["function"]]["qualname"], {})[row["line"]] = row["hits"]
        return found

    def contexts(self) -> dict[str, set[int]]:
        """Return the lines that ran in each context, by its name."""
        return {name: {row["line"] for row in rows} for name, rows in self._context_rows(0, "lines").items()}

    def context_arcs(self) -> dict[str, set[tuple[int, int]]]:
        rows = self._context_rows(1, "arcs").items()
        return {name: {(row["from_line"], row["to_line"]) for row in rows} for name, rows in rows}

    def _context_rows(self, kind: int, table: str) -> dict[str, list[dict[str, Any]]]:
        names = {row["id"]: row["name"] for row in self.image.tables["contexts"]}
        by_id = {row["id"]: row for row in self.image.tables[table]}
        found: dict[str, list[dict[str, Any]]] = {}
        for hit in self.image.tables["context_hits"]:
            if hit["kind"] != kind:
                continue
            assert hit["base"] % 64 == 0
            for bit in range(64):
                row = by_id[hit["base"] + bit] if hit["bits"] >> bit & 1 else None
                if row is not None and row["function"] in self.functions:
                    found.setdefault(names[hit["context"]], []).append(row)
        return found


@contextmanager
def covering(on: bool = True, **options: Any) -> Iterator[None]:
    """Record coverage of the block, if it is on."""
    if on:
        _core.start(recorder="coverage", **options)
    try:
        yield
    finally:
        if on:
            _core.stop(recorder="coverage")


def cover(text: str | CodeType, run: Callable[[dict[str, Any]], object] | None = None, **options: Any) -> Covered:
    """Run the program, then run(its names), under the recorder."""
    code = compiled(text) if isinstance(text, str) else text
    names: dict[str, Any] = {"__name__": "program"}
    with covering(**options):
        exec(code, names)
        if run is not None:
            run(names)
        assert _core.check()
    return Covered(_core.snapshot("coverage"), code.co_filename)


def traced(text: str | CodeType) -> Counter[int]:
    """Return the number of times that sys.settrace reports each line of the program, on all threads."""
    code = compiled(text) if isinstance(text, str) else text
    counts: Counter[int] = Counter()
    for (_, line), count in recorded.traced(lambda: exec(code, {"__name__": "program"}), code.co_filename).items():
        counts[line] += count
    return counts


PRELUDE = """
import os, sys
from seismo import _core
def file(name):
    return os.open(name, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)
"""


def popen(program: str, *arguments: str, **options: Any) -> children.Child:
    """Start a process that runs the program, whose own lines are in no file that counts."""
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(program), *arguments]
    return children.popen(command, env=children.environment(COMMON), **options)


def run(program: str, *arguments: str, status: int = 0, **options: Any) -> str:
    """Return a program's output. It must end with this status and, if that is 0, write nothing to stderr."""
    return children.printed(PRELUDE + textwrap.dedent(program), *arguments, status=status, **options)
