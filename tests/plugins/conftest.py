"""What pytests inside of a test need."""

import gc

import pytest


@pytest.fixture
def alone(monkeypatch):
    """Inner pytests take nothing of the outer one, nor plugins that are only installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(request, pytester, alone):
    """Runs an inner pytest on the source of a test file behind the module's HEAD, with its OPTIONS."""

    def run(source: str, *options: str, **ini: str) -> pytest.RunResult:
        lines = [f"{name} = {value}" for name, value in ini.items()]
        (pytester.path / "pytest.ini").write_text("\n".join(["[pytest]", *lines, ""]))
        (pytester.path / "test_it.py").write_text(request.module.HEAD + source)
        # What this process has already is no part of the inner one: each of its many collections would go through it.
        gc.collect()
        gc.freeze()
        return pytester.runpytest_inprocess("-rA", "--strict-markers", *request.module.OPTIONS, *options)

    return run
