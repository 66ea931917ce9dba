"""The calls of a trace: the native reader against what was played (tests/pure: against the reader in Python)."""

import random
import zlib

import journal_made
import pytest
from chunks import frames
from hypothesis import given, settings
from hypothesis import strategies as st

from seismo.model import merge, read
from seismo.model.enums import CallFlags
from seismo.pure.compression import APART, LZ4, unpacked

SEEDS = st.integers(0, 2**32)


def by_stream(calls):
    """{(thread, stream): [(row number, row)]}"""
    found = {}
    for number, row in enumerate(calls):
        found.setdefault((row.thread, row.stream), []).append((number, row))
    return found


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_calls_are_what_was_played(seed):
    _tree, played, recording = journal_made.made(seed)
    rows = by_stream(recording.calls.window().calls)
    for p in played:
        found = rows.get((p.thread, p.stream), [])
        assert [row.node for _, row in found] == [call["node"] for call in p.truth]
        for (_, row), call in zip(found, p.truth, strict=True):
            if row.start_bound_ns >= 0:
                assert abs(row.start_ns - call["start"]) <= row.start_bound_ns + p.unit + 1
            if row.end_bound_ns >= 0 and call["how"] != "open":
                assert abs(row.end_ns - call["end"]) <= row.end_bound_ns + p.unit + 1
            assert row.start_ns <= row.end_ns
        starts = [row.start_ns for _, row in found]
        assert starts == sorted(starts)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_a_journal_tells_the_counts_of_its_tree(seed):
    tree, _, recording = journal_made.made(seed)
    sums = recording.calls.sums
    assert (sums.calls.tolist(), sums.resumes.tolist()) == (tree.calls, tree.resumes)
    assert sums.exceptions.tolist() == tree.exceptions
    assert sums.steps == len(recording.calls.window().calls)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_a_window_is_a_part_of_the_whole(seed):
    """What a window shows is what the whole shows of that time, though it reads the blocks of that time alone."""
    _, played, recording = journal_made.made(seed)
    rnd = random.Random(seed)
    end = int(max(p.ns for p in played))
    first, last = sorted(rnd.randrange(end + 1) for _ in range(2))
    whole = [row for row in recording.calls.window().calls if row.end_ns >= first and row.start_ns < last]
    part = list(recording.calls.window(first, last).calls)
    unknown = CallFlags.BEFORE | CallFlags.AFTER
    sure = [row for row in part if not row.flags & (unknown | CallFlags.OPEN)]
    for row in sure:
        assert any(
            (row.start_ns, row.end_ns, row.node, row.depth) == (other.start_ns, other.end_ns, other.node, other.depth)
            for other in whole
        )
    assert len(part) >= len([row for row in whole if row.start_ns >= first and row.end_ns < last])
    for row in part:
        assert row.parent < 0 or part[row.parent].depth == row.depth - 1


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_calls_that_began_before_a_window_have_their_beginnings(seed):
    """Nothing of the blocks before is shown but when the calls began that are open, whatever blocks they are in."""
    _, played, recording = journal_made.made(seed, wild=False)

    def key(row):
        return row.thread, row.stream, row.start_ns, row.start_bound_ns, row.node, row.depth, row.end_ns

    first = random.Random(seed).randrange(int(max(p.ns for p in played)) + 1)
    rows = list(recording.calls.window(first).calls)
    assert not any(CallFlags.BEFORE in row.flags for row in rows)
    assert {key(row) for row in rows} == {key(row) for row in recording.calls.window().calls if row.end_ns >= first}


