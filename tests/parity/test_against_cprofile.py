"""Counts beside cProfile's, on programs of some size, where cProfile is right."""

import cProfile
import gc
import importlib
import io
import pstats
import sys
import sysconfig

import pytest
from lab import SOURCES, start
from recorded import PYTHON, image
from workloads import class_things, json_things, parse_things, regex_things

from seismo import _core


def import_things():
    """Import what the standard library's folder has: FileFinder makes one more call when a folder on sys.path changes,
    as those of the tests do while another interpreter runs them."""
    for name in ("colorsys", "this", "fractions", "numbers"):
        sys.modules.pop(name, None)
    out, sys.stdout = sys.stdout, io.StringIO()
    path, sys.path = sys.path, [sysconfig.get_path("stdlib")]
    try:
        return (
            importlib.import_module("colorsys"),
            importlib.import_module("this"),
            importlib.import_module("fractions"),
        )
    finally:
        sys.stdout, sys.path = out, path


PROGRAMS = [parse_things, json_things, class_things, regex_things, import_things]


def quiet(function):
    """Collections and first-time work fall into no recording."""
    function()
    gc.collect()
    gc.freeze()  # or the next collection would be a long one
    gc.disable()


@pytest.fixture(autouse=True)
def collecting():
    yield
    gc.enable()


def record(source, function):
    start(source)
    try:
        function()
    finally:
        _core.stop()
    return image()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_calls_are_those_of_cprofile(program, source):
    """cProfile counts a resumption as a call, and it counts by file, line and name, so that ours are added up likewise.

    Of several code objects with one file, line and name (those of exec, mostly) it shows one only: they are left out.
    """
    quiet(program)
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    try:
        program()
    finally:
        profile.disable()
    rows = pstats.Stats(profile).stats.items()
    theirs = {key: calls for key, (_primitive, calls, *_rest) in rows if key[0][0] not in "~<"}
    recorded = record(source, program)
    functions = {row["id"]: row for row in recorded.functions() if row["kind"] == PYTHON}
    ours = {}
    for row in recorded.tables["nodes"]:
        function = functions[row["function"]]
        key = (function["file"], function["line"], function["qualname"].rpartition(".")[2])
        if key[0][0] != "<":
            ours[key] = ours.get(key, 0) + row["calls"] + row["resumes"]
    assert ours == theirs
