"""Out of memory, at each of our allocations in turn: never a crash, never an exception in the recorded program.

Needs the development build (SEISMO_TESTING=1), which can make an allocation fail."""

import pytest
from lab import SOURCES, WITH_C, run

from seismo import _core

pytestmark = [
    pytest.mark.parametrize("source", SOURCES),
    pytest.mark.skipif(not hasattr(_core, "_fail_allocation"), reason="needs a build with SEISMO_TESTING=1"),
]

PROGRAM = """
from failing import EVERYTHING, asked, fail_each
source, c_functions, how = sys.argv[1:]
exec(EVERYTHING)
fail_each(
    lambda: program,
    lambda n: start(source=source, c_functions=c_functions, max_paths=60),
    asked(_core.snapshot), _core.flush,
    forever=how == "forever",
)
start(source=source, c_functions=c_functions); work(3); _core.stop()
from recorded import image
assert image().calls()["leaf"] == 3, image().calls()
"""


@pytest.mark.parametrize("c_functions", ["none", "all"])
@pytest.mark.parametrize("how", ["once", "forever"])
def test_each_allocation_fails(source, c_functions, how):
    """Once, or all from it on do."""
    if c_functions != "none" and source not in WITH_C:
        pytest.skip(f"{source} sees Python functions only")
    run(PROGRAM, source, c_functions, how)


def test_with_a_file(source, tmp_path):
    """The same for what writes: the file stays whole."""
    out = run("""
from failing import problems_of_files
def begin(fd): start(source=sys.argv[1], fd=fd)
print(problems_of_files(sys.argv[2], begin, lambda: work(3), _core.flush, lambda: work(2), after=range(1, 160)))
    """, source, str(tmp_path / "r"))  # fmt: skip
    assert out == "[]\n"
