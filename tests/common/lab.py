"""What the tests of the engine share: programs in processes of their own, and the last recording's numbers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import children
import pytest
from paths import COMMON
from recorded import Image, sources

from seismo import _core

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = sources()  # those that see Python functions
TRACING = sources(journal=True)
WITH_C = sources("all")  # those that see C functions, too
MONITORING = "monitoring" in SOURCES

# What every child begins with. start() records only what comes after it, without C functions.
PRELUDE = """
import sys
from seismo import _core
def start(c_functions="none", **options):
    _core.start(**{"c_functions": c_functions, "running": False, "calibrate": False, **options})
def leaf():
    pass
def work(n):
    for _ in range(n):
        leaf()
"""


def start(source: str | None = None, **options: Any) -> None:
    """Starts a recording of what comes now: without C functions, without calibration."""
    if source and options.get("c_functions", "none") != "none" and source not in WITH_C:
        pytest.skip(f"{source} sees Python functions only")
    _core.start(source=source, **{"c_functions": "none", "running": False, "calibrate": False, **options})


def environment(**more: str) -> dict[str, str]:
    return children.environment(COMMON, **more)


def popen(program: str, *arguments: str, **options: Any) -> children.Child:
    return children.popen([sys.executable, "-c", PRELUDE + program, *arguments], env=environment(), **options)


def run(program: str, *arguments: str, status: int = 0, **options: Any) -> str:
    """What a program prints. It must end with this status, and must say nothing on stderr when that is 0."""
    return children.printed(PRELUDE + program, *arguments, status=status, env=environment(), **options)


def load(path: Path) -> Image:
    return Image(path.read_bytes())
