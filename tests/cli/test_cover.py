"""`seismo cover`: what it records of a program, its children and its ends, and what it says at the end."""

from __future__ import annotations

import json
import os

import children
import pytest
from repositories import commit

import seismo
from seismo.coverage.analysis import analyze
from seismo.coverage.recorded_settings import for_recording

CORE = """\
def work(n):
    if n > 3:
        return "big"
    return "small"


def unused():
    return 1
"""


class Lab:
    def __init__(self, folder):
        self.folder = folder
        self.write("app/__init__.py", "NAME = 1\n")
        self.write("app/core.py", CORE)
        self.write("app/idle.py", "VALUE = 1\n")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, *words, status=None):
        return children.seismo(*words, cwd=self.folder, status=status, COLUMNS="80")

    def cover(self, *words, status=0):
        """Without a table at the end, which takes longer than the programs."""
        return self.told("-q", *words, status=status)

    def told(self, *words, status=0):
        return self.run("cover", "-o", "r.seismo", *words, status=status)

    def lines(self, name="r.seismo"):
        """{file below the folder: its executed lines}, of all processes."""
        recording = seismo.open(self.folder / name)
        report = analyze(recording, for_recording(recording, str(self.folder)))
        return {os.path.relpath(file.absolute, self.folder): file.executed for file in report.files}


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def test_a_table_at_the_end(lab):
    lab.write("main.py", "import sys\nfrom app.core import work\nprint(work(2))\nif sys.argv[1:]:\n    print('args')\n")
    done = lab.told("--branch", "main.py")
    assert done.stdout == "small\n"
    assert lab.lines() == {"app/__init__.py": [1], "app/core.py": [1, 2, 4, 7], "main.py": [1, 2, 3, 4]}
    rows = [line.split() for line in done.stderr.splitlines()]
    assert ["app/core.py", "6", "2", "2", "1", "62", "%"] in [row[:7] for row in rows]
    assert ["main.py", "5", "1", "2", "1", "71", "%"] in [row[:7] for row in rows]
    assert any(row[0] == "TOTAL" and row[1:3] == ["12", "3"] for row in rows if row)
    assert "3, 8" in done.stderr
    assert done.stderr.startswith("seismo: 69 % of 12 statements and 4 branches in 3 files")
    assert "lost" not in done.stderr
    assert done.stderr.endswith("seismo report r.seismo   shows the rest\n")
    assert lab.cover("main.py").stderr == ""


def test_source_finds_what_never_ran(lab):
    lab.write("main.py", "import app.core\n")
    lab.cover("--source", "app", "main.py")
    everything = {"app/__init__.py": [1], "app/core.py": [1, 7], "app/idle.py": []}
    assert lab.lines() == everything
    lab.cover("--source", "app.core", "main.py")
    assert lab.lines() == {"app/core.py": [1, 7]}
    lab.cover("--source", lab.folder / "app", "main.py")
    assert lab.lines() == everything
    assert "root of all" in lab.run("cover", "--source", "/", "main.py").stderr
    assert "no code of this source" not in lab.told("--source", "app.core,main", "-m", "main").stderr
    lab.write("app/__main__.py", "from app.core import work\nwork(1)\n")
    lab.cover("--source", "app", "-m", "app")
    assert (lab.lines()["app/__main__.py"], lab.lines()["app/core.py"]) == ([1, 2], [1, 2, 4, 7])
    done = lab.told("--source", "typo", "--fail-under", "1", "main.py", status=1)  # 100 % of nothing is not enough
    assert "problem: typo: no code of this source ran" in done.stderr


def test_include_and_omit_are_coverages(lab):
    lab.write("app/sub/deep.py", "x = 1\n")
    lab.write("app/sub/__init__.py", "x = 1\n")
    lab.write("main.py", "import app.core, app.idle, app.sub.deep\n")
    for words, files in (
        (["--include", "app/*.py"], ["app/__init__.py", "app/core.py", "app/idle.py"]),
        (["--include", "main.py,idle.py"], ["app/idle.py", "main.py"]),
        (["--omit", "*/sub/*", "--omit", "main.py,app/i*.py"], ["app/__init__.py", "app/core.py"]),
        (["--source", ".", "--omit", "__init__.py,app/**/deep.py"], ["app/core.py", "app/idle.py", "main.py"]),
    ):
        lab.cover(*words, "main.py")
        assert sorted(name for name in lab.lines()) == sorted(files), words


def test_contexts_counts_and_a_line(lab):
    lab.write(
        "test_it.py",
        "from app.core import work\n\n\ndef test_small():\n    work(1)\n\n\ndef test_big():\n    work(4)\n    work(5)\n"
        "\n\ntest_small()\ntest_big()\n",
    )
    lab.cover("--contexts", "test", "--counts", "--branch", "test_it.py")
    done = lab.run("report", "r.seismo", "--line", "app/core.py:2")
    assert "executed 3 times" in done.stdout
    assert "did jump to line 3" in done.stdout
    assert "test_small" in done.stdout
    assert "test_big" in done.stdout
    done = lab.run("report", "r.seismo", "--line", "core.py:3")
    assert "test_small" not in done.stdout
    assert "test_big" in done.stdout
    assert "there is no such context" in lab.run("report", "r.seismo", "--contexts", "nosuch").stderr
    only = lab.run("report", "r.seismo", "--contexts", "*test_small", "--include", "app/c*").stdout
    assert "1, 3, 7-8" in only


