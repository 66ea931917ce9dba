"""Runs small programs that record themselves, each in an interpreter of its own: the engine is one per process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import children
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


PREFACE = """
import os, sys, threading, time
import seismo
def f(): pass
def g(): f()
def calls(recording):
    counts = {}
    for row in recording.functions:
        if row.kind == 0 and row.calls:
            counts[row.qualname] = counts.get(row.qualname, 0) + row.calls
    return counts
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """Runs a program after PREFACE; it must end well. Returns its output."""

    def run(program: str, *flags: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(PREFACE + program)
        ended = children.python("-W", "error", *flags, str(path), cwd=tmp_path)
        assert ended.stderr == ""
        return ended.stdout

    return run
