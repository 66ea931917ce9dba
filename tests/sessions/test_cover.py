"""seismo.cover(): with blocks, functions, parts of a running recording, files, forks, and a profile beside it."""

import io
import sys

import children
import pytest

import seismo
from seismo.errors import RecordingError, UsageError
from seismo.process import coverage

APP = """\
def work(n):
    if n > 3:
        return "big"
    return "small"


def more():
    yield 1
    yield 2
"""


@pytest.fixture
def app(tmp_path, monkeypatch):
    (tmp_path / "covered_app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("covered_app", None)
    import covered_app

    yield covered_app
    assert not coverage.users
    sys.modules.pop("covered_app", None)


def lines(session, file="covered_app.py"):
    recording = session.recording
    files = recording.functions["file"]
    return sorted(row.line for row in recording.lines if files[row.function].endswith(file))


def test_a_block(app):
    with seismo.cover(include="covered_app.py", branch=True) as session:
        app.work(1)
        assert lines(session) == [2, 4]
        app.work(5)
    assert lines(session) == [2, 3, 4]
    assert {(row.from_line, row.to_line) for row in session.recording.arcs} >= {(2, 3), (2, 4)}
    assert session.recording.kind == "coverage"
    out = io.StringIO()
    assert session.report(out) == pytest.approx(100 * 5 / 9)
    assert "covered_app.py" in out.getvalue()
    assert session.analysis().totals.missing == 4


def test_functions_and_uses_add_up(app):
    session = seismo.cover(include="covered_app.py")

    @session
    def small():
        return app.work(1)

    @session
    def steps():
        yield from app.more()

    assert small() == "small"
    assert lines(session) == [2, 4]
    assert list(steps()) == [1, 2]
    assert lines(session) == [2, 4, 8, 9]
    assert small.cover is session
    for _ in range(40):
        small()
    assert len(session.recording.processes) == 1
    assert repr(session) == "<seismo.cover: ended>"


def test_parts_of_a_running_recording(app):
    with seismo.cover(include="covered_app.py") as outer:
        app.work(1)
        with seismo.cover() as first:
            app.work(1)
            with seismo.cover() as inside:
                app.work(5)
        app.work(1)
        with seismo.cover() as second:
            list(app.more())
    assert lines(outer) == [2, 3, 4, 8, 9]
    assert lines(first) == [2, 3, 4]
    assert lines(inside) == [2, 3]
    assert lines(second) == [8, 9]


def test_parts_of_a_recording_into_a_file(app, tmp_path):
    with seismo.cover(include="covered_app.py", output=tmp_path / "outer.seismo"):
        for number in range(3):
            with seismo.cover(output=tmp_path / f"{number}.seismo") as part:
                app.work(number * 3)
            assert lines(part) == ([2, 4], [2, 4], [2, 3])[number]
    assert sorted({row.line for row in seismo.open(tmp_path / "outer.seismo").lines}) == [2, 3, 4]
    assert sorted(row.line for row in seismo.open(tmp_path / "2.seismo").lines) == [2, 3]


def test_a_part_cannot_want_something_else(app):
    with seismo.cover(include="covered_app.py"), pytest.raises(UsageError, match="branch"), seismo.cover(branch=True):
        pass


def test_contexts_of_others_are_kept(app):
    with seismo.cover(include="covered_app.py") as outer:
        coverage.context("test_one")
        with seismo.cover() as part:
            app.work(1)
        coverage.context("")
    names = {name for name in outer.recording.contexts["name"] if name}
    assert any(name.startswith("test_one") for name in names)
    assert lines(part) == [2, 4]


def test_beside_a_profile(app):
    with seismo.profile() as profile, seismo.cover(include="covered_app.py") as session:
        app.work(1)
    assert lines(session) == [2, 4]
    assert "work" in profile.recording.functions["qualname"]


def test_wrong_use(app):
    with pytest.raises(RecordingError, match="nothing is recorded yet"):
        _ = seismo.cover().recording
    with pytest.raises(UsageError, match="contexts cannot be"):
        seismo.cover(contexts="tests")
    with pytest.raises(UsageError, match="a file pattern cannot be"):
        seismo.cover(omit="a**b")


def test_settings_of_the_project(app, tmp_path):
    (tmp_path / ".coveragerc").write_text("[run]\nbranch = yes\ninclude = covered_*\n")
    with seismo.cover() as session:
        app.work(1)
    assert session.settings.branch
    assert lines(session) == [2, 4]
    assert len(session.recording.arcs)
    assert not seismo.cover(rcfile="").settings.branch


def test_a_forked_child_has_its_own(tmp_path):
    (tmp_path / "covered_app.py").write_text(APP)
    program = """
import os, seismo, covered_app
with seismo.cover(include="covered_app.py") as session:
    covered_app.work(1)
    pid = os.fork()
    if not pid:
        covered_app.work(5)
if pid:
    os.waitpid(pid, 0)  # one after the other, or their lines may mix
print(sorted(row.line for row in session.recording.lines), flush=True)
"""
    assert children.printed(program, cwd=tmp_path).splitlines() == ["[2, 3]", "[2, 4]"]
