"""Recordings of some functions only: what is kept is right, and the others' time is their callers'."""

import children
import pytest
from recorded import sources

import seismo
from seismo import _core
from seismo.errors import ExpressionError, UsageError
from seismo.expression import parse

PROGRAM = """
import sys
from functools import reduce
def leaf(n): return abs(n)
def mid(n): return [leaf(i) for i in range(n)]
def numbers(n):
    for i in range(n): yield leaf(i)
class Order:
    def save(self, n): return sum(numbers(n)) + len(mid(n))
    def fail(self, n):
        if n: return self.fail(n - 1)
        raise KeyError(n)
def by(key): return leaf(-key)
def main():
    order = Order()
    for _ in range(10): order.save(5)
    for _ in range(3):
        try: order.fail(4)
        except KeyError: pass
    sorted([3, 1, 2], key=by)
"""
# Calls of one run of main().
COUNTS = {"main": 1, "Order.save": 10, "Order.fail": 15, "mid": 10, "numbers": 10, "leaf": 103, "by": 3}
C_COUNTS = {"abs": 103, "sum": 10, "len": 10, "sorted": 1}


@pytest.fixture
def program(tmp_path):
    names = {"__name__": "shop.orders"}
    exec(compile(PROGRAM, str(tmp_path / "shop.py"), "exec"), names)
    return names["main"]


def recorded(main, where, **settings):
    """{path: calls} of the kept functions; a path is outermost first."""
    with seismo.profile(where=where, **settings) as session:
        main()
    assert session.recording.meta["settings"]["where"] == str(parse(where))
    tree, functions = session.recording.tree, session.recording.functions
    paths, calls = [], {}
    for parent, function, count in zip(tree["parent"], tree["function"], tree["calls"], strict=True):
        path = (*(paths[parent] if parent >= 0 else ()), functions["qualname"][function])
        paths.append(path)
        calls[path] = calls.get(path, 0) + count
    assert not [row for row in session.recording.losses if row.kind in ("repaired", "out-of-memory")]
    assert _core.check()
    return {path: count for path, count in calls.items() if count}


def test_a_module(program):
    found = recorded(program, 'module("shop.*") and not function("<*")', c_functions="all")
    by_name = {}
    for path, count in found.items():
        by_name[path[-1]] = by_name.get(path[-1], 0) + count
    assert by_name == COUNTS


# Nothing but a source that reports all ends can leave functions out.
@pytest.mark.parametrize("source", sources(journal=True))
def test_what_is_left_out_is_left_out_of_the_paths(program, source):
    calls = {("main",): 1, ("main", "Order.save"): 10, ("main", "Order.save", "leaf"): 100, ("main", "leaf"): 3}
    c_functions = "none" if source == "evalframe" else "all"
    if c_functions == "all":
        calls |= {("main", "leaf", "abs"): 3, ("main", "Order.save", "leaf", "abs"): 100}
    where = 'function("main", "save", "leaf", "abs")'
    assert recorded(program, where, source=source, c_functions=c_functions) == calls


@pytest.mark.parametrize("source", sources("all", journal=True))
def test_c_functions_of_functions_that_are_left_out(program, source):
    where = 'c_call("builtins.abs", "sum", "sorted") or call("Order.save")'
    assert recorded(program, where, source=source, c_functions="all") == {
        ("Order.save",): 10,
        ("Order.save", "sum"): 10,
        ("Order.save", "sum", "abs"): 50,
        ("Order.save", "abs"): 50,
        ("sorted",): 1,
        ("sorted", "abs"): 3,
    }


@pytest.mark.parametrize("source", sources(journal=True))
def test_exceptions_and_recursion(program, source):
    c_functions = "none" if source == "evalframe" else "auto"
    found = recorded(program, 'qualname("Order.fail")', source=source, c_functions=c_functions)
    assert found == {("Order.fail",) * depth: 3 for depth in range(1, 6)}


def test_by_file_and_line(program, tmp_path):
    assert recorded(program, f'file("{tmp_path}/shop.py") and line in (4, 9)') == {
        ("Order.save",): 10, ("Order.save", "leaf"): 100, ("leaf",): 3,
    }  # fmt: skip
    assert recorded(program, 'call and file("shop.py") and function("b?")') == {("by",): 3}
    assert recorded(program, 'module("nothing.of.the.kind")') == {}


