"""Code objects are known by their addresses, and nothing hangs on them: what the program and other tools do with theirs
goes on as without us."""

import sys
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import children
import pytest
from lab import FIRST_SOURCE, SOURCES, counts_looks, environment, load, run, start
from recorded import image

from seismo import _core
from seismo.model import read

if TYPE_CHECKING:
    import subprocess

WATCH = ["watch", 'call and function("*f")']
RECORDERS = [["profile"], ["cover", "--branch"], ["lines"], WATCH]
if sys.version_info >= (3, 13, 3):
    RECORDERS.append(["objects"])

# A tool asks for a place on code objects (co_extra), and dies before they do; and interpreters come and go.
BESIDE = """
import ctypes, sys
py = ctypes.pythonapi
FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
request = py.PyUnstable_Eval_RequestCodeExtraIndex if sys.version_info >= (3, 12) else py._PyEval_RequestCodeExtraIndex
request.argtypes, request.restype = (FREE,), ctypes.c_ssize_t
assert request(FREE(lambda p: None)) == 0, "somebody else has asked for one"
def f():
    return 1
f()
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
for _ in range(3):
    one = interpreters.create()
    (interpreters.exec if hasattr(interpreters, "exec") else interpreters.run_string)(one, "sum([1, 2])")
    interpreters.destroy(one)
f()
print("done")
"""

SHARED = """
from concurrent.futures import InterpreterPoolExecutor
def make():
    def f(n):
        return n * n
    return f
if __name__ == "__main__":
    f = make()
    assert f(3) == 9
    with InterpreterPoolExecutor(2) as pool:
        print(list(pool.map(f, range(5))))
"""


