"""Repeated runs of a test in one process, each as if it were the first, for the markers.

Fixtures that keep objects of a test would make objects of every run look like leaks, and change what a second run
finds. So the fixtures of pytest are reset between the runs: caplog, monkeypatch, recwarn, and the list of warnings.
Captured output accumulates over all runs.
"""

from __future__ import annotations

import logging
import sys
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def put_back(item: pytest.Item, again: bool) -> Iterator[None]:
    """Reset pytest's fixtures for a run. `again` is False for the first run, whose log and warnings are kept."""
    from _pytest.logging import LogCaptureHandler

    fixtures = getattr(item, "funcargs", {})
    if again:
        testcase: Any = getattr(item, "instance", None)
        if hasattr(testcase, "_asyncioRunner"):
            testcase._asyncioRunner = None  # an IsolatedAsyncioTestCase refuses to run again with its runner
        for handler in logging.getLogger().handlers:
            if isinstance(handler, LogCaptureHandler):
                handler.records.clear()
        if "recwarn" in fixtures:
            fixtures["recwarn"].clear()
    with ExitStack() as stack:
        if again:  # each run must show its warnings, also those that were shown before
            stack.enter_context(warnings.catch_warnings(record="recwarn" not in fixtures))
        if "monkeypatch" in fixtures:
            stack.enter_context(_undone(fixtures["monkeypatch"]))
        yield


@contextmanager
def _undone(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo, at the end, only the patches that were made inside."""
    before = dict(vars(patch))
    vars(patch).update(vars(pytest.MonkeyPatch()))
    try:
        yield
    finally:
        patch.undo()
        vars(patch).update(before)


def empty_caches() -> None:
    """Empty the caches of the interpreter and of the standard library."""
    import re
    import typing

    re.purge()
    for cleanup in getattr(typing, "_cleanups", ()):
        cleanup()
    sys._clear_internal_caches()  # type: ignore[attr-defined]  # it keeps attribute names created by C code
