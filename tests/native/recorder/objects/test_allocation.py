"""Out of memory at each of the recorder's allocations in turn: never a crash, never an exception in the program.

Needs the development build (SEISMO_TESTING=1), which can make an allocation fail."""

import pytest
from births import needs_tracer, run

from seismo import _core

pytestmark = [
    needs_tracer,
    pytest.mark.skipif(not hasattr(_core, "_fail_allocation"), reason="needs a build with SEISMO_TESTING=1"),
]

# A program with something of everything, whose own result shows whether it was disturbed.
PROGRAM = """
import gc
options, how = eval(sys.argv[1]), sys.argv[2]
class Dies:
    def __del__(self): self.me = None
def numbers(n):
    for i in range(n):
        yield [Thing(), i]
def handle(n):
    kept = [Thing() for _ in range(n)]
    kept += numbers(3)
    Dies()
    return len(kept) + len({type(f"Made{i}", (), {})() for i in range(3)})
def program():
    total = 0
    for n in range(3): total += handle(n)
    waiting = [numbers(2) for _ in range(3)]
    for generator in waiting: next(generator)
    [Thing() for _ in range(4000)]
    gc.collect()
    return total
from failing import asked, fail_each
fail_each(
    lambda: program,
    lambda n: start(**options),
    asked(_core.objects_alive, lambda: _core.objects_addresses(tuple(range(50))), lambda: _core.objects_mark("m")),
    asked(_core.snapshot), _core.flush,
    forever=how == "forever",
)
start(**options)
kept = [Thing() for _ in range(5)]
_core.stop()
assert image().types()["Thing"]["born"] == 5
"""


@pytest.mark.parametrize("how", ["once", "forever"])
@pytest.mark.parametrize(
    "options",
    [
        "{'span': calls_of('handle', 'numbers'), 'max_live': 1000}",
        "{'paths': True, 'c_functions': 'none'}",
        "{'objects': 'types'}",
    ],
)
def test_each_allocation_fails(options, how):
    run(PROGRAM, options, how)


def test_with_a_file(tmp_path):
    """The same for what writes: the file stays whole."""
    out = run("""
from failing import problems_of_files
kept = []
def handle(): kept.extend(Thing() for _ in range(5))
def begin(fd): start(fd=fd, span=calls_of("handle"))
print(problems_of_files(sys.argv[1], begin, handle, _core.flush, handle, after=range(1, 120, 7)))
    """, str(tmp_path / "r"))  # fmt: skip
    assert out == "[]\n"
