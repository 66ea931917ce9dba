"""A part of a trace has what the whole has of that time, counts it exactly, and agrees with itself."""

import random

import journal_made
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journals import recorded, sums
from recorded import Image

import seismo
from seismo import _core
from seismo.errors import UsageError
from seismo.model import merge, read
from seismo.model.enums import CallFlags
from seismo.model.trace.excerpt import cut_into
from seismo.pure.journal import Journal
from seismo.pure.tokens import END, START, Sink

SEEDS = st.integers(0, 2**32)
UNSEEN = CallFlags.BEFORE | CallFlags.BEGAN_UNSEEN


def played(seed, **how):
    return journal_made.made(seed, **how)[1:]


def agrees(part):
    """The tree is what its journal says."""
    image = Image(part.to_bytes())
    assert sums(image.data) == recorded(image.nodes)
    assert read(image.data).problems == []


def said(recording, rows):
    """What rows say, whatever numbers the recording has for it."""
    names = recording.functions["qualname"]
    return [(row.thread, row.stream, names[row.function], row.depth, bool(row.flags & 128)) for row in rows]


def of_threads(rows, recording, name):
    """The rows with the threads' names: numbers differ where threads are left out."""
    names = recording.threads["name"]
    return [row._replace(thread=names[row.thread]) for row in rows]


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_a_window_has_the_calls_that_began_in_it(seed):
    all_played, recording = played(seed)
    rnd = random.Random(seed)
    end = int(max(p.ns for p in all_played)) + 2
    first, last = sorted(rnd.randrange(end) for _ in range(2))
    try:
        part = recording.cut(first, last)
    except UsageError:
        assert first == last or not [row for row in recording.calls.window(first, last).calls if row.end_ns > first]
        return
    agrees(part)
    whole = of_threads(recording.calls.window().calls, recording, "threads")
    begun = [row for row in whole if first <= row.start_ns < last and not row.flags & UNSEEN]
    rows = of_threads(part.calls.window().calls, part, "threads")
    kept = [row for row in rows if not row.flags & UNSEEN]
    assert said(part, kept) == said(recording, begun)
    assert sum(part.tree["calls"]) + sum(part.tree["resumes"]) == len(begun)
    for ours, theirs in zip(kept, begun, strict=True):
        doubt = ours.start_bound_ns + theirs.start_bound_ns
        assert abs(ours.start_ns - theirs.start_ns) <= doubt or -1 in (ours.start_bound_ns, theirs.start_bound_ns)
        assert first <= ours.start_ns <= ours.end_ns <= last
    instants = [(row.name, row.kind) for row in recording.calls.instants if first <= row.time_ns < last]
    assert [(row.name, row.kind) for row in part.calls.instants] == instants


class Readings(Sink):
    """Beginnings and ends of calls by stream, each with the readings of the clock before and after it."""

    def __init__(self, recording):
        super().__init__()
        self.found = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_core, "Journal", Journal)
            read(recording.to_bytes()).calls._journal._decode(self)

    def event(self, stream, what, of, times):
        if what in (START, END):
            event = (what, of.depth, of.flags & CallFlags.UNWOUND), *times[2:]
            self.found.setdefault((stream.thread, stream.number), []).append(event)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_whole_as_a_part_has_the_same_readings_of_the_clock(seed):
    """Each call began and ended between the same two readings."""
    _, recording = played(seed, wild=False)
    part = recording.cut()
    agrees(part)
    before, after = (list(Readings(one).found.values()) for one in (recording, part))
    for events, same in zip(before, after, strict=True):
        for (what, low, high), (what_too, *readings) in zip(events, same, strict=True):
            assert what == what_too
            assert readings == [low, high] or (high < 0 and readings[0] == low)


def expected(rows, chosen):
    """The rows that are chosen, with what they called and the calls that they were in."""
    kept = set()
    for number, row in enumerate(rows):
        if chosen(row):
            kept.add(number)
            above = row.parent
            while above >= 0:
                kept.add(above)
                above = rows[above].parent
    whole = {number for number, row in enumerate(rows) if chosen(row)}
    for number, row in enumerate(rows):
        if row.parent in whole:
            whole.add(number)
    return [row for number, row in enumerate(rows) if number in kept | whole]