def test_each_recording_has_its_own(program):
    """What one leaves out, even for good, the next one has; without one, everything is recorded."""
    for _ in range(2):
        assert recorded(program, 'function("mid")') == {("mid",): 10}
        assert recorded(program, 'function("leaf")') == {("leaf",): 103}
        with seismo.profile(c_functions="all") as session:
            program()
        counts = {row.qualname: row.calls for row in session.recording.functions if row.kind == 0}
        assert {name: counts[name] for name in COUNTS} == COUNTS
        c_counts = {row.qualname: row.calls for row in session.recording.functions if row.kind == 1}
        assert {name: c_counts[name] for name in C_COUNTS} == C_COUNTS


def test_c_functions_that_are_left_out_may_be_switched_off(program):
    """In a recording that does not want them, c_functions="auto" has their places say nothing."""
    for _ in range(3):
        with seismo.profile(where='call and module("shop.*")') as session:
            for _ in range(30):
                program()
        counts = {row.qualname: row.calls for row in session.recording.functions}
        assert {name: counts[name] for name in COUNTS} == {name: 30 * count for name, count in COUNTS.items()}
        assert not set(counts) & set(C_COUNTS)


def test_c_functions_alone(program):
    """Who asks for nothing but C functions gets them, also where they are left out by default."""
    assert recorded(program, 'c_call and function("sorted")', c_functions=None) == {("sorted",): 1}


def test_a_decorated_function_and_an_expression(program):
    work = seismo.profile(where=parse('function("mid")'))(program)
    work()
    assert [(row.qualname, row.calls) for row in work.profile.recording.functions if row.calls] == [("mid", 10)]


LATE = ["depth > 3", "line", "call and duration > 5ms", 'return("x")', 'arg("x") == 1', 'thread("x")', 'exception("K")']


@pytest.mark.parametrize("where", [*LATE, "calls > 1"])
def test_what_is_not_known_before_a_function_runs(where):
    with pytest.raises(ExpressionError, match="cannot be used here") as caught:
        seismo.profile(where=where)
    assert "seismo report --where" in caught.value.hint


def test_bad_expressions_and_conflicts():
    with pytest.raises(UsageError, match="an expression must be a str"):
        seismo.profile(where=5)
    with pytest.raises(UsageError, match="there is no term"):
        seismo.profile(where='modul("x")')
    with seismo.profile(where='module( "a" )'):
        with seismo.profile(where='module("a")'), seismo.profile():
            pass
        with pytest.raises(UsageError, match="another cannot have where"), seismo.profile(where='module("b")'):
            pass
    other = seismo.profile(where='module("b")')
    with seismo.profile(), pytest.raises(UsageError, match="another cannot have where"):
        other.__enter__()


# ---- the commands ----


def seismo_command(*words, folder, status=0):
    done = children.seismo(*words, cwd=folder, COLUMNS="120", status=status)
    return done.stdout + done.stderr


def test_the_commands(tmp_path):
    again = "import subprocess\nif len(sys.argv) == 1: subprocess.run([sys.executable, __file__, 'x'])\n"
    (tmp_path / "shop.py").write_text(f"{PROGRAM}main()\n{again}")
    where = 'function("save", "leaf")'
    words = ["profile", "--children", "-o", "r.seismo", "--where", where, "shop.py"]
    assert f"filter: only functions where {where}" in seismo_command(*words, folder=tmp_path)
    recording = seismo.open(tmp_path / "r.seismo")
    assert {row.qualname: row.calls for row in recording.functions} == {"Order.save": 20, "leaf": 206}  # the child, too
    report = seismo_command("report", "r.seismo", folder=tmp_path)
    assert f"filter    only functions where {where}" in report
    assert f"--where '{where}'" in seismo_command("info", "r.seismo", folder=tmp_path)
    report = seismo_command("report", "r.seismo", "--where", "calls > 100", folder=tmp_path)
    assert "where calls > 100" in report
    assert ":leaf" in report
    assert ":Order.save" not in report
    error = seismo_command("report", "r.seismo", "--where", "calls > 100 and depht > 5", folder=tmp_path, status=2)
    assert error.splitlines() == [
        "seismo: there is no term 'depht'",
        "        calls > 100 and depht > 5",
        "                        ^",
        "        did you mean: depth",
    ]