def test_settings_of_the_project(lab):
    lab.write(
        ".coveragerc", "[run]\nsource = app\nbranch = yes\nplugins = x\n[report]\nfail_under = 90\nomit = */idle.py\n"
    )
    lab.write("main.py", "import app.core\nprint('ran')\n")
    done = lab.told("main.py", status=1)
    assert done.stdout == "ran\n"
    assert "seismo does not support these settings: [run] plugins" in done.stderr
    assert "is less than the 90 % that are wanted" in done.stderr
    assert "idle" not in done.stderr
    lab.cover("--fail-under", "10", "main.py")
    assert "main.py" in lab.told("--no-config", "main.py").stderr
    lab.write("pyproject.toml", "[tool.seismo.cover]\nbrunch = 1\n")
    done = lab.run("cover", "main.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "brunch is not a setting" in done.stderr


def test_recordings_of_several_kinds_together(lab):
    lab.write("main.py", "import app.core\n")
    lab.cover("--branch", "main.py")
    os.rename(lab.folder / "r.seismo", lab.folder / "one.seismo")
    lab.cover("--counts", "main.py")
    assert "recorder cover\n" in lab.run("info", "r.seismo").stdout
    assert lab.run("merge", "-o", "all.seismo", "one.seismo", "r.seismo").returncode == 0
    said = " ".join(lab.run("report", "all.seismo").stdout.split())
    assert "measured whether each line ran, and which branches were taken" in said
    assert "change    0 lines ran only now, 0 only before" in lab.run("diff", "one.seismo", "r.seismo").stdout
    lab.run("profile", "-q", "-o", "p.seismo", "main.py")
    done = lab.run("merge", "-o", "m.seismo", "r.seismo", "p.seismo")
    assert (done.returncode, "cannot be merged" in done.stderr) == (2, True)


def test_diff_of_coverage(lab):
    for number, words in enumerate(([], ["1"], ["1", "2"])):
        lab.write("main.py", "import sys\n\ndef f(n):\n    if n:\n        print(n)\n    if n > 1:\n        g()\n\n")
        with open(lab.folder / "main.py", "a", encoding="utf-8") as file:
            file.write("def g():\n    pass\n\nf(len(sys.argv) - 1)\n")
        lab.cover("main.py", *words)
        os.rename(lab.folder / "r.seismo", lab.folder / f"{number}.seismo")
    lines = lab.run("diff", "0.seismo", "2.seismo").stdout.splitlines()
    assert "change    3 lines ran only now, 0 only before" in lines
    at = lines.index("Lines that ran only now")
    assert [" ".join(line.split()) for line in lines[at + 1 : at + 3]] == [
        "main.py:5,7 __main__:f",
        "main.py:10 __main__:g",
    ]
    assert "Lines that ran only before: none" in lines
    several = lab.run("diff", "--old", "0.seismo", "1.seismo", "--new", "2.seismo").stdout.splitlines()
    assert "change    2 lines ran only now, 0 only before" in several
    assert "1 other line ran in some runs of a side only: no finding" in several
    content = json.loads(lab.run("diff", "--json", "2.seismo", "0.seismo").stdout)
    assert [place["lines"] for place in content["ran_only_before"]] == [[5, 7], [10]]
    assert content["ran_only_now"] == []


def test_the_programs_own_status_wins(lab):
    lab.write(
        "main.py",
        "import sys, os\nprint('ran')\nstatus = int(sys.argv[1])\n"
        "if len(sys.argv) > 2:\n    os._exit(status)\nsys.exit(status)\n",
    )
    assert lab.told("--fail-under", "100", "main.py", 3, status=3).stdout == "ran\n"
    assert lab.cover("--fail-under", "100", "main.py", 0, status=1).stdout == "ran\n"
    lab.cover("--fail-under", "100", "main.py", 4, "x", status=4)
    lab.told("--fail-under", "100", "main.py", 0, "x", status=1)
    lab.cover("--fail-under", "10", "main.py", 0)


def test_forks_and_ends_without_atexit(lab):
    lab.write(
        "main.py",
        "import os, sys\nfrom app import core\nif not os.fork():\n    core.work(5)\n    os._exit(0)\nos.wait()\n"
        "core.work(1)\nif len(sys.argv) == 1:\n    os.execv(sys.executable, [sys.executable, 'main.py', 'b'])\n",
    )
    lab.cover("--children", "main.py")
    found = lab.lines()
    assert found["app/core.py"] == [1, 2, 3, 4, 7]
    assert found["main.py"] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert len(seismo.open(lab.folder / "r.seismo").processes) == 4  # with what it becomes by exec


def test_what_changed_since(lab):
    lab.write("main.py", "from app.core import work\nwork(1)\n")
    commit(lab.folder)
    lab.cover("--branch", "main.py")
    done = lab.run("report", "r.seismo", "--changed-since", "HEAD")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "0 changed statements since HEAD: 0 not executed")
    lab.write("app/core.py", CORE.replace('"big"', '"BIG"') + "\n\nnew = (\n    1,\n    2,\n)\n")
    lab.cover("--branch", "main.py")
    done = lab.run("report", "r.seismo", "--changed-since", "HEAD")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("2 changed statements since HEAD: 1 not executed (50 % were)")
    assert 'return "BIG"' in done.stdout
    assert lab.run("report", "r.seismo", "--changed-since", "HEAD", "--fail-under", "50").returncode == 0
    done = lab.run("report", "r.seismo", "--changed-since", "nosuch")
    assert (done.returncode, "git knows no revision" in done.stderr) == (2, True)


def test_start_loads_little(lab):
    lab.write("main.py", "import sys\nprint(*sorted(sys.modules))\n")
    loaded = set(lab.cover("main.py").stdout.split())
    assert not loaded & {"re", "typing", "dataclasses", "argparse", "configparser", "tomllib", "inspect", "json"}
