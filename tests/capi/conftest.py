"""Building extension modules for the interpreter at hand."""

import sysconfig
from functools import partial
from pathlib import Path

import children
import extensions
import pytest

import seismo


@pytest.fixture(scope="session")
def include():
    """The compiler's words for Python's and seismo's headers."""
    return [f"-I{sysconfig.get_path('include')}", f"-I{seismo.get_include()}"]


@pytest.fixture(scope="session")
def probe_folder(tmp_path_factory):
    return extensions.shared(tmp_path_factory, "probe")


@pytest.fixture(scope="session")
def _probe(probe_folder, include):
    flags = ("-std=c11", "-Wall", "-Wextra", "-Werror", *include)
    return extensions.module(Path(__file__).with_name("capi_probe.c"), probe_folder, *flags)


@pytest.fixture
def probe(_probe):
    """The module capi_probe; no hook may be left behind."""
    yield _probe
    _probe.call_inside(None)
    assert [count for count, _ in _probe.facts()] == [0, 0, 0]


@pytest.fixture
def run(probe_folder, _probe):
    """run(program, status=0): what it prints; capi_probe can be imported."""
    environment = children.environment(probe_folder, PYTHONWARNINGS="error")
    return partial(children.printed, env=environment)
