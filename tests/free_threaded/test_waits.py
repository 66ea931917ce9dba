"""What threads wait for without the GIL, as the report tells it: their locks, those of objects, the stopped world."""

import json
import re

import children
import pytest

import seismo

THREADS = """
def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""

LOCK = """
import threading, time
lock = threading.Lock()
def update():
    with lock: time.sleep(0.02)
def work():
    for _ in range(10): update()
run(work, work, work)
"""

OBJECT = """
import random, threading
shared = [random.random() for _ in range(1_500_000)]
begun = threading.Event()
def put():
    begun.wait()
    while not over:
        shared.append(1.0)
        shared.pop()
def sort():
    begun.set()
    for _ in range(3):
        shared.sort()
        random.shuffle(part)
        shared[:len(part)] = part
    over.append(True)
part, over = shared[:100_000], []
run(sort, put, put)
"""

COLLECTOR = """
import gc, threading
kept = [[i] for i in range(500_000)]
over = []
def step(): pass
def work():
    while not over: step()
def collect():
    for _ in range(10): gc.collect()
    over.append(True)
run(collect, work, work)
"""


def report(tmp_path, program, verb, *options):
    """Record the program and return the lines of its report."""
    first, _, rest = program.strip().partition("\n")
    (tmp_path / "it.py").write_text(f"{first}\n{THREADS}{rest}\n")
    children.seismo(verb, "-q", "-o", "it.seismo", "it.py", cwd=tmp_path)
    if "stop" not in str(seismo.open(tmp_path / "it.seismo").processes[0].waits):
        pytest.skip("the kernel does not tell what threads wait for")
    return children.seismo("report", "it.seismo", *options, cwd=tmp_path, COLUMNS="300").stdout.splitlines()


@pytest.mark.parametrize("verb", ["profile", "trace"])
def test_the_first_lines_name_what_held_threads_up(verb, tmp_path):
    line = report(tmp_path, LOCK, verb)[1]
    assert line.startswith("held up: ")
    assert re.search(r"for _thread:lock\.__enter__ in __main__:update", line)


@pytest.mark.parametrize("verb", ["profile", "trace"])
def test_waiting_for_the_lock_of_an_object_counts_as_waiting_for_a_lock(verb, tmp_path):
    """Which cause is named first depends on how long the threads waited for a processor besides."""
    report(tmp_path, OBJECT, verb)
    functions = seismo.open(tmp_path / "it.seismo").functions
    assert sum(row.lock_ns for row in functions if row.qualname in ("put", "list.append", "list.pop")) > 0


@pytest.mark.parametrize("verb", ["profile", "trace"])
def test_waiting_while_the_world_is_stopped_is_counted(verb, tmp_path):
    report(tmp_path, COLLECTOR, verb)
    assert sum(seismo.open(tmp_path / "it.seismo")._raw["processes"]["stop_ns"]) > 0


def test_a_function_ran_beside_at_most_all_other_threads(tmp_path):
    text = "\n".join(report(tmp_path, COLLECTOR, "profile", "--format", "json", "--max-lines", "2000"))
    rows = json.loads(text)["sections"]["functions"]["rows"]
    known = [row["threads_at_once"] for row in rows if row["threads_at_once"] is not None]
    assert known
    assert 1 <= min(known) <= max(known) <= 4
