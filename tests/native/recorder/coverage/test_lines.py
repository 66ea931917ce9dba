"""Which lines ran, and how often: the same as sys.settrace says, for all that Python programs are made of."""

import sys
import sysconfig
from collections import Counter

import pytest
from covered import Covered, compiled, cover, covering, traced
from paths import TESTS
from program import load

from seismo import _core

COVERED = TESTS / "coverage" / "covered"
PROGRAMS = {
    **{
        program.name: f"{program.text}\nimport contextlib\nwith contextlib.suppress(BaseException): main()\n"
        for program in load()
        if program.name != "sys.settrace beside us"  # the truth is what sys.settrace reports
    },
    **{name: (COVERED / f"{name}.py").read_text() for name in ("raises", "withs")},
    "branching": (COVERED / "branching.py").read_text() + "\nrun()\n",
    "threads": """
        import threading
        def work(n):
            for i in range(n):
                if i % 2:
                    even = False
                else:
                    even = True
        threads = [threading.Thread(target=work, args=(10,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("branch", [False, True], ids=["lines", "branch"])
def test_the_lines_that_ran_and_their_counts(name, branch):
    truth = traced(PROGRAMS[name])
    for counts in (False, True):
        found = cover(PROGRAMS[name], counts=counts, branch=branch)
        assert found.lines.keys() == truth.keys()
        assert {row["flags"] for row in found.rows} == {not counts}
        assert dict(found.lines) == dict(truth) if counts else {row["hits"] for row in found.rows} == {1}
        assert found.losses == {}


@pytest.mark.parametrize("name", ["branching", "raises", "withs", "threads", "code made many times"])
def test_contexts_have_what_ran_in_them(name):
    """The same program in two contexts, and a part of it in none: each has all of its lines, once and for all."""
    code = compiled(PROGRAMS[name])
    truth = set(traced(PROGRAMS[name]))

    def again(names):
        for context in ("one", "two", "one"):
            _core.cover_context(context)
            exec(code, {"__name__": "program"})
        _core.cover_context("")
        exec(code, {"__name__": "program"})

    found = cover(code, again)
    assert set(found.lines) == truth
    assert found.contexts() == {"one": truth, "two": truth}
    counted = cover(code, again, counts=True)
    assert counted.contexts() == {"one": truth, "two": truth}
    assert dict(counted.lines) == {line: 5 * hits for line, hits in traced(PROGRAMS[name]).items()}


def test_code_objects_of_one_function_share_it():
    """A million code objects of the same text make one function, and what one has shown the others need not."""
    found = cover("""
        text = "def made(n):\\n    if n:\\n        return 1\\n    return 2\\n"
        for i in range(2000):
            names = {}
            exec(compile(text, "/nowhere/made.py", "exec"), names)
            names["made"](i % 2)
    """)
    made = Covered(_core.snapshot("coverage"), "/nowhere/made.py")
    assert made.by_function() == {"<module>": {1: 1}, "made": {2: 1, 3: 1, 4: 1}}
    assert _core.status("coverage")["functions"] < 100
    assert found.losses == {}


@pytest.mark.skipif(sysconfig.get_config_var("Py_DEBUG") == 1, reason="the interpreter's own asserts stop at such code")
def test_a_line_table_that_lies():
    """Lines of any number: what can be kept is, the rest is said; nothing is made of the size of the lie."""
    code = compiled("""
        a = 1
        b = 2
        c = 3
    """)
    table = code.co_linetable
    far = bytes([0x80 | 13 << 3]) + bytes([0x40 | (1 << 30 & 0x3F)] * 4) + b"\x01"
    lies = [b"", b"\xff" * 9, far, table[:3], far * 3, table + far, b"\x00" * 5, bytes(range(128, 256))]
    for lie in lies:
        changed = code.replace(co_linetable=lie)
        for counts in (False, True):
            found = cover(changed, counts=counts, branch=True)
            assert all(line > 0 for line in found.lines)


def test_what_ran_before_the_start_is_not_told():
    """Frames that are in the middle of something tell what comes next, generators that are suspended too."""
    program = compiled("""
        from seismo import _core
        def numbers():
            x = 1
            yield x
            x = 2
            yield x
            x = 3
        one = numbers()
        next(one)
        _core.start(recorder="coverage")
        after = 1
        def late():
            return 1
        late()
        list(one)
        lambda_ = lambda: 0
        lambda_()
        _core.stop(recorder="coverage")
    """)
    exec(program, {})
    found = Covered(_core.snapshot("coverage"), program.co_filename)
    assert sorted(found.lines) == [5, 6, 7, 11, 12, 13, 14, 15, 16, 17, 18]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the trace function of 3.11 sees the calls after the start only")
def test_other_threads_that_run_already_are_heard():
    program = compiled("""
        import threading
        started, go = threading.Event(), threading.Event()
        def work():
            before = 1
            started.set()
            go.wait()
            after = 2
        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        from seismo import _core
        _core.start(recorder="coverage")
        go.set()
        thread.join()
        _core.stop(recorder="coverage")
    """)
    exec(program, {})
    found = Covered(_core.snapshot("coverage"), program.co_filename)
    assert found.by_function()["work"] == {7: 1}


def test_a_second_recording_begins_anew():
    """What the first one switched off is on again, and what it saw is forgotten."""
    code = compiled("""
        def f(n):
            if n:
                return 1
            return lambda: n
        f(1)
        f(0)()
    """)
    truth = [1, 2, 3, 4, 5, 6]
    names: dict = {}
    for branch in (False, True, False):
        found = cover(code, branch=branch)
        assert sorted(found.lines) == truth
    with covering():
        exec(code, names)
    names["f"](0)
    for _ in range(2):  # the code object has not run between the two
        with covering():
            names["f"](0)
        again = Covered(_core.snapshot("coverage"), code.co_filename)
        assert sorted(again.lines) == [2, 4]


def test_it_runs_once_at_a_time():
    with covering(), pytest.raises(RuntimeError, match="recorded already"):
        _core.start(recorder="coverage")
    _core.stop(recorder="coverage")
    assert not _core.status("coverage")["running"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no branch events")
def test_any_and_all_leave_their_loops_early():
    """3.14 and later report the jump out of the loop once more, as one to where the loop's end would have led."""
    text = """
        def has(xs):
            return any(x > 2 for x in xs), all(x < 3 for x in xs)
        for i in range(5):
            has([1, 3, 4])
    """
    for counts in (False, True):
        found = cover(text, branch=True, counts=counts)
        assert found.losses == {}
    if sys.version_info >= (3, 14):  # before, they are calls
        jumped = [row["jumped"] for row in found.branches if row["line"] == 2 and row["kind"] < 2]
        assert sorted(jumped) == [0, 0, 5, 5]  # are they the builtins, and what they found


def test_counts_of_code_that_comes_and_goes():
    """What is remembered of the code that ran last must not outlive it: another takes its address."""
    cover(
        r"""
        for k in range(300):
            names = {}
            exec(compile("\n" * (k % 7) + "def f(n):\n    for i in range(n):\n        n - i\n", "/made", "exec"), names)
            names["f"](k % 5)
            del names
        """,
        counts=True,
    )
    expected = Counter()
    for k in range(300):
        expected[k % 7 + 1] += 1
        expected[k % 7 + 2] += k % 5 + 1
        expected[k % 7 + 3] += k % 5
    assert dict(Covered(_core.snapshot("coverage"), "/made").lines) == dict(expected)
