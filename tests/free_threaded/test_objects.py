"""Births and deaths of objects without the GIL, on programs whose counts are known by construction."""

import collections

import children
import pytest

import seismo
from seismo import _core, hooks
from seismo.errors import UsageError

ROUNDS = 3

# Each thread drops what it makes, makes cycles, hands objects to the next thread, which drops them, keeps some, and
# runs code of its own that it drops, too.
PROGRAM = """
import gc, queue, sys, threading
threads, n = map(int, sys.argv[1:])
class Dropped: pass
class Node: pass
class Passed: pass
class Kept: pass
ready = threading.Barrier(threads)
queues = [queue.SimpleQueue() for _ in range(threads)]
kept = []
def work(i):
    ready.wait()
    for _ in range(n): Dropped()
    for _ in range(n // 10):
        node = Node(); node.own = node
    del node
    for _ in range(n): queues[(i + 1) % threads].put(Passed())
    for _ in range(n): queues[i].get()
    kept.append([Kept() for _ in range(n // 10)])
    for k in range(n // 50):
        space = {}
        exec(f"class Made: pass\\ndef f{k % 7}():\\n return [Made() for _ in range(5)]", space)
        space[f"f{k % 7}"]()
        if k % 10 == 0: gc.collect()
workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
for worker in workers: worker.start()
for worker in workers: worker.join()
del worker, workers
gc.collect()
"""

# Threads that end before what they made dies, some of it not before a collection.
SHORT = """
import gc, sys, threading
threads, n = map(int, sys.argv[1:])
class Left: pass
def leave(): left.append(Left())
for _ in range(n):
    left = []
    workers = [threading.Thread(target=leave) for _ in range(threads)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    assert len(left) == threads
del left, worker, workers
gc.collect()
"""

# Threads that fork, and threads beside the start and end of sessions.
FORKS = """
import os, sys, threading
threads, n = map(int, sys.argv[1:])
class Busy: pass
class Child: pass
def busy():
    while not over.is_set(): Busy()
over = threading.Event()
workers = [threading.Thread(target=busy) for _ in range(threads)]
for worker in workers: worker.start()
for _ in range(n):
    child = os.fork()
    if child == 0:
        for _ in range(100): Child()
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0
over.set()
for worker in workers: worker.join()
"""

SESSIONS = """
import sys, threading, seismo
threads, n = map(int, sys.argv[1:])
class Busy: pass
class Mine: pass
def busy():
    while not over.is_set(): Busy()
over = threading.Event()
workers = [threading.Thread(target=busy) for _ in range(threads)]
for worker in workers: worker.start()
for i in range(n):
    with seismo.objects(output=f"{i}.seismo"):
        for _ in range(1000): Mine()
over.set()
for worker in workers: worker.join()
"""

# The first objects of new classes and new code are born while other threads change the dictionaries with their names.
CHANGED = """
import sys, threading
threads, n = map(int, sys.argv[1:])
def change():
    while not over.is_set():
        for i in range(50): space[f"name{i}"] = i
        for i in range(50): del space[f"name{i}"]
def work():
    for i in range(n):
        made = type("Fresh", (), {"__module__": f"module{i % 5}"})
        exec(code, space)
        space["make"](made)
space = {"__name__": "changed"}
code = compile("def make(made):\\n for _ in range(10): made()", "made.py", "exec")
over = threading.Event()
changer = threading.Thread(target=change)
changer.start()
workers = [threading.Thread(target=work) for _ in range(threads)]
for worker in workers: worker.start()
for worker in workers: worker.join()
over.set()
changer.join()
"""


def recorded(folder, program, *arguments, options=()):
    """Return the recording of a run. Python itself loses deaths in deep nests (gh-156371), and says so."""
    (folder / "program.py").write_text(program)
    children.seismo("objects", "-q", "-o", "kept.seismo", *options, "program.py", *map(str, arguments), cwd=folder)
    return opened(folder / "kept.seismo")


def opened(path):
    """Open a recording that is whole."""
    recording = seismo.open(path)
    assert list(recording.problems) == []
    assert {loss.kind for loss in recording.losses} <= {"refs-trashcan", "refs-unspecialised", "sites-off"}
    return recording


