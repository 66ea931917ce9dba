"""The marker seismo_no_leaks and the fixture seismo_objects: inner pytests, in this process where that is enough."""

from __future__ import annotations

import re

import pytest
from inner import PLUGIN, Project, expected, outcomes, recorded

from seismo.process.objects import recorder

pytest_plugins = ["pytester"]

OPTIONS = ["-p", "no:cacheprovider", "-p", PLUGIN, "-p", "no:xdist", "-W", "error"]

HEAD = """
import pytest
kept = []
class Session:
    pass
"""


# ---- the marker ----


KINDS = """
import functools, gc, logging, re, linecache, warnings
pytestmark = pytest.mark.seismo_no_leaks
last = None

def test_kept_leaks():
    kept.append(Session())

def test_a_cycle_that_is_held_leaks():
    session = Session()
    session.me = session
    kept.append(session)

@functools.cache
def cached(number):
    return Session()

numbers = iter(range(100))

def test_a_cache_that_only_grows_leaks():
    cached(next(numbers))

def test_a_cache_that_is_warm():
    cached(1000)
    re.compile("a+(b|c)" * 3)
    linecache.getlines(__file__)

def test_caches_of_the_standard_library():
    number = next(numbers)
    re.compile(f"a{number}")
    list[type(f"T{number}", (), {})]
    open(__file__).close()

def test_the_last_one_is_kept():
    global last
    last = Session(), [object()]

def test_a_bounded_cache():
    kept_few.append(Session())
    del kept_few[:-2]

kept_few = []

def test_cycles():
    session = Session()
    session.me = session

def test_finalizers():
    class Finalized:
        def __init__(self):
            self.me = self
            self.other = Session()
            self.other.back = self
        def __del__(self):
            self.late = [Session()]
            self.late.append(self.late)
    Finalized()

def test_nothing():
    pass

@pytest.mark.parametrize("number", [1, 2])
def test_parameters(number):
    assert number + number == 2 * number

def test_logs():
    logging.getLogger("x").warning("number %d", 10**6)

def test_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("number", UserWarning)

@pytest.mark.filterwarnings("always")
def test_warnings_of_the_summary():
    warnings.warn(f"number {len(kept)}", UserWarning)

def test_raising():
    with pytest.raises(ValueError, match="no"):
        raise ValueError("no")

def test_asserting():
    assert [Session() for _ in range(3)] != [Session()], "message"
"""


@recorded
def test_what_a_leak_is(run):
    wanted = expected(KINDS, "_leaks")
    del wanted["test_parameters"]
    wanted |= {"test_parameters[1]": "PASSED", "test_parameters[2]": "PASSED"}
    assert outcomes(run(KINDS)) == wanted


@recorded
def test_the_report(run):
    done = run("""
@pytest.mark.seismo_no_leaks(warmup=2, runs=4)
def test_one():
    kept.append(Session())
    kept.extend([[number] for number in range(7)])
""")
    said = done.stdout.str()
    assert re.search(r"list +test_it\.py:10 test_one +7 +7 +7 +7\n", said)
    assert re.search(r"test_it\.Session +test_it\.py:9 test_one +1 +1 +1 +1\n", said)
    assert "the test ran 4 times after 2 to warm up" in said
    assert "plugins/pytest" not in said


@recorded
def test_what_may_stay(run):
    source = """
def made():
    return Session()

@pytest.mark.seismo_no_leaks(allow=Session)
def test_allowed_class():
    kept.append(Session())

@pytest.mark.seismo_no_leaks(allow=("test_it.Sess*", "dict"))
def test_allowed_glob():
    kept.append(Session())

@pytest.mark.seismo_no_leaks(allow="test_it.made")
def test_allowed_function():
    kept.append(made())

@pytest.mark.seismo_no_leaks(allow="test_it.py:8")
def test_allowed_line():
    kept.append(made())

@pytest.mark.seismo_no_leaks(allow="test_it.py:9")
def test_another_line_leaks():
    kept.append(made())

@pytest.mark.seismo_no_leaks(of="dict")
def test_another_type():
    kept.append(made())

@pytest.mark.seismo_no_leaks(of=(Session, "dict"))
def test_this_type_leaks():
    kept.append(made())

@pytest.mark.seismo_no_leaks(runs=0)
def test_unchecked():
    kept.append(made())
"""
    assert outcomes(run(source)) == expected(source, "_leaks")


