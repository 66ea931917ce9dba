"""What is told to a TraceBuilder is what its recording says, in its tree and in time, also after saving and merging."""

import random

import pytest

from seismo import model
from seismo.model import Builder
from seismo.model.kinds import CallFlags
from seismo.model.timeline.write import COUNTER, MARK, RETURN, SPAN_BEGINS, SPAN_ENDS, UNWIND, YIELD, TraceBuilder


def begun(threads=1, functions=8):
    builder = Builder()
    process = builder.process(pid=5, start_ns=10**18)
    for number in range(threads):
        builder.thread(process, f"thread {number}", native_id=number + 1)
    for number in range(functions):
        builder.function("made", f"f{number}", "made.py", number + 1)
    return TraceBuilder(builder)


def play(trace, thread, seed, events=4000, functions=8):
    """What happened, as [(function, start, end, depth, flag)] in the order of beginnings."""
    rnd, stream = random.Random(seed), trace.stream(thread)
    now, rows, stack = rnd.randrange(10_000), [], []
    for _ in range(events):
        now += rnd.choice([0, 1, 60, 5_000, 3_000_000])
        if stack and (rnd.random() < 0.5 or len(stack) > 30):
            how, flag = rnd.choice([(RETURN, 0), (RETURN, 0), (YIELD, CallFlags.YIELDED), (UNWIND, CallFlags.UNWOUND)])
            row = rows[stack.pop()]
            row[2], row[4] = now, row[4] | flag
            stream.leave(now, how)
        else:
            resumed = rnd.random() < 0.1
            function = rnd.randrange(functions)
            stream.enter(function, now, resumed=resumed)
            stack.append(len(rows))
            rows.append([function, now, None, len(stack) - 1, CallFlags.RESUMED if resumed else CallFlags(0)])
    for place in stack:
        rows[place][2], rows[place][4] = now, rows[place][4] | CallFlags.OPEN
    stream.end(now)
    return [tuple(row) for row in rows]


def seen(recording, thread):
    unsure = CallFlags.UNSURE
    calls = [row for row in recording.calls.window().calls if row.thread == thread]
    return [(row.function, row.start_ns, row.end_ns, row.depth, row.flags & ~unsure) for row in calls]


@pytest.mark.parametrize("seed", range(6))
def test_what_was_told_is_read_back(seed):
    trace = begun(threads=2)
    truth = [play(trace, thread, seed * 2 + thread) for thread in range(2)]
    made = trace.build()
    again = model.read(made.to_bytes())
    assert not again.problems
    for recording in (made, again, model.merge([made, again])):
        assert seen(recording, 0) == truth[0]
    assert seen(again, 1) == truth[1]
    rows = again.calls.window().calls
    assert {row.start_bound_ns for row in rows} == {row.end_bound_ns for row in rows} == {0}
    sums = again.calls.sums
    for name in ("calls", "resumes", "exceptions"):
        assert list(getattr(sums, name)) == list(again.tree[name])
    assert len(again.calls.blocks) >= 2


def test_own_times_are_the_time_between_events_of_the_path_that_was_current():
    trace = begun()
    stream = trace.stream(0)
    stream.enter(0, 100)
    stream.enter(1, 150)
    stream.leave(1_150)
    stream.enter(1, 1_200)
    stream.leave(1_300, UNWIND)
    stream.leave(2_000)
    stream.enter(0, 9_000)
    made = trace.build()
    assert [(row.calls, row.exceptions, row.own_ns) for row in made.tree] == [(2, 0, 800), (2, 1, 1100)]
    assert [row.end_ns for row in made.calls.window().calls][-1] == 9_000


def test_more_children_than_a_byte_names_and_paths_that_began_unseen():
    trace = begun(functions=400)
    stream = trace.stream(0)
    stream.enter(0, 10, seen=False)
    for number in range(400):
        stream.enter(number, 20 + number)
        stream.leave(21 + number)
    stream.leave(500, seen=False)
    rows = list(trace.build().calls.window().calls)
    assert [row.function for row in rows] == [0, *range(400)]
    assert rows[0].flags == CallFlags.BEGAN_UNSEEN | CallFlags.ENDED_UNSEEN


def test_instants_gaps_and_unknown_times():
    trace = begun()
    stream = trace.stream(0)
    stream.enter(0, 1_000)
    assert stream.instant(MARK, "here", 1_500, {"n": 3})
    assert stream.instant(COUNTER, "queue", 1_600, {"value": 2.5})
    assert stream.instant(SPAN_BEGINS, "load", 1_700, span=300)
    assert not stream.instant(MARK, "much", 1_700, "x" * 100_000)
    stream.gap(5_000)
    assert stream.instant(SPAN_ENDS, "load", 6_000, span=300)
    stream.enter(1, None)
    stream.leave(8_000)
    stream.leave(9_000)
    made = trace.build()
    said = [(row.kind, row.name, row.time_ns, row.data, row.span) for row in made.calls.instants]
    assert said == [
        ("mark", "here", 1_500, {"n": 3}, 0),
        ("counter", "queue", 1_600, {"value": 2.5}, 0),
        ("begin", "load", 1_700, None, 300),
        ("end", "load", 6_000, None, 300),
    ]
    assert [(gap.start_ns, gap.end_ns) for gap in made.calls.gaps] == [(1_700, 5_000)]
    inner = list(made.calls.window().calls)[-1]
    assert 6_000 <= inner.start_ns <= inner.end_ns == 8_000
    assert inner.start_bound_ns > 0 == inner.end_bound_ns


def test_times_never_go_back_and_hostile_trees_have_an_end():
    trace = begun()
    stream = trace.stream(0)
    stream.enter(0, 5_000)
    stream.enter(1, 10)
    stream.leave(-7)
    stream.leave(2**70)
    with pytest.raises(ValueError, match="no call is open"):
        stream.leave(0)
    rows = list(trace.build().calls.window().calls)
    assert [(row.start_ns, row.end_ns) for row in rows] == [(5_000, 2**53), (5_000, 5_000)]
    few = TraceBuilder(begun().builder, most=10).stream(0)
    for _ in range(10):
        few.enter(0, 1)
    with pytest.raises(ValueError, match="more than 10 paths"):
        few.enter(0, 1)