def test_how_far_a_window_looks_back_can_be_said():
    tree, p = journal_made.lone(block_bytes=40)
    p.call(0)
    p.mark()
    p.call(1)
    for _ in range(200):
        p.pass_time(100)
        p.call(2)
        p.leave(journal_made.RETURN)
        p.mark()
    p.end()
    calls = journal_made.recording(tree, [p], 3).calls
    late = calls.window(int(p.ns) - 300).calls
    assert [row.start_ns for row in late][:2] == [0, late[1].start_ns]
    assert not any(CallFlags.BEFORE in row.flags for row in late)
    short = calls.window(int(p.ns) - 300, look_back=100).calls
    assert [CallFlags.BEFORE in row.flags for row in short][:3] == [True, True, False]
    assert short[0].start_ns > 15_000


def test_steps_of_a_generator_are_joined_to_its_call():
    """Two generators on one node are told apart by nothing: the second resume is a guess, and says so."""
    tree, p = journal_made.lone()
    p.call(0)
    for _ in range(2):
        p.call(2)
        p.leave(journal_made.YIELD)
    generator = p.tree.child(0, p.node, 2)
    p.enter(generator, resumed=True)
    p.leave(journal_made.RETURN)
    p.enter(generator, resumed=True)
    p.leave(journal_made.YIELD)
    p.enter(generator, resumed=True)
    p.leave(journal_made.UNWIND)
    p.mark()
    p.end()
    rows = list(journal_made.recording(tree, [p], 3).calls.window().calls)
    steps = [(row.call, CallFlags.UNSURE in row.flags) for row in rows[1:]]
    assert steps == [(1, False), (2, False), (2, True), (-1, False), (-1, False)]


def test_a_single_generator_is_joined_for_sure():
    tree, p = journal_made.lone()
    p.call(2)
    for _ in range(3):
        p.leave(journal_made.YIELD)
        p.enter(p.tree.child(0, -1, 2), resumed=True)
    p.end()
    rows = list(journal_made.recording(tree, [p], 3).calls.window().calls)
    assert [row.call for row in rows] == [0, 0, 0, 0]
    assert not any(row.flags & CallFlags.UNSURE for row in rows)


def test_missing_blocks_are_gaps():
    """What ran before a gap and after it may be one call or two, and the gap is told."""
    window = journal_made.with_a_gap().calls.window()
    assert [(gap.start_ns, gap.end_ns, gap.thread) for gap in window.gaps] == [(0, 10_000, 0)]
    assert [CallFlags.GAP in row.flags for row in window.calls] == [True, False]


def test_instants_and_gaps_need_no_calls():
    """What the program said is to be had without the calls, of which there may be too many."""
    _, _, recording = journal_made.made(9)
    window = recording.calls.window()
    assert recording.calls.instants == [said._replace(call=-1) for said in window.instants]
    assert window.instants
    assert recording.calls.gaps == window.gaps
    assert len(recording.calls.window(limit=0).calls) == 0


def test_merging_keeps_the_calls_of_each():
    def told(rows):
        return [(row.start_ns, row.end_ns, row.depth, row.flags) for row in rows]

    parts = [journal_made.made(seed)[2] for seed in (1, 2)]
    merged = read(merge(parts).to_bytes())
    for part in parts:
        whole = list(part.calls.window().calls)
        assert whole
        mine = told(row for row in whole if row.thread == 0)
        assert mine in [told(merged.calls.window(thread=t).calls) for t in range(len(merged.threads))]


def test_a_recording_without_rows_of_its_tree_does_not_carry_its_journal_on():
    """A journal names calls by their places in the tree: with rows missing, others would be named."""
    _, _, recording = journal_made.made(3)
    journal = recording._journal
    recording._journal = journal._replace(nodes=journal.nodes - 1)
    saved = read(recording.to_bytes())
    assert not saved.calls
    assert "journal-left-out" in saved.losses["kind"]


def test_subtracting_leaves_the_journal_out():
    _, _, recording = journal_made.made(4)
    rest = recording.subtract(recording)
    assert not rest.calls
    assert "journal-left-out" in rest.losses["kind"]


