"""Lines far below the first of their code object: some interpreters search for each (gh-127953),
and that is in no time.

Programs are made so that nothing is searched for in their upper half, and for each line in the lower one.
"""

import sys

import pytest

import seismo.model
from seismo import _core
from seismo.model import LineFlags

SEARCHED = sys.version_info[:2] >= (3, 12) and sys.version_info[:3] < (3, 13, 3)
PROGRAM = """
def leaf(n):
    return n
def loop(times):
    for i in range(times):
        plain = i
        one_of = plain if i % 2 else times
        for j in (1, 2): pass
        made = [k for k in (1, 2)]
        called = leaf(i)
        for m in range(4):
            inside = m
    return plain
"""
FAR = "".join(f"    a{i} = {i}\n" for i in range(3000))
PLAIN, ONE_OF, ROUND, MADE, CALLED, FOR, INSIDE = range(2, 9)


def lines(padding, times=400):
    """{line less that of the loop's `for`, plus 1: (its row, what searches may add to its own time in ns)}."""
    source = PROGRAM.replace(
        "    for i in range(times):", f"    if times < 0:\n{padding or '     pass'}\n    for i in range(times):"
    )
    source = source.replace("\n    a", "\n        a") if padding else source
    names = {}
    exec(compile(source, "made", "exec"), names)
    first = source.splitlines().index("    for i in range(times):")
    _core.start(recorder="linetimes", running=False)
    names["loop"](times)
    _core.stop()
    taken = _core.read(_core.snapshot())["tables"]["lines"]["search_error_ns"]
    recording = seismo.model.read(_core.snapshot()).timed("cpu")
    functions = list(recording.functions)
    return {
        row.line - first: (row, error)
        for row, error in zip(recording.lines, memoryview(taken), strict=True)
        if functions[row.function].qualname == "loop" and functions[row.function].file == "made"
    }


def test_a_search_is_in_no_time_of_a_line_but_in_its_error():
    far = lines(FAR)
    for number, hits in ((PLAIN, 400), (CALLED, 400), (INSIDE, 1600)):
        row, error = far[number]
        assert row.hits == hits
        assert (error > 0) is SEARCHED
        assert row.own_error_ns >= error
        assert LineFlags.AT_MOST not in row.flags
    for row, error in lines("").values():
        assert error == 0
        assert LineFlags.AT_MOST not in row.flags


@pytest.mark.skipif(not SEARCHED, reason="this interpreter does not search for lines")
def test_the_searches_of_a_line_are_counted():
    """15 % of what was taken out is error, and half of what may have been more or less: two searches for an event,
    and two for each jump in the line. `a if b else c` has one such jump or two. 3.13 makes but one search for a line
    that no jump leads to.
    """
    far, event = lines(FAR, 3000), 2 if sys.version_info < (3, 13) else 1

    def searches(number):
        row, error = far[number]
        return error / row.hits / (far[PLAIN][1] / 3000) * event

    assert searches(CALLED) == pytest.approx(event, rel=0.2)
    assert searches(INSIDE) == pytest.approx(2, rel=0.2)
    assert searches(ONE_OF) == pytest.approx(event + 3 + 1 / 0.15, rel=0.2)
    if event == 2:  # each time the loop is entered, and left, in five events
        assert searches(FOR) == pytest.approx(2 + 4 / 5, rel=0.2)


@pytest.mark.skipif(not SEARCHED, reason="this interpreter does not search for lines")
def test_a_line_that_goes_round_in_itself_is_an_upper_bound():
    far = lines(FAR)
    assert {number for number, (row, _) in far.items() if row.flags & LineFlags.AT_MOST} == {ROUND, MADE}


@pytest.mark.timing
def test_far_lines_take_as_long_as_near_ones():
    near, far = lines("", 3000), lines(FAR, 3000)
    for number in (PLAIN, ONE_OF, CALLED, FOR, INSIDE):
        one, other = near[number][0], far[number][0]
        assert abs(other.own_ns - one.own_ns) < one.own_error_ns + other.own_error_ns, number
