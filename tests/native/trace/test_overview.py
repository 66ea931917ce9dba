"""What a picture of a trace draws, against the calls that it is a picture of."""

import random
from collections import Counter

import journal_made
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.model import read
from seismo.model.enums import CallFlags

SEEDS = st.integers(0, 2**32)


def made(seed, **how):
    _, played, recording = journal_made.made(seed, **how)
    return recording, int(max(p.ns for p in played)) + 1


def place(row):
    return row.thread, row.stream, row.depth


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_a_picture_of_many_columns_has_every_call(seed):
    recording, end = made(seed)
    drawn = recording.calls.overview(0, end, columns=10 * end)
    calls = recording.calls.window(0, end).calls
    fields = ("start_ns", "end_ns", "thread", "stream", "depth", "node", "function", "flags")
    kept = [row for row in drawn.runs if row.calls == 1]
    rows = Counter(tuple(getattr(row, name) for name in fields) for row in calls)
    assert Counter(tuple(getattr(row, name) for name in fields) for row in kept) <= rows
    for row in drawn.runs:
        assert row.calls == 1 or row.start_ns == row.end_ns  # only what takes no time is drawn together
    assert sum(row.calls for row in drawn.runs) == len(calls)


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(1, 40))
def test_runs_sum_up_the_calls_that_they_cover(seed, columns):
    recording, end = made(seed)
    rnd = random.Random(seed)
    first, last = sorted(rnd.sample(range(end + 1), 2))
    drawn = recording.calls.overview(first, last, columns=columns)
    calls = [row for row in recording.calls.window(first, last).calls if row.end_ns >= first and row.start_ns < last]
    width = (last - first) // columns
    assert by_place(drawn.runs, "calls") == Counter(place(row) for row in calls)
    busy = Counter()
    for row in calls:
        busy[place(row)] += row.end_ns - row.start_ns
    assert by_place(drawn.runs, "busy_ns") == busy
    before = None
    for row in drawn.runs:
        assert row.calls == 1 or row.end_ns - row.start_ns <= width
        assert 0 <= row.most_ns <= row.busy_ns <= row.end_ns - row.start_ns
        assert row.calls == 1 or row.flags == 0
        if before is not None and place(before) == place(row):
            assert before.end_ns <= row.start_ns
            assert row.end_ns - before.start_ns > width
        before = row
    assert [place(row) for row in drawn.runs] == sorted(place(row) for row in drawn.runs)


def by_place(runs, name):
    found = Counter()
    for row in runs:
        found[place(row)] += getattr(row, name)
    return found


def test_the_function_with_most_of_a_run_is_named():
    tree, p = journal_made.lone(unit=1.0)
    for function, ns in ((0, 100), (1, 300), (0, 150), (2, 120)):
        p.call(function)
        p.mark()
        p.pass_time(ns)
        p.leave(journal_made.RETURN)
        p.mark()
    p.end()
    (run,) = journal_made.recording(tree, [p], 3).calls.overview(0, 1000, columns=1).runs
    assert (run.function, run.most_ns, run.busy_ns, run.calls) == (1, 300, 670, 4)


def test_threads_and_depths_can_be_chosen():
    recording, end = made(12)
    whole = list(recording.calls.overview(0, end, columns=50).runs)
    some = recording.calls.overview(0, end, columns=50, threads=[1], depths=(1, 3)).runs
    assert list(some) == [row for row in whole if row.thread == 1 and 1 <= row.depth < 3]
    assert len(some)


def test_nothing_is_drawn_of_nothing():
    recording, end = made(13)
    for asked in ((5, 5), (end, 0), (2**70, 2**80)):
        assert not len(recording.calls.overview(*asked).runs)
    assert not len(recording.calls.overview(0, end, columns=0).runs)
    assert not len(recording.calls.overview(0, end, depths=(3, 3)).runs)
    assert not len(journal_made.recording(journal_made.Tree(), [], 1).calls.overview().runs)


def test_runs_are_a_table_with_flags():
    recording, end = made(14)
    saved = read(recording.to_bytes())
    runs = saved.calls.overview(0, end, columns=10 * end).runs
    assert any(isinstance(row.flags, CallFlags) and row.flags for row in runs)
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(runs).num_rows == len(runs)
