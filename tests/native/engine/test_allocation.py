"""Out of memory, at each of our allocations in turn: never a crash, never an exception in the recorded program.

Needs the development build (SEISMO_TESTING=1), which can make an allocation fail."""

import pytest
from lab import SOURCES, WITH_C, run

from seismo import _core

pytestmark = [
    pytest.mark.parametrize("source", SOURCES),
    pytest.mark.skipif(not hasattr(_core, "_fail_allocation"), reason="needs a build with SEISMO_TESTING=1"),
]

# A program with something of everything, whose own result shows whether it was disturbed.
PROGRAM = """
import threading
from seismo import _core
source, c_functions, forever, first, step = sys.argv[1], sys.argv[2], sys.argv[3] == "forever", *map(int, sys.argv[4:6])
def numbers(n):
    for i in range(n):
        yield len([i])
async def wait(n):
    return n
def fall(n):
    if n: return fall(n - 1)
    raise KeyError(n)
def drive(coroutine):
    try: coroutine.send(None)
    except StopIteration as stop: return stop.value
def program():
    total = sum(numbers(20)) + drive(wait(3)) + sorted([3, 1], key=lambda x: -x)[0]
    names = {}
    for i in range(12):
        exec(f"def made_{i}(): return leaf()", {"leaf": leaf}, names)
        names[f"made_{i}"]()
    for depth in (1, 5, 30):
        try: fall(depth)
        except KeyError: total += depth
    out = []
    thread = threading.Thread(target=lambda: out.append(sum(numbers(5))))
    thread.start(); thread.join()
    return total + out[0]
truth = program()
started = failed = 0
def attempt(n):
    global started, failed
    _core._fail_allocation(n, forever)
    try: start(source=source, c_functions=c_functions, max_paths=60)
    except (RuntimeError, MemoryError):
        failed += 1
        _core._fail_allocation(0)
        assert program() == truth and not _core.status()["running"]
        return False
    started += 1
    assert program() == truth, n
    try: _core.snapshot()
    except MemoryError: pass
    _core.flush()
    assert program() == truth, n
    _core.stop()
    made = _core._fail_allocation(0)
    try: _core.read(_core.snapshot())
    except MemoryError: pass
    assert _core.check(), n
    return made < n
n = first
while not attempt(n) and n < 4000:
    n += step
_core._fail_allocation(0)
start(source=source, c_functions=c_functions); work(3); _core.stop()
from recorded import image
assert image().calls()["leaf"] == 3, image().calls()
print(n, failed, started)
"""


@pytest.mark.parametrize("c_functions", ["none", "all"])
@pytest.mark.parametrize("how", ["once", "forever"])
def test_each_allocation_fails(source, c_functions, how):
    """One walk: each allocation fails once; or all from it on do, at every third."""
    if c_functions != "none" and source not in WITH_C:
        pytest.skip(f"{source} sees Python functions only")
    step = 1 if how == "once" else 3
    last, _failed, started = map(int, run(PROGRAM, source, c_functions, how, "1", str(step)).split())
    assert started > 0
    assert last > 30


def test_with_a_file(source, tmp_path):
    """The same for what writes: the file stays whole."""
    out = run("""
import os
path = sys.argv[2]
problems = 0
for n in range(1, 160):
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC)
    _core._fail_allocation(n, True)
    try:
        start(source=sys.argv[1], fd=fd)
    except (RuntimeError, MemoryError):
        _core._fail_allocation(0); os.close(fd); continue
    work(3); _core.flush(); work(2)
    _core._fail_allocation(0)
    work(1); _core.flush()
    _core.stop()
    os.close(fd)
    with open(path, "rb") as file: recorded = _core.read(file.read())
    problems += len(recorded["problems"])
print(problems)
    """, source, str(tmp_path / "r"))  # fmt: skip
    assert out == "0\n"
