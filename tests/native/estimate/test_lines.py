"""Times of lines: what is known of their sum, and of the run."""

import pytest

from seismo.model import Builder

HITS = 20_000


def recorded(sampled_ns, known_ns, *, wall_ns=100_000_000, python_inside=0.0):
    """Lines hit so often of which 1 in 100 was sampled, each with that mean; known_ns is what all of them took."""
    what = Builder()
    costs = {"python_inside": python_inside, "cost_error": 0.4 if python_inside else 0.0}
    process = what.process(
        pid=1, start_ns=1, end_ns=wall_ns, source="monitoring", clock="tsc: x", clock_ns=8.0, **costs
    )
    what.thread(process, name="MainThread", wall_ns=wall_ns, cpu_ns=wall_ns, main=1, rest_ns=known_ns)
    function = what.function("__main__", "f", "app.py", 1)
    for line, mean in enumerate(sampled_ns):
        sums = {"timed": 0, "sampled": 200, "sampled_ns": 200 * mean, "sampled_sq": 200.0 * mean**2}
        what.line(function, 1 + line, hits=HITS, segments=HITS, **sums)
    return what.build()


def test_samples_that_are_all_too_long_are_so_by_the_same_part():
    """A line of few ns does not give as many as one of hundreds, though both are hit as often."""
    rows = recorded([10, 30, 200], 200 * HITS).lines
    assert sum(rows["own_ns"]) == pytest.approx(200 * HITS, rel=0.05)
    for row, mean in zip(rows, (10, 30, 200), strict=True):
        assert row.own_ns / sum(rows["own_ns"]) == pytest.approx(mean / 240, rel=0.02)


def test_a_line_that_is_shorter_than_its_probe_is_in_doubt_by_what_is_missing():
    quick = recorded([6, 80], 86 * HITS, python_inside=11.0).lines[0]
    assert quick.own_ns == 0
    assert quick.own_error_ns >= 5 * HITS


@pytest.mark.parametrize("times", ["wall", "cpu"])
def test_no_line_takes_longer_than_the_run(times):
    """Nobody knows the sum: the samples alone say far more than there was."""
    rows = recorded([400, 10], 0, wall_ns=2_000_000).timed(times).lines
    assert max(rows["own_ns"]) == 2_000_000
    assert max(rows["total_ns"]) <= 2_000_000
