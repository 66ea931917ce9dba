"""What is estimated lies within its stated error as often as it says, own time and inner time."""

import random
from statistics import fmean, stdev

import pytest
from timing import SOURCES, start, tick

import seismo.model
from seismo import _core

pytestmark = pytest.mark.parametrize("source", SOURCES)


def estimated(source, program):
    """(own, error, inner, error) by (function, line less the def's) of a program timed frugally."""
    start(source, timing="frugal")
    program()
    _core.stop()
    recording = seismo.model.read(_core.snapshot())
    functions = list(recording.functions)
    found = {}
    for row in recording.lines:
        function = functions[row.function]
        key = (function.qualname.rpartition(".")[2], row.line - function.line)
        found[key] = (row.own_ns, row.own_error_ns, row.inner_ns, row.inner_error_ns, row.hits)
    return found


def test_stated_errors_hold(source):
    """19 in 20 is what is stated. Less than 166 of 200 runs happens to an interval that holds the truth in 93 of 100
    once in 2 million times, and 166 or more to one that is half as wide as it should be (67 of 100) as rarely.
    """
    held = {"even": 0, "skewed": 0, "inner": 0}
    true = {}

    def even():
        ns = random.randint(40, 60)
        true["even"] += ns
        tick(ns)

    def skewed():
        ns = min(int(random.expovariate(1 / 40)), 400)
        true["skewed"] += ns
        tick(ns)

    def program():
        for _ in range(1500):
            even()
            skewed()

    for _ in range(200):
        true.update(even=0, skewed=0)
        found = estimated(source, program)
        for name in ("even", "skewed"):
            own, error, _, _, hits = found[name, 3]
            assert hits == 1500
            held[name] += abs(own - true[name]) <= error
        _, _, inner, error, _ = found["program", 3]
        held["inner"] += abs(inner - true["skewed"]) <= error
    assert min(held.values()) >= 166, held


def test_inner_time_of_a_deep_stack_is_unbiased(source):
    def leaf(n):
        tick(20 if n % 2 else 60)

    def down(depth, n):
        if depth:
            down(depth - 1, n)
        else:
            leaf(n)

    def program():
        for n in range(4000):
            down(20, n)

    ratios = [estimated(source, program)["program", 2][2] / (4000 * 40) for _ in range(12)]
    assert abs(sum(ratios) / len(ratios) - 1) < 0.25
    assert len(set(ratios)) > 1


def test_what_ran_once_is_measured(source):
    """However long it took and whatever it called: the clock is read where it begins and where it ends."""

    def leaf(ns):
        tick(ns)

    def work():
        for n in range(3000):
            leaf(n % 40)

    def program():
        tick(5)
        work()
        tick(7)

    own, own_error, inner, inner_error, hits = estimated(source, program)["program", 2]
    assert (own, inner, inner_error, hits) == (0, 75 * 780, 0, 1)
    assert own_error < 20  # reading the clock


def test_inner_times_are_right_on_average_and_within_their_errors(source):
    """Of lines that call a little often, and much once, directly and by recursion. Their true times come from a
    recording of every segment. Less than 32 of 50 runs happens to what is right in 19 of 20 once in 10^10 times.
    """

    def leaf(ns):
        tick(ns)

    def twice(ns):
        leaf(ns)
        leaf(ns + 50 if ns % 5 else 300)

    def down(depth):
        tick(11)
        if depth:
            down(depth - 1)

    def program():
        for n in range(1200):
            twice(n % 40 + 10)
        for n in range(300):
            down(n % 12)

    start(source, timing="every")
    program()
    _core.stop()
    true = {}
    recording = seismo.model.read(_core.snapshot())
    functions = list(recording.functions)
    for row in recording.lines:
        name, line = functions[row.function].qualname.rpartition(".")[2], row.line - functions[row.function].line
        if name in ("program", "twice", "down") and row.inner_ns:
            true[name, line] = row.inner_ns
    assert len(true) == 5
    ratios, held = {key: [] for key in true}, dict.fromkeys(true, 0)
    whole = 0.0
    for _ in range(50):
        found = estimated(source, program)
        whole = max(whole, *(own + inner for own, _, inner, _, _ in found.values()))
        for key, inner in true.items():
            ratios[key].append(found[key][2] / inner)
            held[key] += abs(found[key][2] - inner) <= found[key][3] + 1
    for key, several in ratios.items():  # a mean is no further off than chance takes it once in 10^5 times
        assert abs(fmean(several) - 1) < 4.5 * stdev(several) / 50**0.5 + 0.01, (key, several)
    assert min(held.values()) >= 32, held
    run = sum(n % 40 + 10 + (n % 40 + 60 if n % 5 else 300) for n in range(1200)) + 300 * 11 * 6.5
    assert whole <= run * 1.000001


def test_recordings_that_begin_a_moment_apart_draw_other_samples(source):
    """Their random numbers are seeded by the clock, and a first gap that is the same in all would err in all alike.

    The sum of all lines is known, so that it is the errors that differ.
    """

    def f(ns):
        tick(ns)

    def program():
        for n in range(64):
            f(n)

    found = set()
    for _ in range(50):
        tick(1)
        found.add(estimated(source, program)["f", 1][:2])
    assert len(found) > 3


def test_long_segments_of_short_lines(source):
    """A line that has proved short and then takes long is seen to, at the latest where a sample falls on it: here there
    is no ticker. Without one in all of 4,000 it would be wrong: once in 10^13 times.
    """

    def f(ns):
        tick(ns)

    def program():
        for _ in range(500):
            f(10)
        for _ in range(4000):
            f(100_000)

    own, error, _, _, _ = estimated(source, program)["f", 1]
    assert abs(own - 400_005_000) <= max(3 * error, 40_000_000)


def test_the_largest_sample_of_rows_that_are_merged_is_the_larger_one(source):
    def f(ns):
        tick(ns)

    def record():
        start(source, timing="frugal")
        for n in range(3_000):
            f(n % 50)
        for _ in range(200):
            f(300)
        parts = [seismo.model.read(_core.snapshot())]
        f(10)
        _core.stop()
        return [*parts, seismo.model.read(_core.snapshot())]

    def largest(recording):
        return max(recording._raw["lines"]["sampled_most"])

    before, after = record()
    _, other = record()
    assert largest(before) > 0
    assert largest(after.merge(other)) == largest(other.merge(after)) == max(largest(after), largest(other))
    assert largest(after.subtract(before)) == largest(after), "it may have come since"


def test_merged_recordings_add_up(source):
    def f():
        tick(10)

    def g():
        f()

    def program():
        for _ in range(30):
            g()

    start(source)
    program()
    _core.stop()
    one = seismo.model.read(_core.snapshot())
    both = one.merge(one)
    assert [row[:3] for row in both.lines]
    names = both.functions["qualname"]
    by_name = {names[row.function].rpartition(".")[2]: row for row in both.lines}
    assert by_name["f"].hits == 60
    assert by_name["f"].own_ns == pytest.approx(600)
    assert by_name["g"].inner_ns == pytest.approx(600)
    left = both.subtract(both)
    assert all(row.hits == 0 and row.inner_ns == 0 for row in left.lines)
