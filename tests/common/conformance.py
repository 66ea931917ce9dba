"""CPython's own tests, in a child that replaces functions of the interpreter."""

from __future__ import annotations

import importlib
import io
import json
import re
import sys
import unittest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

# ---- in the child ----


def tests_of(suite: unittest.TestSuite, words: tuple[str, ...]) -> Iterator[unittest.TestCase]:
    """Yield the tests of a suite that have one of these words in their name; no words are all tests."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test, words)
        elif not words or any(word in test.id().rpartition(".")[2] for word in words):
            yield test


def run_tests(
    name: str,
    replace: Callable[[], None],
    words: tuple[str, ...] = (),
    kind: type[unittest.TestResult] = unittest.TestResult,
) -> None:
    """Run the tests of a file after replace().

    Print {"tests": [names], "failed": {name: what was said}} as JSON, or {"missing": why} if there is no such file.
    """
    out, sys.stdout = sys.stdout, io.StringIO()
    module = f"test.{name}"
    try:
        replace()
        suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(module))
    except ModuleNotFoundError as missing:
        print(json.dumps({"missing": str(missing)}), file=out)
        return
    tests = [test for test in tests_of(suite, words) if test.id().startswith(module)]  # not those that it imports
    names = [test.id() for test in tests]
    result = kind()
    unittest.TestSuite(tests).run(result)
    failed = [*result.failures, *result.errors, *((test, "has to fail") for test in result.unexpectedSuccesses)]
    failures = {getattr(test, "test_case", test).id(): detail for test, detail in failed}  # a subtest's has its case
    print(json.dumps({"tests": names, "failed": failures}), file=out)


# ---- in the tests that start it ----


def exceptions_of(page: Path) -> list[list[str]]:
    """Return the rows of a document's table of tests that do not pass: name, versions, other columns, reason."""
    section = page.read_text().partition("# Conformance\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| (`test_.*) \|$", section, re.MULTILINE)
    return [row.replace("`", "").split(" | ") for row in rows]


def failures(child: Path, file: str, mode: str, at_least: int) -> tuple[list[str], dict[str, str]]:
    """Return the names of CPython's tests in a file, and the failed ones with what they said.

    Args:
        child: the script that runs them.
        at_least: how many there are, since a run of none passes too easily.
    """
    import children
    import pytest
    from paths import COMMON

    done = children.python(child, file, mode, env=children.environment(COMMON))
    answer = json.loads(done.stdout.splitlines()[-1])
    if "missing" in answer:
        pytest.skip(f"this interpreter comes without its tests: {answer['missing']}")
    assert len(answer["tests"]) >= at_least
    return answer["tests"], answer["failed"]


def check(child: Path, file: str, mode: str, own: str, at_least: int, exceptions: Sequence[Sequence[str]]) -> None:
    """Assert that all tests of a file pass but these exceptions, none of which passes.

    What fails in the mode `own`, with the interpreter's own functions, is left out.
    """
    version = "{}.{}".format(*sys.version_info)
    names, failed = failures(child, file, mode, at_least)
    excused = {
        name for name in names for test, versions, *_ in exceptions
        if name.endswith(f".{test}") and version in versions.split(", ")
    }  # fmt: skip
    unexpected = failed.keys() - excused
    if unexpected and own != mode:
        unexpected -= failures(child, file, own, at_least)[1].keys()
    assert not unexpected, "\n".join(f"{test}\n{failed[test]}" for test in sorted(unexpected))
    assert excused <= failed.keys(), "listed as exceptions, but they pass"
