"""Out of memory, at each of the coverage recorder's allocations in turn: never a crash, never an exception in the
program, and the next recording is whole.

Needs the development build (SEISMO_TESTING=1), which can make an allocation fail."""

import pytest
from covered import run

from seismo import _core

pytestmark = pytest.mark.skipif(not hasattr(_core, "_fail_allocation"), reason="needs a build with SEISMO_TESTING=1")

PROGRAM = """
from failing import EVERYTHING, asked, fail_each
from covered import Covered
forever, counts = sys.argv[1] == "forever", sys.argv[2] == "counts"
text = "def test_leaf(): return 1\\nleaf = test_leaf" + EVERYTHING
def fresh():
    names = {"__name__": "program"}
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
def lines():
    program = fresh()
    _core.start(recorder="coverage"); program(); _core.stop(recorder="coverage")
    return set(Covered(_core.snapshot("coverage"), "/nowhere/program.py").lines)
before = lines()
assert len(before) > 15
fail_each(
    made,
    lambda n: _core.start(
        recorder="coverage",
        branch=True, counts=counts, tests=True, fd=file(sys.argv[3]) if n % 2 else -1, flush_ms=1),
    contexts, asked(lambda: _core.snapshot("coverage")), lambda: _core.flush("coverage"),
    forever=forever, recorder="coverage",
)
assert lines() == before
"""


@pytest.mark.parametrize("counts", ["lines", "counts"])
@pytest.mark.parametrize("how", ["once", "forever"])
def test_each_allocation_fails(how, counts, tmp_path):
    run(PROGRAM, how, counts, str(tmp_path / "out"))