def test_calls_are_an_arrow_stream():
    pyarrow = pytest.importorskip("pyarrow")
    _, _, recording = journal_made.made(5)
    table = pyarrow.table(recording.calls)
    assert table.num_rows == len(recording.calls.window().calls) > 0
    assert table.column_names[:2] == ["start_ns", "end_ns"]


def test_a_large_file_is_mapped_and_read_by_windows(tmp_path, monkeypatch):
    monkeypatch.setattr("seismo.model.recording.MAPPED", 1)
    _, _, recording = journal_made.made(6)
    recording.save(tmp_path / "large.seismo")
    mapped = read(tmp_path / "large.seismo")
    assert type(mapped._journal.data).__name__ == "mmap"
    assert list(mapped.calls.window().calls) == list(recording.calls.window().calls)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_read_as_far_as_they_go(seed):
    """A bent byte costs a block at most, with a word; no file can make the reader fail, or show what was not there."""
    rnd = random.Random(seed)
    tree, _, recording = journal_made.made(seed, events=150)
    data, whole = recording.to_bytes(), list(recording.calls.window().calls)
    places = [place for start, end, kind in frames(data) if kind == b"JRNL" for place in range(start, end)]
    for _ in range(60):
        bent = bytearray(data)
        bent[rnd.choice(places)] ^= 1 << rnd.randrange(8)
        if rnd.random() < 0.3:
            del bent[rnd.choice(places) :]
        again = read(bytes(bent))
        window = again.calls.window()
        again.calls.sums  # noqa: B018  it must not fail
        assert all(0 <= row.node < len(tree.parent) and row.start_ns <= row.end_ns for row in window.calls)
        lost = again.problems or window.problems or window.gaps
        assert lost or list(window.calls) == whole  # the directory at the end knew better than a bent length


def test_a_stack_without_end_is_cut():
    """Every byte a call of the same node: the reader stops at a depth, instead of taking all memory."""
    tree = journal_made.Tree()
    node = tree.child(0, -1, 0)
    calls = (bytes([journal_made.CALL]) + journal_made.uvarint(tree.rank(node, 0))) * 30000
    payloads = [
        journal_made.piece(0, 0, block, 0, calls, (0, 0 if block == 0 else 1, 0, 1.0), True) for block in range(40)
    ]
    recording = journal_made.recording(tree, [], 1)
    recording._journal = journal_made.in_memory(payloads, 1, 1)
    window = recording.calls.window(limit=1000)
    assert window.more
    assert len(window.calls) == 1000


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), min_size=1, max_size=4))
def test_marks_apart_that_are_damaged_are_refused(seed, damage):
    """No checksum saves the reader here: what cannot be put together is no part of the block."""
    rnd = random.Random(seed)
    data = b"".join(rnd.choice((b"\x08\x00", b"\x08\x08\x00\x00", b"\x03\x05", b"\x03\x85\x01")) for _ in range(99))
    piece = journal_made.piece(0, 0, 0, 0, data, (0, 0, 0, 1.0), 2)
    assert unpacked(APART, journal_made.apart(data), len(data)) == data
    begin, bent = len(piece) - len(journal_made.apart(data)), bytearray(piece)
    for place, value in damage:
        bent[begin + place % (len(piece) - begin)] = value
    tree = journal_made.Tree()
    tree.child(0, tree.child(0, -1, 0), 1)
    recording = journal_made.recording(tree, [], 2)
    recording._journal = journal_made.in_memory([bytes(bent)], 2, 1)
    steps = recording.calls.sums.steps
    assert steps == data.count(8) or bytes(bent) != piece
    assert steps <= len(data)


def test_lz4_of_the_tests_is_lz4():
    """What the tests pack has matches in it, or they would say nothing of the reader's decompression."""
    data = b"abcdefgh" * 100 + bytes(range(256))
    packed = journal_made.lz4(data)
    assert len(packed) < len(data) / 2
    assert unpacked(LZ4, packed, len(data)) == data
    assert zlib.crc32(data)
