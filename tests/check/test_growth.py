"""How counts grow with the size, and how times are compared: on numbers that are known."""

import math

import pytest
from counts import exact

from seismo.check.cpu_time import CpuTimes
from seismo.check.growth_by_size import became_worse, growths, parse_sizes
from seismo.check.measurement import Function, Measurement
from seismo.errors import UsageError

WORK = Function("app", "work", "app.py")


def growth(count, sizes=(100, 1000, 10000)):
    measured = {size: Measurement(functions={WORK: exact(calls=int(count(size)))}) for size in sizes}
    return growths(measured).get(WORK)


@pytest.mark.parametrize(
    ("count", "shape"),
    [
        (lambda _n: 50, "constant"),
        (lambda n: n + 500, "linear"),
        (lambda n: n * math.log(n), "n log n"),
        (lambda n: n * n // 2, "quadratic"),
        (lambda n: n**3, "cubic"),
        (lambda n: 30 * math.sqrt(n), "n^0.50"),
    ],
)
def test_the_shape_of_a_growth(count, shape):
    assert growth(count).shape == shape


def test_what_runs_seldom_has_no_growth():
    assert growth(lambda n: n / 1000) is None


def test_what_became_worse_is_told_and_what_was_is_not():
    linear, quadratic = {WORK: growth(lambda n: n)}, {WORK: growth(lambda n: n * n)}
    assert became_worse(linear, quadratic) == [(quadratic[WORK], linear[WORK])]
    assert became_worse({}, quadratic) == [(quadratic[WORK], None)]
    assert became_worse(quadratic, quadratic) == []
    assert became_worse(quadratic, linear) == []
    assert became_worse(linear, {WORK: growth(lambda n: n * math.log(n))})


def test_sizes_are_sorted():
    assert parse_sizes(" n = 1000, 10,100 ").numbers == (10, 100, 1000)


@pytest.mark.parametrize("text", ["", "n", "n=", "n=5", "n=5,5", "n=0,5", "n=a,b", "5,6", "n=1,2,"])
def test_bad_sizes_say_how_to_write_them(text):
    with pytest.raises(UsageError, match="cannot be read"):
        parse_sizes(text)


def test_times_decide_only_when_the_whole_interval_is_on_one_side():
    clear = CpuTimes(0.1, [1.0, 1.01, 0.99, 1.0, 1.0], [1.3, 1.31, 1.29, 1.3, 1.3])
    assert clear.is_beyond
    assert clear.change[0] == pytest.approx(0.3, abs=0.01)
    noisy = CpuTimes(0.1, [1.0, 1.5, 0.8, 1.0, 1.2], [1.3, 1.0, 1.6, 0.9, 1.5])
    assert not noisy.is_beyond
    assert not noisy.is_decided
    same = CpuTimes(0.1, [1.0, 1.01, 0.99, 1.0, 1.0], [1.0, 1.0, 1.0, 1.01, 0.99])
    assert same.is_decided
    assert not same.is_beyond
    assert not CpuTimes(0.1, [1.0], [2.0]).is_beyond, "a single pair has no error"
