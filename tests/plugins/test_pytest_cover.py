"""`pytest --seismo-cover`: inner pytests of small projects, in this process where one process is enough."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import children
import pytest
from covered_suites import lines_by_context, lines_of
from inner import PLUGIN, Project

import seismo

pytest_plugins = ["pytester"]


CALC = """\
def add(a, b):
    if a < 0:
        return "negative"
    return a + b


def mul(a, b):
    return a * b


def unused():
    return 1
"""
TESTS = """
import pytest
from app.calc import add, mul

@pytest.fixture
def three():
    yield add(1, 2)
    mul(1, 1)

def test_add(three):
    assert add(1, 2) == three

def test_negative():
    assert add(-1, 2) == "negative"
"""


@pytest.fixture
def project(pytester: pytest.Pytester, alone: None, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.syspath_prepend(pytester.path)
    made = Project(pytester.path, "cover.seismo", pytester, app__calc=CALC, test_calc=TESTS)
    (made.folder / "app" / "__init__.py").write_text("")
    return made


def test_who_tests_what(project):
    done = project.run("--seismo-cover=app", "--seismo-cover-counts")
    assert done.ret == 0
    assert lines_by_context(project.recording, "app/calc.py") == {
        "test_calc.py::test_add|setup": {2, 4},
        "test_calc.py::test_add|run": {2, 4},
        "test_calc.py::test_add|teardown": {8},
        "test_calc.py::test_negative|run": {2, 3},
    }
    functions = {row.id for row in project.recording.functions if row.file.endswith("app/calc.py")}
    assert {row.line: row.hits for row in project.recording.lines if row.function in functions}[2] == 3
    done.stdout.fnmatch_lines(["*= coverage =*", "*app/calc.py*", "*2 passed*"])
    assert [path.name for path in project.folder.iterdir() if "seismo" in path.name] == ["cover.seismo"]


def test_contexts_can_be_left_out(project):
    assert project.run("--seismo-cover=app", "--seismo-cover-context=none").ret == 0
    assert not list(project.recording.contexts)
    assert lines_of(project.recording, "app/calc.py") == {1, 2, 3, 4, 7, 8, 11}


def test_what_conftest_and_plugins_import_is_covered(project):
    project.write(conftest="import app.early", app__early="value = 1\n", test_calc="def test(): pass\n")
    assert project.run("--seismo-cover=app").ret == 0
    assert lines_of(project.recording, "app/early.py") == {1}


def test_nothing_happens_unasked(project):
    done = project.run()
    assert done.ret == 0
    done.stdout.no_fnmatch_line("*coverage*")
    assert not (project.folder / "cover.seismo").exists()
    assert project.run("--seismo-cover", "--seismo-no-cover").ret == 0
    assert not (project.folder / "cover.seismo").exists()


def test_importing_the_plugin_is_cheap():
    program = f"import sys, pytest; old = set(sys.modules); import {PLUGIN}; print(sorted(set(sys.modules) - old))"
    assert children.python("-c", program).stdout.strip() == str(sorted(["seismo", "seismo.plugins", PLUGIN]))


@pytest.mark.parametrize(
    ("tests", "percent", "status"),
    [(TESTS, "80", 0), (TESTS, "95", 1), ("", "100", 5), ("raise SystemError", "100", 2)],
    ids=["enough", "too little", "no tests", "interrupted"],
)
def test_a_check_fails_only_what_passed(project, tests, percent, status):
    project.write(test_calc=tests)
    done = project.run("--seismo-cover=app", f"--seismo-cover-fail-under={percent}", "--seismo-cover-report=none")
    assert done.ret == status
    done.stdout.fnmatch_lines([f"*coverage of * {percent} %*"])


def test_settings_files_say_what_to_cover(project):
    (project.folder / ".coveragerc").write_text("[run]\nsource = app\nomit = app/early.py\n[report]\nfail_under = 99\n")
    project.write(app__early="value = 1\n", conftest="import app.early\n")
    assert project.run("--seismo-cover").ret == 1
    assert not lines_of(project.recording, "app/early.py")
    assert lines_of(project.recording, "app/calc.py")
    (project.folder / "other.toml").write_text('[tool.coverage.run]\nsource = ["app"]\n')
    assert project.run("--seismo-cover", "--seismo-cover-config=other.toml").ret == 0
    assert lines_of(project.recording, "app/early.py") == {1}


def test_reports_go_where_they_are_sent(project):
    kinds = ["json:out/c.json", "xml:c.xml", "lcov", "term-missing:skip-covered", "html:pages"]
    (project.folder / "out").mkdir()
    reports = (f"--seismo-cover-report={kind}" for kind in kinds)
    done = project.run("--seismo-cover=app", "--seismo-cover-branch", *reports)
    assert done.ret == 0
    document = json.loads((project.folder / "out" / "c.json").read_text())
    assert document["files"]["app/calc.py"]["missing_lines"] == [12]
    assert document["meta"]["branch_coverage"] is True
    assert "<coverage" in (project.folder / "c.xml").read_text()
    assert "SF:app/calc.py" in (project.folder / "coverage.lcov").read_text()
    assert (project.folder / "pages" / "index.html").is_file()
    done.stdout.fnmatch_lines(["*app/calc.py*12*", "*written to dir pages*"])


def test_reports_replace_reports_and_nothing_else(project):
    (project.folder / "html").mkdir()
    files = {name: project.folder / name for name in ("json", "xml", "lcov")}
    files["html"] = project.folder / "html" / "index.html"
    for name, path in files.items():
        path.write_text("precious")
        said = project.refused("--seismo-cover=app", f"--seismo-cover-report={name}:{name}")
        assert "--seismo-cover-force overwrites it" in said
    assert {path.read_text() for path in files.values()} == {"precious"}
    reports = [f"--seismo-cover-report={name}:{name}" for name in files]
    for force in (["--seismo-cover-force"], []):
        assert project.run("--seismo-cover=app", *reports, *force).ret == 0
        assert "precious" not in {path.read_text() for path in files.values()}


def test_a_run_can_be_added_to_another(project):
    select = ["--seismo-cover=app", "--seismo-cover-append", "-k"]
    assert project.run(*select, "test_add").ret == 0
    assert 3 not in lines_of(project.recording, "app/calc.py")
    assert project.run(*select, "test_negative").ret == 0
    found = lines_by_context(project.recording, "app/calc.py")
    assert {"test_calc.py::test_add|run", "test_calc.py::test_negative|run"} <= set(found)
    assert [path.name for path in project.folder.iterdir() if "seismo" in path.name] == ["cover.seismo"]
    (project.folder / "cover.seismo").write_text("no recording")
    assert "cover.seismo" in project.refused(*select, "test_add")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--seismo-cover-report=pdf", "there is no report 'pdf'"),
        ("--seismo-cover-report=term:x", "term cannot be 'x'"),
        ("--seismo-cover-fail-under=101", "101 is not a number from 0 to 100"),
        ("--seismo-cover-config=missing.toml", "missing.toml"),
        ("--seismo-cover-file=test_calc.py", "is not a recording"),
    ],
)
def test_mistakes_are_said_before_a_test_runs(project, option, words):
    said = project.refused("--seismo-cover=app", option)
    assert words in said
    assert "Traceback" not in said
    assert (project.folder / "test_calc.py").read_text() == TESTS


def test_tests_after_the_option_are_no_surprise(project):
    """argparse gives the next word to an option that may have one: the tests would be what is covered."""
    done = project.run("--seismo-cover", "test_calc.py")
    done.stdout.fnmatch_lines(["note: test_calc.py after *: pytest test_calc.py --seismo-cover"])
    assert "note:" not in project.run("test_calc.py", "--seismo-cover").stdout.str()
    assert "note:" not in project.run("--seismo-cover", "app").stdout.str()


def test_without_the_plugin(project):
    project.options = ["-p", "no:cacheprovider", "-p", "no:seismo"]
    assert project.run().ret == 0
    project.refused("--seismo-cover")


# ---- beside others ----


def test_tests_may_trace_and_profile_themselves(project):
    tests = """