@recorded
def test_each_run_finds_what_the_first_found(run):
    source = """
import logging, os, warnings
pytestmark = pytest.mark.seismo_no_leaks
runs = []

@pytest.fixture
def number():
    runs.clear()
    return 7

def test_fixtures_are_set_up_once(number):
    runs.append(number)
    assert runs == [7] * len(runs)

def test_how_often():
    assert runs == [7, 7, 7, 7]

def test_caplog(caplog):
    logging.getLogger("x").warning("one")
    assert [record.message for record in caplog.records] == ["one"]

def test_capsys(capsys):
    print("one")
    assert capsys.readouterr().out == "one\\n"

def test_recwarn(recwarn):
    warnings.warn("one", UserWarning)
    assert len(recwarn) == 1

@pytest.fixture
def patched(monkeypatch):
    monkeypatch.setenv("PATCHED", "0")

def test_monkeypatch(patched, monkeypatch, tmp_path):
    assert os.environ["PATCHED"] == "0"
    monkeypatch.setenv("PATCHED", "1")
    monkeypatch.setattr(Session, "name", "x", raising=False)
    monkeypatch.chdir(tmp_path)

def test_all_is_undone():
    assert "PATCHED" not in os.environ
    assert not hasattr(Session, "name")
    assert os.path.exists("test_it.py")
"""
    assert outcomes(run(source)) == expected(source, "_leaks")


@recorded
def test_a_test_that_does_not_pass_says_so_itself(run):
    done = run("""
pytestmark = pytest.mark.seismo_no_leaks
runs = []

def test_fails():
    kept.append(Session())
    assert len(kept) < 0

def test_fails_later():
    runs.append(Session())
    assert len(runs) < 3

def test_skips():
    kept.append(Session())
    pytest.skip("no time")

@pytest.mark.xfail(strict=True, reason="known")
def test_known():
    kept.append(Session())

@pytest.mark.xfail(strict=True, reason="known")
def test_known_no_more():
    pass

def test_xfails():
    kept.append(Session())
    pytest.xfail("not yet")
""")
    done.assert_outcomes(failed=3, skipped=1, xfailed=2)
    said = done.stdout.str()
    assert "assert 1 < 0" in said
    assert "seismo_no_leaks: this was run 3 of 4" in said
    assert "XPASS(strict)" in said


@recorded
def test_unittest_and_event_loops(run, pytester):
    (pytester.path / "conftest.py").write_text("""
import asyncio, inspect, pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
        return True
""")
    source = """
import asyncio, unittest
pytestmark = pytest.mark.seismo_no_leaks
runs = []

class TestOld(unittest.TestCase):
    def setUp(self):
        self.session = Session()
        runs.append("set up")

    def test_method(self):
        self.assertIsNotNone(self.session)
        self.session = None

    def test_method_that_leaks(self):
        kept.append(self.session)

    def test_setups(self):
        self.assertEqual(runs[:8], ["set up"] * 8)

class TestOldAsync(unittest.IsolatedAsyncioTestCase):
    async def test_coroutine(self):
        await asyncio.sleep(0)
        await asyncio.gather(*[asyncio.sleep(0) for _ in range(3)])

    async def test_coroutine_that_leaks(self):
        await asyncio.sleep(0)
        kept.append(Session())

async def test_awaits():
    await asyncio.gather(*[asyncio.sleep(0) for _ in range(3)])

async def test_awaits_and_leaks():
    kept.append(asyncio.get_running_loop())

class TestNew:
    def test_in_a_class(self):
        self.session = Session()
"""
    done = run(source, "-W", "default")
    assert outcomes(done) == {**expected(source, "_leaks"), "test_method_that_leaks": "FAILED"}


@recorded
def test_a_failing_method_of_unittest_is_not_run_again(run):
    done = run("""
import unittest
runs = []

@pytest.mark.seismo_no_leaks
class Test(unittest.TestCase):
    def test_a(self):
        runs.append(Session())
        self.assertLess(len(runs), 2)

    def test_b(self):
        runs.append(Session())
        self.skipTest("no time")

    @unittest.expectedFailure
    def test_c(self):
        runs.append(Session())
        self.fail()

    def test_d(self):
        self.assertEqual(len(runs), 4)
""")
    done.assert_outcomes(failed=1, skipped=1, xfailed=1, passed=1)
    assert "this was run 2 of 4" in done.stdout.str()


MISTAKES = {
    "5": "takes its arguments by name",
    "runs=1": "runs of seismo_no_leaks cannot be 1",
    "warmup='x'": "warmup of seismo_no_leaks cannot be 'x'",
    "rums=5": "seismo_no_leaks has no argument rums",
    "of=5": "of of seismo_no_leaks cannot be 5",
}


def test_mistakes_fail_the_test(run):
    tests = [f"@pytest.mark.seismo_no_leaks({text})\ndef test_{at}(): pass\n" for at, text in enumerate(MISTAKES)]
    done = run("".join(tests))
    done.assert_outcomes(failed=len(MISTAKES))
    for words in MISTAKES.values():
        assert words in done.stdout.str()
    assert "Traceback" not in done.stdout.str()


def test_the_marker_is_known(run):
    done = run("", "--markers")
    done.stdout.fnmatch_lines(["@pytest.mark.seismo_no_leaks(warmup=1, runs=3, *"])


