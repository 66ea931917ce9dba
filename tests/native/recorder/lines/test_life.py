"""Forks, kills, exits, other recorders: what happens to a process while its lines are timed."""

import pytest
from children import printed
from recorded import Image, image
from timing import Lines, hits, start

import seismo
from seismo import _core

PRELUDE = """
import os, sys
from timing import _core, start
def file(name): return os.open(name, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)
def leaf():
    return 1
def work(n):
    for _ in range(n):
        leaf()
"""


def counts(path):
    recorded = Image(path.read_bytes())
    return recorded, {name: count for (name, _), count in hits(recorded, "<string>").items()}


def test_fork(tmp_path):
    printed(PRELUDE + """
start(fd=file("parent"), flush_ms=1)
work(10)
child = os.fork()
if child:
    os.waitpid(child, 0)
    work(5)
else:
    _core.after_fork(file("child"), "{}")
    work(100)
_core.stop()
os._exit(0)
    """, cwd=tmp_path)  # fmt: skip
    parent, of_parent = counts(tmp_path / "parent")
    child, of_child = counts(tmp_path / "child")
    assert parent.problems == child.problems == []
    assert (of_parent["leaf"], of_child["leaf"]) == (15, 100)


def test_the_interpreter_ends_while_it_records():
    out = printed(f"""{PRELUDE}
import threading, time
start()
class Late:
    def __del__(self):
        work(3); print("late")
late = Late()
late.self = late
threading.Thread(target=lambda: [work(1000) for _ in range(10**9)], daemon=True).start()
time.sleep(0.02)
    """)
    assert out.strip() in ("", "late")


def test_beside_calls():
    """There is one engine; after one recorder another may have it, in any order."""

    def f():
        return 1

    for _ in range(2):
        _core.start(calibrate=False, c_functions="none", running=False)
        f()
        with pytest.raises(RuntimeError):
            start()
        _core.stop()
        assert image().calls()["test_beside_calls.<locals>.f"] == 1
        assert image().tables["lines"] == []
        start()
        f()
        with pytest.raises(RuntimeError):
            _core.start()
        _core.stop()
        assert Lines(image()).of("f") == {1: 1}
        assert image().tables["nodes"] == []
        assert _core.status()["recorder"] == "linetimes"
        assert _core.check()


def test_sessions_of_calls_and_of_lines_exclude_each_other():
    with seismo.profile(), pytest.raises(seismo.SeismoError, match="calls are recorded"):
        seismo.lines().__enter__()
    with seismo.lines(), pytest.raises(seismo.SeismoError, match="lines are timed"):
        seismo.profile().__enter__()