import sys
import seismo
from app.calc import add, mul

def test_traced():
    seen = []
    def tracer(frame, event, arg):
        if frame.f_code is add.__code__:
            seen.append(event)
        return tracer
    sys.settrace(tracer)
    add(1, 2)
    sys.settrace(None)
    assert seen == ["call", "line", "line", "return"]

def test_profiled():
    with seismo.profile() as profile:
        mul(1, 2)
    assert [row.calls for row in profile.recording.functions if row.qualname == "mul"] == [1]

def test_watched():
    with seismo.watch("call('app.calc.add')", action="keep") as watch:
        add(-1, 2)
    assert len(watch.matches) == 1
"""
    project.write(test_calc=tests)
    assert project.run("--seismo-cover=app").ret == 0
    found = lines_by_context(project.recording, "app/calc.py")
    assert found["test_calc.py::test_profiled|run"] == {8}
    assert found["test_calc.py::test_watched|run"] == {2, 3}
    assert sys.version_info < (3, 12) or found["test_calc.py::test_traced|run"] == {2, 4}


def test_a_debugger_may_stop_a_test(project):
    project.write(test_calc="from app.calc import add\ndef test():\n    breakpoint()\n    assert add(1, 2) == 3\n")
    said = project.run_apart("-s", "--seismo-cover=app", said="next\nstep\nnext\ncontinue\n")
    assert "(Pdb)" in said
    assert lines_by_context(project.recording, "app/calc.py")["test_calc.py::test|run"] == {2, 4}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the interpreter has no tool ids")
def test_no_tool_id_left(project):
    taken = [number for number in range(6) if sys.monitoring.get_tool(number) is None]
    for number in taken:
        sys.monitoring.use_tool_id(number, f"tool {number}")
    try:
        said = project.refused("--seismo-cover=app")
    finally:
        for number in taken:
            sys.monitoring.free_tool_id(number)
    assert "--seismo-cover: coverage cannot be recorded" in said
    assert "Traceback" not in said
    assert not (project.folder / "cover.seismo").exists()


def test_nothing_stays_behind(project):
    def replaceable() -> tuple[object, ...]:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        return os._exit, os.execv, subprocess._fork_exec, variables

    before = replaceable()
    assert project.run("--seismo-cover=app", "--seismo-cover-children").ret == 0
    assert replaceable() == before
    program = "import os; print(os.environ.get('SEISMO_CHILDREN'), 'child_startup' in os.environ.get('PYTHONPATH', ''))"
    assert children.python("-c", program).stdout.split() == ["None", "False"]
    if sys.version_info >= (3, 12):
        assert "seismo cover" not in [sys.monitoring.get_tool(number) for number in range(6)]


FORKS = """
import os, subprocess, sys
from app.calc import add
def test_forked():
    child = os.fork()
    if not child:
        add(-1, 2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_forked_children_are_let_go(project):
    project.write(test_calc=FORKS)
    assert project.run("--seismo-cover=app").ret == 0
    assert lines_of(project.recording, "app/calc.py") == {1, 7, 11}


# ---- several processes ----


def test_children_of_tests(project):
    more = """def test_started():
    subprocess.run([sys.executable, "-c", "from app.calc import mul; mul(1, 2)"], check=True)
"""
    project.write(test_calc=FORKS + more)
    project.run_apart("--seismo-cover=app", "--seismo-cover-children")
    found = lines_by_context(project.recording, "app/calc.py")
    assert found["test_calc.py::test_forked|run"] == {2, 3}
    assert found["test_calc.py::test_started|run"] == {1, 7, 8, 11}


def test_workers_are_merged_and_may_crash(project):
    crashing = """
import os
from app.calc import mul
from seismo import _core
def test_crash():
    mul(1, 2)
    _core.flush("coverage")  # as happens every second
    os.kill(os.getpid(), 9)
"""
    project.write(test_crash=crashing)
    words = ("-p", "xdist", "-n2", "--max-worker-restart=0", "--seismo-cover=app", "--seismo-cover-fail-under=50")
    said = project.run_apart(*words, status=1)  # the crash
    assert "1 failed, 2 passed" in said
    assert re.search(r"these workers crashed: gw\d; what they executed in their last second may be missing", said)
    found = lines_by_context(project.recording, "app/calc.py")
    assert found["test_calc.py::test_add|run"] == {2, 4}
    assert found["test_calc.py::test_negative|run"] == {2, 3}
    assert found["test_crash.py::test_crash|run"] == {8}
    assert [path.name for path in project.folder.iterdir() if "seismo" in path.name] == ["cover.seismo"]


def test_a_worker_that_shares_no_files(project):
    worker = "popen//env:SEISMO_COVER_PARTS="
    project.run_apart("--seismo-cover=app", "-p", "xdist", "-d", "--tx", worker)
    assert lines_by_context(project.recording, "app/calc.py")["test_calc.py::test_negative|run"] == {2, 3}


def test_the_same_as_pytest_cov_beside_a_profile(project):
    pytest.importorskip("pytest_cov", reason="pytest-cov is not installed")
    others = ("-p", "pytest_cov", "--cov=app", "--cov-report=json:theirs.json")
    project.run_apart(*others, "--seismo-cover=app", "--seismo-cover-report=json:ours.json", "--seismo-profile")
    calls = {row.qualname: row.calls for row in seismo.open(project.folder / "profile.seismo").functions}
    assert (calls["add"], calls["mul"]) == (3, 1)
    ours, theirs = (
        {
            name: (file["executed_lines"], file["missing_lines"])
            for name, file in json.loads((project.folder / which).read_text())["files"].items()
        }
        for which in ("ours.json", "theirs.json")
    )
    assert ours == theirs
