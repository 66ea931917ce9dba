"""The marker seismo_budget: inner pytests in this process."""

from __future__ import annotations

import re

import pytest
from inner import PLUGIN, Project, expected, outcomes, recorded

# Here, or each inner pytest has modules of its own, some of which outlive it as attributes of their packages.
import seismo.coverage.analysis
import seismo.plugins.pytest.budget_marker  # noqa: F401
from seismo.process.objects.recorder import why_not

pytest_plugins = ["pytester"]

OPTIONS = ["-p", "no:cacheprovider", "-p", PLUGIN]

HEAD = """
import sqlite3
import threading
import unittest
import pytest

budget = pytest.mark.seismo_budget

class Db:
    def __init__(self):
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("create table orders(id, customer)")
        self.connection.executemany("insert into orders values(?, ?)", [(i, i % 3) for i in range(20)])
    def query(self, sql, *args):
        return self.execute(sql, args).fetchall()
    def execute(self, sql, args):
        return self.connection.execute(sql, args)

def orders(db):
    found = []
    for order, customer in db.query("select * from orders"):
        found.append((order,
                      db.query("select ?", customer)))  # one for each
    return found

def names(db):
    return {row[0] for row in db.query("select customer from orders")}

@pytest.fixture
def db():
    db = Db()
    yield db
    db.connection.close()

def work(n):
    for i in range(n):
        step(i)

def step(i):
    return [i]

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
"""


# What runs, and a budget with its exact number.
EXACT = [
    ("names(db)", 'calls={"*:execute": %d}', 1),
    ("orders(db)", 'calls={"*:execute": %d}', 21),
    ("work(10)", 'calls={"test_it:step": %d, "test_it.work": 1}', 10),
    ("work(10)", 'calls={"test_it:*": %d}', 12),
    ("work(10)", "calls=%d", 12),
    ("fib(6)", 'calls={"*:fib": %d}', 25),
    ("in_a_thread(4)", 'calls={"*:step": %d}', 4),
    ("work(10)", "lines=%d", 32),
    ("work(10)", 'lines={"*:step": %d}', 10),
    ("fails(3)", 'exceptions={"*:failing": %d}', 3),
]
CLASSES = """
def in_a_thread(n):
    thread = threading.Thread(target=work, args=[n])
    thread.start(); thread.join()

def failing(n):
    raise KeyError(n)

def fails(n):
    for i in range(n):
        with pytest.raises(KeyError):
            failing(i)

class TestMethods(unittest.TestCase):
    def setUp(self):
        work(1)
    @budget(calls={"*:step": 3})
    def test_method(self): work(2)
    @budget(calls={"*:step": 3})
    def test_method_over(self): work(3)

@budget(calls={"*:step": 3})
class TestClass:
    def test_in_class(self): work(3)
    def test_in_class_over(self): work(4)
    @budget(calls={"*:step": 4})
    def test_nearest_budget(self): work(4)

@budget(calls={"sqlite3:*": 0})
def test_fixtures_do_not_count(db): pass
"""


def test_budgets_are_exact(run):
    source = CLASSES
    for number, (body, given, exact) in enumerate(EXACT):
        for end, least in (("", exact), ("_over", exact - 1)):
            source += f"@budget({given % least})\ndef test_{number}{end}(db):\n    {body}\n"
    assert outcomes(run(source)) == expected(source, "_over")


def test_the_message_names_the_loop_that_makes_the_calls(run):
    done = run("@budget(calls={'*:execute': 3})\ndef test_it(db): orders(db)\n")
    done.stdout.fnmatch_lines(
        [
            'seismo_budget: 21 calls of "?:execute", and the budget is 3',
            "  21  test_it:Db.execute through test_it:Db.query by test_it:orders, test_it.py:*: db.query(*customer)))*",
        ]
    )
    done.stdout.no_fnmatch_line("*entries are hidden*")


def test_lines_and_calls_without_a_pattern_name_their_places(run):
    done = run("@budget(calls=5, lines=5)\ndef test_it(): work(30)\n")
    done.stdout.fnmatch_lines(
        [
            "seismo_budget: 32 calls, and the budget is 5",
            "  30  test_it:step by test_it:work, test_it.py:*: step(i)",
            "seismo_budget: * lines, and the budget is 5",
            "  31  test_it:work, test_it.py:*: for i in range(n):",
        ]
    )


