"""Traced programs that are killed at any moment: what is in the file can be read, with the path of each event."""

import random
import sys

import children
import killing
import pytest

import seismo


@pytest.mark.parametrize("kind", killing.KINDS)
def test_what_a_killed_program_leaves_is_whole(kind, tmp_path):
    chance = random.Random(kind)
    for _ in range(3):
        found = killing.kill_one(kind, chance.uniform(0.1, 1), tmp_path)
        assert found.faults == []
        assert found.recorded <= found.counted


def test_the_first_moment_of_a_killed_program_is_a_recording(tmp_path):
    """It is killed from inside, before anything but its beginning can be in the file."""
    path = tmp_path / "trace.seismo"
    code = "import os\nos.kill(os.getpid(), 9)"
    done = children.run([sys.executable, "-m", "seismo", "trace", "-q", "-o", path, "-c", code])
    assert done.returncode == -9
    recording = seismo.open(path)
    assert [process.exit for process in recording.processes] == [""]
    assert [thread.main for thread in recording.threads] == [True]
    assert recording.calls.window().problems == []
