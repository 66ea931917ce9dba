"""`pytest --seismo-check`: inner pytests of a small project, in processes of their own where they count."""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from inner import Project
from repositories import commit, git

from seismo.check import baseline
from seismo.plugins.pytest.check_runs import shuffled
from seismo.process.objects.recorder import why_not

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["pytester"]

APP = """\
def key(x):
    return -x

def load(n):
    return sorted(range(n), key=key)

cache = {}

def cached(n):
    if n not in cache:
        cache[n] = load(n)
    return cache[n]

def total(n):
    found = 0
    for i in load(n):
        found += i
    return found
"""
SLOWER = APP.replace("for i in load(n):", "for i in sorted(load(n), key=key):")
TESTS = """\
import os
import pytest
from app import *

@pytest.fixture(scope="module")
def data():
    return load(50)

@pytest.mark.parametrize("n", [10, 100])
def test_total(n, data):
    assert total(n) == n * (n - 1) // 2

def test_first(): assert cached(300)
def test_second(): assert cached(300)

class TestIt:
    def test_block(self, seismo_check):
        load(5)
        with seismo_check("load"):
            load(6)
"""


class CheckedProject(Project):
    """A folder with a module and its tests."""

    def __init__(self, folder: Path, pytester: pytest.Pytester | None = None) -> None:
        super().__init__(folder, "", pytester, conftest="", app=APP, test_app=TESTS)

    def check(self, *options: str, status: int = 0) -> str:
        """Check in a process whose hashes are fixed already, so that it starts no other one for that."""
        return self.run_apart("--seismo-check", *options, status=status, PYTHONHASHSEED="0")

    def refused(self, *options: str) -> str:
        return super().refused("--seismo-check", *options)

    def write(self, **files: str) -> None:
        """Writes modules; their .pyc, which is as old, may not be taken for theirs."""
        super().write(**files)
        shutil.rmtree(self.folder / "__pycache__", ignore_errors=True)

    @property
    def kept(self) -> Any:
        return baseline.read(self.folder / "seismo-check-tests.txt")


@pytest.fixture
def project(pytester: pytest.Pytester, alone: None, monkeypatch: pytest.MonkeyPatch) -> CheckedProject:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    return CheckedProject(pytester.path, pytester)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The baseline of the project, and what pytest said when it was written."""
    project = CheckedProject(tmp_path_factory.mktemp("kept"))
    said = project.run_apart("--seismo-check", "--seismo-update")
    return (project.folder / "seismo-check-tests.txt").read_text(), said


@pytest.fixture
def checked(project: CheckedProject, kept: tuple[str, str]) -> CheckedProject:
    """The project with its baseline."""
    (project.folder / "seismo-check-tests.txt").write_text(kept[0])
    return project


def cases(project: CheckedProject) -> dict[str, Any]:
    """The elements of tests in j.xml, by name."""
    return {one.get("name"): one for one in ET.parse(project.folder / "j.xml").iter("testcase")}


def suspects(said: str) -> list[str]:
    """The functions that a check names, the first one first."""
    return re.findall(r"^  \d+\. (\S+)", said, re.MULTILINE)


@pytest.mark.matrix
def test_a_change_is_found_and_the_function_named(checked, kept):
    project, said = checked, kept[1]
    assert "the counts are written to seismo-check-tests.txt" in said
    assert ("births of objects are not counted" in said) is bool(why_not())
    tests = project.kept.tests
    assert set(tests) == {
        *(f"test_app.py::test_{name}" for name in ("total[10]", "total[100]", "first", "second")),
        "test_app.py::TestIt::test_block",
        "test_app.py::TestIt::test_block|block load",
    }
    # load, sorted, and key for each; their lines, and the block's own, with its end.
    assert str(tests["test_app.py::TestIt::test_block|block load"]["calls"]) == "8"
    assert str(tests["test_app.py::TestIt::test_block|block load"]["lines"]) == "9"
    assert len({*tests["test_app.py::test_first"]["calls"]}) == 2, "it depends on the order who fills the cache"
    assert project.kept.functions.keys() >= {one for one in project.kept.functions if one.qualname == "total"}
    assert not [one for one in project.kept.functions if "|call" in one.qualname or "_pytest" in one.file]

    project.write(app=SLOWER)
    said = project.check("--junitxml=result.xml", status=1)
    assert suspects(said)[0] == "app:total"
    assert re.search(r"calls of test_app.py::test_total\[100\] .* beyond its limit", said)
    assert "4 passed" in said or "5 passed" in said
    suite = ET.parse(project.folder / "result.xml").getroot()[0]
    properties = [(one.get("name"), one.get("value")) for one in suite.iter("property")]
    assert ("seismo.verdict", "beyond") in properties
    assert any(name == "seismo.beyond" and "test_total[100]" in value for name, value in properties)


@pytest.mark.matrix
def test_against_a_revision(project):
    commit(project.folder)
    project.write(app=SLOWER, test_app=TESTS + "\ndef test_new(): assert total(500)\n")
    said = project.check("--seismo-no-objects", "--seismo-against", "HEAD", "test_app.py", status=1)
    assert "compared with HEAD" in said
    assert suspects(said)[0] == "app:total"
    assert "test_new" not in said, "it is no growth of what was there"
    assert "for i in sorted(load(n), key=key):" in said
    assert "worktree" not in git(project.folder, "worktree", "list").replace(str(project.folder), "")
    assert "names a revision of git" in project.refused("--seismo-against", "HEAD", "--seismo-update")


SIZES = """\
import threading
import pytest
from app import *

