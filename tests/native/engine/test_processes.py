"""Forks, exits, threads that end badly, deep stacks: what happens to a process happens while it is recorded."""

import os
import sys

import pytest
from lab import SOURCES, WITH_C, leaf, load, run, start
from recorded import image

from seismo import _core

pytestmark = pytest.mark.parametrize("source", SOURCES)


# ---- fork ----

FORK = """
source, how = sys.argv[1:]
start(source=source, fd=file("parent"), flush_ms=1)
def parent_work(n):
    for _ in range(n): leaf()
parent_work(10)
def branch():
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        parent_work(5)
        return
    work(100)
    if how != "silent":
        _core.after_fork(file("child") if how == "file" else {"memory": -1, "stop": -2}[how], '{"child": 1}')
    work(7)
    if how == "memory":
        with open("child", "wb") as out: out.write(_core.snapshot())
    _core.stop()
    os._exit(0)
branch()
_core.stop()
"""


@pytest.mark.parametrize("how", ["file", "memory", "stop", "silent"])
def test_fork(source, tmp_path, how):
    """A child writes nothing before it has said how it goes on; then it counts from nought, in the frames it is in."""
    run(FORK, source, how, cwd=tmp_path)
    parent = load(tmp_path / "parent")
    assert parent.problems == []
    assert parent.calls()["leaf"] == 15
    assert "work" not in parent.calls()
    assert parent.losses.get("repaired", 0) == 0
    if how in ("file", "memory"):
        child = load(tmp_path / "child")
        assert child.problems == []
        assert {name: child.calls()[name] for name in ("branch", "work", "leaf")} == {"branch": 0, "work": 1, "leaf": 7}
        assert child.tables["processes"][0]["pid"] != parent.tables["processes"][0]["pid"]
        assert child.tables["processes"][0]["ppid"] == parent.tables["processes"][0]["pid"]
        assert '"child"' in "".join(child.meta)
        assert [row["main"] for row in child.tables["threads"]] == [1]
    else:
        assert not (tmp_path / "child").exists()


def test_fork_in_a_thread(source, tmp_path):
    """The child has one thread: the one that forked."""
    run("""
import threading, warnings
warnings.simplefilter("ignore")
start(source=sys.argv[1], fd=file("parent"))
stop = threading.Event()
other = threading.Thread(target=stop.wait); other.start()
def target():
    child = os.fork()
    if child == 0:
        _core.after_fork(file("child"), "{}")
        work(4)
        _core.stop()
        os._exit(0)
    os.waitpid(child, 0)
    work(2)
thread = threading.Thread(target=target); thread.start(); thread.join()
stop.set(); other.join()
_core.stop()
    """, source, cwd=tmp_path)  # fmt: skip
    parent, child = load(tmp_path / "parent"), load(tmp_path / "child")
    assert (parent.calls()["leaf"], child.calls()["leaf"]) == (2, 4)
    assert len(child.tables["threads"]) == 1
    assert len(parent.tables["threads"]) == 3


# ---- exits ----


@pytest.mark.crossed
@pytest.mark.parametrize("c_functions", ["none", "auto", "all"])
@pytest.mark.parametrize("end", ["", "sys.exit(0)", "import atexit; atexit.register(work, 3)", "import _thread"])
def test_exit_while_recording(source, path, c_functions, end):
    """Nobody calls stop: the interpreter goes down with our hooks in place."""
    if c_functions != "none" and source not in WITH_C:
        pytest.skip(f"{source} sees Python functions only")
    run(f"""
start(source=sys.argv[1], c_functions={c_functions!r}, fd=file(sys.argv[2]), flush_ms=1)
class Last:
    def __del__(self): work(1)
last = Last()
last.me = last
sys.modules["last"] = Last()
work(1000)
def numbers():
    try:
        while True: yield leaf()
    finally: leaf()
waiting = numbers(); next(waiting)
_core.flush()
{end}
    """, source, str(path))  # fmt: skip
    recorded = load(path)
    # Linux may cut a write at the end of a page if the process ends meanwhile.
    if recorded.problems:
        [(_, reason)] = recorded.problems
        assert reason.startswith("cut off")
        assert path.stat().st_size % os.sysconf("SC_PAGE_SIZE") == 0
    assert recorded.calls()["leaf"] >= 1001


def test_exit_with_daemon_threads(source):
    run("""
import threading, time
def forever():
    while True:
        work(10)
        try: raise ValueError
        except ValueError: leaf()
def sleepy():
    while True: time.sleep(0.001); work(3)
for _ in range(3): threading.Thread(target=forever, daemon=True).start()
start(source=sys.argv[1], c_functions=sys.argv[2], flush_ms=1)
for _ in range(3): threading.Thread(target=sleepy, daemon=True).start()
time.sleep(0.05)
    """, source, "all" if source in WITH_C else "none")  # fmt: skip


def test_thread_ends_by_an_exception(source):
    out = run("""
import _thread, threading, time
threading.excepthook = lambda details: None
start(source=sys.argv[1])
def fail(): leaf(); raise ValueError
def leave(): leaf(); _thread.exit()
for target in (fail, leave):
    thread = threading.Thread(target=target); thread.start(); thread.join()
work(1)
_core.stop()
print(image().calls()["leaf"], image().losses.get("repaired", 0))
    """, source)  # fmt: skip
    assert out == "3 0\n"


# ---- deep stacks ----


def test_start_deep_down(source):
    """A stack of thirty thousand frames is taken over, left by an exception, and entered again."""
    out = run("""
sys.setrecursionlimit(60_000)
class Up(Exception): pass
def deep(n, what):
    if n: deep(n - 1, what)
    else: what()
def begin():
    _core.start(source=sys.argv[1], c_functions="none", calibrate=False)
    leaf()
    raise Up
try: deep(30_000, begin)
except Up: pass
deep(30_000, leaf)
_core.stop()
recorded = image()
print(recorded.calls()["deep"], recorded.calls()["leaf"], recorded.losses.get("repaired", 0))
    """, source)  # fmt: skip
    assert out == "30001 2 0\n"


def test_recursion_error(source):
    """The program meets its limit where it would meet it without us, and goes on."""

    def deep():
        nonlocal depth
        depth += 1
        deep()

    depths = []
    for recorded in (False, True, False):
        depth = 0
        if recorded:
            start(source, c_functions="all")
        try:
            deep()
        except RecursionError:
            leaf()
        if recorded:
            _core.stop()
        depths.append(depth)
    assert depths[0] == depths[1] == depths[2]
    calls = image().calls()
    assert calls["test_recursion_error.<locals>.deep"] in (depths[1], depths[1] + 1)
    assert calls["leaf"] == 1


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="the first version whose Python calls from C have a limit of their own"
)
def test_recursion_through_c(source):
    """The C stack's limit is met by the program and not by us."""

    def key(n):
        return sorted([n + 1], key=key)

    for recorded in (True, False):
        if recorded:
            start(source, c_functions="all")
        with pytest.raises(RecursionError):
            key(0)
        leaf()
        if recorded:
            _core.stop()
    assert image().calls()["leaf"] == 1
    assert _core.check()
