"""What pytests inside of a test need."""

import pytest


@pytest.fixture
def alone(monkeypatch):
    """Inner pytests take nothing of the outer one, nor plugins that are only installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
