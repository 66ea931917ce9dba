"""Shared helpers for tests of births and deaths: recordings of a block, and their tables joined."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import children
import pytest
from recorded import Image, filter_of

from seismo import _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WHY_NOT = _core.objects_objection()
needs_tracer = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")

TRASHCAN = (3, 14) <= sys.version_info[:3] < (3, 14, 8) or sys.version_info[:3] == (3, 15, 0)


def calls_of(*names: str) -> Any:
    """Return a filter for the calls of these functions."""
    return filter_of(" or ".join(f'call("{name}")' for name in names))


def start(**options: Any) -> None:
    _core.start(**{"recorder": "lifetimes", "calibrate": False, "running": False, **options})


class Births(Image):
    """A recording of births and deaths."""

    def types(self) -> dict[str, dict[str, Any]]:
        """Return the rows of types by name, without the module."""
        return {row["name"]: row for row in self.tables["types"]}

    def type(self, name: str, *columns: str) -> tuple[int, ...]:
        """Return columns of the only type with this name, perhaps a local one."""
        (row,) = (row for row in self.tables["types"] if row["name"].rpartition(".")[2] == name)
        return tuple(row[column] for column in columns)

    def objects(self) -> list[dict[str, Any]]:
        """Return the rows of objects, with names of types and functions instead of numbers."""
        types = {row["id"]: row["name"] for row in self.tables["types"]}
        return [row | {"type": types[row["type"]]} for row in self.named("objects")]

    def total(self, type_: str, column: str, function: str | None = None) -> int:
        """Return the sum of a column over a type's rows of objects."""
        return sum(
            row[column]
            for row in self.objects()
            if row["type"] == type_ and (function is None or row["function"] == function)
        )

    def spans(self) -> list[dict[str, Any]]:
        return [row for row in self.named("object_spans") if row["calls"] > 0]

    def survivors(self, *types: str) -> dict[tuple[int, str], int]:
        """Return {(row of spans, type): count}."""
        objects = {row["id"]: row["type"] for row in self.objects()}
        found: dict[tuple[int, str], int] = {}
        for row in self.tables["object_survivors"]:
            key = (row["span"], objects[row["object"]])
            if key[1] in types:
                found[key] = found.get(key, 0) + row["count"]
        return found


class Thing:
    pass


class Other:
    pass


kept: list[Any] = []  # what functions of a test leave alive


@contextmanager
def recorded(**options: Any) -> Iterator[Births]:
    """Record the block. What this yields is empty until the end of the block."""
    births = Births.__new__(Births)
    start(**options)
    try:
        yield births
    finally:
        _core.stop()
    assert _core.check()
    vars(births).update(vars(Births(_core.snapshot())))
    assert births.problems == []


# ---- programs in processes of their own ----

PRELUDE = """
import os, sys
from seismo import _core
from births import Births, calls_of, start
class Thing:
    pass
def image():
    return Births(_core.snapshot())
"""


def run(program: str, *arguments: str, status: int = 0) -> str:
    """Return a program's output. It must end with this status and, if that is 0, write nothing to stderr."""
    return children.printed(PRELUDE + program, *arguments, status=status)


def load(path: Path) -> Births:
    return Births(path.read_bytes())
