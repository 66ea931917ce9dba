"""seismo.lines: a part of a program, from inside."""

import json

import pytest

import seismo
from seismo.errors import RecordingError, UsageError


def helper(n):
    return n + 1


def work(n):
    total = 0
    for _ in range(n):
        total = helper(total)
    return total


def hits(recording):
    names = recording.functions["qualname"]
    found = {}
    for row in recording.lines:
        if row.hits:
            found.setdefault(names[row.function], []).append(row.hits)
    return found


def test_a_block():
    with seismo.lines(only=f"{__name__}.work") as session:
        work(10)
        helper(1)
    assert hits(session.recording) == {"work": [1, 11, 10, 1]}
    assert session.recording.kind == "linetimes"
    assert session.recording.meta["recorder"] == "linetimes"
    assert [row.path for row in session.recording.sources if row.file == __file__] == [__file__]


def test_several_globs_and_uses_add_up():
    session = seismo.lines(only=["nothing.*", f"{__name__}.helper", f"{__name__}.w*"])
    for _ in range(2):
        with session:
            work(2)
    assert hits(session.recording) == {"work": [2, 6, 4, 2], "helper": [4]}


def test_sessions_nest():
    with seismo.lines(only=f"{__name__}.helper") as outer:
        work(2)
        with seismo.lines() as inner:
            work(3)
        work(4)
    assert hits(inner.recording) == {"helper": [3]}
    assert hits(outer.recording) == {"helper": [9]}
    assert repr(inner) == "<seismo.lines: ended>"


def test_a_file(tmp_path):
    path = tmp_path / "block.seismo"
    with seismo.lines(only=f"{__name__}.*", output=path):
        work(6)
    recording = seismo.open(path)
    assert recording.problems == []
    assert hits(recording)["helper"] == [6]
    assert json.loads(json.dumps(recording.meta))["settings"]["where"]


@pytest.mark.parametrize(
    "wrong", [{"only": ""}, {"where": "duration > 1ms"}, {"clock": "sundial"}, {"source": "profilefunc"}]
)
def test_bad_settings(wrong):
    with pytest.raises((UsageError, RecordingError)), seismo.lines(**wrong):
        pass
