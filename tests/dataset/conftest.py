"""Recordings to append, and the command in this process."""

import contextlib
import os

import pytest
import random_recordings

from seismo.cli.main import main


@pytest.fixture(scope="session", autouse=True)
def _libraries():
    """Skip all tests of datasets where what these need is not installed."""
    pytest.importorskip("duckdb", reason="datasets need DuckDB")
    pytest.importorskip("pyarrow", reason="datasets need PyArrow")


@pytest.fixture
def tasks(tmp_path):
    """A recording of this process, and append(): its end, with the dataset that it is in."""
    from seismo.dataset import append
    from seismo.plugins.cluster.task_recording import TaskRecording

    recording = TaskRecording(tmp_path / "parts")
    recording.start()

    def end():
        recording.stop()
        files = sorted(os.listdir(tmp_path / "parts"))
        found = append(tmp_path / "runs", [tmp_path / "parts" / name for name in files], {"run": "1"})
        assert all(one.added for one in found)
        return tmp_path / "runs"

    recording.append = end
    yield recording
    recording.stop()


@pytest.fixture
def make():
    """calls(seed, pid, ...): a recording."""
    return random_recordings.calls


@pytest.fixture
def seismo(tmp_path, capsys):
    """Runs `seismo WORDS` in an empty folder. Returns the status, the output and the errors."""

    def run(*words):
        with contextlib.chdir(tmp_path):
            status = main([str(word) for word in words])
        return (status, *capsys.readouterr())

    return run
