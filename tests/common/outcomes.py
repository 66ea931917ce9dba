"""Outcomes of CPython's own tests, in a child that replaces functions of the interpreter."""

from __future__ import annotations

import json
import sys
import unittest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class Outcomes(unittest.TestResult):
    """A result that collects outcomes: {test id: (outcome, detail)}."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, tuple[str, str]] = {}

    def note(self, test: unittest.TestCase, outcome: str, detail: str = "") -> None:
        self.outcomes[test.id()] = (outcome, detail)

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        sys.__stderr__.write(f"{test.id()}\n")  # a crash then shows the test in which it happened

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.outcomes.setdefault(test.id(), ("passed", ""))

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.note(test, "failed", self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None:
            self.note(test, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.note(test, "skipped", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.note(test, "passed")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self.note(test, "failed", "was expected to fail")


def outcomes_of(child: Path, file: str, mode: str) -> dict[str, tuple[str, str]]:
    """Return the outcomes that the script `child` prints for one of CPython's test files. Skip if it is missing."""
    import children
    import pytest
    from paths import COMMON

    done = children.python(child, file, mode, env=children.environment(COMMON))
    answer = json.loads(done.stdout.splitlines()[-1])
    if "missing" in answer:
        pytest.skip(f"this interpreter comes without its tests: {answer['missing']}")
    return {test: tuple(outcome) for test, outcome in answer["outcomes"].items()}