def by_type(recording):
    """Return births, deaths and survivors by the names of types."""
    return {row.name: (row.born, row.died, row.live) for row in recording.types}


def by_line(recording):
    """Return the same by names of types and functions, and lines, of the program's file: each is one row."""
    found = {}
    names = {row.id: row.name for row in recording.types}
    for row in recording.objects:
        if row.function >= 0 and recording.functions[row.function].file.endswith("program.py"):
            place = (names[row.type], recording.functions[row.function].qualname, row.line)
            assert place not in found
            found[place] = (row.born, row.died, row.live)
    return found


def line_of(text):
    """Return the number of the program's line with this text."""
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("options", [[], ["--types"]], ids=str)
def test_births_and_deaths_on_all_threads_are_counted(options, threads, tmp_path):
    n = 1000
    for _ in range(ROUNDS):
        recording = recorded(tmp_path, PROGRAM, threads, n, options=options)
        found = by_type(recording)
        assert found["Dropped"] == (threads * n, threads * n, 0)
        assert found["Node"] == (threads * n // 10, threads * n // 10, 0)
        assert found["Passed"] == (threads * n, threads * n, 0)
        assert found["Kept"] == (threads * n // 10, 0, threads * n // 10)
        assert found["Made"] == (threads * n // 10, threads * n // 10, 0)
        if not options:
            lines = by_line(recording)
            assert lines["Dropped", "work", line_of("Dropped()")] == found["Dropped"]
            assert lines["Passed", "work", line_of("Passed()")] == found["Passed"]
            by_gc = {row.name: row.died_by_gc for row in recording.types}
            assert (by_gc["Node"], by_gc["Dropped"]) == (threads * n // 10, 0)


def test_code_that_came_and_went_is_gone(tmp_path):
    recording = recorded(tmp_path, PROGRAM, 4, 1000)
    made = {place: counts for place, counts in by_line(recording).items() if place[:2] == ("code", "work")}
    assert [(born >= 240, live) for born, _, live in made.values()] == [(True, 0)]


def test_objects_outlive_the_threads_that_made_them(tmp_path):
    assert by_type(recorded(tmp_path, SHORT, 4, 50))["Left"] == (200, 200, 0)


def test_with_call_paths_the_counts_are_the_same(tmp_path):
    found = by_type(recorded(tmp_path, PROGRAM, 4, 500, options=["--paths"]))
    assert found["Dropped"] == found["Passed"] == (2000, 2000, 0)
    assert (found["Kept"], found["Made"]) == ((200, 0, 200), (200, 200, 0))


def test_new_types_and_code_are_named_while_others_change_their_dictionaries(tmp_path):
    recording = recorded(tmp_path, CHANGED, 4, 200)
    types = collections.Counter({row.module: row.born for row in recording.types if row.name == "Fresh"})
    assert types == {f"module{i}": 4 * 200 * 10 // 5 for i in range(5)}
    make = [row for row in recording.functions if row.qualname == "make"]
    assert [row.module for row in make] == ["changed"]


def test_children_of_forks_record(tmp_path):
    recording = recorded(tmp_path, FORKS, 4, 3)
    assert by_type(recording)["Busy"][2] <= 4
    forked = [by_type(opened(path)) for path in tmp_path.glob("kept-*.seismo")]
    assert [found["Child"] for found in forked] == [(100, 100, 0)] * 3


def test_sessions_start_and_stop_beside_running_threads(tmp_path):
    (tmp_path / "program.py").write_text(SESSIONS)
    children.python(tmp_path / "program.py", "4", "5", cwd=tmp_path)
    for i in range(5):
        assert by_type(opened(tmp_path / f"{i}.seismo"))["Mine"] == (1000, 1000, 0)


def test_holders_are_found(tmp_path):
    recording = recorded(tmp_path, PROGRAM, 4, 500, options=["--holders", "5"])
    assert ("module __main__", "kept") in {(row.holder, row.by) for row in recording.holders}


def test_reference_hooks_are_refused():
    assert "free-threaded" in _core.ref_objection()
    with pytest.raises(UsageError, match="free-threaded"):
        hooks.set_ref_tracer(print)