def recorded(recorder: list[str], program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    (folder / "program.py").write_text(program)
    kept = ["--record" if recorder[0] == "watch" else "-o", "kept.seismo"]
    return children.seismo(recorder[0], *kept, *recorder[1:], "program.py", cwd=folder, env=environment())


@pytest.mark.parametrize("recorder", RECORDERS, ids=itemgetter(0))
def test_nothing_is_asked_of_code_objects_and_other_interpreters_are_told_of(recorder, tmp_path):
    """A free function that another tool has asked for is not called for our sake, and no place is taken before its.

    What other interpreters ran is not recorded, and the recording says so, though they have gone.
    """
    if recorder[0] == "profile":
        recorder = [*recorder, "--interpreters", "main"]
    assert "done" in recorded(recorder, BESIDE, tmp_path).stdout
    if recorder[0] != "watch":
        assert load(tmp_path / "kept.seismo").losses["other-interpreters"] == 3
        text = children.seismo("info", "kept.seismo", cwd=tmp_path).stdout
        assert "3 interpreters other than the main one" in " ".join(text.split())


@pytest.mark.skipif(sys.version_info < (3, 14), reason="InterpreterPoolExecutor came with Python 3.14")
@pytest.mark.parametrize("recorder", RECORDERS, ids=itemgetter(0))
def test_functions_go_to_other_interpreters(recorder, tmp_path):
    done = recorded(recorder, SHARED, tmp_path)
    assert "[0, 1, 4, 9, 16]" in done.stdout


def test_no_interpreters_no_word():
    start()
    _core.stop()
    assert "other-interpreters" not in image().losses


# ---- code that comes and goes ----

GENERATED = """
space = {}
exec(compile("def f(n): return n", "<made>", "exec"), space)
space["f"](1)
"""


def make_and_call(times: int) -> None:
    for _ in range(times):
        exec(GENERATED, {})


@pytest.mark.parametrize("source", SOURCES)
def test_code_made_again_is_one_function(source):
    start(source)
    make_and_call(500)
    assert _core.check()
    _core.stop()
    assert image().calls()["f"] == 500
    assert len([row for row in image().functions() if row["qualname"] == "f"]) == 1


@pytest.mark.parametrize("source", SOURCES)
def test_like_code_that_lives_side_by_side(source):
    """Two code objects of one content take turns below a caller with many callees."""
    text = "\n".join(f"def f{i}(): return {i}" for i in range(20))
    spaces = [{}, {}, {}]
    for space in spaces:
        exec(compile(text, "<made>", "exec"), space)
    start(source)
    for _ in range(10):
        for space in spaces:
            for i in range(20):
                space[f"f{i}"]()
        assert _core.check()
    spaces.clear()
    space.clear()
    assert _core.check()
    exec(compile(text, "<made>", "exec"), space)
    for i in range(20):
        space[f"f{i}"]()
    assert _core.check()
    _core.stop()
    assert {image().calls()[f"f{i}"] for i in range(20)} == {31}


@counts_looks
@pytest.mark.parametrize("source", FIRST_SOURCE)
def test_functions_that_come_and_go_take_linear_time(source):
    """How many places of tables are looked at for a function does not grow with the functions that there are.

    Else there would be ten times as many. They differ by up to three times with how full the tables are.
    """

    def looks(functions: int) -> int:
        start(source, max_paths=100_000)
        before = _core._looks()
        for i in range(functions):
            space: dict = {}
            exec(compile(f"def f{i}(): return {i}", f"<made {i}>", "exec"), space)
            space[f"f{i}"]()
        after = _core._looks()
        _core.stop()
        return after - before

    few = looks(500)
    assert few > 1000
    assert looks(5000) / 10 < 6 * few


WATCHED = """
import ctypes
WATCHER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
keep = []
add = ctypes.PYFUNCTYPE(ctypes.c_int, WATCHER)(("PyCode_AddWatcher", ctypes.pythonapi))
try:
    while True:
        keep.append(WATCHER(lambda event, code: 0))
        add(keep[-1])
except RuntimeError as error:
    assert "watcher" in str(error), error
assert len(keep) > 1
start(source=sys.argv[1])
for i in range(300):
    space = {}
    exec(compile("def f(n): return n", f"<made {i}>", "exec"), space)
    space["f"](1)
assert _core.check()
_core.stop()
os.write(file(sys.argv[2]), _core.snapshot())
os._exit(0)
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="watchers of code objects came with Python 3.12")
def test_all_watchers_are_taken(path):
    run(WATCHED, SOURCES[0], str(path))
    kept = load(path)
    assert kept.calls()["f"] == 300
    assert len([row for row in kept.functions() if row["qualname"] == "f"]) == 300


def test_the_watcher_is_given_back():
    """More recordings than the interpreter has watchers."""
    for _ in range(20):
        start()
        _core.stop()
    start()
    make_and_call(50)
    assert _core.check()
    _core.stop()
    assert image().calls()["f"] == 50


@counts_looks
def test_the_death_of_code_that_is_made_again_costs_what_its_own_paths_do():
    """Each of the function's code objects is called on one path; thousands of others cost it nothing."""

    def looks(paths: int) -> int:
        names = {"made": None}
        callers = []
        for i in range(paths):
            exec(f"def caller{i}(): return made()", names)
            callers.append(names[f"caller{i}"])
        start(None)
        try:
            exec(compile("def made(): return 1000", "made.py", "exec"), names)
            for caller in callers:
                caller()
            for turn in range(200):  # code of its own each time, of one function
                exec(compile(f"def made(): return {1000 + turn}", "made.py", "exec"), names)
                callers[turn % 50]()
            before = _core._looks()
            for turn in range(200):
                exec(compile(f"def made(): return {1000 + turn}", "made.py", "exec"), names)
                callers[turn % 50]()
            after = _core._looks()
            assert _core.check()
            recording = read(_core.snapshot())
        finally:
            _core.stop()
        functions = recording.functions
        made = {row.id: row.calls for row in functions if (row.qualname, row.file) == ("made", "made.py")}
        assert sum(made.values()) == paths + 400
        assert sum(row.function in made for row in recording.tree) == paths * len(made)
        return after - before

    assert looks(100) > 0
    assert looks(3200) < 200 * 3200 / 20  # to look at all paths at each death would be 200 * 3200
