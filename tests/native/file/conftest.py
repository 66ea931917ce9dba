"""The second decoder as a fixture, for test folders are no packages."""

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def decoder():
    """tests/native/file/decoder.py as a module."""
    spec = importlib.util.spec_from_file_location("seismo_decoder", Path(__file__).with_name("decoder.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
