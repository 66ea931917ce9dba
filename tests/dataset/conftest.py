"""Recordings to append, and the command in this process."""

import contextlib
import os
import random

import pytest

from seismo.cli.main import main
from seismo.model import Builder


def calls(seed, pid=None, paths=40, functions=12, start=None, waits=True, host="h"):
    """A process of several threads. Its tree depends on the seed alone, and so do its times, which have errors."""
    some = random.Random(seed)
    b = Builder()
    start = start if start is not None else 10**18 + seed
    pid = seed if pid is None else pid
    process = b.process(
        pid, host=f"{host}{pid % 3}", argv=["app.py", "ü"], start_ns=start, end_ns=start + 10**9, cost_error=0.2
    )
    known = [b.function(f"m{i % 4}", f"f{i}", f"/src/m{i % 4}.py", i + 1, kind=i % 2) for i in range(functions)]
    for number in range(some.randint(1, 3)):
        thread = b.thread(process, "MainThread" if not number else f"w{number}", main=not number, wall_ns=10**9)
        nodes = [-1]
        for _ in range(some.randint(1, paths)):
            own = some.randint(0, 10**7)
            waited = {"wait_ns": own // 3, "ready_ns": own // 5} if waits and some.random() < 0.3 else {}
            counts = {"resumes": some.randint(0, 3), "exceptions": some.randint(0, 2), "awaits": some.randint(0, 1)}
            parent, function = some.choice(nodes), some.choice(known)
            nodes.append(
                b.node(
                    parent,
                    thread,
                    function,
                    calls=some.randint(0, 99),
                    own_ns=own,
                    flags=some.choice((0, 1)),
                    **counts,
                    **waited,
                )
            )
    b.loss("late-thread", some.randint(1, 4))
    return b.build({"recorder": "calltree", "seismo": "0.1.0"})


def coverage(seed):
    some = random.Random(seed)
    b = Builder()
    b.process(seed, start_ns=seed)
    for number in sorted(some.sample(range(6), 4)):
        function = b.function("m", f"f{number}", "m.py", 100 * number)
        lines = [
            b.line(function, line, some.randint(1, 5), sampled=2, sampled_ns=50, sampled_sq=9.0)
            for line in some.sample(range(90), 70)
        ]
        arcs = [b.arc(function, line, line + 1, some.randint(1, 5)) for line in some.sample(range(90), 9)]
        place = {"offset": 4, "kind": 1, "line": 3, "end_line": 3}
        b.add("branches", function=function, **place, fell=some.randint(0, 9), jumped=2)
        b.context(f"test {some.randint(0, 3)} {number}", some.sample(lines, 30), some.sample(arcs, 3))
    b.source("m.py", "/src/m.py", 10, 20, 30)
    return b.build({"recorder": "coverage"})


@pytest.fixture(scope="session", autouse=True)
def _libraries():
    """Skip all tests of datasets where what these need is not installed."""
    pytest.importorskip("duckdb", reason="datasets need DuckDB")
    pytest.importorskip("pyarrow", reason="datasets need PyArrow")


@pytest.fixture
def covered():
    """coverage(seed): a recording of coverage."""
    return coverage


@pytest.fixture
def tasks(tmp_path):
    """A recording of this process, and append(): its end, with the dataset that it is in."""
    from seismo.dataset import append
    from seismo.plugins.cluster.task_recording import TaskRecording

    recording = TaskRecording(tmp_path / "parts")
    recording.start()

    def end():
        recording.stop()
        files = sorted(os.listdir(tmp_path / "parts"))
        found = append(tmp_path / "runs", [tmp_path / "parts" / name for name in files], {"run": "1"})
        assert all(one.added for one in found)
        return tmp_path / "runs"

    recording.append = end
    yield recording
    recording.stop()


@pytest.fixture
def make():
    """calls(seed, pid, ...): a recording."""
    return calls


@pytest.fixture
def seismo(tmp_path, capsys):
    """Runs `seismo WORDS` in an empty folder. Returns the status, the output and the errors."""

    def run(*words):
        with contextlib.chdir(tmp_path):
            status = main([str(word) for word in words])
        return (status, *capsys.readouterr())

    return run
