"""`pytest --seismo-profile`: inner pytests of small projects, in this process where one process is enough."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import seismo
from seismo.plugins.pytest.slowest_tests import Suite

if TYPE_CHECKING:
    from seismo.model import Recording

from covered_suites import write
from inner import PLUGIN, Project

pytest_plugins = ["pytester"]


TESTS = """
import pytest

def work(n):
    return sum(step(i) for i in range(n))

def step(i):
    for _ in range(200):  # long enough for more than a hundredth of the time, below which a table leaves it out
        pass
    return i

def connect():
    return work(3)

def close(db):
    return work(4)

@pytest.fixture
def db():
    yield connect()
    close(1)

def test_one(db):
    work(10)

@pytest.mark.parametrize("n", [5, 2000])
def test_many(n):
    work(n)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, alone: None, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.syspath_prepend(pytester.path)
    return Project(pytester.path, "profile.seismo", pytester, test_it=TESTS)


def calls_by_phase(recording: Recording, name: str) -> dict[str, int]:
    """{test|phase: the calls of the function that it led to}."""
    functions, found = recording.functions, {}
    phase: dict[int, str] = {}
    for row in recording.tree:
        function = functions[row.function]
        if function.file == "<pytest>":
            phase[row.id] = function.qualname.partition("::")[2]
        elif row.parent in phase:
            phase[row.id] = phase[row.parent]
        if function.qualname == name and row.id in phase:
            found[phase[row.id]] = found.get(phase[row.id], 0) + row.calls
    return found


EXPECTED = {
    "test_one|setup": 3,
    "test_one|call": 10,
    "test_one|teardown": 4,
    "test_many[5]|call": 5,
    "test_many[2000]|call": 2000,
}


def test_each_phase_of_each_test_is_apart_and_the_summary_names_slow_tests_and_what_they_share(project):
    lines = project.run("--seismo-profile", "--seismo-profile-limit=1000").outlines
    assert calls_by_phase(project.recording, "step") == EXPECTED
    assert [path.name for path in project.folder.iterdir() if "seismo" in path.name] == ["profile.seismo"]
    parts = {part for row in project.recording.functions for part in Path(row.file).parts}
    assert not parts & {"_pytest", "pluggy"}, "pytest itself is left out"

    tests = lines.index("Slowest tests")
    slowest = [test.name.split("::")[-1] for test in Suite(project.recording).slowest()]
    assert [re.split("::|…", line)[-1] for line in lines[tests + 2 : tests + 5]] == slowest
    shared = next(number for number, line in enumerate(lines) if line.startswith("Functions of several tests"))
    row = next(line for line in lines[shared:] if line.endswith("test_it:step"))
    assert row.split()[-3:] == ["3", "2,022", "test_it:step"]  # tests, calls
    assert not any(line.endswith(":connect") for line in lines[shared:]), "only one test calls it"
    assert any(line.startswith("seismo report profile.seismo ") for line in lines)


LIBRARIES = """
import json, time
import pytest

def encoded(n):
    return json.dumps({"n": n}, indent=1)

def test_that_waits():
    time.sleep(0.2)
    encoded(1)

@pytest.mark.parametrize("n", range(20))
def test_that_runs(n):
    for _ in range(50):
        encoded(n)
"""


def test_the_summary_folds_libraries_and_counts_waiting(project):
    project.write(test_it=LIBRARIES)
    lines = project.run("--seismo-profile", "--seismo-profile-limit=1000").outlines
    start = lines.index("Slowest tests")
    head, first = lines[start + 1 : start + 3]
    assert head.split()[:2] == ["elapsed", "waiting"]
    assert first.endswith("test_it.py::test_that_waits")
    rows = {line.split()[-1]: line.split() for line in lines[start:] if ":" in line.rpartition(" ")[2]}
    assert rows["json:dumps"][-3:] == ["21", "1,001", "json:dumps"], "the library's row has the calls from the tests"
    assert "test_it:encoded" in rows
    assert not {name for name in rows if name.startswith(("json.", "inspect:", "posix:", "os:", "re:"))}
    assert any("besides, pytest and its plugins took" in line for line in lines)


def test_the_package_of_installed_tests_counts_as_their_own(project):
    package = project.folder / "site-packages" / "shop"
    write(package, prices="def price(n): return n + 1\n", test_prices=INSTALLED)
    (package / "__init__.py").touch()
    project.run("--seismo-profile", "--seismo-profile-limit=1000", "site-packages/shop/test_prices.py")
    functions = project.recording.functions
    suite = Suite(project.recording)
    called = {functions["qualname"][one.function]: one.calls for one in suite.shared if one.tests > 1}
    assert called == {"price": 2}


INSTALLED = """
from .prices import price

def test_one(): price(1)
def test_two(): price(2)
"""


def test_the_summary_is_bounded(project):
    project.write(test_it="import pytest\n@pytest.mark.parametrize('n', range(30))\ndef test_it(n): sorted([n])\n")
    done = project.run("--seismo-profile", "--seismo-profile-limit=4")
    shown = [line for line in done.outlines if re.search(r"test_it\.py::test_it\[\d+\]$", line)]
    assert len(shown) == 4
    done.stdout.fnmatch_lines(["*26 more tests, * of the time (--seismo-profile-limit=N)"])


