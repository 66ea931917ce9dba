"""Running a test again in the same process as if nothing had run before: for the marker seismo_no_leaks.

Fixtures that keep what a test hands them would make the objects of every run look like leaks, and a second run would
not find what the first one found. Those of pytest are put back between the runs: caplog, monkeypatch, recwarn, and the
list of warnings for the summary. Output that is captured stays, of all runs.
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
    """A run of the test. again: not the first, whose log and warnings are the ones that are kept."""
    from _pytest.logging import LogCaptureHandler

    fixtures = getattr(item, "funcargs", {})
    if again:
        testcase: Any = getattr(item, "instance", None)
        if hasattr(testcase, "_asyncioRunner"):
            testcase._asyncioRunner = None  # an IsolatedAsyncioTestCase runs once, by what it thinks
        for handler in logging.getLogger().handlers:
            if isinstance(handler, LogCaptureHandler):
                handler.records.clear()
        if "recwarn" in fixtures:
            fixtures["recwarn"].clear()
    with ExitStack() as stack:
        if again:  # a warning that was shown once is shown again
            stack.enter_context(warnings.catch_warnings(record="recwarn" not in fixtures))
        if "monkeypatch" in fixtures:
            stack.enter_context(_undone(fixtures["monkeypatch"]))
        yield


@contextmanager
def _undone(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is patched inside is undone at the end, and only that."""
    before = dict(vars(patch))
    vars(patch).update(vars(pytest.MonkeyPatch()))
    try:
        yield
    finally:
        patch.undo()
        vars(patch).update(before)


def empty_caches() -> None:
    """The interpreter's and the standard library's that get an entry for each new pattern, type or name they see."""
    import re
    import typing

    re.purge()
    for cleanup in getattr(typing, "_cleanups", ()):
        cleanup()
    sys._clear_internal_caches()  # type: ignore[attr-defined]  # it keeps names of attributes that C code makes anew
