"""Levels of detail against the tokens that they sum up, and pictures that are drawn from them."""

from collections import Counter

import journal_made
import pytest
import zoom_decoder
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.model.enums import CallFlags

SEEDS = st.integers(0, 2**32)


def made(seed, events=9_000, **how):
    return journal_made.made(seed, events=events, **how)


def checked(tree, *played, journal):
    """The levels of a journal by stream and level, which say what was played."""
    payloads = [payload for p in played for payload in p.pieces]
    nodes = zip(tree.parent, tree.thread, tree.function, strict=True)
    return zoom_decoder.checked(payloads, journal.made(), nodes)


@settings(max_examples=4, deadline=None)
@given(SEEDS)
def test_levels_say_what_the_tokens_do(seed):
    tree, played, recording = made(seed)
    journal = recording.calls._journal
    journal.build(0)
    checked(tree, *played, journal=journal)


def looped(calls, gap_at=None, unit=1.0, end=True):
    """A loop of three functions, one of which calls another."""
    tree, p = journal_made.lone(start_ns=50, unit=unit)
    p.call(0)
    for number in range(calls):
        p.call(1 + number % 2)
        p.pass_time(30 + number % 7)
        if number % 5 == 0:
            p.call(3)
            p.pass_time(100)
            p.leave(journal_made.RETURN)
        p.leave(journal_made.UNWIND if number % 11 == 0 else journal_made.RETURN)
        if number % 8 == 0:
            p.mark()
        if number == gap_at:
            p.cut_piece()
            p.number += 1
            p.begin_block()
    if end:
        p.leave(journal_made.RETURN)
    p.end(in_order=end)
    return tree, p, journal_made.recording(tree, [p], 4)


@pytest.mark.parametrize(("gap_at", "end"), [(None, True), (9000, False)], ids=["whole", "damaged"])
def test_levels_of_levels_say_what_the_tokens_do(gap_at, end):
    """A stream of so many calls that there are slices of slices, with a gap inside, and without an end."""
    tree, p, recording = looped(72_000, gap_at, end=end)
    journal = recording.calls._journal
    assert journal.build(0) > 3
    assert journal.build(0) == 0
    (levels,) = checked(tree, p, journal=journal).values()
    assert len(levels) == 2


def test_deep_stacks_have_longer_slices():
    """Rows cost bytes: where calls are at a thousand depths, a slice has many more calls."""
    tree, p = journal_made.lone()
    for _ in range(4):
        for _ in range(300):
            p.call(0)
            p.pass_time(10)
        for _ in range(300):
            p.leave(journal_made.RETURN)
        p.mark()
    for number in range(40_000):
        p.call(1)
        p.pass_time(10)
        p.leave(journal_made.RETURN)
        if number % 10 == 0:
            p.mark()
    p.end()
    recording = journal_made.recording(tree, [p], 2)
    journal = recording.calls._journal
    journal.build(0)
    (levels,) = checked(tree, p, journal=journal).values()
    for one in levels[0]:
        assert one["calls"] >= 64 * len(one["rows"]) or one["flags"] & 2
    assert max(one["calls"] for one in levels[0]) >= 64 * 300


def places(rows):
    found = Counter()
    for row in rows:
        found[row.thread, row.stream, row.depth] += getattr(row, "calls", 1)
    return found


@settings(max_examples=4, deadline=None)
@given(SEEDS, st.sampled_from([1, 3, 40, 1000]))
def test_pictures_from_levels_show_the_calls(seed, columns):
    """All calls are counted where they are, and those that are wider than two columns stand alone, with their times."""
    _, played, recording = made(seed)
    end = int(max(p.ns for p in played)) + 1
    recording.calls._journal.build(0)
    drawn = recording.calls.overview(0, end, columns=columns)
    assert drawn.problems == []
    calls = recording.calls.window().calls
    assert places(drawn.runs) == places(calls)
    width = end // columns
    single = {}
    for row in drawn.runs:
        assert row.calls == 1 or row.end_ns - row.start_ns <= max(width, 1) or columns > 40
        assert 0 <= row.most_ns <= row.busy_ns <= row.end_ns - row.start_ns
        if row.calls == 1:
            single.setdefault((row.thread, row.stream, row.depth, row.node), []).append(row)
    for call in calls:
        if call.end_ns - call.start_ns > 2 * width and not call.flags & (CallFlags.OPEN | CallFlags.GAP):
            same = single[call.thread, call.stream, call.depth, call.node]
            off = max(call.start_bound_ns, 0) + max(call.end_bound_ns, 0) + 2
            assert any(abs(row.start_ns - call.start_ns) + abs(row.end_ns - call.end_ns) <= 2 * off for row in same)


def test_a_part_of_a_long_trace_is_drawn_from_what_is_there_then():
    """Calls that are open all the while are known, with their beginnings and ends, without reading to either."""
    _, p, recording = looped(36_000)
    recording.calls._journal.build(0)
    whole = list(recording.calls.window().calls)
    for first, last in ((10_000, 900_000), (400_000, 400_400), (p.ns - 100, p.ns + 1)):
        drawn = recording.calls.overview(int(first), int(last), columns=20).runs
        inside = [row for row in whole if row.end_ns >= first and row.start_ns < last]
        assert abs(sum(row.calls for row in drawn) - len(inside)) <= 0.02 * len(inside) + 4
        (outermost,) = [row for row in drawn if row.depth == 0]
        assert outermost.calls == 1
        assert abs(outermost.start_ns - whole[0].start_ns) <= whole[0].start_bound_ns
        assert abs(outermost.end_ns - whole[0].end_ns) <= whole[0].end_bound_ns


def test_what_was_open_when_a_program_was_killed_has_its_beginning():
    _, p, recording = looped(36_000, end=False)
    recording.calls._journal.build(0)
    (outermost,) = [row for row in recording.calls.overview(p.ns - 1000, p.ns, columns=20).runs if row.depth == 0]
    first = recording.calls.window().calls[0]
    assert abs(outermost.start_ns - first.start_ns) <= first.start_bound_ns
    assert outermost.flags == CallFlags.OPEN


def test_what_ran_after_the_last_flush_of_a_killed_program_is_drawn():
    """Its tables say that it ended with its last flush, and its journal goes on: the picture ends where that does."""
    tree, p, _ = looped(2_000, end=False)
    recording = journal_made.recording(tree, [p], 4, end_ns=1_000)
    steps = recording.calls.sums.steps
    assert sum(recording.calls.overview(columns=30).runs["calls"]) == steps
    assert recording.calls.end_ns >= p.ns - 200
