"""How much two groups of runs differ."""

import math
import random

import pytest

from seismo.model import Builder, diff
from seismo.model.difference import difference
from seismo.model.run_variance import DOUBT, MOST_FREEDOM, error_of_change, group, scale, student, variance

MS = 1e6


@pytest.mark.parametrize(
    ("freedom", "doubt", "t"),
    [
        (1, 0.05, 12.7062),
        (2, 0.05, 4.3027),
        (3, 0.05, 3.1824),
        (4, 0.05, 2.7764),
        (30, 0.01, 2.7500),
        (4, 0.001, 8.6103),
        (5, 0.001, 6.8688),
        (MOST_FREEDOM, 0.05, 1.9600),
    ],
)
def test_students_distribution_is_that_of_the_books(freedom, doubt, t):
    assert student(freedom, doubt) == pytest.approx(t, rel=1e-3)


def test_the_model_knows_what_makes_times_unsteady():
    quiet = variance(50 * MS, 0, 0, 0)
    assert 0 < math.sqrt(quiet) < 0.1 * 50 * MS
    assert variance(50 * MS, (10 * MS) ** 2, 0, 0) == pytest.approx(quiet + (10 * MS / 1.96) ** 2)
    assert variance(50 * MS, 0, 40 * MS, 0) > quiet, "it had no processor for a while"
    assert math.sqrt(variance(50 * MS, 0, 0, 50 * MS)) > 0.2 * 50 * MS, "it read files"
    assert math.sqrt(variance(1 * MS, 0, 0, 0)) > 0.2 * MS, "a single interrupt is much of it"


def test_one_run_a_side_has_the_error_of_the_model():
    old, new = group([10 * MS], [3.0**2]), group([20 * MS], [4.0**2])
    assert error_of_change(old, new) == pytest.approx(1.96 * 5, rel=1e-3)
    assert error_of_change(old, new, rows=50) == pytest.approx(student(MOST_FREEDOM, DOUBT / 50) * 5)
    assert scale([(old, new)]) == 1


def test_a_single_run_varies_like_the_other_side():
    many, one = group([90, 100, 110], [1, 1, 1]), group([200], [1])
    assert error_of_change(many, one) > student(2, 0.05) * 10
    assert error_of_change(one, many) == pytest.approx(error_of_change(many, one))


def test_what_the_runs_show_and_what_the_model_says_are_both_believed():
    spread = group([80, 100, 120, 100, 100], [1] * 5)
    close = group([100, 101, 100, 99, 100], [100] * 5)
    alone = error_of_change(spread, spread, rows=1)
    assert alone == pytest.approx(student(8, DOUBT) * math.sqrt(200 * 2 / 5))
    assert error_of_change(spread, spread, rows=50) < student(8, DOUBT / 50) * math.sqrt(200 * 2 / 5)
    assert error_of_change(close, close, rows=50) > student(8, DOUBT / 50) * math.sqrt(0.5 * 2 / 5)


def test_the_model_is_scaled_to_what_most_of_the_time_shows():
    def pair(mean, sd, model):
        runs = [mean - sd, mean - sd, mean, mean + sd, mean + sd]
        return group(runs, [model] * 5), group(runs, [model] * 5)

    quiet, noisy = pair(1_000, 1, 100), pair(100, 20, 100)
    assert scale([quiet, noisy]) == pytest.approx((64 * 0.01 + 1) / 65)
    assert scale([quiet] * 2 + [noisy] * 9) == scale([quiet])
    few = group([1_000, 1_000], [100, 100])
    assert scale([(few, few)]) == pytest.approx(1 / 5), "two runs that are alike by chance"


@pytest.mark.matrix
@pytest.mark.parametrize("runs", [1, 3])
def test_in_nineteen_of_twenty_diffs_of_equal_runs_nothing_changed(runs):
    """Thirty functions, whose times vary as the model says."""
    chance = random.Random(7)

    def run():
        b = Builder()
        thread = b.thread(b.process())
        for number in range(30):
            own = 10 * MS * (number + 1)
            shown = own + chance.gauss(0, math.sqrt(variance(own, 0, 0, 0)))
            b.node(-1, thread, b.function("m", f"f{number}"), calls=1, own_ns=round(shown))
        return b.build({})

    diffs = [diff([run() for _ in range(runs)], [run() for _ in range(runs)]) for _ in range(200)]
    assert sum(any(row.significant for row in rows) for rows in diffs) <= 0.05 * 200


def run(chance, more=1.0, whole=1.0, of=(7,)):
    """Twenty functions that take as long; those of some numbers `more`, all of them `whole` times that."""
    b = Builder()
    thread = b.thread(b.process())
    for number in range(20):
        own = 50 * MS * whole * chance.lognormvariate(0, 0.02) * (more if number in of else 1)
        b.node(-1, thread, b.function("m", f"f{number}"), calls=1_000, own_ns=round(own))
    return b.build({})


@pytest.mark.parametrize(("runs", "more", "slow"), [(1, 2.0, 0.0), (5, 1.1, 0.0), (5, 1.1, 0.1)])
def test_a_change_is_found_that_so_many_runs_can_show(runs, more, slow):
    """A function with a twentieth of the time, beside others; slow: by how much runs differ as a whole."""
    chance = random.Random(3)
    found = 0
    for _ in range(20):
        old, new = ([run(chance, by, chance.lognormvariate(0, slow)) for _ in range(runs)] for by in (1, more))
        found += [row.key.qualname for row in diff(old, new) if row.significant] == ["f7"]
    assert found >= 18


def test_runs_that_are_slow_as_a_whole_are_given_as_at_one_pace():
    chance = random.Random(5)
    old, new = ([run(chance, whole=whole) for whole in (0.8, 1.0, 1.2)] for _ in range(2))
    found = difference(old, new)
    assert [round(pace, 1) for side in found.paces for pace in side] == [0.8, 1.0, 1.2] * 2
    assert all(row.own_old == pytest.approx(50 * MS, rel=0.1) for row in found.rows)
    assert not any(row.significant for row in found.rows)


def test_what_an_import_reads_may_take_twice_as_long():
    def one(own):
        b = Builder()
        thread = b.thread(b.process())
        for number in range(20):
            b.node(-1, thread, b.function("m", f"f{number}"), calls=1, own_ns=50 * MS)
        for module in ("importlib._bootstrap_external", "m"):
            b.node(-1, thread, b.function(module, "get_data"), calls=10, own_ns=round(own))
        return b.build({})

    assert [row.key.module for row in diff(one(25 * MS), one(50 * MS)) if row.significant] == ["m"]


def test_a_program_that_became_slower_as_a_whole_is_no_slow_machine():
    chance = random.Random(5)
    found = difference([run(chance) for _ in range(3)], [run(chance, whole=1.5) for _ in range(3)])
    assert found.paces == ([1.0] * 3, [1.0] * 3)
    assert all(row.significant for row in found.rows)


def test_a_side_needs_a_recording():
    with pytest.raises(ValueError, match="a side of a diff has no recording"):
        diff([], [Builder().build({})])
