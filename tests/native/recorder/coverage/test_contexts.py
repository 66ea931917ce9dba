"""Who tests what: lines and branches by context, however often contexts change."""

import sys
import tracemalloc

import pytest
from covered import Covered, compiled, cover, covering, run
from recorded import filter_of

from seismo import _core

PROGRAM = """
def helper(n):
    total = 0
    for i in range(n):
        if i % 2:
            total += 1
        else:
            total += 2
    return total
def one(): return helper(1)
def two(): return helper(2)
def none(): return helper(0)
"""


def test_each_context_has_its_own_lines():
    def tests(names):
        for name, count in (("none", 1), ("one", 1), ("two", 1), ("two", 300), ("one", 300)):
            _core.cover_context(f"test {name} {count}")
            for _ in range(count):
                names[name]()
        _core.cover_context("")

    found = cover(PROGRAM, tests, branch=True)
    one, two = {2, 3, 4, 7, 8, 9}, {2, 3, 4, 5, 7, 8, 10}
    assert found.contexts() == {
        "test none 1": {2, 3, 8, 11},
        "test one 1": one,
        "test two 1": two,
        "test two 300": two,
        "test one 300": one,
    }
    arcs = {name: {arc for arc in arcs if arc[0] in (3, 4)} for name, arcs in found.context_arcs().items()}
    assert arcs == {
        "test none 1": {(3, 8)},
        "test one 1": {(3, 4), (4, 7), (3, 8)},
        "test two 1": {(3, 4), (4, 7), (4, 5), (3, 8)},
        "test two 300": {(3, 4), (4, 7), (4, 5), (3, 8)},
        "test one 300": {(3, 4), (4, 7), (3, 8)},
    }
    assert found.losses == {}
    assert all(row["flags"] == 1 for row in found.rows)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 has no places to switch off and on")
def test_only_what_runs_hot_is_switched_off_and_on():
    """A tiny test costs its events; a long one is switched off, and only its code is switched on again."""

    rearmed = []

    def tests(names):
        _core.cover_context("first")
        rearmed.append(_core.status("coverage")["rearmed"])
        for i in range(50):
            _core.cover_context(f"tiny {i}")
            names["two"]()
        rearmed.append(_core.status("coverage")["rearmed"])
        _core.cover_context("long")
        names["helper"](10_000)
        _core.cover_context("tiny again")
        rearmed.append(_core.status("coverage")["rearmed"])
        names["two"]()
        _core.cover_context("")

    code = compiled(PROGRAM)
    found = cover(code, tests, where=filter_of(f'file("{code.co_filename}")'))
    assert rearmed == [rearmed[0], rearmed[0], rearmed[0] + 1]
    assert found.contexts()["long"] == {2, 3, 4, 5, 7, 8}
    assert found.contexts()["tiny again"] == {2, 3, 4, 5, 7, 8, 10}


def test_contexts_of_enormous_number(path):
    """What is kept in memory does not grow with their number."""
    out = run(
        """
        import resource
        _core.start(recorder="coverage", fd=file(sys.argv[1]), flush_ms=100, branch=True)
        exec(compile("def f(n):\\n    if n:\\n        return 1\\n    return 2\\n", "/nowhere/program.py", "exec"))
        def contexts(first, last):
            for i in range(first, last):
                _core.cover_context(f"context number {i}")
                f(i % 2)
        contexts(0, 5000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        contexts(5000, 30_000)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        _core.stop(recorder="coverage")
        """,
        str(path),
    )
    assert int(out) < 4000  # kB
    found = Covered(path.read_bytes(), "/nowhere/program.py")
    assert [row["name"] for row in found.image.tables["contexts"]] == [f"context number {i}" for i in range(30_000)]
    lines: dict[int, int] = {}
    for row in found.image.tables["context_hits"]:
        if row["kind"] == 0 and row["base"] == 0:
            lines[row["context"]] = lines.get(row["context"], 0) | row["bits"]
    assert len(lines) == 30_000
    assert len(set(lines.values())) < 10


def test_a_name_that_comes_back_is_one_context():
    def tests(names):
        for _ in range(100):
            _core.cover_context("a")
            names["one"]()
            _core.cover_context("b")
            names["two"]()
        _core.cover_context("\\udc80 é\\n" + "x" * 10_000)
        names["none"]()
        _core.cover_context("")
        names["helper"](0)

    found = cover(PROGRAM, tests)
    assert len(found.image.tables["contexts"]) == 3
    assert len(found.contexts()) == 3