WORKED = """
@pytest.mark.seismo_no_leaks
@pytest.mark.parametrize("number", range(4))
def test_leaks(number):
    if number % 2:
        kept.append(Session())
"""


@recorded
def test_in_workers(tmp_path):
    words = ("-p", "xdist", "-n2", "--seismo-cover=")
    said = Project(tmp_path, "", test_it=HEAD + WORKED).run_apart(*words, status=1)
    assert "2 failed, 2 passed" in said, said
    assert said.count("test_it.Session") >= 2


# ---- the fixture ----


@recorded
def test_what_a_block_makes(run):
    source = """
import gc
def make(number):
    return [Session() for _ in range(number)]

def test_nothing(seismo_objects):
    with seismo_objects:
        pass
    assert (seismo_objects.born, seismo_objects.died, seismo_objects.alive) == (0, 0, 0)
    seismo_objects.assert_objects(max_born=0, max_alive=0)

def test_nothing_many_times(seismo_objects):
    for _ in range(20):
        with seismo_objects(max_born=0, max_alive=0):
            pass

def test_counts(seismo_objects):
    with seismo_objects:
        make(10)
    seismo_objects.assert_objects(max_born=10, max_alive=0, of=Session)
    seismo_objects.assert_objects(max_born=1, max_alive=0, of="list")
    assert (seismo_objects.born, seismo_objects.alive) == (13, 0)  # the list, the range, and its iterator

def test_asserting(seismo_objects):
    with seismo_objects(max_born=13):
        assert make(10)

def test_cycles_are_not_alive(seismo_objects):
    with seismo_objects:
        session = Session()
        session.me = session
        del session
    seismo_objects.assert_objects(max_alive=0)
    assert gc.isenabled()

def test_the_collector_may_be_off(seismo_objects):
    gc.disable()
    try:
        with seismo_objects:
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

def test_too_many_leaks(seismo_objects):
    with seismo_objects(max_born=9, of=Session):
        make(10)

def test_too_many_alive_leaks(seismo_objects):
    with seismo_objects:
        kept.append(make(10))
    seismo_objects.assert_objects(max_alive=9, of="test_it.Session")

def test_an_error_is_its_own(seismo_objects):
    with pytest.raises(KeyError), seismo_objects(max_born=0):
        make(10)
        raise KeyError

def test_a_block_first(seismo_objects):
    with pytest.raises(seismo_objects_error(), match="no block"):
        seismo_objects.assert_objects(max_born=0)

def seismo_objects_error():
    import seismo
    return seismo.SeismoError
"""
    done = run(source)
    assert outcomes(done) == expected(source, "_leaks")
    said = done.stdout.str()
    assert re.search(r"10 .*born.*9", said)
    assert re.search(r"10 .*alive.*9", said)


# ---- where it cannot be ----


UNAVAILABLE = """
runs = []

@pytest.mark.seismo_no_leaks
def test_marked():
    runs.append(1)

def test_fixture(seismo_objects):
    with seismo_objects:
        runs.append([])
    seismo_objects.assert_objects(max_born=0)
"""


@pytest.mark.parametrize(
    ("ini", "counts"),
    [
        ({}, {"skipped": 2}),
        ({"seismo_objects_unavailable": "fail"}, {"failed": 1, "errors": 1}),
        ({"seismo_objects_unavailable": "run"}, {"passed": 2}),
        ({"seismo_objects_unavailable": "never"}, {"failed": 1, "errors": 1}),
    ],
    ids=["skip", "fail", "run", "mistake"],
)
def test_where_objects_cannot_be_recorded(run, monkeypatch, ini, counts):
    if not recorder.why_not():
        monkeypatch.setattr(recorder, "why_not", lambda: "they are reported since CPython 3.13.3")
    done = run(UNAVAILABLE, **ini)
    done.assert_outcomes(**counts)
    said = done.stdout.str()
    if ini.get("seismo_objects_unavailable") == "never":
        assert "seismo_objects_unavailable cannot be 'never'" in said
    elif "passed" not in counts:
        assert "births and deaths of objects cannot be recorded: " in said
        assert "3.13.3" in said


@recorded
def test_tracemalloc_may_run_already(run):
    import tracemalloc

    tracemalloc.start()
    try:
        run(UNAVAILABLE.replace("max_born=0", "max_born=1").replace("runs.append(1)", "runs")).assert_outcomes(passed=2)
    finally:
        tracemalloc.stop()


@recorded
def test_tracemalloc_in_the_middle(run):
    done = run("""
import tracemalloc

@pytest.mark.seismo_no_leaks
def test_marked():
    tracemalloc.start()
    tracemalloc.stop()

def test_fixture(seismo_objects):
    with seismo_objects:
        tracemalloc.start()
        tracemalloc.stop()
""")
    done.assert_outcomes(skipped=2)
    assert "tracemalloc" in done.stdout.str()
