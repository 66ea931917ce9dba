"""Small programs that record themselves, each in a separate interpreter, because a process has one engine."""

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
    """Return a function that runs a program after PREFACE, which must succeed, and returns its output."""

    def run(program: str, *flags: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(PREFACE + program)
        ended = children.python("-W", "error", *flags, str(path), cwd=tmp_path)
        assert ended.stderr == ""
        return ended.stdout

    return run
