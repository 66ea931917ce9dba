"""The lines on stderr after a recording."""

import children
from on_paper import summed_up

from seismo.model import Builder


def test_golden(json_tool, same_as_golden):
    same_as_golden("summary.txt", summed_up(json_tool, "json-4312.seismo"))


def test_never_more_than_fifteen_lines(json_tool):
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    for index in range(100):
        b.node(-1, thread, b.function("m" * 50, "f" * 100 + str(index), "m.py", 1), calls=10**12, own_ns=10**15)
        b.loss(f"kind {index}", 1, "detail " * 30)
    lines = summed_up(b.build({}), "x.seismo")
    assert len(lines) == 15
    assert max(map(len, lines)) <= 80
    assert lines[-2] == "… more was lost: see the report"


def test_an_empty_recording():
    assert summed_up(Builder().build({})) == ["seismo: 0 calls of 0 functions in 0"]


def test_threads_that_run_at_once_are_counted():
    b = Builder()
    process = b.process(pid=1, start_ns=10**18, end_ns=10**18 + 10**9)
    for name in ("MainThread", "worker"):
        thread = b.thread(process, name=name, wall_ns=10**9, cpu_ns=900_000_000)
        b.node(-1, thread, b.function("m", "f", "m.py", 1), calls=1, own_ns=10**9)
    words = " ".join(summed_up(b.build({})))
    assert words.startswith("seismo: 2 calls of 1 function in 1.00 s on 2 threads: 1.80 s running (1.8 threads at")


def test_hostile_names_can_do_nothing():
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    b.node(-1, thread, b.function("m", "f\x1b[31m\nforged", "m.py", 1), calls=1, own_ns=1)
    lines = summed_up(b.build({}), "dir\n/x\x1b.seismo")
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 4


def test_a_time_that_is_not_known_is_a_bound(doubtful):
    b = Builder()
    thread = b.thread(b.process(pid=1), name="MainThread")
    for name, own_ns in [("guess", 4_000_000), ("sure", 3_000_000)]:
        b.node(-1, thread, b.function("m", name, "m.py", 1), calls=1, own_ns=own_ns)
    lines = summed_up(doubtful(b.build({}), {"guess": 5_000_000, "sure": 1_000_000}))
    assert [line.split() for line in lines[2:]] == [
        ["3.00", "ms", "±33", "%", "42.9", "%", "1", "m:sure"],
        ["<", "9", "ms", "1", "m:guess"],
    ]
    assert not any("±" in line for line in summed_up(doubtful(b.build({}), {"sure": 20_000})))


def test_the_import_system_is_one_row():
    b = Builder()
    node, thread = -1, b.thread(b.process(pid=1), name="MainThread")
    for module, name in [("__main__", "<module>"), ("runpy", "_load"), ("runpy", "_find")]:
        node = b.node(node, thread, b.function(module, name, "m.py", 1), calls=1, own_ns=1_000_000)
    assert [row.split()[-1] for row in summed_up(b.build({}))[2:]] == ["system>", "__main__:<module>"]


def test_it_imports_little():
    code = "import sys, seismo.report.calls.summary; print(*(name for name in sys.modules if name in sys.argv))"
    heavy = ["rich", "argparse", "typing", "dataclasses", "inspect", "re", "datetime"]
    # Without site-packages, whose own start-up may import anything.
    assert children.python("-S", "-c", code, *heavy).stdout.split() == []
