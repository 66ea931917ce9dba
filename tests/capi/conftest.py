"""Building extension modules for the interpreter at hand."""

import importlib.util
import os
import subprocess
import sysconfig
from functools import partial
from pathlib import Path

import children
import pytest

import seismo


def _compiler():
    return os.environ.get("CC", "gcc")


@pytest.fixture(scope="session")
def include():
    """The compiler's words for Python's and seismo's headers."""
    return [f"-I{sysconfig.get_path('include')}", f"-I{seismo.get_include()}"]


@pytest.fixture(scope="session")
def probe_folder(tmp_path_factory, include):
    """The folder with the built module capi_probe."""
    folder = tmp_path_factory.mktemp("probe")
    target = folder / f"capi_probe{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-shared", "-fPIC"]
    source = Path(__file__).with_name("probe.c")
    subprocess.run([_compiler(), *flags, *include, "-o", target, source], check=True)
    return folder


@pytest.fixture(scope="session")
def _probe(probe_folder):
    path = next(probe_folder.glob("*.so"))
    spec = importlib.util.spec_from_file_location("capi_probe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def probe(_probe):
    """The module capi_probe; no hook may be left behind."""
    yield _probe
    _probe.call_inside(None)
    assert [count for count, _ in _probe.facts()] == [0, 0, 0]


@pytest.fixture
def run(probe_folder):
    """run(program, status=0): what it prints; capi_probe can be imported."""
    environment = children.environment(probe_folder, PYTHONWARNINGS="error")
    return partial(children.printed, env=environment)