@pytest.mark.parametrize(
    ("where", "chosen"),
    [
        ('function("f3")', lambda row, name: name == "f3"),
        ("duration > 300ns", lambda row, name: row.end_ns - row.start_ns > 300),
        (
            'function("f1", "f2") and duration <= 20us',
            lambda row, name: name in ("f1", "f2") and row.end_ns - row.start_ns <= 20_000,
        ),
        ("depth == 3", lambda row, name: row.depth == 2),
        ("unwind", lambda row, name: CallFlags.UNWOUND in row.flags),
        ('yield or call("made.f0") and line == 1', lambda row, name: CallFlags.YIELDED in row.flags or name == "f0"),
        ('not function("f*")', lambda row, name: False),
    ],
)
def test_calls_are_chosen(where, chosen):
    for seed in range(10):
        _, recording = played(seed, wild=False)
        names = recording.functions["qualname"]
        rows = list(recording.calls.window().calls)
        wanted = expected(rows, lambda row, names=names: chosen(row, names[row.function]))
        if not wanted:
            with pytest.raises(UsageError, match="no call in that time matches"):
                recording.cut(where=where)
            continue
        part = recording.cut(where=where)
        agrees(part)
        ours = of_threads(part.calls.window().calls, part, "threads")
        assert said(part, ours) == said(recording, of_threads(wanted, recording, "threads"))
        for row, other in zip(ours, wanted, strict=True):
            doubt = row.start_bound_ns + other.start_bound_ns
            assert abs(row.start_ns - other.start_ns) <= doubt or -1 in (row.start_bound_ns, other.start_bound_ns)


def test_own_time_is_that_of_the_segments():
    tree, p = journal_made.lone(unit=1.0)
    p.call(0)
    p.mark()
    for _ in range(10):
        p.pass_time(1000)
        p.call(1)
        p.mark()
        p.pass_time(500)
        p.leave(journal_made.RETURN)
        p.mark()
    p.pass_time(5000)
    p.leave(journal_made.RETURN)
    p.mark()
    p.end()
    recording = journal_made.recording(tree, [p], 2)
    part = recording.cut(2_000, 9_000)
    assert [(row.qualname, row.calls) for row in part.functions] == [("f0", 0), ("f1", 5)]
    raw = part._raw["nodes"]
    assert sum(raw["timed_ns"]) == 7_000
    assert raw["timed_ns"].tolist() == [4_500, 2_500]
    assert raw["wait_sq"].tolist() == [0, 0]
    again = part.cut(3_000, 4_000)
    assert sum(again._raw["nodes"]["timed_ns"]) == 1_000
    assert [cut["from_ns"] for cut in again.meta["cut"]] == [2_000, 3_000]
    first, second = part.calls.window().calls[0], again.calls.window().calls[0]
    assert (first.start_ns, first.end_ns) == (2_000, 9_000)
    assert (second.start_ns, second.end_ns) == (3_000, 4_000)


def test_the_time_of_an_event_that_is_not_known_is_a_doubt_of_the_times():
    tree, p = journal_made.lone(unit=1.0)
    p.call(0)
    p.mark()
    p.pass_time(1200)
    p.call(1)
    p.pass_time(1200)
    p.leave(journal_made.RETURN)
    p.mark()
    p.end()
    part = journal_made.recording(tree, [p], 2).cut(0, 2400)
    assert part._raw["nodes"]["wait_sq"].tolist() == [2400**2 / 24, 2400**2 / 24]
    assert all(error > 600 for error in part.functions["own_error_ns"])


def test_a_gap_stays_a_gap():
    recording = journal_made.with_a_gap()
    part = recording.cut()
    agrees(part)
    assert part.calls.gaps == recording.calls.gaps == [(0, 10_000, 0, 0)]
    assert [(row.kind, row.count) for row in part.losses] == [("journal-gaps", 1)]
    assert [CallFlags.GAP in row.flags for row in part.calls.window().calls] == [True, False]


def test_processes_keep_their_times_and_their_threads():
    parts = []
    for number in range(2):
        tree, all_played = journal_made.play(number)
        parts.append(journal_made.recording(tree, all_played, 6, threads=2, process_start=10**18 + number * 10**9))
    both = merge(parts)
    alone = parts[1]
    late = both.cut(10**9)
    assert [row.start_ns for row in late.processes] == [10**18 + 10**9]
    agrees(late)
    # the first process ended before that time, and the times of the part count from the start of the one that is left
    assert said(late, late.calls.window().calls) == said(alone, alone.calls.window().calls)
    agrees(both.cut())
    assert len(both.cut().processes) == 2


def test_what_cannot_be_cut_is_said(tmp_path):
    _, recording = played(3)
    with pytest.raises(UsageError, match="ends before it begins"):
        recording.cut(5, 5)
    with pytest.raises(UsageError, match="ended before that time"):
        recording.cut(10**15)
    for where in ("calls > 3", 'task("x")', 'exception("KeyError")', 'arg("x") == 1', "line"):
        with pytest.raises(UsageError, match="cannot be used here"):
            recording.cut(where=where)
    with seismo.profile() as p:
        pass
    with pytest.raises(UsageError, match="cannot be cut"):
        p.recording.cut(0, 1)
    with pytest.raises(UsageError, match="nothing ran then"):
        cut_into(recording, tmp_path / "out.seismo", 0, 1)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(seismo.RecordingError, match="cannot be written"):
        cut_into(recording, tmp_path / "no" / "folder.seismo", 0, 100)


def test_a_part_of_a_damaged_trace_ends_where_the_journal_does():
    data = bytearray(played(5, wild=False)[1].to_bytes())
    at = data.rindex(b"JRNL")
    data[at + 12] ^= 0xFF
    agrees(read(bytes(data)).cut())