@pytest.mark.parametrize("n", [20, 80, 320])
def test_pairs(n):
    assert unique(list(range(n)))

def test_thread():
    one = threading.Thread(target=load, args=(50,))
    one.start()
    one.join()
"""
UNIQUE = APP + "\ndef unique(items):\n    return sorted(items, key=key)\n"
PAIRS = APP + "\ndef unique(items):\n    return [one for one in items for other in items if key(one) == -other]\n"


@pytest.mark.matrix
def test_growth_over_the_sizes_of_a_parametrized_test(project):
    project.write(app=UNIQUE, test_app=SIZES)
    commit(project.folder)
    words = ("--seismo-no-objects", "--junitxml=j.xml")
    said = project.check(*words, "--seismo-update")
    key, load = (
        next(counts for name, counts in project.kept.functions.items() if name.qualname == one)
        for one in ("key", "load")
    )
    assert (key["calls"].low, load["calls"].low) == (20 + 80 + 320 + 50, 1), "the thread's calls count, too"

    project.write(app=PAIRS)
    said = project.check(*words, "--seismo-limit", "test calls <= +100000%", status=1)
    assert "1 function became worse than linear" in said
    assert re.search(r"^  test_app.py::test_pairs\[n\]: quadratic, was linear", said, re.MULTILINE)
    tests = cases(project)
    counts = {one.get("name"): one.get("value") for one in tests["test_pairs[80]"].iter("property")}
    assert int(counts["seismo.calls"]) > 80 * 80
    assert tests["test_pairs[80]"].find("failure") is None, "it is within the limit that was given"

    said = project.check(*words, "--seismo-against=HEAD", "--seismo-build=exit 3", status=1)
    assert "the build at HEAD failed with exit status 3" in said
    said = project.check("--junitxml=j.xml", "--seismo-against=HEAD", "--seismo-build=touch built", status=1)
    assert re.search(r"^  app:key in test_app.py::test_pairs\[n\]: quadratic, was linear", said, re.MULTILINE)
    assert suspects(said)[0] == "app:unique"
    tests = cases(project)
    assert "calls of test_app.py::test_pairs[80]: " in tests["test_pairs[80]"].find("failure").text
    assert tests["test_thread"].find("failure") is None
    suite = ET.parse(project.folder / "j.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("tests")) == ("3", "4")


BORN = """\
import pytest
from app import *

class Point: pass
def points(n): return [Point() for _ in range(n)]

@pytest.mark.seismo_budget(births=150, calls=400)
def test_points(seismo_check):
    with seismo_check("part"):
        assert len(points(100)) == 100
    assert len(points(20)) == 20
"""


@pytest.mark.skipif(bool(why_not()), reason="births cannot be recorded here")
def test_births_are_counted_in_a_run_of_their_own(project):
    project.write(test_app=BORN)
    said = project.check("--seismo-update")
    tests = project.kept.tests
    assert 100 <= tests["test_app.py::test_points|block part"]["births"].low < 110
    assert 120 <= tests["test_app.py::test_points"]["births"].low < 1000
    born = {
        name.qualname: counts["births"].low for name, counts in project.kept.functions.items() if "births" in counts
    }
    assert 120 <= born["points"] <= 140, "a budget of births runs the test twice, and is of the second run"
    assert not [name for name in project.kept.functions if "_pytest" in name.file or "pluggy" in name.file]

    project.write(test_app=BORN.replace("[Point()", "[Point() and Point() and Point()"))
    said = project.check("--junitxml=j.xml", status=1)
    assert "test_app.py::test_points makes more objects than it may" in said
    assert re.search(r"seismo_budget: 3\d\d births, and the budget is 150", said)
    assert re.search(r"births of test_app.py::test_points\|block part .* beyond its limit", said)
    assert suspects(said)[0] == "test_app:points"
    assert "the budget is 150" in cases(project)["test_points"].find("failure").text


def test_failing_tests_are_compared_with_nothing(project):
    project.write(test_app=TESTS + "\ndef test_failing(): assert total(1)\n")
    said = project.check("--seismo-update", status=1)
    assert "assert 0" in said
    assert "nothing is compared, and no baseline is written" in said
    assert not (project.folder / "seismo-check-tests.txt").exists()


UNSTEADY = """\
import os
import subprocess
import sys