@recorded
def test_births(run):
    source = """
made = []

@budget(births=32)
def test_lists():
    work(30)

@budget(births=31)
def test_lists_over():
    work(30)

@budget(births=32, calls={"*:step": 30})
def test_both():
    made.append("")
    work(30)

@budget(births=32, calls={"*:step": 29})
def test_calls_over():
    work(30)
"""
    done = run(source)
    assert outcomes(done) == expected(source, "_over")
    done.stdout.fnmatch_lines(
        ["seismo_budget: 32 births, and the budget is 31", "  30  a list, test_it.py:*: return ?i?"]
    )


@pytest.mark.skipif(not why_not(), reason="births can be counted here")
def test_where_births_cannot_be_counted_the_ini_option_decides(run, pytester):
    source = "@budget(births=0)\ndef test_it(): work(3)\n"
    assert outcomes(run(source)) == {}
    assert run(source).parseoutcomes() == {"skipped": 1}
    assert run(source, "-o", "seismo_objects_unavailable=run").parseoutcomes() == {"passed": 1}
    assert run(source, "-o", "seismo_objects_unavailable=fail").parseoutcomes() == {"failed": 1}


def test_a_failing_test_tells_its_own_failure(run):
    source = """
@budget(calls=0, lines=0)
def test_fails():
    work(3)
    assert step(1) == 2

@budget(calls=0)
def test_skips(): pytest.skip("later")

@budget(calls=0)
@pytest.mark.xfail(strict=True)
def test_expected(): work(3)
"""
    done = run(source)
    assert outcomes(done)["test_fails"] == "FAILED"
    assert outcomes(done)["test_expected"] == "XFAIL"
    assert done.parseoutcomes() == {"failed": 1, "skipped": 1, "xfailed": 1}
    done.stdout.fnmatch_lines([">       assert step(1) == 2"])
    done.stdout.no_fnmatch_line("seismo_budget:*")


MISTAKES = {
    "cals=3": "seismo_budget has no budget cals",
    "calls=-1": "calls of seismo_budget cannot be -1",
    "calls='3'": "calls of seismo_budget cannot be '3'",
    "calls={'x': True}": "calls of seismo_budget cannot be {'x': True}",
    "births={'x': 1}": "births of seismo_budget cannot be {'x': 1}",
    "3": "seismo_budget takes its budgets by name",
    "": "seismo_budget takes its budgets by name",
}


def test_wrong_budgets(run):
    done = run("".join(f"@budget({words})\ndef test_{at}(): pass\n" for at, words in enumerate(MISTAKES)))
    assert done.parseoutcomes() == {"failed": len(MISTAKES)}
    assert set(done.outlines) >= set(MISTAKES.values())


def test_budgets_beside_other_recordings(tmp_path):
    source = """
@budget(calls={"*:step": 10}, lines={"*": 1000})
def test_fine(): work(10)

@budget(calls={"*:step": 9})
def test_over(): work(10)
"""
    others = ("--seismo-profile", "-p", "xdist", "-n", "1", "-p", "pytest_cov", "--cov=.")
    said = Project(tmp_path, "", test_it=HEAD + source).run_apart("-rA", *others, status=1)
    found = re.findall(r"^(PASSED|FAILED) test_it\.py::(\w+)", said, re.MULTILINE)
    assert dict(found) == {"PASSED": "test_fine", "FAILED": "test_over"}, said
    assert "seismo_budget: 10 calls" in said


def test_lines_beside_coverage_need_its_counts(run):
    source = "@budget(lines=31)\ndef test_it():\n    work(10)\n"
    assert run(source, "--seismo-cover", "--seismo-cover-counts").parseoutcomes() == {"failed": 1}
    done = run(source, "--seismo-cover")
    assert done.parseoutcomes() == {"skipped": 1}
    done.stdout.fnmatch_lines(["*add --seismo-cover-counts*"])
