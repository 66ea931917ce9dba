"""Counts of `seismo profile` and `trace` without the GIL, on programs whose counts are known by construction."""

import collections

import children
import extensions
import killing
import pytest

import seismo

ROUNDS = 3

PROGRAM = """
import sys, threading
threads, n = map(int, sys.argv[1:])
ready = threading.Barrier(threads)
def leaf(): pass
def boom(): raise ValueError
def numbers(count):
    for i in range(count): yield i
class Thing:
    def __init__(self): leaf()
def work():
    ready.wait()
    for _ in range(n): leaf()
    assert sum(numbers(n)) == n * (n - 1) // 2
    for _ in range(n):
        try: boom()
        except ValueError: pass
    for _ in range(n): Thing()
    sorted(range(n), key=key)
def key(x): return -x
workers = [threading.Thread(target=work) for _ in range(threads)]
for worker in workers: worker.start()
for worker in workers: worker.join()
"""

MADE = """
import gc, sys, threading
threads, n = map(int, sys.argv[1:])
def work():
    for i in range(n):
        space = {}
        exec(f"def made(): return {i}\\ndef other(): return made()", space)
        for _ in range(3): space["other"]()
        del space
        if i % 50 == 0: gc.collect()
workers = [threading.Thread(target=work) for _ in range(threads)]
for worker in workers: worker.start()
for worker in workers: worker.join()
"""

SHORT = """
import sys, threading
threads, n = map(int, sys.argv[1:])
def brief(): pass
for _ in range(n):
    workers = [threading.Thread(target=brief) for _ in range(threads)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
"""

FORKS = """
import os, sys, threading
threads, n = map(int, sys.argv[1:])
def leaf(): pass
def busy():
    while not over.is_set(): turn()
def turn(): pass
over = threading.Event()
workers = [threading.Thread(target=busy) for _ in range(threads)]
for worker in workers: worker.start()
for _ in range(n):
    child = os.fork()
    if child == 0:
        for _ in range(100): leaf()
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0
over.set()
for worker in workers: worker.join()
"""


NEEDS_THE_GIL = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "needs_the_gil"};
PyMODINIT_FUNC PyInit_needs_the_gil(void) { return PyModule_Create(&definition); }
"""

SWITCHED = """
import sys, threading, warnings
threads, n = map(int, sys.argv[1:])
def leaf(): pass
def work():
    for i in range(n): leaf()
    ready.wait()
    for i in range(n): leaf()
ready = threading.Barrier(threads + 1)
workers = [threading.Thread(target=work) for _ in range(threads)]
for worker in workers: worker.start()
assert not sys._is_gil_enabled()
ready.wait()
warnings.simplefilter("ignore")
import needs_the_gil
assert sys._is_gil_enabled()
for worker in workers: worker.join()
"""

AWAITS = """
import asyncio, sys, threading
threads, n = map(int, sys.argv[1:])
async def leaf(): await asyncio.sleep(0)
async def tasks(): await asyncio.gather(*(leaf() for _ in range(n)))
workers = [threading.Thread(target=asyncio.run, args=(tasks(),)) for _ in range(threads)]
for worker in workers: worker.start()
for worker in workers: worker.join()
"""

STOPS = """
import sys, threading, seismo
threads, n = map(int, sys.argv[1:])
def turn(): pass
def busy():
    while not over.is_set(): turn()
over = threading.Event()
workers = [threading.Thread(target=busy) for _ in range(threads)]
for worker in workers: worker.start()
for i in range(n):
    with seismo.trace(output=f"{i}.seismo"): [turn() for _ in range(1000)]
over.set()
for worker in workers: worker.join()
"""

VERBS = ["profile", "trace"]


def check_trace(recording):
    """Compare the journal of a whole trace with the tree that was counted beside it."""
    sums = recording.calls.sums
    assert sums.problems == []
    told = zip(sums.calls, sums.resumes, sums.exceptions, strict=True)
    assert list(told) == [(row.calls, row.resumes, row.exceptions) for row in recording.tree]


def counts(folder, program, *arguments, verb="profile", options=()):
    """Return the calls and the functions' rows of a recorded run, by name."""
    (folder / "program.py").write_text(program)
    children.seismo(verb, "-q", "-o", "kept.seismo", *options, "program.py", *map(str, arguments), cwd=folder)
    recording = seismo.open(folder / "kept.seismo")
    if verb == "trace":
        check_trace(recording)
    found = collections.Counter()
    for row in recording.functions:
        found[row.qualname] += row.calls
    return found, recording


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("threads", [1, 4, 16])
def test_every_call_is_counted(threads, verb, tmp_path):
    for _ in range(ROUNDS):
        found, recording = counts(tmp_path, PROGRAM, threads, 2000, verb=verb)
        assert found["work"] == threads
        assert found["leaf"] == 2 * threads * 2000
        assert found["numbers"] == threads
        assert found["boom"] == found["Thing.__init__"] == found["key"] == threads * 2000
        assert len(recording.threads) == threads + 1


