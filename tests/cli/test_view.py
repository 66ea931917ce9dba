"""`seismo view`: what it prints, and how it ends."""

import signal
import sys
import urllib.error
import urllib.request

import pytest
from children import SECONDS, environment, popen, reading

from seismo import profile

COMMAND = [sys.executable, "-m", "seismo", "view"]


@pytest.fixture
def recording(tmp_path):
    with profile() as p:
        sorted([3, 1, 2], key=lambda number: -number)
    path = tmp_path / "a.seismo"
    p.save(path)
    return path


def test_it_prints_the_address_serves_and_ends(recording):
    with popen([*COMMAND, "--no-open", recording]) as child:
        url = child.stdout.readline().strip()
        with urllib.request.urlopen(url + "recordings", timeout=SECONDS) as answer:
            assert b'"a.seismo"' in answer.read()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url.rpartition("/")[0][:-1] + "/recordings", timeout=SECONDS)
        assert refused.value.code == 404
        refused.value.close()
        child.send_signal(signal.SIGINT)
        assert child.wait(SECONDS) == 0
        said = child.stderr.read()
        assert "Ctrl-C ends the server" in said
        assert said.endswith("seismo: ended\n")


def test_without_a_display_it_says_what_to_do(recording):
    env = {name: value for name, value in environment().items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    with popen([*COMMAND, recording], env=env) as child:
        assert child.stdout.readline().startswith("http://127.0.0.1:")
        child.stderr.readline()
        if sys.platform == "linux":
            assert "open the address yourself" in child.stderr.readline()
        child.send_signal(signal.SIGINT)
        assert child.wait(SECONDS) == 0


def test_what_cannot_be_shown(tmp_path, recording):
    """All of it is found out before the server serves."""
    (tmp_path / "empty").mkdir()
    for words, sentence in [
        ([tmp_path / "missing.seismo"], "no such file"),
        (["--port", "99999999", recording], "is no port"),
        ([recording] * 21, "21 files are too many"),
        ([], "this folder has none"),
    ]:
        done = reading("view", "--no-open", *words, cwd=tmp_path / "empty", status=2)
        assert done.stdout == ""
        assert sentence in done.stderr
