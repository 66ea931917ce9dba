"""A clock that jumps: the machine was suspended, or somebody set the processor's counter."""

import contextlib

import pytest
from lab import SOURCES, start
from threads import in_threads

import seismo.model
from seismo import _core

SECOND = 10**9
RATE = 3  # ticks a ns
HOUR = 3600 * SECOND


def learnt(*stretches, first=1 / RATE):
    """(ns a tick, drifts) after stretches of (ticks, ns), when a clock had that scale first."""
    anchors = [(5 * HOUR, HOUR)]
    for ticks, ns in stretches:
        anchors.append((anchors[-1][0] + ticks, anchors[-1][1] + ns))
    return _core._learn_clock(first, anchors)


STEADY = (RATE * SECOND, SECOND)


def test_the_scale_becomes_that_of_the_whole_run():
    scale, drifts = learnt(STEADY, STEADY, first=1.0004 / RATE)
    assert scale == pytest.approx(1 / RATE, rel=1e-9)
    assert drifts == 0
    assert learnt((300, 100)) == (1 / RATE, 0), "too soon to tell more"


@pytest.mark.parametrize(
    "jump",
    [
        pytest.param((RATE * HOUR, SECOND), id="the counter went on while the machine was suspended"),
        pytest.param((RATE * SECOND // 2, SECOND), id="it stood still for a while"),
        pytest.param((-4 * HOUR, SECOND), id="it began anew"),
    ],
)
def test_a_jump_leaves_the_scale_alone_and_is_told(jump):
    for stretches in ([STEADY, jump, STEADY, STEADY], [jump], [jump, STEADY]):
        scale, drifts = learnt(*stretches)
        assert scale == pytest.approx(1 / RATE, rel=1e-9)
        assert drifts == 1


def test_a_scale_that_was_wrong_from_the_start_is_given_up():
    scale, drifts = learnt(STEADY, STEADY, STEADY, first=1.2 / RATE)
    assert scale == pytest.approx(1 / RATE, rel=1e-9)
    assert drifts > 0


def program(jump):
    """Calls, lines, a coroutine and threads; after a thousandth of it all the clock is moved by so much."""
    tick = _core._advance_clock

    def leaf(n):
        tick(n % 40)

    async def waits(n):
        await Suspended()
        leaf(n)

    def work(n):
        leaf(n)
        coroutine = waits(n)
        coroutine.send(None)
        if n == 500:
            tick(jump % 2**64)
        with contextlib.suppress(StopIteration):
            coroutine.send(None)

    for n in range(2000):
        work(n)
    in_threads(lambda: (leaf(30), tick(jump % 2**64), leaf(30)))


class Suspended:
    def __await__(self):
        yield


@pytest.mark.crossed
@pytest.mark.parametrize("jump", [-30_000, 10**15], ids=["back", "forth"])
@pytest.mark.parametrize(
    ("recorder", "timing"), [("calltree", "every"), ("calltree", "sampled"), ("linetimes", "sampled")]
)
def test_no_time_is_below_zero_or_above_the_walls(recorder, timing, jump):
    _core._advance_clock(100_000)
    source = None if recorder == "linetimes" else SOURCES[0]
    start(source, recorder=recorder, clock="simulated", timing=timing)
    try:
        program(jump)
    finally:
        _core.stop()
    recording = seismo.model.read(_core.snapshot())
    ran = 2 * 2000 * 19.5 + 120 + max(0, jump) * 3  # the other thread's are waited for
    most = ran * (1.5 if timing == "sampled" else 1)
    assert all(0 <= thread.wall_ns <= ran for thread in recording.threads)
    rows = list(recording.lines if recorder == "linetimes" else recording.functions)
    assert rows
    slack = 1 + 1e-12  # of floats
    for row in rows:
        assert 0 <= row.own_ns <= row.total_ns * slack, row
        assert row.total_ns <= most, row
        assert 0 <= row.await_ns <= ran, row
    # Of threads of the test's process, such as xdist's, the same time passes in other functions, too.
    functions = recording.functions
    ours = [row for row in rows if functions[getattr(row, "function", row.id)].file == __file__]
    assert 0 < sum(row.own_ns for row in ours) <= most * slack
