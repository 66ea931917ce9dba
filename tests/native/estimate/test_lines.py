"""Times of lines: what is known of their sum, of the run, and of what recording costs."""

import pytest

from seismo.model import Builder

HITS = 20_000
LOOK = 250_000


def recorded(lines, rest_ns, *, wall_ns=1_000_000_000, **costs):
    """Lines hit so often, each with its columns, on a thread that ran so long."""
    what = Builder()
    process = what.process(pid=1, start_ns=1, end_ns=wall_ns, source="monitoring", clock="tsc: x", **costs)
    what.thread(process, name="MainThread", wall_ns=wall_ns, cpu_ns=wall_ns, main=1, rest_ns=rest_ns)
    function = what.function("__main__", "f", "app.py", 1)
    for line, columns in enumerate(lines):
        what.line(function, 1 + line, **{"hits": HITS, **columns})
    return what.build()


def looks(count, ns=LOOK):
    return {"sampled": count, "sampled_ns": count * ns, "sampled_sq": count * float(ns) ** 2}


def test_the_lines_have_together_what_their_threads_ran():
    """Looks have found half of it: the sampler came late."""
    rows = recorded([looks(50), looks(150), looks(200)], 200_000_000).lines
    assert sum(rows["own_ns"]) == pytest.approx(200_000_000)
    for row, count in zip(rows, (50, 150, 200), strict=True):
        assert row.own_ns == pytest.approx(200_000_000 * count / 400, rel=0.02)
        assert 0.05 * row.own_ns < row.own_error_ns < 0.3 * row.own_ns


def test_hits_cost_the_line_what_was_calibrated():
    costs = {"python_inside": 1_000.0, "cost_error": 0.1}
    rows = recorded([looks(200), looks(200, LOOK)], 100_000_000, **costs).lines
    assert rows["own_ns"].tolist() == pytest.approx([50_000_000 - HITS * 1_000] * 2)
    plain = recorded([looks(200), looks(200)], 100_000_000).lines
    assert rows[0].own_error_ns > plain[0].own_error_ns


def test_a_line_that_is_shorter_than_its_probe_is_in_doubt_by_what_is_missing():
    quick, _ = recorded([looks(40), looks(400)], 110_000_000, python_inside=1_000.0, cost_error=0.4).lines
    assert 0 < quick.own_ns < 1_000_000  # looks have found it
    assert quick.own_error_ns >= 9_000_000


def test_what_no_look_has_found_is_divided_by_hits():
    """A block of 0.1 ms, all lines of which ran as often as each other, but for one that ran once."""
    rows = recorded([{}, {}, {"hits": 1}], 100_000).lines
    assert sum(rows["own_ns"]) == pytest.approx(100_000)
    assert rows["own_ns"].tolist() == pytest.approx([50_000, 50_000, 2.5], rel=0.01)
    assert all(row.own_error_ns >= row.own_ns for row in rows)


def test_inner_times_are_in_doubt_by_their_looks_and_by_what_probes_cost():
    """A line that called all that ran has no doubt by chance, for the sum is known."""
    inner = {"inner_ns": 50_000_000.0, "inner_var": 200.0 * LOOK**2}
    whole = {"inner_ns": 99_999_999.0, "inner_var": 400.0 * LOOK**2}
    lines = [whole, inner, looks(400)]
    half, all_of_it = (recorded(lines, 100_000_000).lines[row] for row in (1, 0))
    assert half.inner_ns == pytest.approx(50_000_000)
    assert half.inner_error_ns == pytest.approx(1.96 * (200 / 2) ** 0.5 * LOOK, rel=0.01)
    assert all_of_it.inner_error_ns < 20_000
    costly = recorded(lines, 100_000_000, python_inside=1_000.0, cost_error=0.2).lines
    assert costly[1].inner_error_ns > half.inner_error_ns
    assert costly[0].total_error_ns > 0.1 * 100_000_000


def test_exact_times_have_no_error():
    """Looks without squares are no samples: recordings made by hand."""
    rows = recorded([{"own_ns": 5_000_000}, {"own_ns": 1_000}], 0).lines
    assert rows["own_ns"].tolist() == pytest.approx([5_000_000, 1_000])
    assert max(rows["own_error_ns"]) < 1


@pytest.mark.parametrize("times", ["wall", "cpu"])
def test_no_line_takes_longer_than_the_run(times):
    """Nobody knows the sum: the looks alone say more than there was."""
    rows = recorded([looks(400), looks(10)], 0, wall_ns=2_000_000).timed(times).lines
    assert max(rows["own_ns"]) == 2_000_000
    assert max(rows["total_ns"]) <= 2_000_000


def test_coverage_has_no_times():
    assert set(recorded([{}, {"flags": 1}], 0).lines["total_error_ns"]) == {0.0}
