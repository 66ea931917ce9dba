"""Hits of lines, branches and contexts without the GIL: threads at once count what one after the other does."""

import collections

import children
import pytest

import seismo

ROUNDS = 3

# Each seed takes other branches, and makes code of its own, of which some is equal to that of other threads.
PROGRAM = """
import random, sys, threading
together, threads, n = sys.argv[1] == "together", *map(int, sys.argv[2:])
def work(seed):
    numbers, total = random.Random(seed), 0
    for i in range(n):
        v = numbers.randrange(10)
        if v == 0:
            total += 1
        elif v < 6 and i % 2:
            total += 3
        while v > 7:
            v -= 1
        for j in range(v % 3): total += j
        try:
            if v == 5: raise ValueError(v)
        except ValueError:
            total -= 1
        total += sum(odd for odd in odds(v))
def odds(n):
    for i in range(n):
        if i % 2:
            yield i
def made(seed):
    space = {}
    exec(compile(f"def f(a):\\n if a % 2:\\n  return {seed}\\n return a", f"made{seed % 3}.py", "exec"), space)
    for i in range(5): space["f"](i)
def run(number):
    for seed in range(number * 10, number * 10 + 3):
        work(seed)
        made(seed)
def begin(number):
    ready.wait()
    run(number)
ready = threading.Barrier(threads)
workers = [threading.Thread(target=begin if together else run, args=(number,)) for number in range(threads)]
for worker in workers:
    worker.start()
    together or worker.join()
for worker in workers: worker.join()
"""
NAMES = {"work", "odds", "made", "f", "work.<locals>.<genexpr>"}


def recorded(folder, *words):
    """Return the hits of the program's lines, arcs and branches, and the recording."""
    (folder / "program.py").write_text(PROGRAM)
    children.seismo(words[0], "-q", "-o", "kept.seismo", *words[1:-3], "program.py", *map(str, words[-3:]), cwd=folder)
    recording = seismo.open(folder / "kept.seismo")
    assert (recording.problems, list(recording.losses)) == ([], [])
    found = collections.Counter()
    for table, columns in (
        ("lines", ("line", "hits")),
        ("arcs", ("from_line", "to_line", "hits")),
        ("branches", ("offset", "fell")),
        ("branches", ("offset", "jumped")),
    ):
        for row in getattr(recording, table):
            function = recording.functions[row.function]
            if function.qualname in NAMES:
                place, hits = columns[:-1], columns[-1]
                key = (table, hits, function.qualname, function.file, *(getattr(row, name) for name in place))
                found[key] += getattr(row, hits)
    return found, recording


@pytest.mark.parametrize(
    "words",
    [
        ["lines"],
        ["lines", "--where", 'function("work") or function("odds")'],
        ["cover"],
        ["cover", "--branch"],
        ["cover", "--branch", "--counts"],
    ],
    ids=" ".join,
)
def test_threads_at_once_count_what_they_count_one_after_the_other(words, tmp_path):
    alone, _ = recorded(tmp_path, *words, "apart", 8, 500)
    assert len(alone) >= 18
    for _ in range(ROUNDS):
        assert recorded(tmp_path, *words, "together", 8, 500)[0] == alone


def test_lines_of_threads_that_have_ended_stay(tmp_path):
    _, recording = recorded(tmp_path, "lines", "apart", 40, 10)
    hits = {row.line: row.hits for row in recording.lines if recording.functions[row.function].qualname == "work"}
    assert hits[5] == 40 * 3
    assert hits[7] == 40 * 3 * 10


CONTEXTS = """
import sys, threading, seismo
def a(): return 1
def b(): return 2
def busy(function):
    for _ in range(300): function()
def test_one(): during(a)
def test_two(): during(b)
def test_both():
    during(a)
    during(b)
def during(function):
    workers = [threading.Thread(target=busy, args=(function,)) for _ in range(4)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
for _ in range(5):
    test_one()
    test_two()
    test_both()
"""


@pytest.mark.parametrize("options", [[], ["--counts"]], ids=str)
def test_each_context_has_the_lines_of_all_its_threads(options, tmp_path):
    (tmp_path / "program.py").write_text(CONTEXTS)
    words = ["--contexts", "test", *options]
    children.seismo("cover", "-q", "-o", "kept.seismo", *words, "program.py", cwd=tmp_path)
    recording = seismo.open(tmp_path / "kept.seismo")
    lines = {row.id: recording.functions[row.function].qualname for row in recording.lines}
    found = collections.defaultdict(set)
    for context, kind, row in recording.context_rows():
        if kind == 0:
            found[recording.contexts[context].name].add(lines[row])
    others = {"busy", "during"}
    assert {name.rpartition(".")[2]: functions & {"a", "b", *others} for name, functions in found.items()} == {
        "test_one": {"a", *others},
        "test_two": {"b", *others},
        "test_both": {"a", "b", *others},
    }
