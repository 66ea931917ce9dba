"""Recordings to append, and the command in this process."""

import contextlib
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
