"""Shared helpers for tests of the engine: programs in separate processes, and the last recording's numbers."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import children
import pytest
from paths import COMMON
from recorded import Image, image, sources

from seismo import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SOURCES = sources()  # sources with events of Python functions
TRACING = sources(journal=True)
WITH_C = sources("all")  # sources that also have events of C functions
# For what takes long and hardly depends on the source: the others are left to the matrix.
FIRST_SOURCE = [SOURCES[0], *(pytest.param(source, marks=pytest.mark.matrix) for source in SOURCES[1:])]
MONITORING = "monitoring" in SOURCES
needs_monitoring = pytest.mark.skipif(not MONITORING, reason="sys.monitoring came with 3.12")
# The development build counts the places of tables that are looked at.
counts_looks = pytest.mark.skipif(not hasattr(_core, "_looks"), reason="needs a build with SEISMO_TESTING=1")

# The beginning of every child. start() records only what follows, without C functions.
PRELUDE = """
import os, sys
from seismo import _core
def file(path):
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)
def image():
    from recorded import image
    return image()
def start(c_functions="none", **options):
    _core.start(**{"c_functions": c_functions, "running": False, "calibrate": False, **options})
def leaf():
    pass
def work(n):
    for _ in range(n):
        leaf()
"""


def leaf() -> None:
    """Return at once: a function whose calls are counted."""


def start(source: str | None = None, **options: Any) -> None:
    """Start a recording of what follows, without C functions and calibration."""
    if source and options.get("c_functions", "none") != "none" and source not in WITH_C:
        pytest.skip(f"{source} sees Python functions only")
    _core.start(source=source, **{"c_functions": "none", "running": False, "calibrate": False, **options})


def recorded(source: str | None, program: Callable[..., object], *arguments: object, **options: Any) -> Image:
    """Return the recording of a call of a function, with the options of `start`."""
    start(source, **options)
    program(*arguments)
    _core.stop()
    return image()


@contextmanager
def taken_ids(*free: int) -> Iterator[list[int]]:
    """Take all tool ids of sys.monitoring that nobody has, but these, for the block."""
    taken = [i for i in range(6) if i not in free and sys.monitoring.get_tool(i) is None]
    for i in taken:
        sys.monitoring.use_tool_id(i, f"other {i}")
    try:
        yield taken
    finally:
        for i in taken:
            sys.monitoring.free_tool_id(i)


def environment(**more: str) -> dict[str, str]:
    return children.environment(COMMON, **more)


def popen(program: str, *arguments: str, **options: Any) -> children.Child:
    return children.popen([sys.executable, "-c", PRELUDE + program, *arguments], env=environment(), **options)


def run(program: str, *arguments: str, status: int = 0, **options: Any) -> str:
    """Return a program's output. It must end with this status and, if that is 0, write nothing to stderr."""
    return children.printed(PRELUDE + program, *arguments, status=status, **options)


def load(path: Path) -> Image:
    return Image(path.read_bytes())
