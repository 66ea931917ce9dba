"""Tables of what lives are as large as what lives: what came and went leaves no room taken."""

import ctypes

import pytest
from lab import MONITORING, run

pytestmark = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the C library does not say what it has given out"
)
# What the C library has given out. The interpreter's objects come from elsewhere, so that is the core's alone.
HELD = """
import ctypes, gc, seismo
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("a", "o", "s", "hblks", "mmapped", "u", "f", "used", "fo", "k")]
library = ctypes.CDLL(None)
library.mallinfo2.restype = Info
def held():
    info = library.mallinfo2()
    return info.mmapped + info.used
"""


@pytest.mark.skipif(not MONITORING, reason="under a hook, 3.11 itself takes room for each coroutine that lives")
def test_coroutines_that_came_back():
    """Each has waited at an address of its own; none waits any more."""
    run(f"""{HELD}
import types
@types.coroutine
def pause():
    yield
async def wait():
    await pause()
def some(n):
    made = [wait() for _ in range(n)]
    for one in made:
        one.send(None)
        try:
            one.send(None)
        except StopIteration:
            pass
    return made
start()
kept = some(1000)
before = held()
kept += some(60000)
assert held() - before < 1_000_000, held() - before
waiting = [wait() for _ in range(1000)]
for one in waiting:
    one.send(None)
for one in waiting:
    try:
        one.send(None)
    except StopIteration:
        pass
_core.stop()
""")


@pytest.mark.skipif(not MONITORING, reason="events of single code objects are sys.monitoring's")
def test_code_that_died():
    """where= asks for the events of each code object alone; those of the dead are forgotten."""
    run(f"""{HELD}
def made(): pass
code = made.__code__
def some(n):
    for i in range(n):
        made.__code__ = code.replace(co_firstlineno=1)
        made()
with seismo.lines(where='function("made")') as lines:
    some(1000)
    before = held()
    some(100_000)
    grown = held() - before
    made.__code__ = code
assert grown < 500_000, grown
""")
