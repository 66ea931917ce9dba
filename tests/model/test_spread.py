"""How much two groups of runs differ."""

import random

import pytest

from seismo.model import Builder, diff
from seismo.model.spread import error_of_change, group, student, usual


@pytest.mark.parametrize(
    ("freedom", "doubt", "t"),
    [
        (1, 0.05, 12.7062),
        (2, 0.05, 4.3027),
        (4, 0.05, 2.7764),
        (30, 0.01, 2.7500),
        (4, 0.001, 8.6103),
        (1e9, 0.05, 1.962),
    ],
)
def test_students_distribution_is_that_of_the_books(freedom, doubt, t):
    assert student(freedom, doubt) == pytest.approx(t, rel=1e-3)


def test_one_run_a_side_has_the_stated_errors_and_no_more():
    assert error_of_change(group([10], [3]), group([20], [4]), rows=50) == pytest.approx(5)


def test_a_single_run_varies_like_the_other_side():
    many, one = group([90, 100, 110], [0, 0, 0]), group([200], [0])
    assert error_of_change(many, one) > student(2, 0.05) * 20
    assert error_of_change(one, many) == pytest.approx(error_of_change(many, one))


def test_the_larger_of_spread_and_stated_error_counts():
    quiet, noisy = group([100, 100, 100], [30, 30, 30]), group([100, 160, 40], [1, 1, 1])
    same = group([100, 100, 100], [0, 0, 0])
    assert error_of_change(quiet, same) == pytest.approx(student(2, 0.05) * 30 / 1.96 / 3**0.5)
    assert error_of_change(noisy, same) == pytest.approx(student(2, 0.05) * 60 / 3**0.5)
    assert error_of_change(same, same) == 0


def test_no_row_is_taken_for_steadier_than_most_of_the_time_is():
    shaky, steady = (group([900, 1_000, 1_100], [0] * 3),) * 2, (group([100, 100, 100], [0] * 3),) * 2
    assert usual([shaky, steady]) == pytest.approx(0.01)
    assert usual([]) == usual([(group([5], [1]), group([6], [1]))]) == 0
    close, also = group([100, 100.1, 99.9], [0] * 3), group([130, 130.1, 129.9], [0] * 3)
    assert error_of_change(close, also, 5) < 5
    assert error_of_change(close, also, 5, usual([shaky, (close, also)])) > 30


def test_in_nineteen_of_twenty_diffs_of_equal_runs_nothing_changed():
    """Thirty functions whose times vary by a fifth, three runs a side."""
    chance = random.Random(7)

    def run():
        b = Builder()
        thread = b.thread(b.process())
        slow = chance.lognormvariate(0, 0.1)  # the whole run
        for number in range(30):
            own = 1_000_000 * (number + 1) * slow * chance.lognormvariate(0, 0.2)
            b.node(-1, thread, b.function("m", f"f{number}"), calls=1, own_ns=own)
        return b.build({})

    diffs = [diff([run() for _ in range(3)], [run() for _ in range(3)]) for _ in range(200)]
    assert sum(any(row.significant for row in rows) for rows in diffs) <= 0.05 * 200


def test_a_side_needs_a_recording():
    with pytest.raises(ValueError, match="a side of a diff has no recording"):
        diff([], [Builder().build({})])