ran = []
def test_a(): ran.append(1)
def test_b(): assert ran

def test_children():
    subprocess.run([sys.executable, "-c", "1"], check=True)
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitpid(pid, 0)
"""


@pytest.mark.matrix
def test_what_is_not_counted_is_told(project, kept):
    """In a strict configuration without plugins that others take for granted."""
    strict = "[pytest]\naddopts = --strict-config -p no:cacheprovider -p no:junitxml\n"
    (project.folder / "pytest.ini").write_text(strict)
    project.write(test_app=UNSTEADY)
    said = project.check("--seismo-update", "--seismo-no-objects")
    assert "tests started" not in kept[1]
    assert said.count("processes that tests started are not counted: 3\n") == 1
    assert "left out, since they fail in another order: test_app.py::test_b" in said
    assert "test_app.py::test_b" not in project.kept.tests
    assert "test_app.py::test_a" in project.kept.tests


@pytest.mark.matrix
def test_some_of_the_tests_are_held_against_their_own_limits(checked):
    checked.write(app=APP.replace("sorted(range(n), key=key)", "sorted(sorted(range(n), key=key) * 9, key=key)"))
    said = checked.check("--seismo-no-objects", "-k", "block", status=1)
    assert "only the limits of single tests apply" in said
    assert re.search(r"calls of test_app.py::TestIt::test_block\|block load .* beyond its limit", said)


@pytest.mark.matrix
def test_xdist(checked):
    """Workers count a test as one process does."""
    checked.write(app=SLOWER)
    said = checked.check("-p", "xdist", "-n", "2", "--seismo-no-objects", status=1)
    assert suspects(said)[0] == "app:total"
    beyond = re.findall(r"^  (?:calls|lines) of (test_app.py\S+) .* beyond its limit", said, re.MULTILINE)
    assert "test_app.py::test_total[100]" in beyond
    assert set(beyond) <= {"test_app.py::test_total[10]", "test_app.py::test_total[100]"}
    checked.check("-p", "xdist", "-n", "2", "--seismo-no-objects", "--seismo-update")
    assert len(checked.kept.tests) == 6


def test_what_does_not_go_together_ends_at_once(project):
    assert "there is nothing to compare with" in project.refused()
    assert "did you mean calls" in project.refused("--seismo-limit", "cals <= 3")
    (project.folder / "seismo-check-tests.txt").write_text("hello\n")
    assert "this is not a baseline" in project.refused()
    said = project.check("--seismo-cover", "--seismo-update", status=4)  # covers when it finds out, so it is apart
    assert "take one of them" in said


def test_without_a_check_a_block_does_nothing(project):
    done = project.run()
    assert (done.ret, "seismo check" in done.stdout.str()) == (0, False)


REPEATED = """\
import time
from hypothesis import given, settings, strategies as st
from app import load, total

slept = []

@settings(deadline=20)
@given(st.integers(0, 50))
def test_examples(n):
    if not slept:
        slept.append(time.sleep(0.1))
    assert total(n) == n * (n - 1) // 2

def test_benchmark(benchmark):
    assert len(benchmark(load, 50)) == 50

def test_pedantic(benchmark):
    assert len(benchmark.pedantic(load, args=(30,), rounds=5, iterations=3)) == 30
"""


@pytest.mark.matrix
def test_benchmarks_run_once_and_examples_of_hypothesis_are_the_same_each_time(project):
    project.write(test_app=REPEATED)
    plugins = ("-p", "_hypothesis_pytestplugin", "-p", "pytest_benchmark.plugin")
    words = (*plugins, "--seismo-no-objects")
    said = project.check(*words, "--seismo-update")
    calls = {name.qualname: counts["calls"] for name, counts in project.kept.functions.items()}
    assert len({*calls["key"]}) == 1, "the examples are the same"
    assert calls["load"].low == calls["total"].low + 2, "a benchmark runs once"
    said = project.check(*words)
    assert "within all limits" in said


def test_tests_of_a_module_stay_together_in_any_order():
    session = object()
    modules = [[session, object()] for _ in range(4)]
    items: list[Any] = [
        SimpleNamespace(name=(at, number), listchain=lambda module=module: [*module, None])
        for at, module in enumerate(modules)
        for number in range(5)
    ]
    assert [item.name for item in shuffled(items, 0)] == [item.name for item in items[::-1]]
    for seed in range(1, 20):
        order = [item.name for item in shuffled(items, seed)]
        assert sorted(order) == sorted(item.name for item in items)
        assert order != sorted(order)
        assert len([1 for one, other in pairwise(order) if one[0] != other[0]]) == 3
