"""Counts of `seismo profile` without the GIL, on programs whose counts are known by construction."""

import collections
import sysconfig

import children
import pytest

import seismo

pytestmark = pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded build")

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


def counts(folder, program, *arguments, options=()):
    """Return the calls and the functions' rows of a recorded run, by name."""
    (folder / "program.py").write_text(program)
    children.seismo("profile", "-q", "-o", "kept.seismo", *options, "program.py", *map(str, arguments), cwd=folder)
    recording = seismo.open(folder / "kept.seismo")
    found = collections.Counter()
    for row in recording.functions:
        found[row.qualname] += row.calls
    return found, recording


@pytest.mark.parametrize("threads", [1, 2, 8, 16])
def test_every_call_is_counted(threads, tmp_path):
    for _ in range(ROUNDS):
        found, recording = counts(tmp_path, PROGRAM, threads, 2000)
        assert found["work"] == threads
        assert found["leaf"] == 2 * threads * 2000
        assert found["numbers"] == threads
        assert found["boom"] == found["Thing.__init__"] == found["key"] == threads * 2000
        assert len(recording.threads) == threads + 1


@pytest.mark.parametrize("threads", [1, 4, 16])
@pytest.mark.parametrize("options", [["--timing", "every"], ["--timing", "none"], ["--c-functions", "all"]], ids=str)
def test_options_change_no_count(options, threads, tmp_path):
    found, _ = counts(tmp_path, PROGRAM, threads, 1000, options=options)
    assert found["leaf"] == 2 * threads * 1000
    assert found["boom"] == found["key"] == threads * 1000
    if "all" in options:
        assert found["sorted"] == threads


@pytest.mark.parametrize("threads", [1, 8])
def test_code_comes_and_goes(threads, tmp_path):
    for _ in range(ROUNDS):
        found, _ = counts(tmp_path, MADE, threads, 200)
        assert found["made"] == found["other"] == threads * 200 * 3


def test_threads_come_and_go(tmp_path):
    found, recording = counts(tmp_path, SHORT, 8, 200)
    assert found["brief"] == 1600
    assert sum(max(1, thread.folded) for thread in recording.threads) == 1601


def test_children_that_threads_fork_beside_busy_ones(tmp_path):
    found, recording = counts(tmp_path, FORKS, 3, 10, options=["--children"])
    assert found["leaf"] == 1000
    assert len(recording.processes) == 11


@pytest.mark.parametrize("verb", [["trace"], ["lines"], ["cover"], ["objects"], ["watch", 'call and function("f")']])
def test_what_is_not_done_yet_is_refused(verb, tmp_path):
    (tmp_path / "program.py").write_text("print('it ran')")
    done = children.seismo(*verb, "program.py", cwd=tmp_path, status=2)
    assert "free-threaded build" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert "it ran" not in done.stdout


def test_the_import_leaves_the_gil_off():
    assert children.printed("import sys, seismo; print(sys._is_gil_enabled())") == "False\n"
