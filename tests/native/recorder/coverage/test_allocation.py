"""Out of memory, at each of the coverage recorder's allocations in turn: never a crash, never an exception in the
program, and the next recording is whole.

Needs the development build (SEISMO_TESTING=1), which can make an allocation fail."""

import pytest
from covered import run

from seismo import _core

pytestmark = pytest.mark.skipif(not hasattr(_core, "_fail_allocation"), reason="needs a build with SEISMO_TESTING=1")

PROGRAM = """
import threading
forever, counts = sys.argv[1] == "forever", sys.argv[2] == "counts"
text = '''
def numbers(n):
    for i in range(n):
        yield i if i % 2 else -i
def fall(n):
    if n: return fall(n - 1)
    raise KeyError(n)
def test_something(n):
    return n + 1
async def wait(n):
    return n
def program():
    total = sum(numbers(20)) + sorted([3, 1], key=lambda x: -x)[0] + test_something(1)
    for i in range(4):
        names = {}
        exec(f"def made_{i}(x):\\\\n    if x:\\\\n        return 1\\\\n    return 2", names)
        total += names[f"made_{i}"](i % 2)
    for depth in (1, 5):
        try: fall(depth)
        except KeyError: total += depth
    out = []
    thread = threading.Thread(target=lambda: out.append(sum(numbers(5))))
    thread.start(); thread.join()
    return total + out[0]
'''
def fresh():
    names = {"threading": threading, "__name__": "program"}
    exec(compile(text, "/nowhere/program.py", "exec"), names)
    return names["program"]
now = None
def made():
    global now
    now = fresh()
    return now
truth = fresh()()
def contexts():
    for context in ("one", "two", ""):
        _core.cover_context(context)
        assert now() == truth
from failing import asked, fail_each
print(*fail_each(
    made,
    lambda n: _core.start(
        recorder="coverage",
        branch=True, counts=counts, tests=True, fd=file(sys.argv[3]) if n % 2 else -1, flush_ms=1),
    contexts, asked(lambda: _core.snapshot("coverage")), lambda: _core.flush("coverage"),
    forever=forever, after=lambda n: n + (5 if forever else 3), recorder="coverage",
))
program = fresh()
_core.start(recorder="coverage"); program(); _core.stop(recorder="coverage")
from covered import Covered
found = Covered(_core.snapshot("coverage"), "/nowhere/program.py")
assert set(found.lines) == {3, 4, 6, 7, 9, *range(13, 25)}, sorted(found.lines)
"""


@pytest.mark.parametrize("counts", ["lines", "counts"])
@pytest.mark.parametrize("how", ["once", "forever"])
def test_each_allocation_fails(how, counts, tmp_path):
    last, _failed, started = map(int, run(PROGRAM, how, counts, str(tmp_path / "out")).split())
    assert started > 0
    assert last > 30
