"""A verb without a file takes the newest recording of the folder, and says which."""

import json
import os

import pytest

WITHOUT = [["report"], ["info"], ["info", "--json"], ["export", "-f", "json"], ["report", "--tree"]]


def age(path, seconds):
    """Makes the file that much older than the others."""
    past = os.stat(path).st_mtime - seconds
    os.utime(path, (past, past))


@pytest.mark.parametrize("words", WITHOUT)
def test_the_newest_is_taken_and_said_on_stderr(seismo, recording, slower, words):
    age(slower, 60)
    done = seismo(*words)
    assert (done.returncode, done.stderr) == (0, "seismo: app-4312.seismo, the newest recording in this folder\n")
    given = seismo(words[0], recording.name, *words[1:])
    assert given.stderr == ""
    assert done.stdout == given.stdout
    age(recording, 120)
    assert seismo(*words).stderr == "seismo: slower.seismo, the newest recording in this folder\n"


def test_only_recordings_count(seismo, recording, tmp_path):
    age(recording, 60)
    (tmp_path / "app.pstats").write_bytes(b"")
    (tmp_path / "app.seismo.tmp").write_bytes(b"")
    (tmp_path / "folder.seismo").mkdir()
    assert seismo("info").stderr == "seismo: app-4312.seismo, the newest recording in this folder\n"


@pytest.mark.parametrize("words", [*WITHOUT, ["export", "-o", "x.pstats"]])
def test_there_is_none(seismo, tmp_path, words):
    done = seismo(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "seismo: no recording is given, and this folder has none\n"
        "        name a recording, or make one: seismo profile SCRIPT\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_name_is_made_harmless(seismo, recording, tmp_path):
    recording.rename(tmp_path / "\x1b[31m\n.seismo")
    assert seismo("info").stderr == "seismo: \\x1b[31m\\n.seismo, the newest recording in this folder\n"


def test_diff_of_the_newest_two(seismo, recording, slower):
    age(recording, 60)
    done = seismo("diff", "--json")
    assert done.stderr == "seismo: comparing app-4312.seismo with slower.seismo, the newest recording in this folder\n"
    assert json.loads(done.stdout) == json.loads(seismo("diff", "--json", "app-4312.seismo", "slower.seismo").stdout)


def test_diff_of_one_with_the_newest_other(seismo, recording, slower):
    age(recording, 60)
    assert "comparing app-4312.seismo with slower.seismo" in seismo("diff", recording.name).stderr
    assert "comparing slower.seismo with app-4312.seismo" in seismo("diff", slower.name).stderr
    slower.unlink()
    for words, few in (([], "fewer than two recordings"), ([recording], "no other recording")):
        done = seismo("diff", *words, status=2)
        needed = f"seismo: two recordings are needed, and this folder has {few}\n"
        assert done.stderr == f"{needed}        name both: seismo diff OLD NEW\n"
