"""Recordings that were made while the processor was not equally fast, held against each other."""

import pytest

from seismo.model import Builder, diff
from seismo.model.pace import at_one_pace, pace_ns, slowness

HOST = "here"


def recording(pace, own_ns=1_000_000_000, host=HOST, kind=0, wait_ns=0):
    b = Builder()
    thread = b.thread(b.process(pace_ns=pace, host=host), cpu_ns=own_ns - wait_ns)
    b.node(-1, thread, b.function("m", "f", kind=kind), calls=10, own_ns=own_ns, wait_ns=wait_ns)
    return b.build({})


def test_what_ran_at_half_the_pace_took_no_longer():
    """A neighbour on the same core: the clock says 1.8 s, and that the same work takes 1.8 times as long."""
    old, new = recording(360.0).timed("cpu"), recording(648.0, 1_800_000_000).timed("cpu")
    assert [row.significant for row in diff(old, new)] == [True]
    assert slowness([old, new]) == pytest.approx([1, 1.8])
    (old,), (new,) = at_one_pace([old], [new])
    (row,) = diff(old, new)
    assert (row.own_old, row.own_new) == pytest.approx((1_000_000_000, 1_000_000_000))
    assert row.own_error > 0.25 * 800_000_000
    assert not row.significant
    assert new.slower == pytest.approx(1.8)
    assert new.functions[0].total_ns == pytest.approx(1_000_000_000)
    assert new.tree[0].own_ns == pytest.approx(1_000_000_000)
    assert new.tree[0].own_error_ns == pytest.approx(0.25 * 800_000_000, rel=0.05)


def test_a_change_beyond_that_is_found_at_any_pace():
    old, new = recording(360.0).timed("cpu"), recording(648.0, 3_600_000_000).timed("cpu")
    (row,) = diff(*at_one_pace([old], [new]))
    assert row.own_new == pytest.approx(2_000_000_000)
    assert row.significant


def test_a_c_function_may_not_have_become_slower():
    old, new = recording(360.0, kind=1).timed("cpu"), recording(648.0, 1_100_000_000, kind=1).timed("cpu")
    (row,) = diff(*at_one_pace([old], [new]))
    assert row.own_error > row.own_old - row.own_new > 0


@pytest.mark.parametrize(
    "new",
    [
        recording(380.0).timed("cpu"),  # no more than single readings differ by
        recording(0.0).timed("cpu"),
        recording(700.0, host="elsewhere").timed("cpu"),
        recording(700.0),  # waiting has no pace
    ],
    ids=["as fast", "not known", "another machine", "wall"],
)
def test_times_stay_as_they_were_measured(new):
    sides = at_one_pace([recording(360.0).timed("cpu")], [new])
    assert all(one.slower == 1 for side in sides for one in side)


def test_waiting_is_no_part_of_what_has_a_pace():
    slow = recording(720.0, 3_000_000, wait_ns=1_000_000)
    assert slow.timed("cpu").slowed(2.0).functions[0].own_ns == pytest.approx(1_000_000)
    with pytest.raises(ValueError, match="running"):
        slow.slowed(2.0)


def test_a_process_counts_by_what_it_ran():
    b = Builder()
    for pace, cpu in ((300.0, 3_000_000), (500.0, 1_000_000), (0.0, 1_000_000)):
        b.thread(b.process(pace_ns=pace), cpu_ns=cpu)
    assert pace_ns(b.build({})) == pytest.approx(350)