def test_a_context_in_which_nothing_runs_is_not_written():
    code = compiled(PROGRAM)
    where = filter_of(f'file("{code.co_filename}")')  # threads of the test runner go on meanwhile
    found = cover(code, lambda names: [_core.cover_context(name) for name in ("a", "b", "")], where=where)
    assert found.image.tables["contexts"] == []


TESTS = """
import asyncio
def helper(): return 1
def fixture(): return 2
class TestCase:
    def test_method(self):
        return helper()
    def runTest(self):
        self.test_method()
        return fixture()
def test_function():
    x = helper()
    try:
        inner = [test_nested() for _ in range(2)]
    except KeyError:
        y = 2
def test_nested():
    raise KeyError
def test_generator():
    yield 1
    x = 2
    yield x
async def test_coroutine():
    await asyncio.sleep(0)
    return helper()
async def both():
    await asyncio.gather(test_coroutine(), other())
async def other():
    a = 1
    await asyncio.sleep(0)
    b = 2
def testimony(): return 5
def untested():
    return 3
TestCase().test_method()
untested()
TestCase().runTest()
test_function()
list(test_generator())
one = test_generator()
next(one)
untested()
del one
asyncio.run(both())
try: test_nested()
except KeyError: pass
testimony()
untested()
"""


@pytest.mark.parametrize("counts", [False, True], ids=["lines", "counts"])
def test_a_context_for_each_test_function(counts):
    found = cover(TESTS, tests=True, counts=counts)
    assert found.contexts() == {
        "program.TestCase.test_method": {2, 6},
        "program.TestCase.runTest": {2, 3, 6, 8, 9},
        "program.test_function": {2, 11, 12, 13, 14, 15, 17},
        "program.test_nested": {17},
        "program.test_generator": {19, 20, 21},
        "program.test_coroutine": {2, 23, 24},
        "program.testimony": {31},
    }
    assert found.losses == {}


def test_tests_that_are_left_out_of_the_report_are_contexts_all_the_same():
    program = compiled(PROGRAM)
    tests = compiled("def test_one(): return one()\ndef test_two(): return two()\n")

    def run_tests(names):
        exec(tests, names)
        names["test_two"](), names["test_one"](), names["test_two"]()

    where = filter_of(f'file("{program.co_filename}")')
    found = cover(program, run_tests, where=where, tests=True)
    assert found.contexts() == {"program.test_two": {2, 3, 4, 5, 7, 8, 10}, "program.test_one": {2, 3, 4, 7, 8, 9}}


def test_all_threads_belong_to_the_context():
    found = cover(
        """
        import threading
        from seismo import _core
        go, done = threading.Event(), threading.Event()
        def work():
            a = 1
            done.set()
            go.wait()
            b = 2
        thread = threading.Thread(target=work)
        thread.start()
        done.wait()
        _core.cover_context("late")
        go.set()
        thread.join()
        _core.cover_context("")
        """
    )
    assert found.contexts() == {"late": {8, 13, 14, 15}}


def test_nothing_of_it_is_python_memory():
    code = compiled(PROGRAM)
    names: dict = {}
    exec(code, names)
    tracemalloc.start()
    with covering(branch=True):
        names["two"]()
        _core.cover_context("warm")
        names["two"]()
        grown = []
        for attempt in range(3):  # other threads of the tests make objects, too, now and then
            before = tracemalloc.get_traced_memory()[0]
            for i in range(500):
                _core.cover_context(f"{attempt}-{i}")
                names["two"]()
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    tracemalloc.stop()
    assert min(grown) < 2000


def test_a_tests_name_follows_the_given_one():
    text = """
        def lib():
            return 1
        def test_it():
            lib()
    """

    def run(names):
        for given in ("nightly", ""):
            _core.cover_context(given)
            names["lib"]()
            names["test_it"]()
            names["lib"]()

    found = cover(text, run, tests=True)
    assert found.contexts() == {"nightly": {2}, "nightly|program.test_it": {2, 4}, "program.test_it": {2, 4}}