def test_it_changes_nothing_for_failing_tests(project):
    tests = """
def test_failing(db):
    work(1)
    assert step(1) == 2

def test_without_fixture(no_such): pass

@pytest.fixture
def broken(db):
    raise KeyError("broken")

def test_broken(broken): pass

@pytest.fixture
def late():
    yield
    assert 0

def test_late(late): pass

@pytest.mark.xfail(strict=True)
def test_expected():
    raise ValueError

def test_skipped():
    pytest.skip("not here")

class TestClass:
    def setup_method(self): work(2)
    def test_method(self): assert work(2) == 0
"""
    project.write(test_it=TESTS + tests)

    def said(*options: str) -> list[str]:
        lines = project.run(*options).outlines
        end = next((number for number, line in enumerate(lines) if "= profile =" in line), None)
        summary = next(number for number, line in enumerate(lines) if "short test summary" in line)
        kept = lines[:end] + lines[summary:] if end is not None else lines
        return [re.sub(r" in \d+\.\d+s|0x[0-9a-f]+", "", line) for line in kept]

    assert said("-rA", "--seismo-profile") == said("-rA")
    assert "test_failing|setup" in calls_by_phase(project.recording, "step")


def test_exit_statuses_stay(project):
    project.write(test_it="def test(): assert 0\n")
    assert project.run("--seismo-profile").ret == 1
    assert project.run("--seismo-profile", "-k", "none").ret == 5


def test_a_file_that_is_no_recording_is_refused(project):
    for word in ("test_it.py", "test_it.py::test_one", "."):
        said = project.refused("--seismo-profile", word)
        assert "taken for the recording to write" in said
        assert f"\n{word}\nwrite: pytest {word} --seismo-profile\n" in said
    (project.folder / "other.seismo").write_text("mine")
    assert " exists and is not a recording" in project.refused("--seismo-profile=other.seismo")
    (project.folder / "other.seismo").unlink()
    assert project.run("--seismo-profile=other.seismo", "test_it.py").ret == 0
    assert calls_by_phase(seismo.open(project.folder / "other.seismo"), "step") == EXPECTED


def test_a_pytest_inside_of_it_is_only_profiled_by_one(project):
    tests = f"""
def test_inner(pytester):
    pytester.makepyfile("def test_it(): sorted([])")
    assert pytester.runpytest_inprocess("-p", "{PLUGIN}").ret == 0
    done = pytester.runpytest_inprocess("-p", "{PLUGIN}", "--seismo-profile")
    assert done.ret == 4
    done.stderr.fnmatch_lines(["*in this process already*"])

def test_after(): sorted([1])
"""
    project.write(conftest="pytest_plugins = ['pytester']\n", test_it=tests)
    assert project.run("--seismo-profile").ret == 0
    names = {row.qualname for row in project.recording.functions if row.file == "<pytest>"}
    assert names == {
        f"test_it.py::test_{name}|{phase}" for name in ("inner", "after") for phase in ("setup", "call", "teardown")
    }


def test_tests_that_profile_themselves(project):
    tests = """
import cProfile, sys, threading

def test_setprofile():
    assert sys.getprofile() is None
    seen = []
    def profile(frame, event, arg):
        seen.append((event, frame.f_code.co_name))
    sys.setprofile(profile)
    step(1)
    assert sys.getprofile() is profile
    sys.setprofile(None)
    assert ("call", "step") in seen and ("return", "step") in seen
    assert sys.getprofile() is None

def test_cprofile():
    profiler = cProfile.Profile()
    profiler.enable()
    step(1)
    profiler.disable()
    assert any(entry.code.co_name == "step" for entry in profiler.getstats() if not isinstance(entry.code, str))

def test_settrace():
    seen = []
    sys.settrace(lambda frame, event, arg: seen.append(event))
    step(1)
    sys.settrace(None)
    assert seen == ["call"]

def test_seismo():
    import seismo
    with seismo.profile() as p:
        step(1)
    assert [row.calls for row in p.recording.functions if row.qualname == "step"] == [1]

def test_later():
    work(7)
"""
    project.write(test_it=TESTS + tests)
    project.run_apart("--seismo-profile")
    counted = calls_by_phase(project.recording, "step")
    assert counted.pop("test_later|call") == 7
    assert {name: count for name, count in counted.items() if name in EXPECTED} == EXPECTED


def test_threads_of_a_test_are_recorded_and_belong_to_none(project):
    more = "import threading\ndef test_thread():\n t = threading.Thread(target=work, args=[6])\n t.start(); t.join()\n"
    project.write(test_it=TESTS + more)
    assert project.run("--seismo-profile").ret == 0
    assert calls_by_phase(project.recording, "step") == EXPECTED
    assert sum(row.calls for row in project.recording.functions if row.qualname == "step") == sum(EXPECTED.values()) + 6


FORKING = """
import os, pytest
def step(i): return i
def test_fork():
    step(1)
    pid = os.fork()
    if not pid:
        step(2)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    step(3)
"""


@pytest.mark.filterwarnings("ignore:This process")
def test_forks(project):
    project.write(test_it=FORKING)
    project.run_apart("--seismo-profile", "--seismo-profile-children")
    assert len(project.recording.processes) == 2
    assert sum(row.calls for row in project.recording.functions if row.qualname == "step") == 3
    assert [path.name for path in project.folder.iterdir() if "seismo" in path.name] == ["profile.seismo"]


def test_xdist_merges_what_workers_record(project):
    said = project.run_apart("-p", "xdist", "-n", "2", "--dist=each", "--seismo-profile")
    assert calls_by_phase(project.recording, "step") == {name: 2 * count for name, count in EXPECTED.items()}
    assert "3 tests took" in said
    assert len(project.recording.processes) == 3
    assert [path.name for path in project.folder.iterdir() if "seismo" in path.name] == ["profile.seismo"]
