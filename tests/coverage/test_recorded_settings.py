"""The settings that a recording carries: who uses them, when others are used, and what a hostile recording can say."""

from __future__ import annotations

import json
from types import SimpleNamespace

import children
import pytest

import seismo
from seismo.coverage.recorded_settings import NAMES, for_recording, packed, settings_text
from seismo.coverage.settings import OPTIONS, Settings
from seismo.model import Builder
from seismo.process.engine import meta

PROGRAM = """\
def f(x):
    if x:  # not here
        return 1
    return 2


f(0)
"""
RCFILE = """\
[run]
branch = yes
[report]
exclude_lines = not here
precision = 2
[paths]
source =
    app
    /ci/*/app
"""


@pytest.fixture
def project(tmp_path):
    """A project with a settings file. run(): a command, in a folder below the project's."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "core.py").write_text(PROGRAM)
    (tmp_path / ".coveragerc").write_text(RCFILE)
    (tmp_path / "elsewhere").mkdir()

    def run(*words, folder=".", status=0):
        return children.seismo(*words, cwd=tmp_path / folder, status=status)

    return SimpleNamespace(run=run, folder=tmp_path, recording=str(tmp_path / "r.seismo"))


def missing(lcov):
    return [line for line in lcov.splitlines() if line.startswith("DA:") and line.endswith(",0")]


def test_reports_from_elsewhere_use_the_settings_of_the_run_and_say_so(project):
    project.run("cover", "-o", "r.seismo", "--children", "app/core.py")
    done = project.run("report", project.recording, folder="elsewhere")
    assert "100.00 %" in done.stdout
    assert "as recorded" in done.stdout
    assert "/.coveragerc" in done.stdout
    own = project.run("export", project.recording, "-f", "lcov", folder="elsewhere")
    assert missing(own.stdout) == []
    assert own.stderr == f"seismo: settings: as recorded, from {project.folder}/.coveragerc\n"
    none = project.run("export", project.recording, "-f", "lcov", "--no-config", folder="elsewhere")
    assert missing(none.stdout) == ["DA:3,0"]
    assert none.stderr == ""
    other = project.folder / "elsewhere" / "other.ini"
    other.write_text("[run]\n[report]\nexclude_lines = return 2\n")
    named = project.run("export", project.recording, "-f", "lcov", "--rcfile", "other.ini", folder="elsewhere")
    assert missing(named.stdout) == ["DA:3,0"]
    assert "DA:4,1" not in named.stdout
    assert named.stderr == f"seismo: settings: {other}\n"

    (project.folder / ".coveragerc").write_text("[report]\nexclude_lines = return 2\n")
    changed = project.run("export", project.recording, "-f", "lcov")
    assert missing(changed.stdout) == []
    assert "which has changed since" in changed.stderr
    named = project.run("export", project.recording, "-f", "lcov", "--rcfile", ".coveragerc")
    assert missing(named.stdout) == ["DA:3,0"]


def test_export_refuses_settings_that_cannot_be(project):
    project.run("cover", "-o", "r.seismo", "app/core.py")
    both = project.run("export", project.recording, "-f", "lcov", "--no-config", "--rcfile", "x", status=2)
    assert "--rcfile and --no-config cannot be used together" in both.stderr
    absent = project.run("export", project.recording, "-f", "lcov", "--rcfile", "absent.ini", status=2)
    assert "there is no such settings file" in absent.stderr
    project.run("profile", "-o", "calls.seismo", "app/core.py")
    calls = project.run("export", "calls.seismo", "-f", "pstats", "-o", "x.pstats", "--rcfile", ".coveragerc", status=2)
    assert "--rcfile applies to recordings of coverage only" in calls.stderr


def test_a_recording_without_settings_is_read_with_those_of_the_project(project):
    project.run("cover", "--no-config", "-o", "bare.seismo", "app/core.py")
    done = project.run("report", "bare.seismo")
    assert "100.00 %" in done.stdout
    assert "/.coveragerc" in "".join(done.stdout.split())
    assert "as recorded" not in done.stdout


def test_merge_keeps_settings_and_uses_their_paths(project):
    there = project.folder / "ci" / "17"
    there.mkdir(parents=True)
    (project.folder / "app").rename(there / "app")
    (project.folder / ".coveragerc").write_text(RCFILE.replace("/ci/*/app", "*/ci/*/app"))
    project.run("cover", "-o", "there.seismo", "ci/17/app/core.py")
    (there / "app").rename(project.folder / "app")
    (project.folder / ".coveragerc").unlink()
    done = project.run("merge", "-o", "merged.seismo", "there.seismo")
    assert "as recorded" in done.stderr
    assert "app/core.py" in project.run("report", "merged.seismo").stdout
    plain = project.run("merge", "-o", "plain.seismo", "there.seismo", "--no-config")
    assert plain.stderr == ""
    assert "there is no such source file" in project.run("report", "plain.seismo").stdout


def test_recordings_that_disagree_are_read_with_the_settings_of_the_project(project):
    project.run("cover", "-o", "r.seismo", "app/core.py")
    (project.folder / ".coveragerc").write_text("[report]\nprecision = 1\n")
    project.run("cover", "-o", "second.seismo", "app/core.py")
    (project.folder / ".coveragerc").write_text("[report]\nprecision = 3\n")
    project.run("merge", "-o", "both.seismo", "r.seismo", "second.seismo")
    assert "71.429 %" in project.run("report", "both.seismo").stdout


def test_what_is_carried_is_what_was_given():
    file = Settings(file="/x/.coveragerc", folder="/x", **_other_values())
    made = json.loads(meta({}, "coverage", config=packed(file)))
    found = for_recording(Builder().build(made), "/")
    assert settings_text(found).startswith("as recorded")
    assert {name: getattr(found, name) for name in NAMES} == _other_values()
    assert found.folder == "/x"


def _other_values():
    values = {}
    for name in NAMES:
        default = getattr(Settings, name)
        if isinstance(default, tuple):
            values[name] = ("a", "b")
        elif isinstance(default, bool) or default is None:
            values[name] = not default
        elif isinstance(default, str):
            values[name] = "-missing" if name == "sort" else "é\n"
        else:
            values[name] = 7
    return values


def test_all_settings_of_reports_are_carried():
    """A new option must be carried, or be one that says what is recorded or where output goes."""
    elsewhere = {name for name, section, _, _ in OPTIONS if section == "run"}
    outputs = {"html_directory", "xml_output", "json_output", "lcov_output"}
    kept = {name.removesuffix("_also") for name, _, _, _ in OPTIONS if not name.endswith("_also")}
    assert kept - elsewhere - outputs == set(NAMES) - {"relative_files"}


@pytest.mark.parametrize("value", [None, 5, -1, 1e308, "x", "", [], [1], {}, {"a": 1}, True, ["("], float("inf")])
def test_values_that_cannot_be_are_left_out(value):
    config = {"file": "/nowhere/.coveragerc", "folder": value, "paths": value, **dict.fromkeys(NAMES, value)}
    found = for_recording(Builder().build({"config": config}), "/")
    for name in NAMES:
        default, given = getattr(Settings, name), getattr(found, name)
        assert isinstance(given, (type(default), bool if default is None else type(default), int))
    assert found.folder == "/"
    for wrong in (value, {"file": value}):
        assert isinstance(for_recording(Builder().build({"config": wrong}), "/"), Settings)


def test_a_session_carries_them_too(project, monkeypatch):
    monkeypatch.chdir(project.folder)
    with seismo.cover() as session:
        pass
    config = session.recording.meta["config"]
    assert config["file"] == str(project.folder / ".coveragerc")
    assert config["exclude"] == ["not here"]
    with seismo.cover(rcfile="") as session:
        pass
    assert "config" not in session.recording.meta
