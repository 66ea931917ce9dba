"""What is a statement, excluded, a branch: as coverage.py decides, on the standard library and on random programs."""

import os
import random
import sysconfig
import warnings
from pathlib import Path

import differences
import pytest
import random_source
from coverage.config import DEFAULT_EXCLUDE, DEFAULT_PARTIAL, DEFAULT_PARTIAL_ALWAYS
from coverage.exceptions import NotPython
from coverage.misc import join_regex
from coverage.parser import PythonParser
from coverage.python import get_python_source
from coverage.regions import code_regions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seismo.coverage import parsed_source, read_source
from seismo.coverage.settings import EXCLUDE, PARTIAL, PARTIAL_ALWAYS

LIBRARY = Path(sysconfig.get_path("stdlib"))
# Large ones, and those with the unusual: other encodings, form feeds, match, async, except*, much on one line.
SAMPLE = [
    "_pydatetime", "argparse", "ast", "asyncio/base_events", "asyncio/locks", "asyncio/taskgroups", "configparser",
    "contextlib", "dataclasses", "difflib", "doctest", "enum", "functools", "heapq", "json/decoder", "json/encoder",
    "locale", "logging/__init__", "sqlite3/__init__", "string", "test/support/__init__", "test/test_except_star",
    "test/test_grammar", "test/test_importlib/namespace_pkgs/portion1/foo/one", "test/test_source_encoding",
    "test/test_with", "textwrap", "tomllib/_parser", "xml/etree/ElementTree",
]  # fmt: skip


def test_the_default_patterns_are_the_same():
    assert list(EXCLUDE) == DEFAULT_EXCLUDE
    assert list(PARTIAL) == DEFAULT_PARTIAL
    assert list(PARTIAL_ALWAYS) == DEFAULT_PARTIAL_ALWAYS


def coverages(text):
    """What coverage.py says of a source: by the names that it has in ParsedSource."""
    parser = PythonParser(text=text or "\n", exclude=join_regex(DEFAULT_EXCLUDE))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser.parse_source()
        return {
            "statements": parser.statements,
            "excluded": parser.excluded,
            "first_lines": parser.multiline_map,
            "arcs": parser.arcs(),
            "exit_counts": dict(parser.exit_counts()),
            "no_branch": parser.lines_matching(join_regex(DEFAULT_PARTIAL + DEFAULT_PARTIAL_ALWAYS)),
            "regions": {(r.kind, r.name, r.start, frozenset(r.lines)) for r in code_regions(text)},
        }


def ours(text):
    parsed = parsed_source.parse(text, "app.py")
    found = {name: getattr(parsed, name) for name in ("statements", "excluded", "first_lines", "arcs", "no_branch")}
    regions = {(region.kind, region.name, region.start, region.lines) for region in parsed.regions}
    return {**found, "exit_counts": dict(parsed.exit_counts), "regions": regions}


def library_files(sample):
    """The sample; all of the library when SEISMO_ALL_SOURCES is set, which takes some minutes."""
    if not os.environ.get("SEISMO_ALL_SOURCES"):
        return [f"{name}.py" for name in sample if (LIBRARY / f"{name}.py").exists()]
    return sorted(str(path.relative_to(LIBRARY)) for path in LIBRARY.rglob("*.py"))


@pytest.mark.parametrize("name", library_files(SAMPLE))
def test_on_the_standard_library(name):
    path = str(LIBRARY / name)
    try:
        expected = coverages(get_python_source(path))
    except (SyntaxError, NotPython):  # test data that is no Python
        with pytest.raises(parsed_source.SourceError):
            parsed_source.parse(read_source.read(path), path)
        return
    assert ours(read_source.read(path)) == expected


def test_most_of_the_sample_is_there():
    assert len(library_files(SAMPLE)) > 15


@pytest.mark.filterwarnings("ignore")
@given(st.integers(0, 2**32))
@settings(max_examples=90, deadline=None, suppress_health_check=list(HealthCheck))
def test_on_random_programs(seed):
    text = random_source.program(random.Random(seed))
    try:
        expected = coverages(text)
    except AssertionError:  # differences.EMPTY_WITH
        ours(text)
        return
    assert ours(text) == expected


@pytest.mark.parametrize("name", differences.SOURCES)
def test_what_differs_still_does(name):
    text, statements, branch_lines = differences.SOURCES[name]
    parsed = parsed_source.parse(text, "app.py")
    assert parsed.statements == statements
    assert {line for line, exits in parsed.exit_counts.items() if exits > 1} == branch_lines
    with pytest.raises(Exception, match=r"Expected one arc|Couldn't parse|maximum recursion"):
        coverages(text.replace("\f", " "))