@pytest.mark.parametrize("threads", [4, 16])
@pytest.mark.parametrize(
    ("verb", "options"),
    [
        *(("profile", ["--timing", timing]) for timing in ("every", "none")),
        *((verb, ["--c-functions", "all"]) for verb in VERBS),
        ("trace", ["--timing", "every"]),
    ],
    ids=str,
)
def test_options_change_no_count(verb, options, threads, tmp_path):
    found, _ = counts(tmp_path, PROGRAM, threads, 1000, verb=verb, options=options)
    assert found["leaf"] == 2 * threads * 1000
    assert found["boom"] == found["key"] == threads * 1000
    if "all" in options:
        assert found["sorted"] == threads


@pytest.mark.parametrize("verb", VERBS)
def test_a_filter_leaves_out_all_else(verb, tmp_path):
    where = ["--where", 'function("leaf") or function("numbers")']
    found, _ = counts(tmp_path, PROGRAM, 8, 1000, verb=verb, options=where)
    assert found == {"leaf": 2 * 8 * 1000, "numbers": 8}


@pytest.mark.parametrize("options", [["--min-duration", "5us"], ["--depth", "6"]], ids=str)
def test_calls_that_a_trace_leaves_out_are_counted(options, tmp_path):
    children.seismo("trace", "-q", "-o", "kept.seismo", *options, "-c", PROGRAM, "8", "1000", cwd=tmp_path)
    recording = seismo.open(tmp_path / "kept.seismo")
    sums = recording.calls.sums
    assert sums.problems == []
    assert sum(sums.left_out[0]) > 0
    for name, left_out in zip(("calls", "resumes", "exceptions"), sums.left_out, strict=True):
        assert sum(getattr(sums, name)) + sum(left_out) == sum(getattr(row, name) for row in recording.tree)


@pytest.mark.parametrize("verb", VERBS)
def test_code_comes_and_goes(verb, tmp_path):
    for _ in range(ROUNDS):
        found, _ = counts(tmp_path, MADE, 8, 200, verb=verb)
        assert found["made"] == found["other"] == 8 * 200 * 3


@pytest.mark.parametrize("verb", VERBS)
def test_threads_come_and_go(verb, tmp_path):
    found, recording = counts(tmp_path, SHORT, 8, 200, verb=verb)
    assert found["brief"] == 1600
    assert sum(max(1, thread.folded) for thread in recording.threads) == 1601


@pytest.mark.parametrize("verb", [*VERBS, "lines"])
def test_an_extension_switches_the_gil_on(verb, tmp_path):
    source = tmp_path / "needs_the_gil.c"
    source.write_text(NEEDS_THE_GIL)
    extensions.library(source, tmp_path)
    found, recording = counts(tmp_path, SWITCHED, 4, 5000, verb=verb)
    if verb == "lines":
        assert max(row.hits for row in recording.lines if row.line == 4) == 2 * 4 * 5000
    else:
        assert found["leaf"] == 2 * 4 * 5000


@pytest.mark.parametrize("verb", VERBS)
def test_coroutines_are_resumed_on_several_threads(verb, tmp_path):
    _, recording = counts(tmp_path, AWAITS, 4, 300, verb=verb)
    (leaf,) = (row for row in recording.functions if row.qualname == "leaf")
    assert (leaf.calls, leaf.resumes, leaf.awaits) == (1200, 1200, 1200)


@pytest.mark.parametrize("verb", VERBS)
def test_children_that_threads_fork_beside_busy_ones(verb, tmp_path):
    found, recording = counts(tmp_path, FORKS, 3, 10, verb=verb, options=["--children"])
    assert found["leaf"] == 1000
    assert len(recording.processes) == 11


def test_traces_begin_and_stop_while_threads_run(tmp_path):
    children.python("-c", STOPS, "6", "10", cwd=tmp_path)
    for number in range(10):
        recording = seismo.open(tmp_path / f"{number}.seismo")
        check_trace(recording)
        assert sum(row.calls for row in recording.functions if row.qualname == "turn") >= 1000


@pytest.mark.parametrize("kind", ["threads", "forks", "functions"])
def test_what_a_killed_program_leaves_is_a_trace(kind, tmp_path):
    for _ in range(ROUNDS):
        found = killing.kill_one(kind, 0.3, tmp_path, running=1 if kind == "functions" else 4)
        assert found.faults == []
        assert 0 < found.recorded <= found.counted


def test_the_import_leaves_the_gil_off():
    assert children.printed("import sys, seismo; print(sys._is_gil_enabled())") == "False\n"
